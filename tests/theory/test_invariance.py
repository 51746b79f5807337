"""y → cy with B → cB, R → cR and λ fixed leaves the queries unchanged; so does an affine map of x.
theory.md#units
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.space.array import Array
from noregret.testing.problems import bump


def queries(
    make: Callable[[float], Any], scale: float, bounds: tuple[float, float] = (0.0, 1.0)
) -> Array:
    f, rng = bump(), np.random.default_rng(0)
    low, high = bounds

    def objective(x: Array) -> float:
        return scale * (float(f((x - low) / (high - low))) + 0.1 * rng.standard_normal())

    study = nr.maximize(objective, [bounds], 25, make(scale), 3)
    return (np.array([t.params for t in study.trials]) - low) / (high - low)


MAKERS: list[Callable[[float], Any]] = [
    lambda c: nr.AdaptiveGPUCB.rigorous(0.1 * c, norm_bound=1.0 * c),
    lambda c: nr.GPUCB(
        lengthscales=0.2,
        norm_bound=2 * c,
        noise_std=0.1 * c,
        regulariser=0.01,
        width="abbasi_yadkori",
    ),
    lambda c: nr.InsuredGPUCB(),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("scale", [1e-12, 1e-3, 64.0, 1e12])
def test_units_of_the_values(make: Callable[[float], Any], scale: float) -> None:
    np.testing.assert_allclose(queries(make, scale), queries(make, 1.0), atol=1e-3)


@pytest.mark.parametrize("make", MAKERS)
def test_units_of_the_inputs(make: Callable[[float], Any]) -> None:
    np.testing.assert_allclose(queries(make, 1.0, (-300.0, 700.0)), queries(make, 1.0), atol=1e-3)


def test_negative_control_scaling_the_values_alone_changes_the_queries() -> None:
    fixed = nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=1.0)
    assert np.abs(queries(lambda c: fixed, 64.0) - queries(lambda c: fixed, 1.0)).max() > 0.05
