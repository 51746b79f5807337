"""A noise bound that is too small is refuted by replicates; one that is right, hardly ever."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.rkhs.noise_bound import RATES, noise_refuted, pair_evidence
from noregret.space import Array
from noregret.testing.problems import rkhs_sample
from tests.theory.test_repeats import LAWS

DELTA = 0.1


def pairs_needed(times: float, law: str, seed: int, most: int = 12) -> int:
    """After how many planned pairs of noise ``times`` as large as R = 1 the bound is refuted."""
    noise = times * LAWS[law](np.random.default_rng(seed), (most, 2))
    for m in range(1, most + 1):
        X = np.repeat(np.arange(m, dtype=np.float64) / most, 2)[:, None]
        y = np.repeat(10.0 * np.arange(m), 2) + noise[:m].ravel()
        planned = [(2 * i, 2 * i + 1) for i in range(m)]
        if noise_refuted(X, y, np.ones(2 * m), planned, DELTA):
            return m
    return most + 1


@pytest.mark.parametrize("law", ["gaussian", "rademacher", "uniform"])
def test_a_right_bound_is_refuted_at_any_time_with_at_most_delta(law: str) -> None:
    wrong = sum(pairs_needed(1.0, law, seed) <= 12 for seed in range(300))
    assert binomtest(wrong, 300, DELTA, alternative="greater").pvalue > 1e-3
    assert wrong <= 9  # in fact in 2 %


@pytest.mark.parametrize(("times", "pairs"), [(2.0, 14), (3.0, 6), (10.0, 2)])
def test_a_wrong_bound_is_refuted_after_few_pairs(times: float, pairs: int) -> None:
    found = [pairs_needed(times, "gaussian", seed, 14) <= pairs for seed in range(200)]
    assert np.mean(found) >= 0.85
    # the negative control: nothing is known without replicates
    y = 10 * np.random.default_rng(0).normal(size=40)
    assert not noise_refuted(np.linspace(0, 1, 40)[:, None], y, np.ones(40), [], DELTA)


def test_the_evidence_is_the_naive_one_and_has_mean_one_at_most() -> None:
    rng = np.random.default_rng(1)
    D, bounds = rng.normal(size=5), rng.uniform(0.5, 2.0, (5, 2))
    R = np.sqrt((bounds**2).sum(axis=1) / 2)
    naive = np.mean([np.prod(np.cosh(v / R * D) * np.exp(-(v**2))) for v in RATES])
    assert pair_evidence(D, bounds) == pytest.approx(math.log(naive))
    noise = rng.normal(size=(200_000, 1, 2))
    low = RATES[RATES <= 1]  # where the mean is not one of rare large values
    mean = [np.mean(np.cosh(v * (noise[:, 0, 0] - noise[:, 0, 1])) * np.exp(-(v**2))) for v in low]
    assert mean == pytest.approx([1.0] * len(low), abs=0.06)
    assert pair_evidence(np.empty(0), np.empty((0, 2))) == pytest.approx(0.0)


def test_pairs_that_were_not_planned_count_only_beyond_what_noise_can_do() -> None:
    """Replicates of the most surprising values are no evidence; the largest noise of all is."""
    rng = np.random.default_rng(2)
    falsely = naive = caught = 0
    for _ in range(200):
        first = rng.normal(size=300)
        picked = np.argsort(-np.abs(first))[:12]  # a person repeats what looks odd
        X, again = np.append(np.arange(300.0), picked)[:, None], rng.normal(size=12)
        y, R = np.append(first, again), np.ones(312)
        falsely += noise_refuted(X, y, R, [], DELTA)
        evidence = pair_evidence(first[picked] - again, np.ones((12, 2)))
        naive += evidence >= math.log(1 / DELTA)  # the negative control: as if planned
        caught += noise_refuted(X, 10 * y, R, [], DELTA)
    assert falsely <= 4
    assert naive > 100
    assert caught >= 190


def test_overlapping_pairs_are_not_counted_twice() -> None:
    X = np.array([[0.1], [0.2], [0.1], [0.2]])
    y = np.array([0.0, 0.0, 5.0, 5.0])
    one = noise_refuted(X, y, np.ones(4), [(0, 2)], 0.02)
    assert noise_refuted(X, y, np.ones(4), [(0, 2), (1, 3)], 0.02) == one


def told(strategy: Any, noise: float, seed: int, trials: int = 14) -> nr.Study:
    f, rng = rkhs_sample(seed, lengthscale=0.25, norm=1.0), np.random.default_rng([seed, 5])
    study = nr.Study([(0, 1)], "minimize", strategy, seed=seed)
    return study.run(lambda x: -float(f(x)) + noise * rng.standard_normal(), trials, progress=False)


def test_a_study_refutes_the_whole_condition() -> None:
    wrong = right = plain = 0
    for seed in range(10):
        small = nr.AdaptiveGPUCB.rigorous(0.01, check_pairs=3)
        study = told(small, 0.1, seed)
        first = np.array([trial.params for trial in study.trials[:6]])
        assert np.array_equal(first[::2], first[1::2])  # three points, each twice in a row
        assert len(np.unique(np.array([t.params for t in study.trials[:8]]), axis=0)) > 3
        certificate = study.certificate()
        wrong += certificate.refuted
        assert ("differ by more than the noise bound" in certificate.condition) is bool(
            certificate.refuted
        )
        enough = nr.AdaptiveGPUCB.rigorous(0.1, check_pairs=3)
        right += told(enough, 0.1, seed).certificate().refuted
        plain += told(nr.AdaptiveGPUCB.rigorous(0.01), 0.1, seed).certificate().refuted
    assert wrong >= 9
    assert right == 0
    assert plain <= 5  # without replicates there is little to see
    assert study.replay().number is None


def test_points_under_way_keep_the_plan() -> None:
    study = nr.Study([(0, 1)] * 2, "maximize", nr.AdaptiveGPUCB.rigorous(0.1, check_pairs=2))
    asked = [study.ask() for _ in range(5)]
    points: Array = np.array([trial.params for trial in asked])
    assert np.array_equal(points[0], points[1])
    assert np.array_equal(points[2], points[3])
    assert not np.array_equal(points[0], points[2])
    for trial in asked:
        study.tell(trial, 1.0)
    assert not study.certificate().refuted


def test_settings_that_make_no_sense() -> None:
    bad: Any = 1.5
    for count in (-1, bad, True):
        with pytest.raises(ConfigurationError, match="measured twice"):
            nr.AdaptiveGPUCB.rigorous(0.1, check_pairs=count)
    with pytest.raises(ConfigurationError, match="leave out check_pairs"):
        nr.AdaptiveGPUCB.rigorous(check_pairs=2)
