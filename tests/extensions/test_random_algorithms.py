"""A-GP-TS and the random width: what is drawn, what the theorem needs of it, and that they run on
every kind of space.
"""

import itertools
import math
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.extensions.randomised_gp_ucb import MOST, PRACTICAL
from noregret.extensions.thompson import thompson
from noregret.gp import condition
from noregret.gp.kernels import Matern, SquaredExponential
from noregret.rkhs import MinimumStd, Shortening
from noregret.search import ucb
from noregret.space import Array
from noregret.strategies import Strategy
from noregret.testing.problems import rkhs_sample
from tests.recorded import recorded

SPACES: dict[str, Any] = {
    "line": {"x": nr.Float(0, 1)},
    "mixed": {"x": nr.Float(0, 1), "n": nr.Int(1, 9), "c": nr.Choice(["a", "b", "c"])},
    "list": nr.Candidates([{"x": x, "y": y} for x in range(9) for y in range(9)]),
}


def value(params: Any) -> float:
    return -sum((float(v) - 0.4) ** 2 for v in params.values() if not isinstance(v, str))


BASES = [
    PRACTICAL,
    nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=50.0, initial_points=6),
    nr.AdaptiveGPUCB.rigorous(nr.NoiseFromReplicates(3), norm_bound=50.0, initial_points=6),
]


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", [nr.AdaptiveThompson, nr.RandomisedGPUCB])
def test_they_run_everywhere_and_can_be_derived_again(kind: Any, base: Any, space: str) -> None:
    strategy: Strategy = kind(base)
    studies = []
    for _ in range(2):
        study = nr.Study(SPACES[space], "maximize", strategy=strategy, seed=4)
        study.run(value, trials=14)
        studies.append([trial.params for trial in study.trials])
    assert studies[0] == studies[1]
    assert study.trials[-1].decision.model is not None
    assert study.certificate().proved <= strategy.proved


def test_the_factor_is_what_the_proof_needs() -> None:
    """P(m ≥ 1) = 1/e, m² of mean 1, m ≤ M; a shift of nearly 1 is plain UCB."""
    rng = np.random.default_rng(0)
    drawn = np.array([nr.RandomisedGPUCB().factor(rng) for _ in range(40_000)])
    assert np.mean(drawn >= 1) == pytest.approx(1 / math.e, abs=0.01)
    assert np.mean(drawn**2) == pytest.approx(1.0, abs=0.02)
    assert drawn.max() <= MOST
    assert drawn.min() >= math.sqrt(0.5)
    still = [nr.RandomisedGPUCB(shift=1 - 1e-9).factor(rng) for _ in range(100)]
    assert max(still) < 1.001


def test_a_larger_factor_never_looks_where_less_is_unknown() -> None:
    """σ at the argmax of μ + mσ does not fall with m: the step of the proof that uses the law."""
    rng = np.random.default_rng(5)
    grid = np.linspace(0, 1, 401)[:, None]
    for _ in range(20):
        X = rng.random((8, 1))
        posterior = condition(Matern(2.5), np.array([0.2]), X, rng.standard_normal(8), 0.01)
        stds = []
        for m in np.linspace(0, 3, 25):
            at = int(np.argmax(ucb(posterior, m).values(grid)))
            stds.append(float(posterior.predict(grid[[at]])[1][0]))
        assert np.all(np.diff(stds) >= -1e-9)


def test_a_random_width_costs_at_most_what_is_proved() -> None:
    """r(m) ≤ (1 − m)₊·half(x_1) + (1 + m)·half(x_m), at every m, where the band holds; without the
    first term it fails.
    """
    grid = np.linspace(0, 1, 201)[:, None]
    broken = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        f = rkhs_sample(seed, lengthscale=0.2, norm=2.0)
        truth = f(grid)
        X = rng.random((4, 1))
        posterior = condition(SquaredExponential(), np.array([0.2]), X, f(X), 1e-6)
        mean, std = posterior.predict(grid)
        half = 2.0 * std + 1e-4
        if np.any(np.abs(truth - mean) > half):
            continue
        best = int(np.argmax(mean + half))
        for m in (0.0, 0.3, 0.8, 1.0, 1.7, 3.0):
            at = int(np.argmax(mean + m * half))
            regret = float(truth.max() - truth[at])
            bound = max(1 - m, 0.0) * half[best] + (1 + m) * half[at]
            assert regret <= bound + 1e-9
            broken += regret > (1 + m) * half[at] + 1e-9
    assert broken > 0


def test_a_list_is_drawn_jointly() -> None:
    """How often each design is the draw's maximiser, against draws by a Cholesky factor."""
    space = nr.Candidates([{"x": x} for x in range(6)])
    every = space.enumeration()
    posterior = condition(SquaredExponential(), np.array([0.3]), every[[1, 4]], np.ones(2), 0.01)
    rng, count = np.random.default_rng(7), 4_000
    ours = np.zeros(6)
    for _ in range(count):
        ours[int(np.argmax(thompson(space, posterior, 1.5, rng).values(every)))] += 1
    mean, cov = posterior.joint(every)
    root = np.linalg.cholesky(cov + 1e-10 * np.eye(6))
    naive: Array = mean[:, None] + 1.5 * root @ rng.standard_normal((6, count))
    expected = np.bincount(np.argmax(naive, axis=0), minlength=6)
    assert np.abs(ours - expected).max() < 5 * math.sqrt(count / 4)


def test_theorems_are_named_or_disclaimed() -> None:
    rigorous = nr.AdaptiveGPUCB.rigorous(0.1)
    kinds: list[tuple[Any, str]] = [
        (nr.AdaptiveThompson, "#thompson"),
        (nr.RandomisedGPUCB, "#random-widths"),
    ]
    for kind, anchor in kinds:
        assert anchor in kind(rigorous).theorem
        assert kind(rigorous).proved
        assert kind().theorem.startswith("none")
        assert not kind().proved
        with pytest.raises(ConfigurationError, match="base is the strategy"):
            kind(nr.LogEI())
    with pytest.raises(ConfigurationError, match="shift"):
        nr.RandomisedGPUCB(shift=1.0)
    with_bound = nr.MinimumUncertainty(
        noise_std=0.1, width="mixture", estimation=None, shortest=0.1
    )
    assert "#minimum-uncertainty" in with_bound.theorem
    assert nr.MinimumUncertainty().theorem.startswith("none")
    with pytest.raises(ConfigurationError, match="shortest"):
        nr.MinimumUncertainty(shortest=2.0)


@pytest.mark.parametrize("rule", [Shortening(2.0), Shortening(1.1), MinimumStd(0.1, largest=10.0)])
def test_the_corrected_rules_leave_the_local_optimum(rule: Any) -> None:
    """In a study of the bump, where a fitted class may stick."""
    f = rkhs_sample(2, lengthscale=0.1, norm=2.0)
    strategy = nr.AdaptiveGPUCB(noise_std=0.05, width="mixture", estimation=None, widening=rule)
    study = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=1)
    rng = np.random.default_rng(0)
    study.run(lambda x: float(f(np.array([x]))[0]) + 0.05 * rng.standard_normal(), trials=25)
    decisions = [recorded(t) for t in study.trials if t.decision.model is not None]
    assert decisions[-1].g > 1
    assert all(b.g >= a.g for a, b in itertools.pairwise(decisions))


@pytest.mark.parametrize("base", [PRACTICAL, nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=50.0)])
def test_the_width_that_was_drawn_is_kept_with_the_decision(base: Any) -> None:
    study = nr.Study(SPACES["line"], "maximize", strategy=nr.RandomisedGPUCB(base), seed=4)
    study.run(value, trials=14)
    models = [recorded(t) for t in study.trials if t.decision.model is not None]
    drawn = {model.exploration for model in models}
    assert len(drawn) == len(models) > 3
    assert all(math.sqrt(0.5) <= factor <= MOST for factor in drawn)
