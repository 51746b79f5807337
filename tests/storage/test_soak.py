"""The soak of ``make soak``, a few seconds of it, and that its judge would notice."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noregret.trials import Trial
from tests.databases import make_url
from tests.soak import FAULTS, judged

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_short_soak(kind: str, request: pytest.FixtureRequest) -> None:
    command = [sys.executable, "-m", "tests.soak", "--minutes", "0.1", "--processes", "5"]
    done = subprocess.run(
        [*command, "--storage", make_url(kind, request)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert not any(found[each] for each in FAULTS)
    assert found["killed"] + found["stopped"] > 0
    assert found["asked"] + found["told"] > 0
    assert found["derived"] > 0


TRIALS = [Trial(0, {"x": 0.1}, "complete", 1.0), Trial(1, {"x": 0.2}, "complete", 2.0)]
NOTES: list[Any] = [
    ["asked", "s", 0, {"x": 0.1}],
    ["told", "s", 0, 1.0],
    ["told", "s", 1, 2.0],
    ["seen", "s", 1, 2.0],
]


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    found = judged(NOTES, {"s": TRIALS})
    assert (found["lost"], found["twice"], found["gaps"], found["trials"]) == (0, 0, 0, 2)


@pytest.mark.parametrize(
    ("fault", "notes", "trials"),
    [
        ("lost", NOTES, TRIALS[:1]),
        ("lost", NOTES, [replace(TRIALS[0], value=3.0), TRIALS[1]]),
        ("lost", NOTES, [replace(TRIALS[0], params={"x": 0.7}), TRIALS[1]]),
        ("twice", [*NOTES, NOTES[1]], TRIALS),
        ("gaps", NOTES, [TRIALS[0], replace(TRIALS[1], number=2)]),
    ],
)
def test_every_fault_is_found(fault: str, notes: list[Any], trials: list[Trial]) -> None:
    assert judged(notes, {"s": trials})[fault] > 0
