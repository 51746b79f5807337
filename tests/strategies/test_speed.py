"""What makes asks fast must not change what they answer."""

import itertools
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.gp import fit
from noregret.gp.fit import MAP, Evidence, LogNormal, lasting_part, log_evidence_gradient
from noregret.gp.kernels import Matern
from noregret.strategies.data import ModelData, standardise
from noregret.strategies.surrogate import estimate
from noregret.trials import History
from tests.recorded import decision, recorded

ASK = """
import json, sys, numpy as np, noregret as nr
n, d = map(int, sys.argv[1:])
rng = np.random.default_rng(n)
X = rng.random((n, d))
study = nr.Study([(0, 1)] * d, "maximize", nr.InsuredGPUCB(), 0)
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
    # threads round differently, and an estimate stops within 2e-9 of the evidence: where, differs
    np.testing.assert_allclose(answers[0], answers[1], rtol=0, atol=1e-6)


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
    whys = [recorded(each) for each in study.trials if each.decision.model is not None]
    improved = sorted({why.improved for why in whys})
    searched = sorted({why.searched for why in whys})
    assert (
        len(searched) < len(improved) < len(whys)
    )  # less often than asked, and that less often still
    assert all(b < 1.05 * a + 1 for a, b in itertools.pairwise(improved))
    assert all(b < 1.1 * a + 1 for a, b in itertools.pairwise(searched))


def test_the_search_on_a_part_ends_at_the_estimate_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(120)
    history = History(X, y, np.full(120, np.nan), np.empty((0, 2)), np.empty((0, 2)))
    framed = standardise(history, rescale=True, offset=0.0, noise_std=None, regulariser=None)
    rule = MAP(prior=LogNormal(1.4, 1.7, dimension_scaled=True))
    whole = estimate(framed, Matern(2.5), rule, np.full(2, 1.5), history, np.random.default_rng(1))
    monkeypatch.setattr(fit, "COARSE", 40)
    parted = estimate(framed, Matern(2.5), rule, np.full(2, 1.5), history, np.random.default_rng(1))
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


def noisy_waves(n: int) -> ModelData:
    rng = np.random.default_rng(0)
    X = rng.random((n, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(n)
    history = History(X, y, np.full(n, np.nan), np.empty((0, 2)), np.empty((0, 2)))
    return standardise(history, rescale=True, offset=0.0, noise_std=None, regulariser=None)


def test_an_estimate_never_factorises_more_than_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the search from all starts nor an improvement; both note how many points there
    were.
    """
    sizes: list[int] = []
    true = log_evidence_gradient

    def noted(kernel: Any, lengthscales: Any, X: Any, *rest: Any, **options: Any) -> Any:
        sizes.append(len(X))
        return true(kernel, lengthscales, X, *rest, **options)

    monkeypatch.setattr(fit, "log_evidence_gradient", noted)
    monkeypatch.setattr(fit, "COARSE", 40)
    monkeypatch.setattr(fit, "ENOUGH", 80)
    framed, rule = noisy_waves(200), MAP(prior=LogNormal(1.4, 1.7, True), patience=9.0)
    rng, widest = np.random.default_rng(1), np.full(2, 1.5)
    nothing = History.empty(2)
    found = estimate(framed, Matern(2.5), rule, widest, nothing, rng)
    assert found is not None
    assert (found.searched, found.improved) == (200, 200)
    assert set(sizes) == {41, 81}  # one more, so that the noise stays unknown
    sizes.clear()
    lengthscales = tuple(found.lengthscales.tolist())
    earlier = decision(
        lengthscales=lengthscales,
        fitted_lengthscales=lengthscales,
        noise_var=found.noise_var,
        searched=150,
        improved=150,
    )
    better = estimate(
        framed, Matern(2.5), rule, widest, replace(nothing, decisions=(earlier,)), rng
    )
    assert better is not None
    assert (better.searched, better.improved) == (150, 200)
    assert set(sizes) == {81}
    monkeypatch.setattr(fit, "ENOUGH", 1000)
    whole = estimate(framed, Matern(2.5), rule, widest, nothing, np.random.default_rng(1))
    assert whole is not None
    ratio = found.lengthscales / whole.lengthscales
    assert np.all((ratio > 0.5) & (ratio < 2))


def test_the_part_that_is_fitted_changes_little_by_little() -> None:
    parts = [set(lasting_part(n, 50).tolist()) for n in range(50, 400)]
    assert parts[0] == set(range(50))
    for n, (before, after) in enumerate(itertools.pairwise(parts), start=51):
        assert len(after) == 50
        assert after - before <= {n - 1}  # the new row or none
    changes = sum(a != b for a, b in itertools.pairwise(parts))
    assert changes == pytest.approx(50 * math.log(400 / 50), rel=0.3)  # Σ 50/n
    counts = sum(1 for row in parts[-1] if row < 200)
    assert 13 < counts < 37  # old and new rows alike: 25 ± 2.5 standard deviations
