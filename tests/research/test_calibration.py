"""What is measured of forecasts and of what may be left, and how the page judges it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from docs.making import calibration_section
from noregret.strategies import Belief
from research.benchmarks.calibration import TUNING_SIDE, looked_at, main, measure, summary
from research.benchmarks.faults import faults
from research.benchmarks.regret import problems
from research.benchmarks.synthetic import needle


def row(suite: str, inside: int, looks: list[list[float]], alarm: bool = False) -> dict[str, Any]:
    return {
        "suite": suite,
        "looks": looks,
        "spread": 2.0,
        "inside": inside,
        "values": 10,
        "alarm": alarm,
    }


def kept(rows: list[dict[str, Any]]) -> list[bool | None]:
    return [promise.kept for promise in calibration_section.promises(rows)]


def test_verdicts_turn_with_the_numbers() -> None:
    good = [row("needle", 9, [[10, 1.0, 0.5]]), row("rkhs", 9, [[10, 1.0, 1.0]])]
    assert kept(good) == [True] * 4
    assert kept([*good, row("mixed", 7, [])]) == [False, False, True, True]  # 83 %, 70 %
    assert kept([*good, row("mixed", 10, [])]) == [True] * 4
    assert kept([row("needle", 10, [[10, 1.0, 0.5]])])[0] is False  # too wide
    assert kept([*good, row("mixed", 9, [[10, 1.0, 1.1]])])[2] is False
    assert kept([*good, row("mixed", 9, [], alarm=True)])[3] is False
    assert kept([*good, row("faults", 9, [], alarm=True)])[3] is True  # it may be right there
    pooled = summary([*good, row("mixed", 8, [[10, 1.0, np.nan]])])[-1]  # no maximum is known
    assert (pooled.looks, pooled.holds, pooled.times) == (2, 1.0, 0.5)


def test_a_run_is_looked_at_from_the_tenth_decision_on() -> None:
    found = looked_at(needle(1005), nr.InsuredGPUCB(), 1000, every=30)
    assert [look[0] for look in found["looks"]] == [10, 40]
    assert found["values"] == 50 - 3 - 9
    assert 0.7 < found["inside"] / found["values"] <= 1


def test_bounds_that_are_too_small_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    original = Belief.bounds

    def shrunk(belief: Belief, A: Any) -> Any:
        middle = np.add(*original(belief, A)) / 2
        return middle, middle

    monkeypatch.setattr(Belief, "bounds", shrunk)
    found = looked_at(needle(1005), nr.InsuredGPUCB(), 1000, every=30)
    assert summary([{"suite": "needle", **found}])[-1].holds < 0.9


def test_failed_trials_have_no_value_to_be_held_against() -> None:
    problem = replace(faults(1001), trials=40)
    found = looked_at(problem, nr.InsuredGPUCB(), 1003, every=20)
    assert 0 < found["values"] < 40 - problem.initial - 9


def test_sides_do_not_meet() -> None:
    for suite, names in TUNING_SIDE.items():
        if suite != "standard":  # told apart by seeds
            assert not set(names) & set(problems(suite, quick=False))


def test_the_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Not run." in calibration_section.section(tmp_path / "nothing.json")
    out = tmp_path / "out.json"
    command = "calibration --side tuning --suites needle --thin 42 --every 40 --out"
    monkeypatch.setattr("sys.argv", [*command.split(), str(out)])
    assert main() == 0
    assert len(json.loads(out.read_text(encoding="utf-8"))["rows"]) == 1
    text = calibration_section.section(out)
    assert "| needle | 1 |" in text
    assert "| pooled | 1 |" in text
    assert measure([], 0, 1, None) == []
