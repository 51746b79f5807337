"""A scaling per input, theory.md#per-input: the members and their weights, how much narrower the
band is where f depends on one input, coverage with a negative control, and every kind of study.
"""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest, multivariate_normal, norm

import noregret as nr
from noregret.gp import SquaredExponential, covariance
from noregret.rkhs import EvidenceClass, FunctionClass, Mixture, Values, radius_band
from noregret.rkhs.evidence_class import FINENESS
from noregret.rkhs.radius import LONG, SHARED, SIZES, norm_lower_bound, radius_squared
from noregret.space import Array
from noregret.testing.problems import RKHSFunction, rkhs_sample
from tests.naive import equal_values
from tests.recorded import recorded

SE, DELTA = SquaredExponential(), 0.1


def sampled(seed: int, n: int, d: int, relevant: int, R: float, theta: float) -> Values:
    """Values at random points of a function of the first inputs."""
    f, rng = rkhs_sample(seed, dimension=relevant, lengthscale=theta, norm=1.5), seed
    X = np.random.default_rng([rng, n]).random((n, d))
    noise = R * np.random.default_rng([rng, n, 1]).standard_normal(n)
    return equal_values(X, f(X[:, :relevant]) + noise, R)


def test_members_are_densities_with_the_weights_of_a_mixture_fixed_before_the_data() -> None:
    values, start = sampled(0, 12, 2, 1, 0.1, 0.3), FunctionClass(np.array([1.0, 0.5]), 2.0)
    mixture, ratios = Mixture.fitted(SE, start, values)
    common = Mixture.around(SE, start)
    count = len(common.weights)
    np.testing.assert_allclose(mixture.weights[:count], SHARED * common.weights)
    assert len(mixture.weights) > count
    rows = np.column_stack([mixture.lengthscales, mixture.amplitudes])[count:]
    assert len(np.unique(rows, axis=0)) == len(rows)  # no member counts twice
    own = norm.logpdf(values.y, values.y, values.noise_bounds).sum()
    for j in range(count, len(mixture.weights), 7):
        theta, a = mixture.lengthscales[j], float(mixture.amplitudes[j])
        K = a**2 * covariance(SE, theta, values.X, values.X) + np.diag(values.noise_bounds**2)
        joint = multivariate_normal(np.zeros(12), K).logpdf(values.y)
        assert ratios[j] == pytest.approx(joint - own)
        weight = (1 - SHARED) * 2.0 ** -(SIZES.index(a / 2.0) + 1)
        for stretch in start.lengthscales / theta:
            long = stretch == pytest.approx(1 / LONG)
            weight *= 0.5 if long else 0.5 * 0.15 * 0.85 ** (2 * math.log2(stretch))
        assert mixture.weights[j] == pytest.approx(weight)


def test_all_weights_sum_to_at_most_one() -> None:
    """Those of ``around`` without an end are 1 in all; those per input likewise."""
    one = 0.5 + sum(0.5 * 0.15 * 0.85**j for j in range(200))
    sizes = sum(2.0 ** -(i + 1) for i in range(len(SIZES)))
    assert one == pytest.approx(1.0)
    assert sizes < 1
    places = itertools.product([-1, *range(60)], repeat=2)
    total = sum(
        float(Mixture._member(SE, FunctionClass(np.ones(2), 1.0), (*place, rank)).weights[0])
        for place in places
        for rank in range(len(SIZES))
    )
    assert 0.9 * (1 - SHARED) < total <= 1 - SHARED


@pytest.mark.parametrize("d", [2, 3])
def test_the_radius_is_hardly_larger_where_inputs_are_alike(d: int) -> None:
    start = FunctionClass(np.ones(d), 1.0)
    for seed in range(5):
        values = sampled(seed, 25, d, d, 0.1, 0.4)
        mixture, ratios = Mixture.fitted(SE, start, values)
        common = Mixture.around(SE, start).radius_squared(values, DELTA)
        assert (
            radius_squared(ratios, mixture.weights, DELTA)
            <= common + 2 * math.log(1 / SHARED) + 1e-9
        )


def one_scaling(values: Values, start: FunctionClass) -> tuple[FunctionClass, float]:
    """The class with one scaling for all inputs, as it was before there was one per input."""
    rule, d, n = EvidenceClass(), start.dimension, len(values)
    mixture = Mixture.around(SE, start)
    ratios = mixture.log_ratios(values)
    radius_sq = mixture.radius_squared(values, DELTA)
    share = mixture.weights * np.exp(ratios - ratios.max())
    logs = np.log(start.lengthscales[0] / mixture.lengthscales[:, 0])
    fitted = math.exp(float(share @ logs) / float(share.sum()))
    g = max(min(math.sqrt(2) * fitted, rule.cap(n) ** (1 / d)), rule.floor(n) ** (1 / d))
    g = 2.0 ** (math.ceil(FINENESS * math.log2(g) - 1e-9) / FINENESS)
    theta = start.lengthscales / g
    least = norm_lower_bound(SE, theta, values, radius_sq)
    bound = max(g ** (d / 2) * rule.norm_growth(n) / 8, 3 * least, 1.0)
    return FunctionClass(theta, bound), radius_sq


def half_widths(values: Values, theta_0: float) -> tuple[float, float]:
    """Of one scaling, and of one per input."""
    d = values.X.shape[1]
    start, A = FunctionClass(np.full(d, theta_0), 1.0), np.random.default_rng(0).random((300, d))
    held, radius_sq = one_scaling(values, start)
    before = radius_band(SE, held, values, radius_sq).predict(A)[1].mean()
    _, chosen = EvidenceClass().estimate(SE, len(values), start, values, DELTA)
    own = chosen.function_class
    own = FunctionClass(own.lengthscales, max(own.norm_bound, 1.0))
    now = radius_band(SE, own, values, chosen.radius_squared).predict(A)[1].mean()
    return float(before), float(now)


@pytest.mark.parametrize("n", [30, 60])
def test_the_band_is_a_quarter_as_wide_for_f_of_one_input_of_three(n: int) -> None:
    both = [half_widths(sampled(seed, n, 3, 1, 0.05, 0.2), 1.0) for seed in range(12)]
    before, now = np.mean(both, axis=0)
    assert now <= 0.25 * before


@pytest.mark.parametrize(("d", "n"), [(2, 30), (2, 60), (3, 60), (6, 60)])
def test_for_isotropic_f_the_band_is_not_wider(d: int, n: int) -> None:
    theta = {2: 0.3, 3: 0.5, 6: 0.8}[d]
    both = [half_widths(sampled(seed, n, d, d, 0.05, theta), 1.0) for seed in range(12)]
    before, now = np.mean(both, axis=0)
    assert now <= 1.05 * before


def flat(seed: int, d: int) -> RKHSFunction:
    """It depends on its first input, and slowly on the others."""
    rng = np.random.default_rng(seed)
    theta = np.array([0.25] + [2.0] * (d - 1))
    f = RKHSFunction(SE, theta, rng.random((8, d)), rng.standard_normal(8))
    return f.scaled_to(1.2)


NOISES = {
    "gaussian": lambda rng: float(rng.standard_normal()),
    "rademacher": lambda rng: float(rng.choice([-1.0, 1.0])),
    "uniform": lambda rng: float(rng.uniform(-1, 1)),
}


@cache
def needed(seed: int, d: int, noise: str, R: float, steps: int = 22) -> list[float]:
    """Of the band, at each look of a study at which the class contains f, by its exact norm."""
    f, rng = flat(seed, d), np.random.default_rng([seed, 7])
    strategy = nr.AdaptiveGPUCB.rigorous(R, DELTA, norm_bound=1.5, lengthscales=1.0)
    study = nr.Study([(0, 1)] * d, "maximize", strategy=strategy, seed=seed)
    grid, used = np.random.default_rng(1).random((250, d)), []
    truth = f(grid)
    for step in range(steps):
        trial = study.ask()
        study.tell(trial, float(f(np.asarray(trial.params))) + R * NOISES[noise](rng))
        if step % 2 == 0:
            continue
        belief = study.belief()
        assert belief is not None
        assert belief.norm_bound is not None
        theta = belief.lengthscales
        if np.any(theta >= math.sqrt(2) * f.lengthscales):
            continue
        if f.norm_at(theta) > belief.norm_bound * belief.scale:
            continue
        lower, upper = belief.band(grid)
        half = np.maximum((upper - lower) / 2, 1e-12)
        used.append(float(np.max(np.abs(truth - (lower + upper) / 2) / half)))
    return used


RUNS = [(2, "gaussian", 0.05), (3, "rademacher", 0.1), (3, "uniform", 0.02)]


def coverage(shrink: float) -> tuple[int, int]:
    runs = [needed(seed, *setting) for setting in RUNS for seed in range(8)]
    held = [max(run) <= shrink for run in runs if run]
    return sum(held), len(held)


def test_the_band_holds_while_the_class_contains_f() -> None:
    good, counted = coverage(1.0)
    assert counted >= 20
    assert good >= math.ceil((1 - DELTA) * counted)


def test_negative_control_a_fifth_of_the_band_fails() -> None:
    good, counted = coverage(0.2)
    assert binomtest(good, counted, 1 - DELTA, alternative="less").pvalue < 1e-3


def value(x: Array) -> float:
    return math.sin(9 * float(x[0]))


@pytest.mark.parametrize("kind", ["box", "list", "context", "limits", "workers", "told"])
def test_every_kind_of_study_has_a_lengthscale_per_input(kind: str) -> None:
    rng = np.random.default_rng(3)
    outcomes = {"g": nr.OutcomeAssumptions(0.05)} if kind == "limits" else {}
    strategy = nr.AdaptiveGPUCB.rigorous(0.05, norm_bound=1.0, lengthscales=1.0, outcomes=outcomes)
    names = ("a", "b", "c")
    space: nr.Space | nr.Candidates = nr.Space({name: nr.Float(0, 1) for name in names})
    if kind == "list":
        space = nr.Candidates([dict(zip(names, x, strict=True)) for x in rng.random((80, 3))])
    limits = {"g": nr.AtMost(0.5)} if kind == "limits" else None
    context = ["c"] if kind == "context" else []
    study = nr.Study(space, "maximize", strategy, outcomes=limits, context=context, seed=0)
    waiting: list[nr.Trial] = []
    for _ in range(34):
        trial = study.ask(context={"c": float(rng.random())}) if kind == "context" else study.ask()
        waiting.append(trial)
        if kind == "workers" and len(waiting) < 4:
            continue
        done = waiting.pop(0)
        x = np.array([done.params[name] for name in names])
        measured = {"g": float(x[1])} if kind == "limits" else None
        noise = 0.06 if kind == "told" else None
        told = value(x) + 0.05 * float(rng.uniform(-1, 1))
        study.tell(done, told, noise_std=noise, outcomes=measured)
    theta = recorded(study.trials[-1]).lengthscales
    assert theta[0] < min(theta[1:])
    belief = study.belief()
    assert belief is not None
    assert belief.proved
    points = rng.random((50, 3))
    if kind != "list":
        assert belief.radius is not None
        lower, upper = belief.radius.bounds(points)
        truth = np.sin(9 * points[:, 0])
        assert np.all((lower <= truth) & (truth <= upper))
