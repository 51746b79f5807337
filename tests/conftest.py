"""Small solves run on one BLAS thread: tests run one process per core."""

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import postgresql

settings.register_profile(
    "noregret", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("noregret")


@cache
def group_of(file: str) -> str | None:
    """The ``xdist_group`` that a test file names: its tests share results or a browser."""
    path = Path(__file__).parents[1] / file
    found = re.search(r'xdist_group\("(\w+)"\)', path.read_text(encoding="utf-8"))
    return found and found[1]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One process per group. xdist 3.8 alone does not see the groups of pytest 9.2: it renames the
    tests, which pytest ignores.
    """
    from xdist.scheduler import LoadGroupScheduling

    class ByFile(LoadGroupScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid.partition("::")[0]) or nodeid

    return ByFile(config, log)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a real PostgreSQL from its wheel, on a socket in a temporary folder; starts
    when first asked for.
    """
    with postgresql() as running:
        yield running.get_uri()


@pytest.fixture(autouse=True)
def figures() -> Iterator[None]:
    """Pictures that a test drew are closed: matplotlib warns of the twenty-first."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
