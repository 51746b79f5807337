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
# A study in memory needs none of these: each is imported when it is first used.
_LAZY = {
    "database": ("backup", "storage_file", "storage_url"),
    "recovery": ("recover",),
    "schema": ("upgrade",),
    "sql": ("SQLStorage",),
}


def __getattr__(name: str) -> Any:
    if name == "codec":
        return import_module("noregret.storage.codec")
    for module, names in _LAZY.items():
        if name in names:
            return getattr(import_module(f"noregret.storage.{module}"), name)
    raise AttributeError(f"module 'noregret.storage' has no attribute {name!r}")
