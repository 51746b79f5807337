"""A class that follows the data: what holds whatever the data are, and what it captures."""

import math

import numpy as np
import pytest

from noregret.errors import ConfigurationError
from noregret.gp import SquaredExponential
from noregret.rkhs.evidence_class import FINENESS, EvidenceClass
from noregret.rkhs.function_class import FunctionClass
from noregret.rkhs.radius import Mixture, Values, norm_lower_bound
from noregret.rkhs.widening import ConstantGrowth, LogGrowth
from noregret.testing.problems import rkhs_sample
from tests.naive import equal_values

SE = SquaredExponential()
GRID = np.linspace(0, 1, 101)[:, None]


def data(seed: int, n: int = 15) -> Values:
    rng, f = np.random.default_rng(seed), rkhs_sample(seed, lengthscale=0.2, norm=2.0)
    X = rng.random((n, 1))
    return equal_values(X, f(X) + 0.05 * rng.standard_normal(n), 0.05)


def test_the_class_lies_on_a_grid_between_floor_and_cap_and_above_what_is_refuted() -> None:
    rule = EvidenceClass()
    for size in (0.5, 50.0):
        start = FunctionClass(np.array([1.0]), size)
        for seed, t in ((0, 1), (1, 10), (2, 1000), (3, 10**6)):
            values = data(seed)
            found = rule.estimate(SE, t, start, values, 0.1)[1]
            j = FINENESS * math.log2(found.g)
            assert j == pytest.approx(round(j))
            assert rule.floor(t) <= found.g <= max(rule.cap(t), rule.floor(t)) * 2 ** (1 / FINENESS)
            theta, bound = found.function_class.lengthscales, found.function_class.norm_bound
            np.testing.assert_allclose(theta, 1.0 / found.g)
            least = norm_lower_bound(SE, theta, values, found.radius_squared)
            assert found.norm_lower_bound == least
            scheduled = rule.norm_growth(t) / 8 * math.sqrt(found.g) * size
            assert bound == pytest.approx(max(scheduled, 3 * least))
            assert bound == pytest.approx(found.b * math.sqrt(found.g) * size)


def test_the_lengthscale_is_that_of_the_evidence_shortened() -> None:
    start = FunctionClass(np.array([1.0]), 1.0)
    free = EvidenceClass(floor=ConstantGrowth())
    found = free.estimate(SE, 1, start, data(1, 40), 0.1)[1]
    assert 0.2 / 2.5 <= float(found.function_class.lengthscales[0]) <= 0.2  # truth .2, over √2


def test_the_class_is_never_shorter_than_every_member_of_the_mixture() -> None:
    """Values like noise ask for the shortest; beyond it A4 would compare with nothing."""
    start, rng = FunctionClass(np.array([1.0]), 1.0), np.random.default_rng(0)
    mixture = Mixture.around(SE, start)
    X = np.linspace(0, 1, 40)[:, None]
    wild = equal_values(X, rng.standard_normal(40), 0.01)
    found = EvidenceClass().estimate(SE, 100, start, wild, 0.1)[1]
    shortest = float(mixture.lengthscales.min())
    assert float(found.function_class.lengthscales[0]) == pytest.approx(shortest)
    later = 10**90  # the floor is beyond the fourteen members: more are taken
    rule = EvidenceClass(floor=LogGrowth(1.0))
    longer = Mixture.around(SE, start, rule.floor(later))
    found = rule.estimate(SE, later, start, wild, 0.1)[1]
    assert found.g >= rule.floor(later) > float(1 / shortest)
    assert float(found.function_class.lengthscales[0]) >= float(longer.lengthscales.min())


def test_a_factor_below_one_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="below 1 the class would lose"):
        EvidenceClass(factor=0.9)


def test_the_floor_and_the_ball_grow_without_bound() -> None:
    rule = EvidenceClass()
    for curve in (rule.floor, rule.norm_growth, rule.cap):
        assert isinstance(curve, LogGrowth)
