"""Values of any size, told noise of any size, every registered strategy: through the study alone,
so that whatever the strategies are made of is held to the same.
"""

import inspect
import math
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import GuaranteeWarning
from noregret.strategies import registry
from tests.components import needed

SQUARE = {"x": nr.Float(0, 1), "y": nr.Float(0, 1)}
ASKS = 24  # beyond the initial design and the repeats
PATROLLED = 42  # the default: beyond its first patrol


def branin(x: float, y: float) -> float:
    a, b = 15 * x - 5, 15 * y
    bowl = b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6
    return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10


def sphere(x: float, y: float) -> float:
    return (x - 0.3) ** 2 + (y - 0.6) ** 2


def wave(x: float, y: float) -> float:
    return math.sin(7 * x) * math.cos(5 * y)


def decades(x: float, y: float) -> float:
    """300 orders of magnitude."""
    return 10.0 ** (300 * x - 150) * (1 + y)


Value = Callable[[float, float, int, np.random.Generator], float]
CASES: dict[str, Value] = {
    "1e-170": lambda x, y, n, rng: 1e-170 * branin(x, y),
    "1e200": lambda x, y, n, rng: 1e200 * branin(x, y),
    "the largest": lambda x, y, n, rng: 1.7e308 * wave(x, y),
    "alternating": lambda x, y, n, rng: 1e308 if n % 2 else -1e308,
    "decades": lambda x, y, n, rng: decades(x, y),
    "noisy decades": lambda x, y, n, rng: decades(x, y) * math.exp(0.3 * rng.standard_normal()),
    "an offset": lambda x, y, n, rng: 1e16 + branin(x, y),
    "a noisy offset": lambda x, y, n, rng: 1e16 + branin(x, y) + 3 * rng.standard_normal(),
    "in turn": lambda x, y, n, rng: 1.0 if n % 2 else 10.0 ** min(12 * n, 300),
}
# more is computed with fewer strategies: each pair of a model and a case is there once
THINNED = {
    "insured": tuple(CASES),
    "rigorous": tuple(CASES),
    "paper": ("the largest", "in turn"),
    "lb-gp-ucb": ("the largest", "alternating", "an offset"),
    "gp-ucb": ("decades", "an offset"),
    "log-ei": ("noisy decades", "in turn"),
    "minimum-uncertainty": ("decades",),
    "thompson": ("in turn",),
    "randomised-gp-ucb": ("decades",),
    "subspace": ("1e-170",),
    "random": ("the largest",),
}


def pairs() -> list[tuple[str, str]]:
    return [(name, case) for name, cases in THINNED.items() for case in cases]


def strategy(name: str, noise_std: float | None = None) -> Any:
    options = inspect.signature(registry.names()[name]).parameters
    key = "noise_std" if "noise_std" in options else "noise_bound"
    required = options[key].default is inspect.Parameter.empty if key in options else False
    given = 0.1 if required and noise_std is None else noise_std
    return registry.named(name, {} if given is None else {key: given})


def played(
    made: Any,
    value: Value,
    asks: int = ASKS,
    told: float | None = None,
    outcomes: Any = None,
) -> nr.Study:
    """Each proposal lies in the space and forecasts numbers."""
    study = nr.Study(SQUARE, "minimize", made, outcomes=outcomes)
    rng = np.random.default_rng(5)
    for number in range(asks):
        trial = study.ask()
        assert all(0 <= each <= 1 for each in trial.params.values())
        if trial.decision.model is not None and outcomes is None:
            assert math.isfinite(trial.why.mean)
            assert math.isfinite(trial.why.std)
        measured: Any = {"c": 1.0} if outcomes else None
        found = value(trial.params["x"], trial.params["y"], number, rng)
        study.tell(trial, found, noise_std=told, outcomes=measured)
    return study


def check(study: nr.Study) -> None:
    """Nothing absurd in what a study answers."""
    result = study.result()
    values = np.sort([trial.value for trial in study.trials if trial.value is not None])
    assert result.recommended.value is not None
    best, middle = values[0], values[len(values) // 2]
    with np.errstate(over="ignore"):
        assert result.recommended.value <= middle + (middle - best)
    if result.belief is None:
        return
    assert result.prediction is not None
    assert all(map(math.isfinite, result.prediction))
    assert np.isfinite(result.belief.predict(np.random.default_rng(0).random((20, 2)))).all()
    assert result.certificate is not None
    assert 0 < result.certificate.regret_bound <= sys.float_info.max


def test_every_strategy_is_in_the_matrix() -> None:
    assert {*THINNED, "marginal-gp-ucb"} == registry.names().keys()


@pytest.mark.filterwarnings("ignore::noregret.errors.GuaranteeWarning")
@pytest.mark.parametrize(("name", "case"), pairs())
def test_values_of_any_size(name: str, case: str) -> None:
    asks = PATROLLED if name == "insured" else ASKS
    check(played(strategy(name), CASES[case], asks))


def test_values_of_any_size_with_sampled_lengthscales() -> None:
    needed("mici", "hmc")
    check(played(registry.named("marginal-gp-ucb", {}), CASES["the largest"], 8))


@pytest.mark.parametrize("name", ["insured", "rigorous", "paper", "gp-ucb", "lb-gp-ucb", "log-ei"])
def test_a_known_noise_far_below_rounding(name: str) -> None:
    """The covariance matrix was not positive definite."""
    with pytest.warns(GuaranteeWarning) if name == "paper" else nullcontext():
        made = strategy(name, 1e-9)
    check(played(made, lambda x, y, n, rng: sphere(x, y), 36))


def test_a_known_noise_of_a_millionth() -> None:
    check(played(strategy("insured", 1e-6), lambda x, y, n, rng: branin(x, y), 50))


def test_a_told_noise_far_below_rounding() -> None:
    check(played(strategy("rigorous", 0.1), lambda x, y, n, rng: sphere(x, y), told=1e-9))
    check(played(strategy("insured"), lambda x, y, n, rng: sphere(x, y), told=1e-9))


def test_the_certificate_of_the_largest_numbers_is_not_zero() -> None:
    """Both ends of the band were the largest float, and their difference 0."""
    study = played(None, lambda x, y, n, rng: 1.7e308 if x < 0.5 else -1.7e308, 12)
    assert study.certificate().regret_bound > 0


def test_a_bound_of_values_that_are_beyond_floats_is_no_theorem() -> None:
    study = played(strategy("rigorous", 0.1), CASES["the largest"])
    certificate = study.certificate()
    assert not certificate.proved
    assert "far beyond norm_bound" in certificate.condition
    assert certificate.regret_bound > 1e307
    assert not any(
        trial.decision.payload["proved"]
        for trial in study.trials
        if trial.decision.model is not None
    )


def test_a_constant_outcome_that_breaks_its_limit() -> None:
    """Its gradient overflowed."""
    limits = {"c": nr.AtMost(0.0)}
    study = played(None, lambda x, y, n, rng: branin(x, y), outcomes=limits)
    assert study.result().feasible is False


# -- what is recommended --


@pytest.mark.parametrize("name", ["insured", "gp-ucb", "log-ei"])
def test_no_disaster_is_recommended(name: str) -> None:
    """A loss that diverges towards a corner: the model sees nothing but the corner."""

    def loss(x: float, y: float, n: int, rng: np.random.Generator) -> float:
        return sphere(x, y) + min(1e6, 1e-2 / (1e-8 + ((x - 1) ** 2 + (y - 1) ** 2) ** 2))

    for asks in (12, 30):
        study = played(strategy(name), loss, asks)
        assert study.recommended.value is not None
        assert study.best.value is not None
        assert study.recommended.value < 100 * max(study.best.value, 1e-3)


# -- bandits --


def pulls(space: dict[str, Any], mean: Callable[[Any], float], asks: int) -> Counter[Any]:
    study, rng = nr.Study(space, "maximize", seed=1), np.random.default_rng(9)
    found: Counter[Any] = Counter()
    for _ in range(asks):
        trial = study.ask()
        design = tuple(trial.params.values())
        found[design] += 1
        study.tell(trial, mean(design) + 0.3 * rng.standard_normal())
    return found


@pytest.mark.parametrize("order", ["abcdefghij", "jihgfedcba", "fabjcdiehg"])
def test_the_worst_of_ten_noisy_designs_is_rare(order: str) -> None:
    """Once each had been measured three times, the first of the list was taken for ever."""
    found = pulls({"arm": nr.Choice(list(order))}, lambda arm: 0.1 * "abcdefghij".index(*arm), 200)
    assert found[("a",)] < 20
    assert found[("j",)] > 60


def test_the_worst_of_a_small_grid_is_rare() -> None:
    space = {"i": nr.Int(0, 3), "j": nr.Int(0, 2)}
    found = pulls(space, lambda at: -0.1 * ((at[0] - 3) ** 2 + (at[1] - 2) ** 2), 120)
    assert found[(0, 0)] < 12
