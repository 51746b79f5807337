"""Small solves run on one BLAS thread: tests run one process per core."""

import os
import sys
from collections.abc import Iterator

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from tests.databases import postgresql

settings.register_profile(
    "noregret", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("noregret")


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
