"""Where trials live: one protocol, and the implementation in memory."""

from noregret.storage.memory import MemoryStorage
from noregret.storage.protocol import Storage, StudyRecord

__all__ = ["MemoryStorage", "Storage", "StudyRecord"]
