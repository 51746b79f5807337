"""A storage with a small study in it, and clients that see the app as a browser or a
script would.
"""

import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import uvicorn
from starlette.testclient import TestClient

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web.app import create_app
from noregret.web.security import Access

TOKEN = "a-token-that-is-long-enough"
HERE = "http://127.0.0.1:8080"

Clients = Callable[..., TestClient]


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("web") / "studies.db"
    made = SQLStorage(file)
    study = nr.Study.create(
        "first", {"x": nr.Float(0, 1), "kind": nr.Choice(["a", "b"])}, "maximize", storage=made
    )
    study.run(lambda p: float(p["x"]) + (p["kind"] == "a"), 12, progress=False)
    made.close()  # all of it is in one file then
    return file


@pytest.fixture
def storage(original: Path, tmp_path: Path) -> SQLStorage:
    return SQLStorage(shutil.copy(original, tmp_path / "studies.db"))


@pytest.fixture
def clients(storage: SQLStorage) -> Iterator[Clients]:
    opened: list[TestClient] = []

    def client(
        *, write: bool = True, token: str | None = None, host: str = "127.0.0.1", base: str = HERE
    ) -> TestClient:
        opened.append(
            TestClient(
                create_app(storage, Access(write, token, host)),
                base_url=base,
                follow_redirects=False,
                raise_server_exceptions=False,
            )
        )
        opened[-1].__enter__()
        return opened[-1]

    yield client
    for each in opened:
        each.__exit__(None, None, None)


@pytest.fixture
def browser(clients: Clients) -> TestClient:
    """Writes allowed, no token; carries the cookie and the CSRF token of a page, as the
    scripts do.
    """
    return with_csrf(clients())


@contextmanager
def served(storage: SQLStorage, access: Access) -> Iterator[str]:
    """The app on a real port, in a thread."""
    server = uvicorn.Server(uvicorn.Config(create_app(storage, access), log_level="critical"))
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(30)


def with_csrf(client: TestClient) -> TestClient:
    found = re.search(r'name="csrf-token" content="([0-9a-f]{64})"', client.get("/").text)
    assert found is not None
    client.headers["X-CSRF-Token"] = found[1]
    return client
