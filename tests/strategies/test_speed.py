"""What makes asks fast must not change what they answer; and the speed report says what was
measured.
"""

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.gp.evidence import Evidence
from noregret.gp.kernels import Matern
from noregret.gp.map import MAP
from noregret.gp.priors import LogNormal
from noregret.strategies import units as frames
from noregret.strategies.units import estimate, frame
from noregret.trials import History
from research.benchmarks import speed

ASK = """
import json, sys, numpy as np, noregret as nr
n, d = map(int, sys.argv[1:])
rng = np.random.default_rng(n)
X = rng.random((n, d))
study = nr.Study([(0, 1)] * d, "maximize", nr.AdaptiveGPUCB.practical(), 0)
for x, value in zip(X, np.sin(5 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)):
    study.add(x, float(value))
print(json.dumps([[float(v) for v in study.ask().params] for _ in range(2)]))
"""


@pytest.mark.parametrize(("n", "d"), [(40, 2), (300, 3)])
def test_asks_do_not_depend_on_the_number_of_threads(n: int, d: int) -> None:
    answers = []
    for threads in ("1", "2"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", ASK, str(n), str(d)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(np.array(json.loads(done.stdout)))
    np.testing.assert_allclose(answers[0], answers[1], rtol=0, atol=1e-10)


def test_nothing_is_remembered_between_asks() -> None:
    """A warm process and a cold one, and one that asked something else in between, answer the same
    bits.
    """
    rng = np.random.default_rng(0)
    warm = nr.minimize(
        lambda x: float((x[0] - 0.3) ** 2 + 0.01 * rng.standard_normal()), [(0, 1)] * 2, 20, seed=3
    )
    nr.minimize(lambda x: float(x[0]), [(0, 1)] * 2, 12, seed=9)
    cold = nr.Study([(0, 1)] * 2, "minimize", warm.strategy, 3, trials=warm.trials)
    assert np.array_equal(warm.ask().params, cold.ask().params)


def test_estimates_are_improved_as_the_data_grow_and_searched_less_often() -> None:
    study = nr.minimize(lambda x: float((x[0] - 0.3) ** 2), [(0, 1)], 90, seed=1)
    infos = [trial.info for trial in study.trials if "h" in trial.info]
    improved = sorted({info["improved"] for info in infos})
    searched = sorted({info["searched"] for info in infos})
    assert (
        len(searched) < len(improved) < len(infos)
    )  # less often than asked, and that less often still
    assert all(b < 1.05 * a + 1 for a, b in itertools.pairwise(improved))
    assert all(b < 1.1 * a + 1 for a, b in itertools.pairwise(searched))


def test_the_search_on_a_part_ends_at_the_estimate_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(120)
    history = History(X, y, np.full(120, np.nan), np.empty((0, 2)), np.empty((0, 2)))
    framed = frame(history, standardise=True, offset=0.0, noise_std=None, regulariser=None)
    rule = MAP(prior=LogNormal(1.4, 1.7, dimension_scaled=True))
    whole = estimate(framed, Matern(2.5), rule, np.full(2, 1.5), (), np.random.default_rng(1))
    monkeypatch.setattr(frames, "COARSE", 40)
    parted = estimate(framed, Matern(2.5), rule, np.full(2, 1.5), (), np.random.default_rng(1))
    assert whole is not None
    assert parted is not None
    np.testing.assert_allclose(parted.lengthscales, whole.lengthscales, rtol=1e-3)
    assert parted.noise_var == pytest.approx(whole.noise_var, rel=1e-3)


def test_a_part_of_the_evidence_keeps_the_noise_unknown() -> None:
    told = np.array([0.1, 0.1, 0.1, np.nan])
    evidence = Evidence(
        Matern(2.5), np.arange(4.0)[:, None] / 4, np.zeros(4), told, LogNormal(), LogNormal()
    )
    part = evidence.part(np.array([0, 1]))
    assert part.estimates_noise
    assert part.X[:, 0].tolist() == [0.0, 0.25, 0.75]


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
