"""What is kept of factors from one ask to the next, here and on a device; no proposal changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

KEPT = 2  # factors: of the fitted class, and of one that is tried beside it


class Useful(Protocol):
    """Something kept, and how often it was of use."""

    uses: int


T = TypeVar("T", bound=Useful)


class Shelf(Generic[T]):
    """The newest, beside the one that was of most use. What is taken is the caller's alone until it
    is kept again: threads do not wait for each other.
    """

    def __init__(self) -> None:
        self._kept: list[T] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[T]:
        return iter(self._kept)

    def take(self, shared: Callable[[T], int]) -> tuple[T | None, int]:
        """What shares most, and how much; (None, 0) if nothing shares anything."""
        with self._lock:
            best, most = None, 0
            for each in self._kept:
                count = shared(each)
                if count > most:
                    best, most = each, count
            self._kept = [each for each in self._kept if each is not best]
        return best, most

    def keep(self, made: T) -> None:
        with self._lock:
            self._kept.append(made)
            if len(self._kept) > KEPT:
                least = min(self._kept[-2::-1], key=lambda each: each.uses)  # of equals the younger
                self._kept = [each for each in self._kept if each is not least]
                for each in self._kept[:-1]:
                    each.uses //= 2

    def forget(self) -> None:
        """Frees what is kept."""
        with self._lock:
            self._kept.clear()
