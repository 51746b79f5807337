"""The soak of ``make soak``, a few seconds of it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.databases import make_url

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_short_soak(kind: str, request: pytest.FixtureRequest) -> None:
    command = [sys.executable, "-m", "tests.soak", "--minutes", "0.1", "--processes", "6"]
    done = subprocess.run(
        [*command, "--storage", make_url(kind, request)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["killed"] + found["stopped"] > 0
    assert found["told"] > 10
