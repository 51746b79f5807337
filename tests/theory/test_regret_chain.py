"""On the good event r_t ≤ 2β^½σ_t(x_{t+1}) and R_T ≤ Σ 2β^½σ ≤ √(C_1 T β_T I_T).

theory.md#regret
"""

import math

import numpy as np
import pytest

import noregret as nr
from noregret.gp.kernels import SquaredExponential
from noregret.gp.posterior import condition
from noregret.testing.problems import rkhs_sample
from noregret.theory.bounds import cumulative, instantaneous, simple
from tests.recorded import recorded


def width_at(trial: nr.Trial) -> float:
    """2β^½σ where it was asked."""
    return float(2 * recorded(trial).beta_sqrt * trial.why.std)


@pytest.mark.parametrize("seed", range(6))
def test_regret_chain(seed: int) -> None:
    noise, f = 0.1, rkhs_sample(seed, lengthscale=0.2, norm=2.0)
    rng = np.random.default_rng(seed)
    strategy = nr.GPUCB(
        lengthscales=0.2,
        norm_bound=2.0,
        noise_std=noise,
        width="mixture",
        delta=0.01,
        initial_points=1,
    )
    study = nr.maximize(
        lambda x: float(f(x)) + noise * rng.standard_normal(), [(0, 1)], 60, strategy, seed
    )
    decided = study.trials[1:]
    values = np.array([float(f(trial.params)) for trial in decided])
    regret, total = instantaneous(values, f.maximum), cumulative(values, f.maximum)
    bounds = np.array([width_at(trial) for trial in decided])
    assert np.all(regret >= -1e-9)
    assert np.all(regret <= bounds + 1e-6)
    X = np.array([trial.params for trial in study.trials])
    gain = condition(
        SquaredExponential(), np.array([0.2]), X, np.zeros(len(X)), noise**2
    ).information_gain
    width = strategy.inner(1).beta_sqrt(2.0, gain)
    assert (
        total[-1]
        <= bounds.sum()
        <= math.sqrt(8 / math.log(1 + 1 / noise**2) * len(decided) * gain) * width
    )
    assert simple(values, f.maximum)[-1] == regret.min()


def test_a_band_that_is_too_narrow_breaks_the_chain() -> None:
    """Negative control: GP-UCB with a far too smooth kernel does not bound its regret."""
    f = rkhs_sample(1, lengthscale=0.05, norm=4.0)
    strategy = nr.GPUCB(
        lengthscales=2.0, norm_bound=0.1, noise_std=0.1, width="mixture", initial_points=1
    )
    study = nr.maximize(lambda x: float(f(x)), [(0, 1)], 60, strategy, 1)
    regret = instantaneous(np.array([float(f(t.params)) for t in study.trials[1:]]), f.maximum)
    assert regret.sum() > sum(map(width_at, study.trials[1:]))
