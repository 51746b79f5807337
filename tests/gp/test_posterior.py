import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.errors import ConfigurationError, NumericalError
from noregret.gp.fit import log_evidence_gradient
from noregret.gp.kernels import Kernel, Matern, SquaredExponential, covariance
from noregret.gp.posterior import condition
from noregret.space.array import Array
from tests import naive

SE = SquaredExponential()


def data(seed: int, n: int, d: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.standard_normal(n), rng.uniform(0.01, 0.2, n)


@given(
    st.integers(0, 1000),
    st.integers(1, 12),
    st.integers(1, 4),
    st.sampled_from([SE, Matern(0.5), Matern(2.5), Matern(1.7)]),
)
def test_posterior_is_the_dense_formula(seed: int, n: int, d: int, kernel: Kernel) -> None:
    X, y, lam = data(seed, n, d)
    X[-1] = X[0]  # a repeated point is legal
    A, theta = np.random.default_rng(seed + 1).random((7, d)), np.linspace(0.2, 0.6, d)
    posterior = condition(kernel, theta, X, y, lam)
    mean, var = naive.posterior(
        covariance(kernel, theta, X, X), covariance(kernel, theta, X, A), y, lam
    )
    got_mean, got_std = posterior.predict(A)
    np.testing.assert_allclose(got_mean, mean, atol=1e-9)
    np.testing.assert_allclose(got_std**2, var, atol=1e-10)
    assert posterior.information_gain == pytest.approx(
        naive.information(covariance(kernel, theta, X, X), lam), rel=1e-9
    )


@given(st.integers(0, 1000), st.integers(1, 10), st.booleans())
def test_append_equals_conditioning_anew(seed: int, n: int, duplicate: bool) -> None:
    X, y, lam = data(seed, n + 1, 2)
    if duplicate:
        X[-1] = X[0]
    theta = np.array([0.3, 0.5])
    grown = condition(SE, theta, X[:n], y[:n], lam[:n]).append(X[n], float(y[n]), float(lam[n]))
    whole = condition(SE, theta, X, y, lam)
    np.testing.assert_allclose(grown.L, whole.L, atol=1e-12)
    np.testing.assert_allclose(grown.weights, whole.weights, atol=1e-9)
    assert grown.observed == n + 1


def test_pending_points_narrow_the_variance_and_leave_the_mean() -> None:
    X, y, lam = data(3, 6, 2)
    pending = np.random.default_rng(5).random((2, 2))
    A, theta = np.random.default_rng(9).random((30, 2)), np.array([0.4, 0.4])
    plain = condition(SE, theta, X, y, lam)
    waiting = condition(SE, theta, X, y, lam, pending, 0.1)
    one_by_one = plain.append(pending[0], None, 0.1).append(pending[1], None, 0.1)
    np.testing.assert_allclose(waiting.predict(A)[0], plain.predict(A)[0], atol=1e-10)
    assert np.all(waiting.predict(A)[1] <= plain.predict(A)[1] + 1e-12)
    np.testing.assert_allclose(one_by_one.predict(A)[1], waiting.predict(A)[1], atol=1e-10)
    assert waiting.information_gain == pytest.approx(plain.information_gain, abs=1e-12)
    whole = condition(
        SE, theta, np.vstack([X, pending]), np.append(y, [5.0, -7.0]), np.append(lam, [0.1, 0.1])
    )
    assert waiting.information_gain + waiting.pending_information == pytest.approx(
        whole.information_gain, abs=1e-10
    )
    with pytest.raises(ConfigurationError, match="before pending"):
        waiting.append(pending[0], 1.0, 0.1)


@given(st.integers(0, 500), st.integers(1, 8))
def test_information_chain_rule_permutation_and_independence_of_values(seed: int, n: int) -> None:
    X, y, _ = data(seed, n, 2)
    lam, theta = 0.05, np.array([0.3, 0.3])
    total = condition(SE, theta, X, y, lam).information_gain
    chain = 0.5 * np.log1p(1 / lam)  # the first point has prior variance 1
    for i in range(1, n):
        std = condition(SE, theta, X[:i], y[:i], lam).predict(X[i : i + 1])[1][0]
        chain += 0.5 * np.log1p(std**2 / lam)
    assert total == pytest.approx(chain, rel=1e-9)
    order = np.random.default_rng(seed).permutation(n)
    assert condition(SE, theta, X[order], y[order], lam).information_gain == pytest.approx(
        total, rel=1e-9
    )
    assert condition(SE, theta, X, -3 * y, lam).information_gain == total


@given(st.integers(0, 300))
def test_information_is_submodular(seed: int) -> None:
    X, _, _ = data(seed, 8, 2)
    theta = np.array([0.4, 0.2])

    def gain(rows: list[int]) -> float:
        return condition(SE, theta, X[rows], np.zeros(len(rows)), 0.1).information_gain

    small, large = gain([0, 1, 7]) - gain([0, 1]), gain([0, 1, 2, 3, 7]) - gain([0, 1, 2, 3])
    assert small >= large - 1e-10


def test_information_of_one_point_repeated() -> None:
    for t in (1, 5, 50):
        posterior = condition(SE, np.array([0.3]), np.full((t, 1), 0.4), np.ones(t), 0.01)
        assert posterior.information_gain == pytest.approx(0.5 * np.log1p(t / 0.01), rel=1e-10)


@given(st.integers(0, 400), st.integers(1, 4))
def test_se_variance_and_information_never_fall_when_lengthscales_shrink(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    X, A = rng.random((8, d)), rng.random((20, d))
    theta = rng.uniform(0.1, 1.5, d)
    shorter = theta * rng.uniform(0.2, 1.0, d)  # per input: ARD
    wide, narrow = (condition(SE, t, X, np.zeros(8), 0.02) for t in (theta, shorter))
    assert np.all(narrow.predict(A)[1] >= wide.predict(A)[1] - 1e-9)
    assert narrow.information_gain >= wide.information_gain - 1e-9


@pytest.mark.parametrize("kernel", [SE, Matern(1.5), Matern(2.5), Matern(3.3)], ids=str)
def test_prediction_gradients(kernel: Kernel) -> None:
    X, y, lam = data(1, 9, 3)
    posterior = condition(kernel, np.array([0.3, 0.5, 1.0]), X, y, lam)
    A = np.random.default_rng(8).random((4, 3))
    mean, std, dmean, dstd = posterior.predict_gradients(A)
    np.testing.assert_allclose(np.stack([mean, std]), np.stack(posterior.predict(A)), atol=1e-12)
    for row in range(4):
        np.testing.assert_allclose(
            dmean[row],
            naive.numeric_gradient(lambda x: posterior.predict(x[None])[0][0], A[row]),
            atol=1e-5,
        )
        np.testing.assert_allclose(
            dstd[row],
            naive.numeric_gradient(lambda x: posterior.predict(x[None])[1][0], A[row]),
            atol=1e-5,
        )


@pytest.mark.parametrize(
    "kernel", [SE, Matern(0.5), Matern(1.5), Matern(2.5), Matern(0.9)], ids=str
)
def test_evidence_gradient(kernel: Kernel) -> None:
    X, y, lam = data(2, 10, 3)
    theta = np.array([0.3, 0.6, 1.2])
    value, by_theta, by_noise = log_evidence_gradient(kernel, theta, X, y, lam)
    assert value == pytest.approx(
        naive.log_evidence(covariance(kernel, theta, X, X), y, lam), rel=1e-9
    )

    def of_theta(log_theta: Array) -> float:
        return naive.log_evidence(covariance(kernel, np.exp(log_theta), X, X), y, lam)

    def of_noise(log_noise: Array) -> float:
        return naive.log_evidence(covariance(kernel, theta, X, X), y, np.exp(log_noise))

    np.testing.assert_allclose(
        by_theta, naive.numeric_gradient(of_theta, np.log(theta)), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        by_noise, naive.numeric_gradient(of_noise, np.log(lam)), rtol=1e-5, atol=1e-6
    )


def test_joint_covariance_agrees_with_std() -> None:
    X, y, lam = data(4, 6, 2)
    posterior = condition(SE, np.array([0.5, 0.5]), X, y, lam)
    A = np.random.default_rng(0).random((5, 2))
    mean, cov = posterior.joint(A)
    np.testing.assert_allclose(np.sqrt(np.diag(cov)), posterior.predict(A)[1], atol=1e-10)
    np.testing.assert_allclose(mean, posterior.predict(A)[0], atol=1e-12)


def test_no_data_is_the_prior() -> None:
    posterior = condition(SE, np.array([0.5]), np.empty((0, 1)), np.empty(0), 0.1)
    mean, std = posterior.predict(np.array([[0.2], [0.9]]))
    assert mean.tolist() == [0.0, 0.0]
    assert std.tolist() == [1.0, 1.0]
    assert posterior.information_gain == 0.0


def test_a_long_sweep_in_chunks_is_the_same_prediction() -> None:
    X, y, lam = data(4, 6, 2)
    posterior = condition(SE, np.array([0.5, 0.5]), X, y, lam)
    A = np.random.default_rng(0).random((9000, 2))
    mean, std = posterior.predict(A)
    np.testing.assert_allclose(mean[4090:4100], posterior.predict(A[4090:4100])[0], atol=1e-12)
    np.testing.assert_allclose(std[8990:], posterior.predict(A[8990:])[1], atol=1e-12)


def test_noise_too_small_to_factorise_is_said_and_not_repaired_in_silence() -> None:
    X = np.full((50, 1), 0.3)
    with pytest.raises(NumericalError, match="Raise the noise"):
        condition(SE, np.array([1.0]), X, np.ones(50), 1e-18)


@pytest.mark.parametrize(
    ("theta", "lam"),
    [(0.0, 0.1), (-1.0, 0.1), (np.nan, 0.1), (0.5, 0.0), (0.5, -1.0), (0.5, np.inf)],
)
def test_impossible_hyperparameters(theta: float, lam: float) -> None:
    with pytest.raises(ConfigurationError):
        condition(SE, np.array([theta]), np.zeros((2, 1)), np.zeros(2), lam)
