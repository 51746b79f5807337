"""Values and noise of any size: no warning, no error, and the same answers up to their scale."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.strategies import Strategy


def wave(x: float) -> float:
    return math.sin(7 * x)


def played(
    value: Callable[[float, int], float],
    noise: Callable[[int], float | None] = lambda number: None,
    strategy: Strategy | None = None,
    trials: int = 25,
) -> nr.Study:
    study = nr.Study([(0.0, 1.0)], "maximize", strategy=strategy)
    for number in range(trials):
        trial = study.ask()
        study.tell(trial, value(float(trial.params[0]), number), noise_std=noise(number))
    return study


STRATEGIES: dict[str, Strategy] = {
    "default": nr.InsuredGPUCB(),
    "gp-ucb": nr.GPUCB(),
    "log-ei": nr.LogEI(),
    "minimum uncertainty": nr.MinimumUncertainty(),
}


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("size", [1.7e308, 1e-300, 5e-324])
def test_values_of_any_size(name: str, size: float) -> None:
    study = played(lambda x, n: size * wave(x), strategy=STRATEGIES[name], trials=12)
    result = study.result()
    assert result.certificate is not None
    assert math.isfinite(result.certificate.regret_bound)
    assert result.prediction is not None
    assert all(map(math.isfinite, result.prediction))
    for trial in study.trials:
        if trial.decision.model is not None:
            assert math.isfinite(trial.why.mean)
            assert math.isfinite(trial.why.std)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("power", [300, -300])
@pytest.mark.parametrize("alternating", [False, True])
def test_told_noise_of_any_size(name: str, power: int, alternating: bool) -> None:
    def noise(number: int) -> float:
        return 10.0 ** (power * ((-1) ** number if alternating else 1))

    study = played(lambda x, n: wave(x), noise, STRATEGIES[name], 14)
    assert math.isfinite(study.certificate().regret_bound)


def test_an_offset_of_a_billion_changes_nothing() -> None:
    """The certificate was 88 for a function that varies by 0.002."""
    near, far = (
        played(lambda x, n, offset=offset: offset + 1e-3 * wave(x))  # type: ignore[misc]
        for offset in (0.0, 1e9)
    )
    assert near.certificate().regret_bound < 1e-4
    assert far.certificate().regret_bound < 5e-3  # the digits that are lost are noise
    best = max(1e-3 * wave(x) for x in np.linspace(0, 1, 1001))
    assert far.recommended.value == pytest.approx(1e9 + best, abs=1e-5)


@pytest.mark.parametrize("disaster", [-1e4, -1e12, -1.7e308])
def test_one_disaster_does_not_hide_the_best_point(disaster: float) -> None:
    """The recommended point missed by 0.5."""
    study = played(lambda x, n: disaster if n == 3 else wave(x), trials=40)
    assert study.recommended.value is not None
    assert study.recommended.value > 0.99


def test_pure_chaos() -> None:
    sizes = [1.7e308, -1.7e308, 0.0, 1e-300, -1e9, 5e-324]
    study = played(lambda x, n: sizes[n % len(sizes)], trials=18)
    answer: Any = study.result()
    assert answer.best.value == 1.7e308


@pytest.mark.parametrize("height", [1e2, 1e6])
def test_a_value_far_above_the_rest_is_not_fenced(height: float) -> None:
    """It may be the needle: the model believes it, and the search goes back there."""
    study = played(lambda x, n: height if n == 5 else wave(x), trials=12)
    needle = study.trials[5].params[0]
    assert study.best.number == 5
    belief = study.belief()
    assert belief is not None
    mean, _ = belief.predict(np.array([[needle], [1.0 - needle]]))
    assert mean[0] > max(mean[1], 0.05 * height)  # other values are 1 at most
    near = [abs(trial.params[0] - needle) < 0.1 for trial in study.trials[6:]]
    assert any(near)
