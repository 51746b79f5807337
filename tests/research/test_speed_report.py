"""The speed report says what was measured."""

import json
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from research.benchmarks import speed


def test_the_report_says_where_speed_falls_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rows(n: int, ours: float) -> list[dict[str, object]]:
        return [
            {"d": 2, "n": n, "method": "noregret", "first": 1.0, "median": ours, "mean": ours},
            {"d": 2, "n": n, "method": "optuna_gp", "first": 1.0, "median": 0.1, "mean": 0.1},
            {"d": 2, "n": n, "method": "optuna_tpe", "first": 1.0, "median": 0.005, "mean": 0.005},
            {"d": 2, "n": n, "method": "floor", "median": 0.001},
        ]

    variants = [
        {"name": name, "first": None, "median": 0.01 * (i + 1), "mean": None}
        for i, name in enumerate(speed.VARIANTS)
    ]
    footprint = {"import": 0.3, "import_scipy": 0.25, "package_bytes": 4e5, "matrices": 3.1}
    result = {
        "rows": [*rows(50, 0.009), *rows(100, 0.02), *rows(500, 0.02), *rows(5000, 2.0)],
        "variants": variants,
        "footprint": footprint,
        "machine": "m",
    }
    path = tmp_path / "speed.json"
    path.write_text(json.dumps(result))
    monkeypatch.setattr(speed, "RESULT", path)
    text = speed.section(tmp_path)
    assert "missed at d=2, n=100: 5.0×; d=2, n=500: 5.0×" in text
    assert "TPE for n ≤ 200: missed at d=2, n=100: 4.0×" in text
    assert "exponent: 2.00 (d=2)" in text  # log10 of (2.0 + a share of 1.0/100)/0.02
    assert "1.20× of scipy" in text
    assert "one-step estimator's ask is 0.7× the bound" in text
    assert (tmp_path / "figures" / "bench-speed.png").stat().st_size > 5000


def test_regret_before_and_after_is_compared_problem_by_problem(tmp_path: Path) -> None:
    for name, values in (("before", [3.0, 5.0]), ("after", [3.0, 5.0 - 4 * (np.e - 1)])):
        (tmp_path / name).mkdir()
        rows = [
            {"problem": p, "method": m, "maximum": top, "values": v}
            for p, m, top, v in (
                ("a", "noregret", 9.0, [5.0, 5.0]),
                ("b", "noregret", 9.0, [9.0, values[1]]),
                ("b", "cma", 9.0, [0.0]),
                ("c", "noregret", None, [1.0]),
            )
        ]
        (tmp_path / name / "x.jsonl").write_text(
            "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
        )
    before, after = speed.cumulative(tmp_path / "before"), speed.cumulative(tmp_path / "after")
    assert before == {"a": 8.0, "b": 4.0}
    assert after["b"] == pytest.approx(4 * np.e)
    text = speed.unchanged(
        {name: [before[name], after[name]] for name in before}
    )  # log ratios 0 and 1
    assert "regrets is 0.500, its standard error 0.500, on 2 problems" in text


def test_speed_is_measured_on_what_was_told() -> None:
    first, *later = speed.times(speed._study(nr.RandomSearch(), 2), 2, 5, 3)
    assert first > 0
    assert len(later) == 3
    assert speed.floor(2, 20) > 0
