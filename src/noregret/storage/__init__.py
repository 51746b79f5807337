"""Where trials live: one protocol, in memory, and in SQLite or PostgreSQL."""

from typing import TYPE_CHECKING

from noregret.errors import lazily
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

__getattr__ = lazily(__name__, __all__, "codec", "database", "schema", "recovery", "sql")
