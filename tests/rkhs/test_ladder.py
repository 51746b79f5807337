"""Rougher kernels: the norm of a step against brute force and against interpolants, the refusal of
steps up, and a class that descends where the data ask for it.
"""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

import noregret as nr
from noregret.errors import ConfigurationError, GuaranteeError
from noregret.gp import Kernel, Matern, SquaredExponential, covariance
from noregret.rkhs import EvidenceClass, FunctionClass, Ladder, Mixture
from noregret.rkhs.evidence_class import step_norm
from noregret.space import Array
from tests.naive import equal_values

SE = SquaredExponential()
STEPS: list[tuple[Kernel, Kernel]] = [
    (SE, Matern(2.5)),
    (SE, Matern(0.5)),
    (Matern(2.5), Matern(1.5)),
    (Matern(1.5), Matern(0.5)),
    (Matern(4.2), Matern(0.9)),
]


def density(kernel: Kernel, omega: Array) -> Array:
    """The spectrum is a normal law, or Student's with 2ν degrees of freedom."""
    d = omega.shape[1]
    if isinstance(kernel, Matern):
        law = multivariate_t(np.zeros(d), np.eye(d), df=2 * kernel.nu)
        return np.asarray(law.pdf(omega))
    return np.asarray(multivariate_normal(np.zeros(d), np.eye(d)).pdf(omega))


@pytest.mark.parametrize(("upper", "lower"), STEPS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_step_is_the_largest_ratio_of_densities(upper: Kernel, lower: Kernel, d: int) -> None:
    direction = np.random.default_rng(0).standard_normal(d)
    direction /= np.linalg.norm(direction)
    omega = np.linspace(0, 12, 4_001)[:, None] * direction
    ratio = density(upper, omega) / density(lower, omega)
    assert step_norm(upper, lower, d) ** 2 == pytest.approx(float(ratio.max()), rel=1e-4)


@pytest.mark.parametrize(("upper", "lower"), STEPS, ids=str)
def test_no_interpolant_has_a_larger_norm(upper: Kernel, lower: Kernel) -> None:
    """f = Σ α k(·, z): the least norm of an interpolant under the rougher kernel is at most c·‖f‖;
    under a c of half it would fail for f near the worst frequency.
    """
    grid = np.linspace(0, 1, 60)[:, None]
    rng, theta = np.random.default_rng(1), np.array([0.2])
    c, most = step_norm(upper, lower, 1), 0.0
    for trial in range(30):
        Z = rng.random((6, 1))
        weights = np.cos(Z[:, 0] / theta[0] + trial) if trial % 2 else rng.standard_normal(6)
        norm = math.sqrt(weights @ covariance(upper, theta, Z, Z) @ weights)
        f = covariance(upper, theta, grid, Z) @ weights
        K = covariance(lower, theta, grid, grid) + 1e-9 * np.eye(len(grid))
        other = math.sqrt(f @ np.linalg.solve(K, f))
        most = max(most, other / norm)
    assert most <= c * (1 + 1e-6)
    assert most > 0.6 * c  # nearly attained


def test_upwards_the_norm_has_no_bound() -> None:
    """The norm of an interpolant of a rough function under SE grows with the number of points."""
    theta, Z = np.array([0.2]), np.array([[0.5]])
    norms = []
    for n in (9, 17, 33):
        grid = np.linspace(0, 1, n)[:, None]
        f = covariance(Matern(0.5), theta, grid, Z)[:, 0]
        K = covariance(SE, theta, grid, grid) + 1e-13 * np.eye(n)
        norms.append(math.sqrt(f @ np.linalg.solve(K, f)))
    assert norms[1] > 3 * norms[0]
    assert norms[2] > 3 * norms[1]
    for upper, lower in STEPS:
        with pytest.raises(GuaranteeError, match="leaves functions behind"):
            step_norm(lower, upper, 1)
        with pytest.raises(GuaranteeError, match="leaves functions behind"):
            Ladder((lower, upper))
    with pytest.raises(GuaranteeError, match="leaves functions behind"):
        step_norm(SE, SE, 1)


def test_one_radius_for_all_rungs() -> None:
    """Against the sum over all members of all rungs, typed out."""
    rng = np.random.default_rng(2)
    values = equal_values(rng.random((9, 1)), rng.standard_normal(9), 0.3)
    ladder, start = Ladder((SE, Matern(1.5))), FunctionClass(np.ones(1), 1.0)
    _, chosen = EvidenceClass().estimate(ladder, 3, start, values, 0.1)
    total = 0.0
    for i, rung in enumerate(ladder.rungs):
        first = FunctionClass(np.ones(1), 1.0 if i == 0 else step_norm(SE, rung, 1))
        mixture = Mixture.around(rung, first, EvidenceClass().floor(3))
        for j in range(len(mixture.weights)):
            K = mixture.amplitudes[j] ** 2 * covariance(
                rung, mixture.lengthscales[j], values.X, values.X
            )
            law = multivariate_normal(np.zeros(9), K + 0.09 * np.eye(9))
            scale = (2 * math.pi * 0.09) ** 4.5
            total += 0.5 ** (i + 1) * mixture.weights[j] * law.pdf(values.y) * scale
    assert chosen.radius_squared == pytest.approx(-2 * math.log(total) + 2 * math.log(10), rel=1e-9)


def rough(x: Any) -> float:
    """A cusp: in the space of Matérn ½, in none above."""
    return math.exp(-abs(float(x[0]) - 0.37) / 0.3)


def test_it_descends_where_the_data_ask_for_it_and_by_the_clock() -> None:
    ladder = Ladder()
    floors = [ladder.floor(t) for t in (1, 9, 10, 99, 100, 999, 1000, 10**9)]
    assert floors == [0, 0, 1, 1, 2, 2, 3, 3]
    grid = np.linspace(0, 1, 101)[:, None]
    X = np.linspace(0, 1, 41)[:, None]
    cusp = equal_values(X, np.array([rough(x) for x in X]), 0.01)
    smooth = equal_values(X, np.exp(-0.5 * ((X[:, 0] - 0.37) / 0.3) ** 2), 0.01)
    start = FunctionClass(np.ones(1), 1.0)
    assert EvidenceClass().estimate(ladder, 2, start, cusp, 0.1)[0] in (Matern(1.5), Matern(0.5))
    assert EvidenceClass().estimate(ladder, 2, start, smooth, 0.1)[0] == SE
    assert EvidenceClass().estimate(ladder, 150, start, smooth, 0.1)[0] == Matern(1.5)
    strategy = nr.AdaptiveGPUCB.rigorous(0.01, kernel=ladder, lengthscales=1.0)
    rng = np.random.default_rng(0)
    study = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=1)
    study.run(lambda x: rough(x) + 0.01 * rng.standard_normal(), trials=30)
    belief = study.belief()
    assert belief is not None
    lower, upper = belief.band(grid)
    truth = np.array([rough(x) for x in grid])
    assert np.all((lower <= truth) & (truth <= upper))
    assert "Matern" in belief.condition
    assert study.certificate().proved


def test_mistakes() -> None:
    with pytest.raises(ConfigurationError, match="two rungs"):
        Ladder((SE,))
    with pytest.raises(ConfigurationError, match="wait"):
        Ladder(wait=1.0)
