import math
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.errors import ConfigurationError
from noregret.rkhs.widening import (
    AnchoredReference,
    Information,
    LogGrowth,
    MinimumStd,
    NoWidening,
    PowerGrowth,
    PowerReference,
    ReferenceRegret,
    Scaling,
    Schedule,
    first_crossing,
)

START = Scaling(1.0, 1.0, 1.0)


@dataclass
class FakeProbe:
    """A regret estimate slope·h^power, in closed form."""

    t: int = 1
    initial: int = 2
    dimension: int = 2
    previous: Scaling = START
    slope: float = 1.0
    power: float = 1.0
    asked: list[float] = field(default_factory=list)

    def regret_bound(self, g: float, b: float, information: Information) -> float:
        return self.one_step_regret(g, b)

    def one_step_regret(self, g: float, b: float) -> float:
        h = g**self.dimension * b
        self.asked.append(h)
        return self.slope * h**self.power

    def std_at_argmax(self, g: float, b: float) -> float:
        return min(1.0, 0.01 * g)


@given(st.floats(0.1, 50), st.floats(0.3, 3), st.floats(0, 10), st.integers(1, 500))
def test_h_matches_the_reference_when_bracketed(
    slope: float, power: float, weight: float, t: int
) -> None:
    rule = ReferenceRegret(reference=PowerReference(1.0, 0.9), weight=weight)
    scaling = rule.scaling(FakeProbe(t=t, slope=slope, power=power))
    wanted = (t**0.9 / slope) ** (1 / power)
    if wanted <= 1:
        assert scaling.h == 1.0  # R̄(h_prev) ≥ p: keep h
    else:
        assert scaling.h == pytest.approx(wanted, rel=2e-3)
        assert scaling.h >= wanted * (1 - 1e-12)  # from above: R̄(h) ≥ p
        assert scaling.g**2 * scaling.b == pytest.approx(scaling.h, rel=1e-9)


def test_h_never_falls_and_a_zero_reference_never_widens() -> None:
    probe = FakeProbe(t=3, previous=Scaling(7.0, 2.0, 1.75, None, 1.0, None))
    assert ReferenceRegret().scaling(probe).h == 7.0
    assert ReferenceRegret(reference=PowerReference(0.0, 0.9)).scaling(FakeProbe(t=10_000)).h == 1.0
    assert NoWidening().scaling(FakeProbe(t=10_000)) == Scaling(1.0, 1.0, 1.0)


@given(st.integers(1, 2000), st.floats(1e-3, 10.0))
def test_cap_and_floor_hold(t: int, slope: float) -> None:
    cap, floor = PowerGrowth(2.0, 0.3), LogGrowth(0.1)
    h = ReferenceRegret(cap=cap, floor=floor).scaling(FakeProbe(t=t, slope=slope)).h
    assert floor(t) * (1 - 1e-12) <= h <= cap(t) * (1 + 1e-12)


def test_the_search_does_not_ask_beyond_the_cap() -> None:
    probe = FakeProbe(t=1000, slope=1e-6)
    ReferenceRegret(cap=PowerGrowth(2.0, 0.2)).scaling(probe)
    assert max(probe.asked) <= 2.0 * 1000**0.2 * (1 + 1e-9)


def test_maximum() -> None:
    assert ReferenceRegret(maximum=50.0).scaling(FakeProbe(t=1000, slope=1e-6)).h == 50.0


def test_anchored_reference_is_in_the_estimators_units() -> None:
    rule = ReferenceRegret(reference=AnchoredReference(0.5))
    first = rule.scaling(FakeProbe(t=1, slope=123.0))
    assert first.h == 1.0
    assert first.reference_scale == pytest.approx(123.0)
    later = rule.scaling(FakeProbe(t=16, slope=123.0, previous=first))
    assert later.reference == pytest.approx(123.0 * 4)
    assert later.h == pytest.approx(4.0, rel=2e-3)


def test_counting_initial_points_is_an_option() -> None:
    without, with_them = ReferenceRegret(), ReferenceRegret(count_initial=True)
    assert without.scaling(FakeProbe(t=8)).reference == pytest.approx(8**0.9)
    assert with_them.scaling(FakeProbe(t=8)).reference == pytest.approx(10**0.9)


def test_not_monotone_returns_the_first_upward_crossing() -> None:
    def wave(h: float) -> float:
        return math.sin(h - 1)  # rises through 0.5 at 1 + π/6, falls below at 1 + 5π/6, and again

    assert first_crossing(wave, 0.5, 1.0, 100.0) == pytest.approx(1 + math.pi / 6, rel=2e-3)
    assert first_crossing(wave, 2.0, 1.0, 100.0) == 100.0


def test_schedules() -> None:
    probe = FakeProbe(t=7)
    scaling = Schedule("log", "constant").scaling(probe)
    assert scaling.g == pytest.approx(1 + math.log(8))
    assert scaling.b == 1.0
    assert scaling.h == pytest.approx(scaling.g**2)
    assert Schedule(lambda t: 1 + t, "log").scaling(probe).g == 8
    with pytest.raises(ConfigurationError, match="fell"):
        Schedule().scaling(FakeProbe(t=1, previous=Scaling(100.0, 10.0, 1.0)))


def test_minimum_std_shrinks_just_enough() -> None:
    scaling = MinimumStd(0.1).scaling(FakeProbe())
    assert scaling.g == pytest.approx(10.0, rel=2e-3)
    assert scaling.estimate is not None
    assert scaling.estimate >= 0.1
    assert MinimumStd(0.1).scaling(FakeProbe(previous=Scaling(400.0, 20.0, 1.0))).g == 20.0
    assert MinimumStd(0.4, decay=0.5).scaling(FakeProbe(t=16)).g == pytest.approx(
        10.0, rel=2e-3
    )  # 0.4/√16 = 0.1


@pytest.mark.parametrize(
    "make",
    [
        lambda: ReferenceRegret(estimator="guess"),  # type: ignore[arg-type]
        lambda: ReferenceRegret(information="none"),  # type: ignore[arg-type]
        lambda: ReferenceRegret(weight=-1.0),
        lambda: ReferenceRegret(weight=math.nan),
        lambda: ReferenceRegret(maximum=0.5),
        lambda: ReferenceRegret(reference=0.9),  # type: ignore[arg-type]
        lambda: ReferenceRegret(cap=lambda t: 1 + t),  # type: ignore[arg-type]
        lambda: ReferenceRegret(floor="log"),  # type: ignore[arg-type]
        lambda: PowerReference(-1.0),
        lambda: AnchoredReference(0.0),
        lambda: MinimumStd(0.0),
        lambda: MinimumStd(1.0),
        lambda: MinimumStd(0.1, decay=-1.0),
        lambda: Schedule("nope"),
    ],
)
def test_impossible_rules(make: object) -> None:
    with pytest.raises(ConfigurationError):
        make()  # type: ignore[operator]
