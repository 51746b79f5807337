"""Theorem E: λ = T^(d/(2ν+2d)) for rough Matérn kernels. theory.md#rough"""

import math

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.gp import Matern, SquaredExponential
from noregret.testing.problems import rkhs_sample
from noregret.theory.orders import horizon_rate

LINE = np.linspace(0, 1, 101)[:, None]


def rough(horizon: int | None = 100, **settings: object) -> nr.GPUCB:
    given = {"lengthscales": 0.3, "norm_bound": 1.5, "noise_std": 0.1, "width": "mixture"}
    return nr.GPUCB(kernel=Matern(0.5), horizon=horizon, **{**given, **settings})  # type: ignore[arg-type]


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("nu", [0.5, 1.5])
def test_both_terms_of_the_bound_are_balanced_and_sublinear(d: int, nu: float) -> None:
    """√(Tλγ) and √T·γ with γ = (T/λ)^q are both T^(½ + a) at λ = T^a."""
    T, q = 1e6, d / (2 * nu + d)
    lam = nr.GPUCB(0.3, noise_std=0.1, width="mixture", kernel=Matern(nu), horizon=int(T))
    settled = lam.inner(d).settled_regulariser
    gamma = (T / settled) ** q
    rate = T ** horizon_rate(Matern(nu), d).t
    assert math.sqrt(T * settled * gamma) == pytest.approx(rate)
    assert math.sqrt(T) * gamma == pytest.approx(rate)
    assert horizon_rate(Matern(nu), d).t == pytest.approx((nu + 2 * d) / (2 * nu + 2 * d))
    assert rate < T


def test_the_theorem_says_so_and_the_band_is_that_of_mixture() -> None:
    assert "sublinear for every ν" in rough().theorem
    assert "GPUCB(horizon=T)" in rough(None).theorem
    assert rough().proved
    held = 0
    for seed in range(20):
        f = rkhs_sample(seed, lengthscale=0.3, norm=1.5, kernel=Matern(0.5))
        rng = np.random.default_rng(seed)
        study = nr.Study([(0, 1)], "maximize", strategy=rough(40), seed=seed)
        study.run(lambda x, f=f, rng=rng: float(f(x)) + 0.1 * float(rng.standard_normal()), 40)  # type: ignore[misc]
        belief = study.belief()
        assert belief is not None
        assert belief.proved
        lower, upper = belief.band(LINE)
        held += bool(np.all((lower <= f(LINE)) & (f(LINE) <= upper)))
    assert held >= 18


@pytest.mark.parametrize(
    "bad",
    [
        {"horizon": 0},
        {"kernel": SquaredExponential()},
        {"lengthscales": None},
        {"width": 2.0},
        {"regulariser": 1.0},
    ],
)
def test_a_horizon_where_it_means_nothing_is_refused(bad: dict[str, object]) -> None:
    given = {"lengthscales": 0.3, "noise_std": 0.1, "width": "mixture", "horizon": 100}
    settings = {**given, "kernel": Matern(0.5), **bad}
    with pytest.raises(ConfigurationError, match="horizon"):
        nr.GPUCB(**settings)  # type: ignore[arg-type]
