"""What may be left: the identity, checked by simulation, and what the study says."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, TrialError
from noregret.gp import Matern, PosteriorMixture, averaged, condition, covariance
from noregret.gp import mixture as room
from noregret.space import Array
from noregret.strategies import Belief
from noregret.study.remaining import quantile_of_gain

KERNEL, THETA, NOISE = Matern(2.5), np.array([0.2]), 0.05
GRID = np.linspace(0, 1, 60)[:, None]
SPACE = nr.Candidates([{"x": float(x)} for x in GRID[:, 0]])


def _same(mixture: PosteriorMixture) -> PosteriorMixture:
    return mixture


def drawn(rng: np.random.Generator) -> Array:
    """f on the grid, from the mixture itself: a class at random, then a function of it."""
    factor = rng.choice(room.LENGTHSCALE_FACTORS)
    K = covariance(KERNEL, factor * THETA, GRID, GRID) + 1e-9 * np.eye(len(GRID))
    f = rng.choice(room.AMPLITUDES) * np.linalg.cholesky(K) @ rng.standard_normal(len(GRID))
    return np.asarray(f + rng.normal())


def share_that_holds(runs: int, chance: float, *, fixed: bool) -> float:
    """Looks at a time that the data chose: the first after five values at which less is left than
    three, or after 14. fixed: with one class, too smooth and too flat.
    """
    held = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        f = drawn(rng)
        order = rng.permutation(len(GRID))
        y = f[order] + NOISE * rng.standard_normal(len(GRID))
        for n in range(5, 15):
            X = GRID[order[:n]]
            told = np.full(n, NOISE**2)
            if fixed:
                part = condition(KERNEL, 1.4 * THETA, X, y[:n], told, kriging=True)
                mixture = PosteriorMixture.equal([part])
            else:
                mixture = averaged(KERNEL, THETA, X, y[:n], told, NOISE**2)
            best = int(np.argmax(mixture.predict(X)[0]))
            belief = Belief(mixture, 2.0, THETA, 0.0, 1.0, "", mixture=partial(_same, mixture))
            left = quantile_of_gain(SPACE, belief, X[best], chance, seed)
            if left < 3:
                break
        held.append(f.max() - f[order[best]] <= left + 1e-9)
    return float(np.mean(held))


def test_the_identity_holds_at_a_stopping_time_and_a_wrong_class_breaks_it() -> None:
    runs, chance = 120, 0.8
    error = math.sqrt(chance * (1 - chance) / runs)
    assert share_that_holds(runs, chance, fixed=False) > chance - 3 * error
    assert share_that_holds(runs, chance, fixed=True) < chance - 3 * error


def hill(x: Array) -> float:
    return -float(np.sum((x - 0.3) ** 2))


def test_a_study_says_what_is_left_once_it_is_known() -> None:
    study = nr.Study([(0, 1)] * 2, "maximize")
    with pytest.raises(TrialError):
        study.left()
    study.run(hill, 10)
    assert study.left() is None  # five values per input say nothing yet
    study.run(hill, 10)
    left = study.left()
    assert left is not None
    truth = -hill(study.recommended.params)
    assert truth <= left < 0.2
    assert study.left(0.99) >= left >= study.left(0.5)  # type: ignore[operator]
    assert study.left() == left
    for chance in (0, 1, 2, "much"):
        with pytest.raises(ConfigurationError, match="chance"):
            study.left(chance)  # type: ignore[arg-type]


def test_a_run_stops_by_what_is_left() -> None:
    study = nr.Study([(0, 1)] * 2, "maximize")
    study.run(hill, 40, until=nr.LeftBelow(0.1))
    assert 10 < len(study.trials) < 40
    assert -hill(study.recommended.params) <= 0.1
    with pytest.raises(ConfigurationError, match="gain"):
        nr.LeftBelow(0.0)
    with pytest.raises(ConfigurationError, match="certificate"):
        nr.LeftBelow(0.1)(_told(nr.AdaptiveGPUCB.rigorous(0.1)))


def _told(strategy: object, **settings: object) -> nr.Study:
    study = nr.Study([(0, 1)], "maximize", strategy, **settings)  # type: ignore[arg-type]
    for x in (0.1, 0.5, 0.9):
        study.add([x], hill(np.array([x])))
    return study


def test_of_a_context_and_with_limits() -> None:
    space = {"x": nr.Float(0, 1), "z": nr.Float(0, 1)}
    study = nr.Study(space, "maximize", context=("z",))
    for x, z in np.random.default_rng(0).random((16, 2)):
        study.add({"x": x, "z": z}, -((x - z) ** 2))
    with pytest.raises(ConfigurationError, match="depends on the context"):
        study.left()
    left = study.left(context={"z": 0.5})
    assert left is not None
    assert left < 0.2
    limited = nr.Study([(0, 1)], "maximize", outcomes={"poison": nr.AtMost(0.5)})
    for x in np.linspace(0.02, 0.98, 12):
        limited.add([x], x, outcomes={"poison": x})
    left = limited.left()
    assert left is not None
    assert left < 0.15  # f rises on to 1, but only up to .5 is allowed
