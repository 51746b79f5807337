"""Where trials live: one protocol, in memory, and in SQLite or PostgreSQL."""

from noregret.storage import codec
from noregret.storage.database import backup, storage_file, storage_url
from noregret.storage.memory import MemoryStorage
from noregret.storage.protocol import (
    STORE_IT,
    UNLIMITED,
    Storage,
    StudyKey,
    StudyRecord,
    StudySummary,
)
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
