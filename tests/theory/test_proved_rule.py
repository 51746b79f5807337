"""The paper's rule with the width of one radius, theory.md#proved-rule: the width against a naive
version, the choice of the class, joint coverage with a negative control, and the regret of a step.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest, multivariate_normal, norm

import noregret as nr
from noregret.gp import MAP, Matern
from noregret.rkhs import LogGrowth, NoWidening, ReferenceRegret
from noregret.testing.problems import rkhs_sample
from tests.naive import kernel_matrix
from tests.recorded import recorded

DELTA, NOISE, STEPS = 0.1, 0.1, 22
LINE = np.linspace(0, 1, 101)[:, None]


def rule(
    estimator: str = "one_step", combine: str = "min", norm_bound: float = 0.7
) -> nr.AdaptiveGPUCB:
    return nr.AdaptiveGPUCB.paper(
        NOISE,
        estimator,  # type: ignore[arg-type]
        anchored=estimator == "regret_bound",
        norm_bound=norm_bound,
        estimation=MAP(combine=combine),  # type: ignore[arg-type]
        width="radius",
    )


def test_the_width_is_that_of_the_theorem() -> None:
    """β = ρ² + B² − yᵀ(K + R²)⁻¹y with every member's density and the kernels typed anew."""
    d, n = 1, 9
    f, rng = rkhs_sample(0, dimension=d, lengthscale=0.4, norm=1.5), np.random.default_rng(1)
    study = nr.Study([(0, 1)] * d, "maximize", strategy=rule(), seed=0)
    study.run(lambda x: float(f(x)) + NOISE * float(rng.standard_normal()), n)
    X = np.array([t.params for t in study.trials])[:-1]
    y = np.array([t.value for t in study.trials])[:-1]
    own = norm.logpdf(y, y, NOISE).sum()
    total = 0.0
    for j in range(14):
        K = kernel_matrix("se", 0, np.full(d, 2 ** (-j / 2)), X, X)
        for i, size in enumerate((1 / 4, 1 / 2, 1 / 8, 1, 4, 16)):
            C = (0.7 * size) ** 2 * K + NOISE**2 * np.eye(n - 1)
            ratio = multivariate_normal(np.zeros(n - 1), C).logpdf(y) - own
            total += 0.15 * 0.85**j * 2.0 ** -(i + 1) * math.exp(ratio)
    decided = recorded(study.trials[-1])
    theta = np.array(decided.lengthscales)
    steps = 8 * np.log2(1 / theta)
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)  # the grid θ_0·2^(−k/8)
    ball = 0.7 * decided.b * math.sqrt(np.prod(1 / theta))
    assert decided.norm_bound == pytest.approx(ball)
    C = kernel_matrix("se", 0, theta, X, X) + NOISE**2 * np.eye(n - 1)
    squared = -2 * math.log(total * DELTA) + ball**2 - y @ np.linalg.solve(C, y)
    assert decided.beta_sqrt == pytest.approx(math.sqrt(squared), rel=1e-6)


@pytest.mark.parametrize("estimator", ["one_step", "regret_bound"])
@pytest.mark.parametrize("combine", ["min", "scale"])
def test_the_class_keeps_between_floor_and_cap(estimator: str, combine: str) -> None:
    for t, trial in enumerate(looked(0, estimator, combine)[1][2:], start=1):
        decided = recorded(trial)
        assert 1 + math.log(1 + t) <= decided.h * (1 + 1e-9)
        assert decided.h <= 1 + 200 * math.log(1 + t)
        assert np.all(np.array(decided.lengthscales) <= (1 + 1e-9) / decided.g)  # ceiling of 1
        assert decided.proved


@cache
def looked(
    seed: int, estimator: str, combine: str, steps: int = STEPS
) -> tuple[list[tuple[bool, float, float]], list[nr.Trial]]:
    """One run. At each look: whether the class contains f by its exact norm, how much of the band
    and of the certificate was needed.
    """
    f, rng = rkhs_sample(seed, lengthscale=0.3, norm=1.5), np.random.default_rng([seed, 9])
    study = nr.Study([(0, 1)], "maximize", strategy=rule(estimator, combine), seed=seed)
    truth, looks = f(LINE), []
    for step in range(steps):
        trial = study.ask()
        study.tell(trial, float(f(trial.params)) + NOISE * rng.standard_normal())
        belief = study.belief()
        assert belief is not None
        assert belief.proved
        assert belief.norm_bound is not None
        theta = belief.lengthscales
        inside = theta[0] < 0.3 * math.sqrt(2) and f.norm_at(theta) <= belief.norm_bound
        lower, upper = belief.band(LINE)
        half = np.maximum((upper - lower) / 2, 1e-12)
        band = float(np.max(np.abs(truth - (lower + upper) / 2) / half))
        needed = 0.0
        if step % 7 == 6:
            certificate = study.certificate()
            assert certificate.proved
            left = f.maximum - float(f(np.asarray(certificate.params)))
            needed = left / max(certificate.regret_bound, 1e-12)
        looks.append((bool(inside), band, needed))
    return looks, study.trials


SETTINGS = [("one_step", "min"), ("one_step", "scale"), ("regret_bound", "min")]
RUNS = 8


def coverage(shrink: float) -> tuple[int, int]:
    """Of the runs whose class came to contain f, how many kept within the shrunk band and
    certificate at every such look.
    """
    good = counted = 0
    for estimator, combine in SETTINGS:
        for seed in range(RUNS):
            looks, _ = looked(seed, estimator, combine)
            needed = [max(band, left) for inside, band, left in looks if inside]
            counted += bool(needed)
            good += bool(needed) and max(needed) <= shrink
    return good, counted


def test_band_and_certificate_hold_while_the_class_contains_f() -> None:
    good, counted = coverage(1.0)
    assert counted >= 0.7 * RUNS * len(SETTINGS)
    assert good >= math.ceil((1 - DELTA) * counted)


def test_negative_control_a_fifth_of_the_band_fails() -> None:
    good, counted = coverage(0.2)
    assert binomtest(good, counted, 1 - DELTA, alternative="less").pvalue < 1e-3


def test_a_step_costs_at_most_twice_its_width() -> None:
    """A5: while the class contains f, r_t ≤ 2β^½σ_t(x_t)."""
    checked = 0
    for seed in range(6):
        f = rkhs_sample(seed, lengthscale=0.3, norm=1.5)
        looks, trials = looked(seed, "one_step", "min")
        for (inside, _, _), trial in zip(looks, trials[1:], strict=False):
            if inside and trial.decision.model is not None:
                decided = recorded(trial)
                theta = np.array(decided.lengthscales)
                if theta[0] < 0.3 * math.sqrt(2) and f.norm_at(theta) <= decided.norm_bound:
                    regret = f.maximum - float(f(np.asarray(trial.params)))
                    assert regret <= 2 * decided.beta_sqrt * decided.latent_std + 1e-6
                    checked += 1
    assert checked > 20


def test_what_the_theorem_says_follows_the_settings() -> None:
    assert "sublinear" in rule().theorem
    assert rule().proved
    fixed = nr.GPUCB(width="radius", noise_std=0.1)  # lengthscales estimated, and still a band
    assert fixed.inner(1).proved
    assert "nothing is claimed" in fixed.theorem
    bare = nr.AdaptiveGPUCB(
        width="radius", widening=ReferenceRegret(floor=LogGrowth(1.0)), charge_estimate=True
    )
    assert bare.proved
    assert "nothing is claimed" in bare.theorem
    rough = nr.AdaptiveGPUCB(
        kernel=Matern(0.5), width="radius", widening=NoWidening(), lengthscales=(1.0, 1.0)
    )
    assert "nothing is claimed" in rough.theorem


def test_a_class_that_is_too_small_is_refuted() -> None:
    f = rkhs_sample(3, lengthscale=0.1, norm=4.0)
    small = nr.GPUCB(1.0, norm_bound=0.05, noise_std=0.02, width="radius")
    study = nr.Study([(0, 1)], "maximize", strategy=small, seed=0)
    study.run(lambda x: float(f(x)), 20)
    belief = study.belief()
    assert belief is not None
    assert belief.refuted
