"""The rigorous preset: a class that follows the data, with the band of one radius."""

import math
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest

import noregret as nr
from noregret import RadiusGPUCB
from noregret.errors import ConfigurationError, GuaranteeError
from noregret.gp.kernels import Matern, SquaredExponential
from noregret.gp.posterior import condition
from noregret.rkhs.evidence_class import FINENESS, EvidenceClass
from noregret.rkhs.function_class import FunctionClass
from noregret.rkhs.radius import SCALES, Mixture, norm_lower_bound, radius_band
from noregret.rkhs.widening import ConstantGrowth, LogGrowth, PowerGrowth
from noregret.space.array import Array
from noregret.testing.problems import RKHSFunction, bump, rkhs_sample
from tests.naive import equal_values
from tests.recorded import recorded

GRID = np.linspace(0, 1, 101)[:, None]


def upper_end(trial: nr.Trial) -> float:
    """Of the band where it was asked, for an offset of 0."""
    why = recorded(trial)
    return float(why.mean + why.beta_sqrt * why.std)


@cache
def run(seed: int, d: int, trials: int) -> tuple[nr.Study, bool, bool]:
    """A study with θ_0/θ = 5, B_0 too small; whether its class contains f in the end, and whether
    every band of a class that contained f did."""
    f, noise = rkhs_sample(seed, dimension=d, lengthscale=0.2, norm=3.0), 0.05
    rng = np.random.default_rng([seed, 4])
    strategy = RadiusGPUCB(noise, norm_bound=1.0, lengthscales=1.0)
    study = nr.Study([(0, 1)] * d, "maximize", strategy=strategy, seed=seed)
    points = GRID if d == 1 else rng.random((200, d))
    contained, held = False, True
    for number in range(trials):
        trial = study.ask()
        study.tell(trial, float(f(np.asarray(trial.params))) + noise * float(rng.standard_normal()))
        if number % 5 == 4:
            belief = study.belief()
            assert belief is not None
            theta, bound = belief.lengthscales, belief.norm_bound
            assert bound is not None
            contained = bool(np.all(theta < 0.2 * math.sqrt(2))) and f.norm_at(theta) <= bound
            lower, upper = belief.band(points)
            truth = f(points)
            held &= not contained or bool(np.all((lower <= truth) & (truth <= upper)))
    return study, contained, held


@pytest.mark.parametrize("d", [1, 2])
def test_f_is_captured_and_the_bands_hold(d: int) -> None:
    runs = [run(seed, d, 40) for seed in range(5)]
    assert sum(contained for _, contained, _ in runs) >= 4
    assert all(held for _, _, held in runs)


def test_an_unseen_bump_is_found() -> None:
    f = bump()
    for seed in range(3):
        strategy = RadiusGPUCB(0.05, norm_bound=1.0, lengthscales=1.0)
        rng = np.random.default_rng(seed)
        study = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=seed)

        def noisy(x: np.ndarray, rng: np.random.Generator = rng) -> float:
            return float(f(x)) + 0.05 * float(rng.standard_normal())

        study.run(noisy, 40)
        assert f.maximum - float(f(np.asarray(study.recommended.params))) < 0.1


def test_points_under_way_change_what_is_asked_and_not_the_certificate() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy=RadiusGPUCB(0.05, lengthscales=1.0))
    for x in (0.2, 0.5):
        study.add([x], x, None)
    before = study.certificate().regret_bound
    first, second = study.ask(2)
    assert abs(float(first.params[0]) - float(second.params[0])) > 0.05
    assert study.certificate().regret_bound == before


def test_a_told_noise_only_raises_the_bound_and_is_named() -> None:
    def told(noise_std: float | None) -> nr.Study:
        study = nr.Study(
            [(0, 1)], "maximize", strategy=RadiusGPUCB(0.1, norm_bound=2.0, lengthscales=0.5)
        )
        for x in (0.1, 0.3, 0.5, 0.7, 0.9):
            study.add([x], float(np.sin(5 * x)), noise_std)
        return study

    plain, less, more = (told(v).certificate() for v in (None, 0.001, 0.5))
    assert less.regret_bound == pytest.approx(plain.regret_bound)
    assert "a noise was told" in more.condition
    assert "a noise was told" not in plain.condition


@pytest.mark.parametrize("noise_std", [None, 0.4])
def test_the_forecast_is_that_of_the_noise_that_counts(noise_std: float | None) -> None:
    """c = 1: λ is the values' own R², not that of the bound which the told noise raised."""
    study = nr.Study(
        [(0, 1)], "maximize", strategy=RadiusGPUCB(0.1, norm_bound=2.0, lengthscales=0.5)
    )
    X = np.array([[0.1], [0.3], [0.5], [0.7], [0.9]])
    for x in X:
        study.add(x.tolist(), float(np.sin(5 * x[0])), noise_std)
    belief, at = study.belief(), np.array([[0.6]])
    assert belief is not None
    noise = 0.1 if noise_std is None else noise_std
    k = np.exp(-0.5 * ((X - X.T) / belief.lengthscales[0]) ** 2) + (noise / 2) ** 2 * np.eye(5)
    row = np.exp(-0.5 * ((at - X) / belief.lengthscales[0]) ** 2)[:, 0]
    mean = row @ np.linalg.solve(k, np.sin(5 * X[:, 0]))
    assert belief.predict(at)[0][0] == pytest.approx(mean)


def wave(x: float) -> float:
    return 0.5 * math.sin(6 * x)


def test_withdrawn_points_cost_no_width_and_are_not_proposed_again() -> None:
    """The band of the next decision is that of the values alone; the band counts one that is
    really under way, as before."""
    strategy = RadiusGPUCB(0.05, lengthscales=0.5)
    study = nr.Study([(0.0, 1.0)], "maximize", strategy, seed=0)
    study.run(lambda x: wave(x[0]), 6)
    gone = [study.tell(study.ask(), state="withdrawn") for _ in range(3)]
    history = study._history(study.trials)
    assert len(history.pending) == len(history.given_up) == 3
    assert len(history.under_way) == 0
    band = strategy.estimated_class(study.space, history).band
    asked = study.ask()
    _, above = band.bounds(study.space.encode(asked.params)[None, :])
    assert upper_end(asked) == pytest.approx(float(above[0]))
    xs = [float(trial.params[0]) for trial in [*gone, asked]]
    gaps = np.abs(np.subtract.outer(xs, xs))[np.triu_indices(4, 1)]
    assert gaps.min() > 0.01
    free = np.linspace(0, 1, 2001)
    free = free[np.min(np.abs(np.subtract.outer(free, xs[:3])), axis=1) > 0.01]
    assert float(above[0]) >= float(band.upper(free[:, None]).max()) - 1e-4  # the best of the rest
    other = study._history(study.trials)
    assert len(other.under_way) == 1
    assert len(other.given_up) == 3
    assert study.replay().number is None


def test_withdrawn_designs_of_a_list_are_left_until_none_is() -> None:
    designs = nr.Candidates([{"x": x / 5} for x in range(6)])
    strategy = RadiusGPUCB(0.05, lengthscales=0.5, initial_points=2)
    study = nr.Study(designs, "maximize", strategy, seed=1)
    study.run(lambda params: wave(params["x"]), 2)
    gone = [study.tell(study.ask(), state="withdrawn") for _ in range(6)]
    assert len({trial.params["x"] for trial in gone}) == 6
    assert study.ask().params["x"] in {x / 5 for x in range(6)}


@pytest.mark.parametrize("rate", [1.0, 11.0])
def test_what_was_given_implies_the_condition_or_it_says_so(rate: float) -> None:
    """f has exactly the given norm at θ_0: with b ≥ 1 every class contains it, with less not all.
    B_0 = 2, and the naive bound at θ is g^(d/2) of that."""
    f = RKHSFunction(SquaredExponential(), np.full(2, 0.5), np.full((1, 2), 0.5), np.array([2.0]))
    rule = EvidenceClass(norm_growth=LogGrowth(rate))
    strategy = RadiusGPUCB(0.6, norm_bound=2.0, lengthscales=0.5, following=rule)
    study = nr.Study([(0, 1)] * 2, "maximize", strategy)
    rng, missed = np.random.default_rng(3), 0
    for x in rng.random((12, 2)):
        study.add(x.tolist(), float(f(x)) + 0.6 * float(rng.uniform(-1, 1)))
        belief = study.belief()
        assert belief is not None
        assert belief.norm_bound is not None
        implied = 2.0 * float(np.prod(0.5 / belief.lengthscales)) ** 0.5
        bound = 2.0 * belief.norm_bound
        assert f.norm_at(belief.lengthscales) <= implied + 1e-9
        missed += f.norm_at(belief.lengthscales) > bound
        said = f"the bound that was given implies only {implied:.3g}." in belief.condition
        assert said == (bound < implied)
        assert said == ("implies only" in belief.condition)
    assert (missed > 0) == (rate == 1.0)


def test_equal_arguments_give_equal_proposals_and_rough_kernels_are_allowed() -> None:
    study = nr.Study(
        [(0, 1)] * 3, "maximize", strategy=RadiusGPUCB(0.1, kernel=Matern(0.5), initial_points=3)
    )
    for value in (0.1, 0.3, -0.2, 0.0):
        study.tell(study.ask(), value)
    assert study.replay().number is None


def test_it_is_the_rigorous_preset() -> None:
    made = nr.AdaptiveGPUCB.rigorous(0.1, 0.05, norm_bound=2.0, lengthscales=(0.5,), offset=1.0)
    assert made == RadiusGPUCB(0.1, 0.05, 2.0, (0.5,), offset=1.0)
    assert "sublinear" in made.theorem
    assert RadiusGPUCB(0.1, lengthscales=np.array([1.0, 2.0])).lengthscales == (1.0, 2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_a_decision_records_class_and_band_and_can_be_derived_by_hand(goal: Any) -> None:
    """Values scaled by B_0 = 2, less the offset of 3; everything again from dense formulas."""
    sign = 1.0 if goal == "maximize" else -1.0
    strategy = RadiusGPUCB(0.1, norm_bound=2.0, lengthscales=1.0, offset=3.0)
    study = nr.Study([(0, 1)], goal, strategy, seed=2)
    study.run(lambda x: 3.0 + sign * float(np.sin(6 * x[0])), 8)
    X = np.array([t.params for t in study.trials[:7]])
    y = sign * (np.array([t.value for t in study.trials[:7]]) - 3.0) / 2.0
    why, x = recorded(study.trials[7]), np.asarray(study.trials[7].params)
    values, theta = equal_values(X, y, 0.05), np.array(why.lengthscales)
    mixture = Mixture.around(SquaredExponential(), FunctionClass(np.array([1.0]), 1.0))
    radius_sq = mixture.radius_squared(values, 0.1)
    least = norm_lower_bound(SquaredExponential(), theta, values, radius_sq)
    assert why.norm_lower_bound == pytest.approx(least)
    j = FINENESS * math.log2(why.g)
    assert j == pytest.approx(round(j))
    assert why.t == 6
    assert why.norm_bound is not None
    assert why.norm_bound == pytest.approx(max((1 + math.log(7)) / 8 * math.sqrt(why.g), 3 * least))
    held = FunctionClass(theta, why.norm_bound)
    band = radius_band(SquaredExponential(), held, values, radius_sq)
    lower, upper = band.bounds(np.vstack([x, X]))
    K = np.exp(-0.5 * ((X - X.T) / theta) ** 2) + 0.05**2 * np.eye(7)
    k = np.exp(-0.5 * ((x - X[:, 0]) / theta) ** 2)
    mean, std = k @ np.linalg.solve(K, y), math.sqrt(1 - k @ np.linalg.solve(K, k))
    assert why.mean == pytest.approx(3.0 + sign * 2 * mean)
    assert why.std == pytest.approx(2 * std)
    assert why.beta_sqrt == pytest.approx((upper[0] - mean) / std)
    assert why.recommended_bound == pytest.approx(sign * 3.0 + 2 * lower[1:].max())
    assert band.bounds(GRID)[1].max() <= upper[0] + 1e-6  # the argmax of the upper end


def test_points_under_way_narrow_the_variance_and_widen_the_band_in_return() -> None:
    """Each ellipsoid's width times exp(I(pending | observed)), recomputed by hand."""
    study = nr.Study([(0, 1)], "maximize", strategy=RadiusGPUCB(0.1), seed=1)
    study.run(lambda x: float(np.sin(5 * x[0])), 10)
    X, y = np.array([t.params for t in study.trials]), np.array([t.value for t in study.trials])
    asked = study.ask(3)
    for count, trial in enumerate(asked):
        why, x = recorded(trial), np.asarray(trial.params)[None, :]
        assert why.proved
        assert why.norm_bound is not None
        pending = np.array([t.params for t in asked[:count]]).reshape(-1, 1)
        values, theta = equal_values(X, y, 0.1), np.array(why.lengthscales)
        mixture = Mixture.around(SquaredExponential(), FunctionClass(np.array([1.0]), 1.0))
        held = FunctionClass(theta, why.norm_bound)
        radius_sq = mixture.radius_squared(values, 0.1)
        band = radius_band(SquaredExponential(), held, values, radius_sq)
        uppers = []
        for c, width in zip(SCALES, band.widths, strict=True):
            every = condition(SquaredExponential(), theta, X, y, c * 0.01, pending, c * 0.01)
            inflation = math.exp(every.pending_information)
            assert (inflation > 1.0) == (count > 0)
            mean, std = every.predict(x)
            uppers.append(mean[0] + width * inflation * std[0])
        assert upper_end(trial) == pytest.approx(min(uppers))
    places = [float(t.params[0]) for t in asked]
    assert np.min(np.abs(np.subtract.outer(places, places))[np.triu_indices(3, 1)]) > 0.01


class Cosine:
    """Positive definite in one dimension, and without the spectral property."""

    decreasing_spectrum: ClassVar[bool] = False

    def value(self, sq: Array) -> Array:
        return np.cos(np.sqrt(sq))

    def slope(self, sq: Array) -> Array:
        return -0.5 * np.sinc(np.sqrt(sq) / np.pi)

    def capacity_exponent(self, dimension: int, printed: bool = False) -> float:
        return float(dimension)


class Declared(Cosine):
    """Declares the property, but its capacity is not known here."""

    decreasing_spectrum: ClassVar[bool] = True


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kernel": Cosine()}, "spectral density"),
        ({"kernel": Declared()}, "information capacity"),
        ({"following": EvidenceClass(floor=ConstantGrowth())}, "the floor of the class must grow"),
        (
            {"following": EvidenceClass(norm_growth=ConstantGrowth())},
            "the norm_growth of the class must grow",
        ),
        ({"following": EvidenceClass(cap=PowerGrowth(1.0, 0.4))}, "logarithmically"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_breaks_the_theorem_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(GuaranteeError, match=message):
        RadiusGPUCB(0.1, **change)
    RadiusGPUCB(0.1, following=EvidenceClass(floor=LogGrowth(0.3)))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"noise_bound": 0.0}, "noise_bound must be positive"),
        ({"noise_bound": None}, "noise_bound"),
        ({"norm_bound": -2.0}, "norm_bound"),
        ({"lengthscales": (1.0, -1.0)}, "lengthscales"),
        ({"delta": 1.0}, "delta"),
        ({"offset": math.nan}, "offset"),
        ({"initial_points": 2.5}, "initial_points"),
        ({"following": EvidenceClass}, "following must be a value"),
    ],
    ids=str,
)
def test_impossible_settings(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RadiusGPUCB(**{"noise_bound": 0.1, **bad})


def test_lengthscales_must_fit_the_space() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy=RadiusGPUCB(0.1, lengthscales=(1.0, 1.0)))
    study.add([0.5], 0.0)
    study.add([0.6], 0.0)
    with pytest.raises(ConfigurationError, match="2 entries"):
        study.ask()


def test_failed_trials_and_points_under_way_do_not_move_the_class() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy=RadiusGPUCB(0.1))
    for x in (0.2, 0.6):
        study.add([x], x)
    first = study.ask()
    study.tell(study.ask(), state="failed")
    third = study.ask()
    assert (first.why.t, third.why.t) == (1, 3)
    assert third.decision.payload["norm_bound"] == first.decision.payload["norm_bound"]
    study.tell(first, 0.4)
    assert study.ask().decision.payload["norm_bound"] != first.decision.payload["norm_bound"]
