"""R from repeats: the bound's coverage for four laws with negative controls, the monotone radius,
and the band of a strategy that was told no noise.
"""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, chi2

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.gp import Matern, SquaredExponential
from noregret.rkhs import FunctionClass, Mixture
from noregret.rkhs.noise_bound import (
    NoiseFromReplicates,
    first_pairs,
    on_noise_grid,
    pairs_at,
    strict_quantile,
    unpaired,
)
from noregret.space import Array
from noregret.testing.problems import rkhs_sample
from tests.naive import equal_values
from tests.recorded import recorded

LAWS: dict[str, Any] = {
    "gaussian": lambda rng, size: rng.standard_normal(size),
    "rademacher": lambda rng, size: rng.choice([-1.0, 1.0], size),
    "uniform": lambda rng, size: rng.uniform(-math.sqrt(3), math.sqrt(3), size),
    "rare": lambda rng, size: rng.choice([-1.0, 1.0], size) * 20 * (rng.random(size) < 1 / 400),
}  # all of variance 1; the last one is sub-Gaussian with R far above its std


def covered(rule: NoiseFromReplicates, law: str, delta: float, runs: int = 2_000) -> int:
    rng = np.random.default_rng(1)
    noise = LAWS[law](rng, (runs, rule.pairs, 2))
    return sum(rule.bound(pair[:, 0] - pair[:, 1], delta) >= 1.0 for pair in noise)


@pytest.mark.parametrize("pairs", [2, 8, 20])
def test_gaussian_repeats_have_exactly_the_stated_coverage(pairs: int) -> None:
    hit = covered(NoiseFromReplicates(pairs), "gaussian", 0.1)
    assert binomtest(hit, 2_000, 0.9).pvalue > 1e-3  # neither below nor above


@pytest.mark.parametrize("law", ["gaussian", "rademacher", "uniform"])
@pytest.mark.parametrize("pairs", [8, 16])
def test_strict_repeats_cover(law: str, pairs: int) -> None:
    hit = covered(NoiseFromReplicates(pairs, "strict"), law, 0.05)
    assert binomtest(hit, 2_000, 0.95, alternative="less").pvalue > 1e-3


def test_negative_controls() -> None:
    """The estimate itself covers half the time; the Gaussian quantile fails for two-valued noise
    with few pairs; and no rule knows about values that have not been seen.
    """
    rng = np.random.default_rng(2)
    apart = np.diff(rng.standard_normal((2_000, 8, 2)), axis=2)[:, :, 0]
    plain = np.sqrt(np.sum(apart**2, axis=1) / 16)
    assert np.mean(plain >= 1) < 0.6
    assert covered(NoiseFromReplicates(2), "rademacher", 0.1) < 0.8 * 2_000
    assert covered(NoiseFromReplicates(16, "strict"), "rare", 0.05) < 0.9 * 2_000


def test_the_quantile_by_brute_force() -> None:
    for m, delta in ((8, 0.05), (16, 0.05), (40, 0.01)):
        rates = np.exp(np.linspace(-8, 3, 20_001))
        tried = (-m * np.log(2 / 3 + np.exp(-6 * rates) / 3) - math.log(1 / delta)) / rates
        assert strict_quantile(m, delta) == pytest.approx(max(float(tried.max()), 0.0), rel=1e-5)
    assert strict_quantile(7, 0.05) == 0.0  # (2/3)^7 > .05: all seven may agree by chance


def test_the_bound_on_the_transform_holds_and_is_attained() -> None:
    """E e^(−uZ) ≤ ⅔ + ⅓e^(−6u) for E Z = 2, E Z² ≤ 12: attained at Z ∈ {0, 6}."""
    rng = np.random.default_rng(3)
    for law in ("gaussian", "rademacher", "uniform"):
        Z = np.diff(LAWS[law](rng, (40_000, 2)), axis=1)[:, 0] ** 2
        assert np.mean(Z**2) <= 12 * 1.05
        for u in (0.05, 0.3, 1.0, 4.0):
            assert np.mean(np.exp(-u * Z)) <= 2 / 3 + math.exp(-6 * u) / 3 + 0.01
    extreme = np.array([0.0, 0.0, 6.0])
    assert extreme.mean() == 2.0
    assert (extreme**2).mean() == 12.0


@pytest.mark.parametrize("kernel", [SquaredExponential(), Matern(1.5)], ids=str)
def test_the_radius_in_the_values_units_rises_with_the_noise(kernel: Any) -> None:
    """R·ρ(R) does not fall: what allows a bound computed from the same values."""
    rng = np.random.default_rng(4)
    for seed in range(4):
        X = rng.random((15, 2))
        y = rkhs_sample(seed, dimension=2, lengthscale=0.3, norm=2.0)(X) + 0.1 * rng.normal(size=15)
        mixture = Mixture.around(kernel, FunctionClass(np.ones(2), 1.0))
        levels = np.geomspace(1e-3, 3.0, 30)
        reach = [
            level**2 * mixture.radius_squared(equal_values(X, y, float(level)), 0.1)
            for level in levels
        ]
        assert np.all(np.diff(reach) >= -1e-9 * np.abs(reach[1:]))
        plain = [mixture.radius_squared(equal_values(X, y, float(level)), 0.1) for level in levels]
        assert np.any(np.diff(plain) < 0)  # the radius in noise units does fall


def test_pairs_are_found_in_order_and_disjoint() -> None:
    X = np.array([[0.1], [0.2], [0.1 + 1e-12], [0.1], [0.2], [0.1]])
    y = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    assert [y[i] - y[j] for i, j in first_pairs(X, 9)] == [1 - 4, 2 - 16, 8 - 32]
    assert first_pairs(X, 1) == [(0, 2)]
    assert pairs_at(X, X[[1, 0, 0]]) == [(1, 4), (0, 2), (3, 5)]
    assert pairs_at(X[:4], X[[1, 0]]) == [(0, 2)]
    none = np.empty((0, 1))
    assert unpaired(X, none) is None
    again = unpaired(X[:3], none)
    assert again is not None
    assert again[0] == 0.2
    assert unpaired(X[:3], np.array([[0.2]])) is None


def run(strategy: Any, seed: int, noise: float, trials: int) -> tuple[Any, Array, nr.Study]:
    f, rng = rkhs_sample(seed, lengthscale=0.25, norm=1.0), np.random.default_rng([seed, 9])
    study = nr.Study([(0, 1)], "minimize", strategy=strategy, seed=seed)
    study.run(lambda x: -float(f(x)) + noise * rng.standard_normal(), trials, progress=False)
    grid = np.linspace(0, 1, 101)[:, None]
    return f, grid, study


@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_the_band_holds_although_nobody_told_the_noise(noise: float) -> None:
    """With the class fixed to one that holds f (θ ≤ .25, B ≥ 3·norm): the band of all seeds; a band
    for a fiftieth of the noise fails in most.
    """
    strategy = nr.AdaptiveGPUCB.rigorous(norm_bound=3.0, lengthscales=0.25)
    held = failed = 0
    for seed in range(6):
        f, grid, study = run(strategy, seed, noise, 26)
        belief = study.belief()
        assert belief is not None
        lower, upper = belief.band(grid)
        held += bool(np.all((lower - 1e-9 <= f(grid)) & (f(grid) <= upper + 1e-9)))
        assert noise * 0.9 < recorded(study.trials[-1]).noise_std < 6 * noise
        small = nr.AdaptiveGPUCB.rigorous(noise / 50, norm_bound=0.3, lengthscales=0.25)
        other = nr.Study([(0, 1)], "minimize", strategy=small, seed=seed)
        for trial in study.trials:
            other.add(trial.params, float(trial.value or 0.0))
        tight = other.belief()
        assert tight is not None
        lower, upper = tight.band(grid)
        failed += bool(np.any((lower > f(grid)) | (f(grid) > upper)))
    assert held == 6
    assert failed >= 3


def test_pairs_come_first_and_nothing_is_claimed_before() -> None:
    strategy = nr.AdaptiveGPUCB.rigorous(NoiseFromReplicates(3), norm_bound=3.0)
    study = nr.Study([(0.0, 7.3), (1e-4, 1.0)], "maximize", strategy=strategy, seed=2)
    rng = np.random.default_rng(0)
    for n in range(6):
        assert study.belief() is None
        trial = study.ask()
        assert trial.decision.source == "initial"
        study.tell(trial, float(rng.standard_normal()), noise_std=5.0)  # told, and not used
        assert n % 2 == 0 or np.allclose(trial.params, study.trials[-2].params, rtol=1e-9)
    asked = study.ask()
    assert asked.decision.source == "model"
    assert asked.decision.payload["noise_std"] is not None
    assert asked.decision.payload["noise_std"] < 5.0
    belief = study.belief()
    assert belief is not None
    assert "first 3 repeats" in belief.condition
    assert "0.9" in belief.condition
    assert belief.proved
    assert "Gaussian" in strategy.theorem


def test_points_under_way_are_repeated_once() -> None:
    strategy = nr.AdaptiveGPUCB.rigorous(NoiseFromReplicates(2))
    study = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=3)
    first = study.ask()
    second = study.ask()  # the first has no value: a point of its own
    assert first.params != second.params
    study.tell(first, 1.0)
    third = study.ask()
    assert third.params[0] == pytest.approx(first.params[0])
    fourth = study.ask()
    assert fourth.params[0] not in (first.params[0], second.params[0])
    study.tell(third, state="failed")
    assert study.ask().params[0] == pytest.approx(first.params[0])


def test_a_repeat_that_is_told_late_changes_nothing() -> None:
    """By trial number it would be one of the first two pairs; the bound is that of the pairs that
    were complete when the model decided first. Another order of telling, as from two workers.
    """
    strategy = nr.AdaptiveGPUCB.rigorous(NoiseFromReplicates(2), initial_points=2)
    study = nr.Study([(0.0, 1.0)], "maximize", strategy, seed=0)
    rng = np.random.default_rng(0)

    def tell(trial: nr.Trial) -> float:
        value = math.sin(6 * trial.params[0]) + 0.1 * float(rng.standard_normal())
        study.tell(trial, value)
        return value

    tell(study.ask())
    late = study.ask()  # at the first point again
    values = [tell(study.ask()) for _ in range(4)]
    asked = study.ask()
    pairs = [values[0] - values[1], values[2] - values[3]]
    naive = math.sqrt(sum(d * d for d in pairs) / 2 / chi2.ppf(0.05, 2))
    assert asked.decision.payload["noise_std"] == pytest.approx(naive)
    tell(asked)
    assert study.belief() is not None
    study.tell(late, 50.0)
    for _ in range(2):
        following = study.ask()
        assert following.decision.payload["noise_std"] == pytest.approx(naive)
        tell(following)
    assert study.replay().number is None
    slip = study.trials[2]
    study.correct(slip, values[0] + 0.3)  # a corrected value counts as it is now
    pairs[0] += 0.3
    corrected = math.sqrt(sum(d * d for d in pairs) / 2 / chi2.ppf(0.05, 2))
    assert study.ask().decision.payload["noise_std"] == pytest.approx(corrected)


def test_values_without_noise() -> None:
    strategy = nr.AdaptiveGPUCB.rigorous(NoiseFromReplicates(2), norm_bound=2.0)
    study = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=3)
    study.run(lambda x: float(np.sin(3 * x[0])), trials=8)
    assert study.trials[-1].decision.payload["noise_std"] == pytest.approx(2e-4)


@pytest.mark.parametrize(
    "make",
    [
        lambda: NoiseFromReplicates(0),
        lambda: NoiseFromReplicates(2.5),  # type: ignore[arg-type]
        lambda: NoiseFromReplicates(law="cauchy"),  # type: ignore[arg-type]
        lambda: nr.AdaptiveGPUCB.rigorous(NoiseFromReplicates(5, "strict")),
        lambda: nr.AdaptiveGPUCB.rigorous(None),  # type: ignore[arg-type]
    ],
)
def test_mistakes(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()


def test_the_grid_of_told_noise_is_above_the_bound_and_its_weights_sum_to_one() -> None:
    weights = set()
    for bound in np.geomspace(1e-5, 1e3, 400):
        level, weight = on_noise_grid(float(bound), 2.0)
        assert bound * (1 - 1e-9) <= level <= bound * 2**0.25 * (1 + 1e-9)
        assert (4 * math.log2(level * 8)) == pytest.approx(round(4 * math.log2(level * 8)))
        weights.add(weight)
    assert max(weights) == pytest.approx(1 / 3)  # at B_0/16
    k = np.arange(-200_000, 200_001)
    assert np.sum(2 / (3 * (np.abs(k) + 1) * (np.abs(k) + 2))) == pytest.approx(1.0, abs=1e-5)


def told_run(seed: int, louder: bool) -> tuple[bool, nr.Study]:
    """Every third value has forty times the noise; whether the band holds everywhere if that is
    told, or if it is not.
    """
    f, rng = rkhs_sample(seed, lengthscale=0.25, norm=1.0), np.random.default_rng([seed, 5])
    strategy = nr.AdaptiveGPUCB.rigorous(NoiseFromReplicates(4), norm_bound=3.0, lengthscales=0.25)
    study, R = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=seed), 0.02
    for n in range(26):
        trial = study.ask()
        loud = n >= 8 and n % 3 == 0
        noise = (40 if loud else 1) * R * float(rng.standard_normal())
        told = 40 * R if loud and louder else None
        study.tell(trial, float(f(trial.params)) + noise, noise_std=told)
    belief, grid = study.belief(), np.linspace(0, 1, 101)[:, None]
    assert belief is not None
    lower, upper = belief.band(grid)
    return bool(np.all((lower <= f(grid)) & (f(grid) <= upper)) and not belief.refuted), study


def test_told_noise_counts_where_it_is_larger_and_the_rest_is_found() -> None:
    runs = [told_run(seed, louder=True) for seed in range(8)]
    assert all(held for held, _ in runs)
    bound = recorded(runs[0][1].trials[-1]).noise_std
    assert 0.01 < bound < 0.1  # that of the quiet values
    assert not all(told_run(seed, louder=False)[0] for seed in range(8))  # the negative control


@pytest.mark.parametrize("value_bound", [0.05, NoiseFromReplicates(4)])
def test_limits_with_unknown_noise_repeat_first_and_all_bands_hold(value_bound: Any) -> None:
    """Where the outcome is near its limit, noise decides whether a value is told."""
    assumed = nr.OutcomeAssumptions(NoiseFromReplicates(5), norm_bound=3.0, lengthscales=0.3)
    held = failed = 0
    for seed in range(3):
        f = rkhs_sample(seed, lengthscale=0.3, norm=1.0)
        c, rng = rkhs_sample(seed + 50, lengthscale=0.3, norm=1.0), np.random.default_rng(seed)
        strategy = nr.AdaptiveGPUCB.rigorous(
            value_bound, norm_bound=3.0, lengthscales=0.3, outcomes={"c": assumed}
        )
        limits = {"c": nr.AtLeast(-0.2)}
        study = nr.Study([(0, 1)], "maximize", strategy, outcomes=limits, seed=seed)
        for _ in range(22):
            trial = study.ask()
            at = np.array(trial.params)
            value, margin = (float(each(at)) + 0.05 * rng.standard_normal() for each in (f, c))
            kept = margin >= -0.2
            study.tell(trial, value if kept else None, outcomes={"c": margin})
        early = [t for t in study.trials if t.decision.source == "initial"]
        places = [tuple(t.params) for t in early]
        assert sum(places.count(place) == 2 for place in set(places)) >= 5
        belief, grid = study.belief(), np.linspace(0, 1, 101)[:, None]
        assert belief is not None
        assert belief.proved
        (of,) = belief.outcomes
        assert "first 5 repeats" in of.margin.condition
        bands = [belief.band(grid), of.margin.band(grid)]
        truth = (f(grid), c(grid) + 0.2)  # of the value, and of the margin
        for (lower, upper), exact in zip(bands, truth, strict=True):
            middle, half = (lower + upper) / 2, (upper - lower) / 2
            used = float(np.max(np.abs(exact - middle) / half))
            held += used <= 1.0
            failed += used > 0.05
        assert study.replay().number is None
    assert held == 6
    assert failed == 6  # the negative control: a twentieth of the bands
