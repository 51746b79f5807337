import builtins

import numpy as np
import pytest
from scipy import stats

from noregret.errors import ConfigurationError, MissingExtraError
from noregret.extensions.marginal_gp_ucb import HMC, sample
from noregret.gp.fit import Evidence
from tests import naive
from tests.gp.test_fit import evidence


def _log_density(e: Evidence, theta: float) -> float:
    """Textbook: Gaussian evidence plus the Gamma(2, 10) prior of scipy."""
    K = np.exp(-0.5 * ((e.X - e.X.T) / theta) ** 2)
    return naive.log_evidence(K, e.y, e.told) + float(stats.gamma(2.0, scale=0.1).logpdf(theta))


@pytest.mark.parametrize("n", [3, 12, 40])
def test_hmc_matches_quadrature_in_one_dimension(n: int) -> None:
    """theory.md#marginal: mean and spread of log θ against a grid, within four standard errors; a
    shifted chain must not match.
    """
    e = evidence(n=n)
    theta = np.linspace(
        5e-4, 2.0, 4000
    )  # a density of θ on an even grid of θ: no Jacobian to share with the sampler
    log_p = np.array([_log_density(e, t) for t in theta])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    grid = np.log(theta)
    mean, std = float(p @ grid), float(np.sqrt(p @ grid**2 - (p @ grid) ** 2))
    draws = sample(
        e, HMC(samples=400, warm_up=100, thin=4), np.log(np.array([0.3])), np.random.default_rng(0)
    )[:, 0]
    error = 4 * std / np.sqrt(len(draws) / 2)
    assert abs(draws.mean() - mean) < error
    assert draws.std() == pytest.approx(std, rel=0.25)
    assert abs(draws.mean() + std - mean) > error  # negative control


def test_noise_is_sampled_too_when_unknown() -> None:
    draws = np.exp(
        sample(
            evidence(known_noise=False, n=60),
            HMC(50, 60),
            np.log(np.array([0.3, 0.02])),
            np.random.default_rng(0),
        )
    )
    assert draws.shape == (50, 2)
    assert np.sqrt(np.median(draws[:, 1])) == pytest.approx(0.05, rel=0.4)


def test_same_seed_same_samples() -> None:
    a, b = (
        sample(evidence(n=8), HMC(5, 5), np.zeros(1), np.random.default_rng(7)) for _ in range(2)
    )
    np.testing.assert_array_equal(a, b)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_mici(name: str, *args: object, **kwargs: object) -> object:
        if name == "mici":
            raise ImportError(name)
        return real(name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without_mici)
    with pytest.raises(MissingExtraError, match=r"noregret\[hmc\]"):
        sample(evidence(n=3), HMC(), np.zeros(1), np.random.default_rng(0))


@pytest.mark.parametrize("bad", [{"samples": 0}, {"warm_up": 0}, {"thin": 0}, {"samples": 2.5}])
def test_impossible_settings(bad: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        HMC(**bad)  # type: ignore[arg-type]
