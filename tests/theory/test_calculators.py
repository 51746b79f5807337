"""The theory calculators against naive versions of themselves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noregret.cli.research import render_capture, render_check, render_rates
from noregret.errors import ConfigurationError, GuaranteeError
from noregret.gp.kernels import Kernel, Matern, SquaredExponential, covariance
from noregret.gp.posterior import condition
from noregret.rkhs.confidence import mixture
from noregret.rkhs.function_class import NormPower, split
from noregret.rkhs.widening import ConstantGrowth, LogGrowth, PowerGrowth
from noregret.space.array import Array
from noregret.theory import (
    GREEDY_SHARE,
    Capacity,
    Order,
    Setting,
    capacity_order,
    capture_time,
    check_reference,
    check_scaling,
    check_schedule,
    first_time,
    greedy_information,
    largest_exponent,
    norm_inflation,
    printed_corollary,
    refined_capture_time,
    regret_bound,
    regret_constant,
    regret_rate,
)

SE = SquaredExponential()
KERNELS: list[Kernel] = [SE, Matern(0.5), Matern(1.5), Matern(2.5), Matern(4.2)]


def naive_first(condition: Callable[[int], bool], limit: int) -> float:
    return next((float(t) for t in range(limit) if condition(t)), math.inf)


# -- Theorem 1
# ------------------------------------------------------------------------------------------------


def test_regret_bound_is_the_printed_formula() -> None:
    naive = 2 * 3.0 * 40 + (8 / math.log(1 + 1 / 0.01) * 100 * 2.5**2 * 7.0) ** 0.5
    assert regret_bound(100, 3.0, 40, 2.5, 7.0, 0.01) == pytest.approx(naive, rel=1e-14)
    assert regret_bound(100, 3.0, math.inf, 2.5, 7.0, 0.01) == math.inf


@pytest.mark.parametrize("kernel", [SE, Matern(1.5)])
@pytest.mark.parametrize("regulariser", [1e-4, 0.01, 1.0])
def test_regret_bound_dominates_the_sum_of_widths(kernel: Kernel, regulariser: float) -> None:
    """Σ 2β_j^½ σ_j(x_j+1) ≤ √(C_1 t β_t I_t), theory.md#regret; an equality for independent points,
    so C_1 cannot be smaller.
    """
    X = np.random.default_rng(3).random((30, 2))
    theta = np.array([0.2, 0.4])
    total, beta_sqrt = 0.0, 0.0
    posterior = condition(kernel, theta, X[:0], np.zeros(0), regulariser)
    for x in X:
        beta_sqrt = mixture(
            2.0, posterior.information_gain, noise_bound=0.1, regulariser=regulariser, delta=0.1
        )
        total += 2 * beta_sqrt * float(posterior.predict(x[None])[1][0])
        posterior = posterior.append(x, 0.0, regulariser)
    bound = regret_bound(len(X), 2.0, 0, beta_sqrt, posterior.information_gain, regulariser)
    assert total <= bound
    independent = (
        np.arange(30.0)[:, None] * 1e3
    )  # σ = 1 throughout: Cauchy-Schwarz and the logarithm are equalities
    known = condition(kernel, np.array([1.0]), independent, np.zeros(30), regulariser)
    assert regret_bound(30, 2.0, 0, 1.0, known.information_gain, regulariser) == pytest.approx(
        2 * 30, rel=1e-9
    )


def test_regret_bound_refuses_nonsense() -> None:
    with pytest.raises(ConfigurationError, match="regulariser must be positive and finite, got 0"):
        regret_constant(0)
    with pytest.raises(ConfigurationError, match=r"information_gain must be in .* got -1"):
        regret_bound(1, 1.0, 0, 1.0, -1, 0.1)
    with pytest.raises(ConfigurationError, match="norm_bound must be positive"):
        regret_bound(1, 0.0, 0, 1.0, 1, 0.1)


# -- generalised inverses and the capture of f
# ------------------------------------------------------------------------


@given(rate=st.floats(0.2, 5), level=st.floats(0.5, 3))
@settings(deadline=None, max_examples=60)
def test_inverse_of_log_growth_is_the_first_step(rate: float, level: float) -> None:
    curve = LogGrowth(rate)
    expected = naive_first(lambda t: curve(t) >= level, 30_000)
    assert first_time(curve, level) == expected
    assert first_time(lambda t: 1 + rate * math.log1p(t), level) == expected


@given(scale=st.floats(0.01, 20), exponent=st.floats(0.2, 3), level=st.floats(0.5, 8))
@settings(deadline=None, max_examples=60)
def test_inverse_of_power_growth_is_the_first_step(
    scale: float, exponent: float, level: float
) -> None:
    curve = PowerGrowth(scale, exponent)
    expected = naive_first(lambda t: curve(t) >= level, 20_000)
    if expected < math.inf:
        assert first_time(curve, level) == expected
        assert first_time(lambda t: max(1.0, scale * t**exponent), level) == expected
    else:
        assert first_time(curve, level) >= 20_000


def test_inverse_hits_levels_that_are_attained_exactly() -> None:
    for t in (2, 3, 100, 12_345, 10**9):
        assert first_time(LogGrowth(), LogGrowth()(t)) == t
        assert first_time(PowerGrowth(1, 0.5), PowerGrowth(1, 0.5)(t)) == t
    assert first_time(PowerGrowth(1, 2), 9.0) == 3
    assert first_time(PowerGrowth(1, 2), math.nextafter(9.0, 10)) == 4


def test_closed_forms_are_corrected_for_rounding() -> None:
    """Many levels just at attained values: the closed form alone misses some by one step on either
    side.
    """
    for curve in (PowerGrowth(0.7, 0.3), PowerGrowth(1.3, 1.7), LogGrowth(0.37)):
        for t in range(5, 2000):
            level = curve(t)
            assert first_time(curve, level) == t
            assert first_time(curve, math.nextafter(level, math.inf)) == t + 1


def test_inverse_of_a_step_function_and_of_one_that_never_gets_there() -> None:
    def steps(t: float) -> float:
        return 1.0 + t // 7

    assert [first_time(steps, level) for level in (1, 1.5, 2, 5.5)] == [0, 7, 7, 35]
    assert first_time(ConstantGrowth(), 1.0) == 0
    assert first_time(ConstantGrowth(), 1.0001) == math.inf
    assert first_time(lambda t: min(1 + t, 5.0), 5.0) == 4
    assert first_time(lambda t: min(1 + t, 5.0), 5.1) == math.inf
    assert first_time(LogGrowth(0.01), 100) == math.inf  # e^9900 steps
    with pytest.raises(ConfigurationError, match="overflowed at t="):
        first_time(lambda t: min(2.0, math.exp(1e-5 * t)), 3.0)


def test_inverse_is_right_where_floats_are_sparse() -> None:
    assert first_time(lambda t: 1 + math.log1p(t), 200.0) == pytest.approx(
        math.expm1(199), rel=1e-9
    )
    assert first_time(LogGrowth(), 200.0) == pytest.approx(math.expm1(199), rel=1e-9)


def test_capture_time_of_the_theory_page() -> None:
    t_0 = capture_time("log", "log", [10.0], 1.0)
    assert (
        t_0 == naive_first(lambda t: 1 + math.log(1 + t) >= 10, 10_000) == 8103
    )  # theory.md#capture
    assert capture_time("log", "log", [3.0, 10.0, 1.0], 2.0) == 8103
    assert capture_time("log", "log", [1.0], 11.0) == pytest.approx(math.expm1(10), abs=1)
    assert capture_time("log", "constant", [2.0], 1.5) == math.inf
    assert capture_time("log", "constant", [2.0], 0.5) == 2


def test_capture_time_refuses_short_initial_lengthscales() -> None:
    with pytest.raises(
        GuaranteeError,
        match=(
            r"at least as long as the true ones in every input, got θ_0/θ = \[2.0, 0.5\].*Start"
            r" from longer"
        ),
    ):
        capture_time("log", "log", [2.0, 0.5], 1.0)
    with pytest.raises(ConfigurationError, match=r"norm_ratio .B/B_0"):
        capture_time("log", "log", [2.0], 0.0)


@given(
    ratios=st.lists(st.floats(0.5, 4), min_size=1, max_size=3),
    norm_ratio=st.floats(0.2, 20),
    kernel=st.sampled_from(KERNELS),
    power=st.sampled_from([1.0, 0.5]),
    exponents=st.tuples(st.floats(0.3, 1), st.floats(0.3, 1)),
)
@settings(deadline=None, max_examples=100)
def test_refined_capture_time_is_the_first_step_whose_ball_holds_f(
    ratios: list[float],
    norm_ratio: float,
    kernel: Kernel,
    power: float,
    exponents: tuple[float, float],
) -> None:
    g, b = PowerGrowth(1.1, exponents[0]), PowerGrowth(1.1, exponents[1])

    def holds(t: int) -> bool:
        ball = b(t) * g(t) ** (len(ratios) * power)
        return ball >= norm_ratio * norm_inflation(kernel, g(t) / np.array(ratios)) * (1 - 1e-12)

    norm_power: NormPower = "paper" if power == 1 else "tight"
    refined = refined_capture_time(kernel, g, b, ratios, norm_ratio, norm_power)
    expected = naive_first(holds, 400)
    assert refined == expected or (expected == math.inf and refined >= 400)
    if refined < 400:
        assert all(holds(t) for t in range(int(refined), 400))  # once captured, f stays
    if min(ratios) >= 1:
        assert refined <= capture_time(g, b, ratios, norm_ratio)


def test_shorter_lengthscales_make_room_for_a_norm() -> None:
    """θ_0/θ = (4, 9): at θ the ball B_0 has become √36 = 6 times larger, so B = 6 B_0
    needs no b.
    """
    g = LogGrowth()
    assert refined_capture_time(SE, g, "constant", [4.0, 9.0], 6.0) == first_time(g, 9.0)
    assert refined_capture_time(SE, g, "constant", [4.0, 9.0], 6.001) == math.inf
    assert capture_time(g, "constant", [4.0, 9.0], 6.0) == math.inf
    # with the paper's norm power the surplus g^(d/2) pays for any B: 9²^½·6 = 54
    assert refined_capture_time(SE, g, "constant", [4.0, 9.0], 54.0, "paper") == first_time(g, 9.0)
    assert refined_capture_time(SE, g, "constant", [4.0, 9.0], 60.0, "paper") == first_time(g, 10.0)


def test_matern_is_captured_by_the_ball_alone() -> None:
    """A longer θ' = 2θ costs 2^ν: b must reach 2^1.5, and g may stay 1. The squared exponential
    needs g.
    """
    assert refined_capture_time(Matern(1.5), "constant", "log", [2.0], 1.0) == first_time(
        LogGrowth(), 2**1.5
    )
    assert refined_capture_time(SE, "constant", "log", [2.0], 1.0) == math.inf
    assert (
        refined_capture_time(SE, PowerGrowth(1, 2.0), "constant", [2.0] * 10, 1e9) == math.inf
    )  # and no overflow on the way


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("shrinkage", [(0.5,), (0.4, 0.7), (0.5, 2.0), (3.0, 1.5)])
def test_norm_inflation_bounds_matern_kernels(nu: float, shrinkage: tuple[float, ...]) -> None:
    """‖f‖_θ' ≤ c‖f‖_θ for all f iff c²·k_θ' − k_θ is positive semi-definite (Aronszajn)."""
    ratios = np.array(shrinkage)
    X = np.random.default_rng(0).random((60, len(ratios))) * 3
    c = norm_inflation(Matern(nu), ratios)
    difference = c**2 * covariance(Matern(nu), 1 / ratios, X, X) - covariance(
        Matern(nu), np.ones_like(ratios), X, X
    )
    assert np.linalg.eigvalsh(difference)[0] > -1e-9


def test_norm_inflation_is_the_least_constant() -> None:
    """In one dimension on a long and dense grid: 10 % less and the difference of kernels is no
    kernel any more.
    """
    cases: list[tuple[Kernel, float]] = [
        (Matern(0.5), 0.5),
        (Matern(0.5), 2.0),
        (Matern(1.5), 2.0),
        (SE, 2.0),
    ]
    for kernel, ratio in cases:
        X = np.linspace(0, 20 if ratio > 1 else 4, 400)[:, None]
        one, other = (
            covariance(kernel, np.ones(1), X, X),
            covariance(kernel, np.array([1 / ratio]), X, X),
        )
        c = norm_inflation(kernel, ratio)
        assert np.linalg.eigvalsh(c**2 * other - one)[0] > -1e-9
        assert np.linalg.eigvalsh(0.9 * c**2 * other - one)[0] < -1e-4
    assert norm_inflation(SE, [2.0, 8.0]) == 4.0
    assert norm_inflation(SE, [2.0, 0.99]) == math.inf


def test_norm_inflation_refuses_kernels_outside_the_lemma() -> None:
    with pytest.raises(GuaranteeError, match="does not declare a spectral density that falls"):
        norm_inflation(Cosine(), 2.0)


@dataclass(frozen=True)
class Cosine:
    decreasing_spectrum: ClassVar[bool] = False

    def value(self, sq: Array) -> Array:
        return np.asarray(np.cos(np.sqrt(sq)))

    def slope(self, sq: Array) -> Array:
        raise NotImplementedError

    def capacity_exponent(self, dimension: int, printed: bool = False) -> float:
        return 1.0


# -- orders
# ------------------------------------------------------------------------------------------------


def test_orders_read_well() -> None:
    assert str(capacity_order(SE, 2)) == str(capacity_order(SE, 2, "printed")) == "g^2 · (log t)^3"
    assert str(capacity_order(Matern(1.5), 2)) == "g^1.2 · t^0.4 · (log t)^0.6"
    assert str(capacity_order(Matern(1.5), 2, "printed")) == "g^5 · t^0.6667 · log t"
    assert str(Order()) == "1"
    assert str(Order(t=1, b=1)) == "b · t"


def test_corollary_and_its_misprint() -> None:
    """JMLR sec. 4, corollary: SE b√(t g^3d γ) + g^d γ √t; Matérn b√(t g^(2ν+3d) γ) + g^(2ν+d) γ √t,
    the latter printed g^(ν+d).
    """
    d, nu = 3, 2.5
    gamma = Order(log_t=d + 1)
    se = regret_rate(Setting(SE, d, "paper", "printed"))
    assert se.norm == Order(b=1) * (Order(t=1, g=3 * d) * gamma) ** 0.5
    assert se.information == Order(t=0.5, g=d) * gamma
    assert printed_corollary(SE, d) == se

    gamma = Order(t=d * (d + 1) / (2 * nu + d * (d + 1)), log_t=1)
    matern = regret_rate(Setting(Matern(nu), d, "paper", "printed"))
    assert matern.norm == Order(b=1) * (Order(t=1, g=2 * nu + 3 * d) * gamma) ** 0.5
    assert matern.information == Order(t=0.5, g=2 * nu + d) * gamma
    printed = printed_corollary(Matern(nu), d)
    assert printed.norm == matern.norm
    assert printed.information == Order(t=0.5, g=nu + d) * gamma
    assert str(regret_rate(Setting(SE, 1))) == "b · g · t^0.5 · log t + g · t^0.5 · (log t)^2"


def test_settings_are_checked() -> None:
    with pytest.raises(
        GuaranteeError, match=r"proved for ν > 1 only, got ν = 0.5.*capacity=\"tight\""
    ):
        Setting(Matern(0.5), 1, capacity="printed")
    with pytest.raises(GuaranteeError, match=r"capacity of Cosine.* is not known here"):
        Setting(Cosine(), 1)
    with pytest.raises(ConfigurationError, match=r"whole number .* got 0"):
        Setting(SE, 0)
    with pytest.raises(ConfigurationError, match="norm_power is"):
        Setting(SE, 1, "loose")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="capacity is"):
        Setting(SE, 1, "tight", "loose")  # type: ignore[arg-type]


def naive_log_bound(
    kernel: Kernel,
    d: int,
    power: NormPower,
    capacity: Capacity,
    x: float,
    log_g: float,
    log_b: float,
) -> float:
    """log √(t (B_t + √γ)² γ) at t = e^x, written out from theory.md#capacity."""
    if isinstance(kernel, Matern):
        nu = kernel.nu
        if capacity == "tight":
            e, s, c = 2 * nu * d / (2 * nu + d), d / (2 * nu + d), 2 * nu / (2 * nu + d)
        else:
            e, s, c = 2 * nu + d, d * (d + 1) / (2 * nu + d * (d + 1)), 1.0
    else:
        e, s, c = d, 0.0, d + 1.0
    log_gamma = e * log_g + s * x + c * math.log(x)
    log_beta_sqrt = np.logaddexp(
        log_b + d * (1.0 if power == "paper" else 0.5) * log_g, 0.5 * log_gamma
    )
    return 0.5 * x + float(log_beta_sqrt) + 0.5 * log_gamma


SETTINGS = st.builds(
    Setting,
    st.sampled_from([SE, Matern(1.5), Matern(2.5), Matern(4.2)]),
    st.integers(1, 5),
    st.sampled_from(["paper", "tight"]),
    st.sampled_from(["printed", "tight"]),
)
CURVES = st.one_of(
    st.just(ConstantGrowth()),
    st.just(LogGrowth()),
    st.builds(PowerGrowth, st.just(1.0), st.floats(0.01, 0.6)),
)


def log_curve(curve: object, x: float) -> float:
    if isinstance(curve, PowerGrowth):
        return curve.exponent * x
    return math.log(1 + x) if isinstance(curve, LogGrowth) else 0.0


@given(setting=SETTINGS, g=CURVES, b=CURVES)
@settings(deadline=None, max_examples=150)
def test_exponents_are_the_slopes_of_the_bound_at_huge_t(
    setting: Setting, g: object, b: object
) -> None:
    def y(x: float) -> float:
        return naive_log_bound(
            setting.kernel,
            setting.dimension,
            setting.norm_power,
            setting.capacity,
            x,
            log_curve(g, x),
            log_curve(b, x),
        )

    verdict = check_schedule(setting, g, b)
    x = 1e12  # t = e^(10^12)
    assert verdict.order.t == pytest.approx((y(2 * x) - y(x)) / x, abs=1e-8)
    # two terms of nearly equal power of t swap places beyond any x, so the power of log t is
    # compared at its own scale
    assert (y(x) - verdict.order.t * x) / math.log(x) == pytest.approx(verdict.order.log_t, abs=0.2)
    if abs(verdict.order.t - 1) > 1e-6:
        assert verdict.sublinear == (y(x) - x < 0)


# -- the checker
# ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("power", "limit"), [("paper", 1 / 3), ("tight", 1 / 2)])
def test_check_values_of_the_theory_page(power: NormPower, limit: float) -> None:
    """theory.md#speed: SE, d=1, b=1, g=t^a is sublinear iff a < 1/3 (paper) or a < 1/2 (tight), in
    every place where it is asked.
    """
    setting = Setting(SE, 1, power)
    for a, expected in ((limit - 1e-6, True), (limit, False), (limit + 1e-6, False)):
        assert check_schedule(setting, PowerGrowth(1, a), "constant").sublinear is expected
        assert check_scaling(setting, PowerGrowth(1, a), 0).sublinear is expected
        assert check_scaling(setting, PowerGrowth(1, a)).sublinear is expected
    boundary = check_schedule(setting, PowerGrowth(1, limit), "constant")
    assert boundary.order.t == pytest.approx(1)
    assert boundary.order.log_t > 0


@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
@pytest.mark.parametrize("power", ["paper", "tight"])
def test_logarithmic_schedules_pass_for_the_squared_exponential(
    dimension: int, power: NormPower
) -> None:
    verdict = check_schedule(Setting(SE, dimension, power, "printed"), "log", "log")
    assert verdict.holds
    assert verdict.order.t == 0.5


def test_the_tight_norm_needs_a_growing_ball_and_the_squared_exponential_growing_frequencies() -> (
    None
):
    g = PowerGrowth(1, 0.1)
    assert check_schedule(Setting(SE, 1, "paper"), g, "constant").holds
    stuck = check_schedule(Setting(SE, 1, "tight"), g, "constant")
    assert stuck.sublinear
    assert not stuck.unbounded
    assert not stuck.holds
    assert "let b grow" in stuck.reason
    long = check_schedule(Setting(SE, 1), "constant", "log")
    assert not long.unbounded
    assert "let g grow" in long.reason
    matern = check_schedule(Setting(Matern(2.5), 1), "constant", "log")
    assert matern.holds
    assert "one space" in matern.reason
    assert not check_schedule(Setting(Matern(2.5), 1), "constant", "constant").unbounded
    assert not check_scaling(Setting(SE, 1, "tight"), "log", 0).unbounded
    assert check_scaling(Setting(SE, 1, "paper"), "log", 0).unbounded
    assert not check_scaling(Setting(SE, 1), "log", math.inf).unbounded
    assert check_scaling(Setting(SE, 1), "log", 0.1).holds
    assert not check_scaling(Setting(SE, 1), "constant", 0.1).unbounded
    assert check_scaling(Setting(SE, 1), "log").holds  # some weight in (0, ∞)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("power", ["paper", "tight"])
@pytest.mark.parametrize("g", ["constant", "log"])
@pytest.mark.parametrize("b", ["constant", "log"])
def test_unbounded_means_that_the_refined_capture_time_is_finite(
    kernel: Kernel, power: NormPower, g: str, b: str
) -> None:
    ratios, norm_ratio = [1.5, 1.1], 2.0
    captured = refined_capture_time(kernel, g, b, ratios, norm_ratio, power) < math.inf
    assert check_schedule(Setting(kernel, 2, power), g, b).unbounded == captured


def test_a_kernel_too_rough_for_the_dimension_is_named() -> None:
    verdict = check_schedule(Setting(Matern(1.5), 3), "log", "log")
    assert not verdict.sublinear
    assert (
        "take a smoother kernel (2ν > d), or one fixed class with a regulariser" in verdict.reason
    )
    assert check_schedule(Setting(Matern(1.51), 3), "log", "log").holds
    printed = check_schedule(Setting(Matern(2.5), 2, "paper", "printed"), "log", "log")
    assert not printed.sublinear
    assert "or capacity tight" in printed.reason


@pytest.mark.parametrize("weight", [0.0, 1e-3, 0.1, 1.0, 30.0, math.inf])
def test_a_split_scaling_grows_as_claimed(weight: float) -> None:
    """λ_w in (0, ∞): g^d and b are both of order √h. Slopes of the exact split between h = 1e100
    and 1e200.
    """
    low, high = split(1e100, weight, 3), split(1e200, weight, 3)
    slope_g, slope_b = (math.log10(high[i] / low[i]) / 100 for i in (0, 1))
    verdict = check_scaling(Setting(SE, 3, "paper"), PowerGrowth(1, 0.1), weight)
    by_pair = check_schedule(
        Setting(SE, 3, "paper"),
        PowerGrowth(1, 0.1 * slope_g) if slope_g else "constant",
        PowerGrowth(1, 0.1 * slope_b) if slope_b else "constant",
    )
    assert verdict.order.t == pytest.approx(by_pair.order.t, abs=1e-9)
    assert slope_g * 3 + slope_b == pytest.approx(1)


def old_largest_exponent(kernel: Kernel, dimension: int, power: float) -> float:
    """The first version of the function: the worst split, tight capacity."""
    if not isinstance(kernel, Matern):
        return 0.5 / max(1.0, power + 0.5)
    share = dimension / (2 * kernel.nu + dimension)
    exponent = 2 * kernel.nu / (2 * kernel.nu + dimension)
    return min((0.5 - share / 2) / max(1.0, power + exponent / 2), (0.5 - share) / exponent)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimension", [1, 2, 5])
@pytest.mark.parametrize("power", ["paper", "tight"])
def test_largest_exponent_keeps_its_meaning(
    kernel: Kernel, dimension: int, power: NormPower
) -> None:
    naive = old_largest_exponent(kernel, dimension, 1.0 if power == "paper" else 0.5)
    assert largest_exponent(Setting(kernel, dimension, power)) == pytest.approx(
        max(naive, 0.0), abs=1e-12
    )
    assert (largest_exponent(Setting(kernel, dimension, power)) <= 0) == (naive <= 0)


@given(setting=SETTINGS, weight=st.sampled_from([None, 0.0, 0.1, math.inf]))
@settings(deadline=None, max_examples=80)
def test_largest_exponent_is_where_the_checker_changes_its_mind(
    setting: Setting, weight: float | None
) -> None:
    limit = largest_exponent(setting, weight)
    if limit > 0:
        assert check_scaling(setting, PowerGrowth(1, limit * (1 - 1e-6)), weight).sublinear
        assert not check_scaling(setting, PowerGrowth(1, limit), weight).sublinear
    else:
        assert not check_scaling(setting, PowerGrowth(1, 1e-6), weight).sublinear
        assert not check_scaling(setting, "constant", weight).sublinear


def test_largest_exponents_by_hand() -> None:
    assert largest_exponent(Setting(SE, 1, "paper"), 0.1) == pytest.approx(2 / 5)
    assert largest_exponent(Setting(SE, 7, "tight"), 0.1) == pytest.approx(1 / 2)
    assert largest_exponent(Setting(SE, 7, "paper"), math.inf) == pytest.approx(1 / 2)
    with pytest.raises(ConfigurationError, match=r"weight \(λ_w\) must be in \[0, ∞\]"):
        largest_exponent(Setting(SE, 1, "paper"), -1.0)


# -- reference regret
# ------------------------------------------------------------------------------------------------


def test_reference_of_the_paper_for_the_squared_exponential() -> None:
    """p = t^0.9 makes h grow, and for the paper's settings matching bounds it just not well enough:
    a cap is needed.
    """
    for power in ("paper", "tight"):
        setting = Setting(SE, 1, power)
        free = check_reference(setting, 0.9, 0.1)
        assert free.unbounded
        assert not free.sublinear
        assert "give h a cap" in free.reason
        assert check_reference(setting, 0.9, 0.1, cap=PowerGrowth(2, 0.3)).holds
        assert check_reference(
            setting, 0.9, 0.1, cap=PowerGrowth(2, 0.3), estimator="one_step"
        ).holds
        assert not check_reference(setting, 0.9, 0.1, cap="constant").unbounded


@pytest.mark.parametrize(
    ("power", "weight", "limit"),
    [
        ("paper", 0.1, 0.9),
        ("tight", 0.1, 7 / 8),
        ("paper", 0.0, 5 / 6),
        ("tight", 0.0, 3 / 4),
        ("tight", math.inf, 1.0),
        ("tight", None, 3 / 4),
    ],
)
def test_matching_is_a_cap_by_itself(power: NormPower, weight: float | None, limit: float) -> None:
    """b·g^(dq) ≤ p/√(t log t), so g^d = (t^(a−½))^(u/(1−u+uq)), and the norm term t^a·√γ is
    sublinear below the limit.
    """
    setting = Setting(SE, 2, power)
    assert check_reference(setting, limit - 1e-6, weight).sublinear
    assert not check_reference(setting, limit + 1e-6, weight).sublinear
    one_step = check_reference(setting, limit - 1e-6, weight, estimator="one_step")
    assert not one_step.sublinear
    assert "only the trivial regret" in one_step.reason


def test_a_negative_power_of_the_logarithm_decides_at_the_boundary() -> None:
    """ν=1.5, d=1, λ_w=∞, p = t^(7/8): b ≤ t^(3/8)/√log t, so √t·b·√γ = t·(log t)^(−1/8) with γ =
    t^(1/4) (log t)^(3/4).
    """
    verdict = check_reference(Setting(Matern(1.5), 1), 7 / 8, math.inf)
    assert verdict.order.t == pytest.approx(1, abs=1e-12)
    assert verdict.order.log_t == pytest.approx(-1 / 8)
    assert verdict.sublinear
    assert not check_reference(Setting(Matern(1.5), 1), 7 / 8 + 1e-9, math.inf).sublinear


@pytest.mark.parametrize("regulariser", [1e-4, 0.3])
def test_the_least_information_of_any_design(regulariser: float) -> None:
    """I ≥ ½ log(1 + t/λ), attained by a repeated point: what makes matching a cap."""
    rng = np.random.default_rng(1)
    for scale in (0.0, 1e-3, 1.0):
        X = scale * rng.random((25, 2))
        information = condition(SE, np.array([0.3]), X, np.zeros(25), regulariser).information_gain
        least = 0.5 * math.log(1 + 25 / regulariser)
        assert information >= least - 1e-9
        assert scale > 0 or information == pytest.approx(least, rel=1e-9)


def test_matern_references_that_never_start() -> None:
    """theory.md#cap-and-floor: √t·γ_t reaches t^0.9 for ν=1.5, d=2 (equal powers, a logarithm more)
    and ν=2.5, d=4 (t^0.944).
    """
    for nu, d, forced in (
        (1.5, 2, False),
        (2.5, 4, False),
        (2.5, 3, True),
        (1.5, 1, True),
        (1.51, 2, True),
    ):
        setting = Setting(Matern(nu), d)
        alone = check_reference(setting, 0.9, 0.1, cap="log")
        assert alone.unbounded is forced
        assert ("h may never grow" in alone.reason) is not forced
        assert ("give h a growing floor" in alone.reason) is not forced
        lifted = check_reference(setting, 0.9, 0.1, cap="log", floor=LogGrowth(0.1))
        assert lifted.holds
    assert not check_reference(Setting(Matern(1.5), 3), 0.99, 0.1, cap="log", floor="log").sublinear


def test_a_reference_below_the_square_root_never_widens() -> None:
    for p in (0.4, 0.5, LogGrowth()):
        verdict = check_reference(Setting(SE, 1), p, 0.1)
        assert verdict.sublinear
        assert not verdict.unbounded
    assert check_reference(Setting(SE, 1), 0.51, 0.1).unbounded
    assert check_reference(Setting(SE, 1), 0.4, 0.1, floor="log").holds
    assert not check_reference(
        Setting(SE, 1), 0.4, 0.1, floor=PowerGrowth(1, 0.6)
    ).sublinear  # the floor lifts h above any cap
    assert not check_reference(
        Setting(SE, 1), 0.4, 0.1, cap="log", floor=PowerGrowth(1, 0.6)
    ).sublinear
    assert not check_reference(Setting(SE, 1), 0.4, 0.0, floor="log").unbounded


def test_only_exponents_are_a_proof() -> None:
    with pytest.raises(ConfigurationError, match="only built-in curves have, got <function"):
        check_schedule(Setting(SE, 1), lambda t: 1 + math.log1p(t), "log")
    with pytest.raises(ConfigurationError, match="only built-in curves have, got <function"):
        check_reference(Setting(SE, 1), lambda t: 1 + 3 * t**0.8, 0.1)
    with pytest.raises(ConfigurationError, match="a reference is the exponent a"):
        check_reference(Setting(SE, 1), "fast")
    with pytest.raises(ConfigurationError, match=r"exponent a .* got -1"):
        check_reference(Setting(SE, 1), -1)
    with pytest.raises(ConfigurationError, match='estimator is one of "regret_bound", "one_step"'):
        check_reference(Setting(SE, 1), 0.9, estimator="both")  # type: ignore[arg-type]


# -- greedy information
# ------------------------------------------------------------------------------------------------


def information_of(kernel: Kernel, theta: Array, X: Array, regulariser: float) -> float:
    return 0.5 * float(
        np.linalg.slogdet(np.eye(len(X)) + covariance(kernel, theta, X, X) / regulariser)[1]
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("regulariser", [0.01, 1.0])
def test_greedy_information_against_all_designs(kernel: Kernel, regulariser: float) -> None:
    rng = np.random.default_rng(5)
    C, theta, t = rng.random((6, 2)), np.array([0.3, 0.6]), 4
    greedy = greedy_information(kernel, theta, C, t, regulariser)
    assert greedy.shape == (t,)
    for s in range(1, t + 1):
        capacity = max(
            information_of(kernel, theta, C[list(rows)], regulariser)
            for rows in itertools.combinations_with_replacement(range(6), s)
        )
        assert GREEDY_SHARE * capacity - 1e-12 <= greedy[s - 1] <= capacity + 1e-12


@pytest.mark.parametrize("kernel", [SE, Matern(1.5)])
def test_greedy_information_is_the_determinant_of_naive_picks(kernel: Kernel) -> None:
    C, theta, regulariser = np.random.default_rng(6).random((40, 1)), np.array([0.2]), 1e-3
    rows: list[int] = []
    expected = []
    for _ in range(60):  # more than there are candidates: repeats
        posterior = condition(kernel, theta, C[rows], np.zeros(len(rows)), regulariser)
        rows.append(int(np.argmax(posterior.predict(C)[1])))
        expected.append(information_of(kernel, theta, C[rows], regulariser))
    np.testing.assert_allclose(
        greedy_information(kernel, theta, C, 60, regulariser), expected, rtol=1e-9
    )


def test_greedy_information_of_one_and_of_independent_points() -> None:
    t = np.linspace(1, 29, 29)
    np.testing.assert_allclose(
        greedy_information(SE, 0.1, np.zeros((1, 3)), 29, 0.05),
        0.5 * np.log1p(t / 0.05),
        rtol=1e-12,
    )
    far = np.linspace(0, 2800, 29)[:, None]
    np.testing.assert_allclose(
        greedy_information(SE, 0.1, far, 29, 0.05), 0.5 * t * math.log(21), rtol=1e-12
    )


@pytest.mark.parametrize("kernel", [SE, Matern(2.5)])
def test_capacity_of_shorter_lengthscales_adds_up_over_boxes(kernel: Kernel) -> None:
    """γ_t(θ/g) on [0, 1] ≤ g·γ_t(θ) on a box of the full length: where g^d comes from. And it
    really grows.
    """
    C = np.linspace(0, 1, 201)[:, None]
    base = greedy_information(kernel, 0.5, C, 40, 0.01)
    for g in (2, 4):
        short = greedy_information(kernel, 0.5 / g, C, 40, 0.01)
        assert np.all(short <= g * base / GREEDY_SHARE)
        assert np.all(short[5:] > 1.2 * base[5:])


def test_greedy_information_refuses_nonsense() -> None:
    C = np.zeros((2, 2))
    with pytest.raises(ConfigurationError, match="t counts the points to pick"):
        greedy_information(SE, 0.1, C, 0, 0.1)
    with pytest.raises(ConfigurationError, match="regulariser must be positive and finite, got 0"):
        greedy_information(SE, 0.1, C, 2, 0.0)
    with pytest.raises(ConfigurationError, match=r"at least one row, got shape \(2,\)"):
        greedy_information(SE, 0.1, np.zeros(2), 2, 0.1)
    with pytest.raises(ConfigurationError, match="give one or 2"):
        greedy_information(SE, np.ones(3), C, 2, 0.1)


# -- plain text
# ------------------------------------------------------------------------------------------------


def test_a_check_as_text() -> None:
    text = render_check(check_scaling(Setting(Matern(2.5), 2), PowerGrowth(2, 0.1), 0.1))
    lines = text.splitlines()
    assert lines[0] == "widening            h = 2·t^0.1, λ_w = 0.1"
    assert "kernel              Matérn 2.5, 2 inputs" in lines
    assert "norm bound          B_t = b·g^(d/2)·B_0 (tight)" in lines
    assert "theorem holds       yes, proved" in lines
    assert all(len(line) <= 100 for line in lines)
    long = render_check(check_reference(Setting(SE, 1, "paper", "printed"), 0.9, 0.1, floor="log"))
    assert all(len(line) <= 100 and not line.endswith("(log") for line in long.splitlines())
    assert "theorem holds       no, not guaranteed" in long


def test_rates_as_text() -> None:
    text = render_rates(Setting(Matern(2.5), 1, "paper", "printed"))
    assert "as misprinted" in text
    assert "g^3.5" in text  # ν + d
    assert "g^6" in text  # 2ν + d
    text = render_rates(Setting(SE, 2, "paper"))
    assert "as misprinted" not in text
    assert "h, any λ_w          sublinear below t^0.3333" in text
    assert "h, 0 < λ_w < ∞      sublinear below t^0.4" in text
    rough = render_rates(Setting(Matern(0.5), 2))
    assert "no growing h is slow enough with a fixed λ" in rough
    assert "λ = T^0.4           t^0.9 up to logarithms" in rough
    assert "horizon" not in render_rates(Setting(SE, 2))


def test_capture_as_text() -> None:
    text = render_capture(SE, "log", "log", 10.0, 2.0)
    assert "t_0 as printed      8,103 steps" in text
    assert "θ_0/θ, B/B_0        [10.0], 2" in text
    assert "needed, tight norm  never" in render_capture(SE, "log", "constant", [2.0], 5.0)
