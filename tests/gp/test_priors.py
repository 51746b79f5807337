import numpy as np
import pytest
from scipy import stats

from noregret.errors import ConfigurationError
from noregret.gp.fit import Gamma, LogNormal, Prior
from tests import naive


@pytest.mark.parametrize(
    ("prior", "reference", "d"),
    [
        (Gamma(2.0, 10.0), stats.gamma(2.0, scale=0.1), 3),
        (LogNormal(-1.0, 0.7), stats.lognorm(0.7, scale=np.exp(-1.0)), 2),
        (
            LogNormal(0.2, 1.3, dimension_scaled=True),
            stats.lognorm(1.3, scale=np.exp(0.2) * 2.0),
            4,
        ),
    ],
)
def test_density_up_to_a_constant_and_gradient(
    prior: Prior, reference: stats.rv_continuous, d: int
) -> None:
    u, v = np.log(np.array([0.1, 0.4])), np.log(np.array([2.0, 0.05]))
    ours = prior.log_density(u, d)[0] - prior.log_density(v, d)[0]
    assert ours == pytest.approx(
        reference.logpdf(np.exp(u)).sum() - reference.logpdf(np.exp(v)).sum()
    )
    np.testing.assert_allclose(
        prior.log_density(u, d)[1],
        naive.numeric_gradient(lambda w: prior.log_density(w, d)[0], u),
        rtol=1e-6,
        atol=1e-8,
    )
    draws = prior.draw(np.random.default_rng(0), 4000, d)
    assert stats.kstest(draws, reference.cdf).pvalue > 0.01
    assert stats.kstest(draws * 1.2, reference.cdf).pvalue < 1e-3  # negative control


@pytest.mark.parametrize(
    "make",
    [
        lambda: Gamma(0.0, 1.0),
        lambda: Gamma(1.0, -1.0),
        lambda: LogNormal(0.0, 0.0),
        lambda: LogNormal(np.nan, 1.0),
    ],
)
def test_impossible_priors(make: object) -> None:
    with pytest.raises(ConfigurationError):
        make()  # type: ignore[operator]
