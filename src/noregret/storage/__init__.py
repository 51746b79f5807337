"""Where trials live: one protocol, in memory, and in SQLite or PostgreSQL."""

from noregret.storage.memory import MemoryStorage
from noregret.storage.protocol import Storage, StudyRecord
from noregret.storage.sql import SQLStorage

__all__ = ["MemoryStorage", "SQLStorage", "Storage", "StudyRecord"]
