"""The rules that the paper corrects: by a factor with and without the power 1/d, and with a known
lower bound.
"""

import math
from dataclasses import dataclass

import pytest

from noregret.errors import ConfigurationError
from noregret.rkhs import Information, MinimumStd, Scaling, Shortening


@dataclass
class Falling:
    """σ at the argmax falls with t and rises with g: .5·g/t."""

    t: int = 1
    dimension: int = 3
    previous: Scaling = Scaling(1.0, 1.0, 1.0)
    initial: int = 0

    def std_at_argmax(self, g: float, b: float) -> float:
        return min(1.0, 0.5 * g / self.t)

    def regret_bound(self, g: float, b: float, information: Information) -> float:
        raise AssertionError

    def one_step_regret(self, g: float, b: float) -> float:
        raise AssertionError


def run(rule: Shortening | MinimumStd, steps: int, dimension: int) -> list[Scaling]:
    taken: list[Scaling] = []
    for t in range(1, steps + 1):
        previous = taken[-1] if taken else Scaling(1.0, 1.0, 1.0)
        taken.append(rule.scaling(Falling(t, dimension, previous)))
    return taken


@pytest.mark.parametrize("factor", [2.0, 1.1])
@pytest.mark.parametrize("dimension", [1, 3, 6])
def test_by_hand(factor: float, dimension: int) -> None:
    """g multiplies by factor^(1/d), h by the factor, whenever σ is below: the rule in a loop."""
    g = 1.0
    for t, scaling in enumerate(run(Shortening(factor), 40, dimension), start=1):
        if min(1.0, 0.5 * g / t) < 0.1:
            g *= factor ** (1 / dimension)
        assert scaling.g == pytest.approx(g)
        assert scaling.h == pytest.approx(g**dimension)


def test_as_printed_the_class_grows_by_the_power_of_the_inputs() -> None:
    ours, printed = Shortening(2.0), Shortening(2.0, printed=True)
    quiet = Falling(t=1000, dimension=6)
    assert ours.scaling(quiet).h == pytest.approx(2.0)
    assert printed.scaling(quiet).h == pytest.approx(2.0**6)
    assert printed.scaling(Falling(t=1000, dimension=1)) == ours.scaling(Falling(1000, 1))


def test_a_known_lower_bound_ends_the_shortening() -> None:
    assert run(Shortening(2.0, largest=3.0), 200, 1)[-1].g == 3.0
    bounded = run(MinimumStd(0.1, largest=3.0), 200, 1)
    free = run(MinimumStd(0.1), 200, 1)
    assert bounded[-1].g == 3.0
    assert free[-1].g == pytest.approx(0.1 * 200 / 0.5, rel=2e-3)
    for t, (one, other) in enumerate(zip(bounded, free, strict=True), start=1):
        std = min(1.0, 0.5 * one.g / t)
        assert std >= 0.1 or one.g == 3.0  # what the theorem counts: theory.md#minimum-uncertainty
        if other.g <= 3.0:
            assert one.g == pytest.approx(other.g, rel=2e-3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Shortening(1.0),
        lambda: Shortening(math.nan),
        lambda: Shortening(below=0.0),
        lambda: Shortening(below=1.0),
        lambda: Shortening(largest=0.5),
        lambda: MinimumStd(largest=0.0),
    ],
)
def test_mistakes(make: object) -> None:
    with pytest.raises(ConfigurationError):
        make()  # type: ignore[operator]
