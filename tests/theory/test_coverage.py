"""Joint coverage of the confidence bands: all x on a grid and all t at once, over random RKHS
functions. theory.md#widths

A width passes if its coverage is not significantly below 1 − δ, and a negative control must be
significantly below.
"""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest

import noregret as nr
from noregret.gp.kernels import SquaredExponential
from noregret.gp.posterior import condition
from noregret.rkhs import confidence
from noregret.testing.problems import rkhs_sample

DELTA, NORM, RUNS, STEPS = 0.1, 2.0, 60, 120
GRID = np.linspace(0, 1, 201)[:, None]
THETA = np.array([0.2])


def widths(noise: float, gain: float) -> dict[str, float]:
    known = {"noise_bound": noise, "regulariser": noise**2, "delta": DELTA}
    return {
        "paper": confidence.paper(NORM, gain, **known),
        "abbasi_yadkori": confidence.abbasi_yadkori(NORM, gain, **known),
        "mixture": confidence.mixture(NORM, gain, **known),
        "one": 1.0,
    }


@cache
def covered(noise: float, design: str) -> dict[str, int]:
    """How many of the runs each width covered at every step and grid point."""
    count = dict.fromkeys(widths(noise, 0.0), 0)
    for seed in range(RUNS):
        f, rng = rkhs_sample(seed, lengthscale=0.2, norm=NORM), np.random.default_rng([seed, 5])
        truth, good = f(GRID), dict.fromkeys(count, True)
        posterior = condition(SquaredExponential(), THETA, np.empty((0, 1)), np.empty(0), noise**2)
        for _ in range(STEPS):
            mean, std = posterior.predict(GRID)
            beta_sqrt = widths(noise, max(posterior.information_gain, 0.0))
            for name, width in beta_sqrt.items():
                good[name] &= bool(np.all(np.abs(truth - mean) <= width * std + 1e-9))
            x = (
                GRID[np.argmax(mean + beta_sqrt["mixture"] * std)]
                if design == "ucb"
                else rng.random(1)
            )
            posterior = posterior.append(x, float(f(x)) + noise * rng.standard_normal(), noise**2)
        for name, ok in good.items():
            count[name] += ok
    return count


def significantly_below(successes: int, trials: int, level: float) -> bool:
    return bool(binomtest(successes, trials, level, alternative="less").pvalue < 1e-3)


@pytest.mark.parametrize("design", ["ucb", "random"])
@pytest.mark.parametrize("noise", [0.01, 0.1, 0.5])
def test_proved_widths_cover(noise: float, design: str) -> None:
    for name in ("mixture", "abbasi_yadkori"):
        assert not significantly_below(covered(noise, design)[name], RUNS, 1 - DELTA), name


def test_the_printed_width_covers_at_large_noise_and_fails_at_small() -> None:
    assert not significantly_below(covered(0.5, "random")["paper"], RUNS, 1 - DELTA)
    assert significantly_below(covered(0.01, "random")["paper"], RUNS, 1 - DELTA)


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.5])
def test_negative_control_a_width_of_one_fails(noise: float) -> None:
    assert significantly_below(covered(noise, "random")["one"], RUNS, 1 - DELTA)


RADIUS_STEPS = 24


@cache
def looks(seed: int) -> list[tuple[bool, float]]:
    """One run of the rigorous preset with θ_0 and B_0 too optimistic. At each look after a value:
    whether the class contained f, by its exact norm there, and how much of the half-width was
    needed.
    """
    f, noise = rkhs_sample(seed, lengthscale=0.3, norm=1.5), 0.1
    rng = np.random.default_rng([seed, 9])
    strategy = nr.AdaptiveGPUCB.rigorous(noise, DELTA, norm_bound=0.7, lengthscales=1.0)
    study = nr.Study([(0, 1)], "maximize", strategy=strategy, seed=seed)
    truth, found = f(GRID), []
    for _ in range(RADIUS_STEPS):
        trial = study.ask()
        study.tell(trial, float(f(trial.params)) + noise * rng.standard_normal())
        belief = study.belief()
        assert belief is not None
        assert belief.norm_bound is not None
        theta = belief.lengthscales
        inside = theta[0] < 0.3 * math.sqrt(2) and (
            f.norm_at(theta) <= belief.norm_bound * belief.scale
        )
        lower, upper = belief.band(GRID)
        needed = np.abs(truth - (lower + upper) / 2) / np.maximum((upper - lower) / 2, 1e-12)
        found.append((bool(inside), float(needed.max())))
    return found


def coverage(runs: range, shrink: float) -> tuple[int, int]:
    """Of the runs whose class came to contain f, how many covered it at every such look."""
    inside = [[needed for held, needed in looks(seed) if held] for seed in runs]
    return sum(bool(n) and max(n) <= shrink for n in inside), sum(bool(n) for n in inside)


@pytest.mark.parametrize("block", range(4))
def test_the_rigorous_band_covers_while_the_class_contains_f(block: int) -> None:
    """Forty functions in four blocks, all looks and points at once."""
    good, inside = coverage(range(10 * block, 10 * block + 10), 1.0)
    assert inside >= 7  # the claim is not empty, after 24 values with much noise
    assert not significantly_below(good, inside, 1 - DELTA)
    assert good >= math.ceil((1 - DELTA) * inside)


def test_negative_control_a_fifth_of_the_rigorous_band_fails() -> None:
    good, inside = coverage(range(40), 0.2)
    assert significantly_below(good, inside, 1 - DELTA)


def test_once_captured_f_is_kept() -> None:
    """The class may shrink again, since it follows the data, but hardly ever loses f."""
    held = [[h for h, _ in looks(seed)] for seed in range(40)]
    after = [flag for run in held if any(run) for flag in run[run.index(True) :]]
    assert np.mean(after) > 0.95
