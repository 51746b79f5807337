"""scikit-learn's Gaussian process as the oracle of posterior and evidence."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF
from sklearn.gaussian_process.kernels import Matern as SklearnMatern

from noregret.gp.fit import log_evidence_gradient
from noregret.gp.kernels import Kernel, Matern, SquaredExponential
from noregret.gp.posterior import condition

THETA = np.array([0.2, 0.7, 1.5])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (SquaredExponential(), RBF(THETA)),
        (Matern(0.5), SklearnMatern(THETA, nu=0.5)),
        (Matern(1.5), SklearnMatern(THETA, nu=1.5)),
        (Matern(2.5), SklearnMatern(THETA, nu=2.5)),
        (Matern(1.1), SklearnMatern(THETA, nu=1.1)),
    ],
    ids=str,
)
def test_posterior_and_evidence(ours: Kernel, theirs: object) -> None:
    rng = np.random.default_rng(0)
    X, y, A = rng.random((25, 3)), rng.standard_normal(25), rng.random((40, 3))
    model = GaussianProcessRegressor(kernel=theirs, alpha=0.03, optimizer=None).fit(X, y)
    mean, std = model.predict(A, return_std=True)
    posterior = condition(ours, THETA, X, y, 0.03)
    np.testing.assert_allclose(posterior.predict(A)[0], mean, atol=1e-8)
    np.testing.assert_allclose(posterior.predict(A)[1], std, atol=1e-8)
    value, by_theta, _ = log_evidence_gradient(ours, THETA, X, y, np.full(25, 0.03))
    assert value == pytest.approx(model.log_marginal_likelihood_value_, rel=1e-8)
    if not isinstance(ours, Matern) or ours.nu in (
        0.5,
        1.5,
        2.5,
    ):  # theirs has no analytic gradient elsewhere
        _, gradient = model.log_marginal_likelihood(model.kernel_.theta, eval_gradient=True)
        np.testing.assert_allclose(by_theta, gradient, rtol=1e-6, atol=1e-8)
