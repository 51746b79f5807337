"""The chance to succeed: failures by place are avoided, failures by chance lead nowhere."""

from __future__ import annotations

import numpy as np
import pytest

import noregret as nr
from noregret.gp import Matern, condition
from noregret.search import log_ei, ucb
from noregret.space import Array, Mask
from noregret.strategies.feasibility import FailureModel, SuccessModel, log_above, product_of
from tests import naive


def learnt(X: Array, has_failed: Mask) -> FailureModel:
    return FailureModel.fit(X[~has_failed], X[has_failed], np.arange(X.shape[1]))


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("rate", [0.3, 0.5])
def test_failures_by_chance_leave_the_chance_nearly_constant(d: int, rate: float) -> None:
    """Nearly: in five of six draws P differs by at most a quarter between places, and its mean is
    the share that succeeded.
    """
    weights, spreads = [], []
    for seed in range(6):
        rng = np.random.default_rng([seed, d])
        X = rng.random((40, d))
        has_failed = rng.random(40) < rate
        chance = learnt(X, has_failed)
        p = chance.chance(rng.random((300, d)))
        weights.append(chance.depends)
        spreads.append(float(p.max() - p.min()))
        assert p.mean() == pytest.approx(1 - has_failed.mean(), abs=0.1)
    assert np.median(weights) < 0.1
    assert np.sort(spreads)[-2] < 0.25


@pytest.mark.parametrize("n", [20, 60])
def test_a_region_that_fails_is_recognised(n: int) -> None:
    rng = np.random.default_rng(2)
    X = rng.random((n, 2))
    chance = learnt(X, X[:, 0] > 0.7)
    assert chance.depends > 0.9
    assert chance.chance(np.array([[0.95, 0.5], [0.9, 0.2]])).max() < 0.3
    assert chance.chance(np.array([[0.4, 0.5], [0.2, 0.9]])).min() > 0.85
    shuffled = learnt(X, rng.permutation(X[:, 0] > 0.7))  # the control: as many, anywhere
    assert shuffled.depends < 0.2


def test_a_region_is_seen_among_failures_by_chance() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((80, 2))
    chance = learnt(X, (X[:, 0] > 0.6) | (rng.random(80) < 0.15))
    inside, outside = chance.chance(np.array([[0.9, 0.5], [0.3, 0.5]]))
    assert inside < 0.35
    assert outside > 0.6


def test_all_failed_and_one_failed() -> None:
    X = np.random.default_rng(0).random((6, 2))
    for count in (1, 6):
        chance = learnt(X, np.arange(6) < count)
        p = chance.chance(X)
        assert np.all((p > 0) & (p < 1))
    assert learnt(X, np.ones(6, dtype=np.bool_)).rate == pytest.approx(7 / 8)  # Laplace's rule


def test_the_logarithm_has_the_right_gradient() -> None:
    rng = np.random.default_rng(1)
    X, A = rng.random((40, 3)), rng.random((5, 3))
    chance = learnt(X, X[:, 0] + 0.2 * rng.standard_normal(40) > 0.6)
    assert chance.depends > 0.01
    values, slopes = chance.gradients(A)
    np.testing.assert_allclose(values, np.log(chance.chance(A)), rtol=1e-9)
    np.testing.assert_allclose(chance.log_chance(A), values, rtol=1e-9)
    for row, slope in zip(A, slopes, strict=True):
        numeric = naive.numeric_gradient(lambda x: np.log(chance.chance(x[None]))[0], row)
        np.testing.assert_allclose(slope, numeric, atol=1e-5)


@pytest.mark.parametrize("rule", ["ucb", "ei"])
def test_gain_times_chance_has_the_right_gradient(rule: str) -> None:
    rng = np.random.default_rng(4)
    X, A = rng.random((25, 2)), rng.random((5, 2))
    y = -((X - 0.4) ** 2).sum(axis=1)
    posterior = condition(Matern(2.5), np.ones(2), X, y, 1e-3, kriging=True)
    gain = log_above(ucb(posterior, 1.5), -2.0) if rule == "ucb" else log_ei(posterior, -0.05)
    total = product_of(gain, SuccessModel(learnt(X, X[:, 0] > 0.7)).log)
    assert total.is_log
    for row, slope in zip(A, total.gradients(A)[1], strict=True):
        numeric = naive.numeric_gradient(lambda x: total.values(x[None])[0], row)
        np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("by_place", [False, True])
def test_the_default_finds_the_optimum_in_spite_of_failures(by_place: bool) -> None:
    """Two fifths fail, by chance or beyond an edge that the trend leads to."""
    rng = np.random.default_rng(5)
    study = nr.Study([(0.0, 1.0)] * 2, "maximize", seed=0)
    failed = 0
    for _ in range(40):
        trial = study.ask()
        x = trial.params
        if x[0] > 0.6 if by_place else rng.random() < 0.4:
            failed += 1
            study.tell(trial, state="failed")
        elif by_place:
            study.tell(trial, float(x[0] - 0.6 - (x[1] - 0.5) ** 2))
        else:
            study.tell(trial, -float((x[0] - 0.3) ** 2 + (x[1] - 0.6) ** 2))
    assert study.best.value == pytest.approx(0.0, abs=0.03 if by_place else 1e-3)
    assert failed < 20
