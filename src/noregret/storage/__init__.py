"""Where trials live: one protocol, in memory, and in SQLite or PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from noregret.storage.memory import MemoryStorage
from noregret.storage.protocol import (
    STORE_IT,
    UNLIMITED,
    Storage,
    StudyKey,
    StudyRecord,
    StudySummary,
)

if TYPE_CHECKING:
    from noregret.storage import codec
    from noregret.storage.database import backup, storage_file, storage_url
    from noregret.storage.recovery import recover
    from noregret.storage.schema import upgrade
    from noregret.storage.sql import SQLStorage

__all__ = [
    "STORE_IT",
    "UNLIMITED",
    "MemoryStorage",
    "SQLStorage",
    "Storage",
    "StudyKey",
    "StudyRecord",
    "StudySummary",
    "backup",
    "codec",
    "recover",
    "storage_file",
    "storage_url",
    "upgrade",
]


def __getattr__(name: str) -> Any:
    """Imports what a study in memory does not need when it is first used."""
    for module in ("codec", "database", "schema", "recovery", "sql") if name in __all__ else ():
        loaded = import_module(f"noregret.storage.{module}")
        if name == module or hasattr(loaded, name):
            return loaded if name == module else getattr(loaded, name)
    raise AttributeError(f"module 'noregret.storage' has no attribute {name!r}")
