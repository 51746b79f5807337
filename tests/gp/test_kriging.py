"""Ordinary kriging, an unknown constant mean, against dense formulas that use no factor."""

import math

import numpy as np
import pytest

from noregret.extensions.warping import Warped
from noregret.gp import Matern, SquaredExponential, additive
from noregret.gp.fit import Evidence, LogNormal, evidence_weights, log_evidence_gradient
from noregret.gp.kernels import Covariance, covariance
from noregret.gp.posterior import Posterior, condition
from noregret.space.array import Array
from tests import naive

KERNELS: dict[str, Covariance] = {
    "matern": Matern(2.5),
    "se": SquaredExponential(),
    "sum": additive(Matern(2.5), [(0,), (1, 2)]),
    "warped": Warped(Matern(2.5), (0.8, 1.4, 1.0), (1.2, 0.7, 1.0)),
}
THETA = np.array([0.4, 0.7, 1.1])
PENDING_NOISE = 0.05
HUGE = 1e7  # variance of a constant that stands for a flat prior

rng = np.random.default_rng(0)
X, Y, LAM = rng.random((12, 3)), 5 + rng.standard_normal(12), rng.uniform(0.01, 0.1, 12)
WAITING, A = rng.random((2, 3)), rng.uniform(0.05, 0.95, (6, 3))

every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def posterior(kernel: Covariance, waiting: bool = True) -> Posterior:
    pending = WAITING if waiting else None
    return condition(kernel, THETA, X, Y, LAM, pending, PENDING_NOISE, kriging=True)


def textbook(kernel: Covariance, at: Array, waiting: bool = True) -> tuple[Array, Array]:
    """Mean and covariance as Rasmussen & Williams eq. (2.41) types them, h(x) = 1, b flat. The mean
    is that of the observed points, the covariance that with the pending ones.
    """

    def solved(points: Array, lam: Array, y: Array) -> tuple[Array, Array]:
        inverse = np.linalg.inv(covariance(kernel, THETA, points, points) + np.diag(lam))
        k, one = covariance(kernel, THETA, points, at), np.ones(len(points))
        precision = one @ inverse @ one
        b = one @ inverse @ y / precision
        R = 1 - one @ inverse @ k
        cov = covariance(kernel, THETA, at, at) - k.T @ inverse @ k
        return b + k.T @ inverse @ (y - b), cov + np.outer(R, R) / precision

    mean, cov = solved(X, LAM, Y)
    if waiting:
        points, lam = np.vstack([X, WAITING]), np.append(LAM, [PENDING_NOISE] * 2)
        cov = solved(points, lam, np.zeros(14))[1]
    return mean, cov


@every_kernel
@pytest.mark.parametrize("waiting", [False, True])
def test_mean_and_covariance_are_the_textbook_ones(kernel: Covariance, waiting: bool) -> None:
    mean, cov = textbook(kernel, A, waiting)
    made = posterior(kernel, waiting)
    np.testing.assert_allclose(made.predict(A)[0], mean, atol=1e-9)
    np.testing.assert_allclose(made.predict(A)[1] ** 2, np.diag(cov), atol=1e-9)
    joint_mean, joint_cov = made.joint(A)
    np.testing.assert_allclose(joint_mean, mean, atol=1e-9)
    np.testing.assert_allclose(joint_cov, cov, atol=1e-9)
    plain = condition(kernel, THETA, X, Y, LAM)  # the control: a known mean of 0 is another model
    assert np.abs(plain.predict(A)[0] - mean).max() > 1e-2


def test_a_constant_of_huge_variance_is_the_same_model() -> None:
    kernel = Matern(2.5)
    K = covariance(kernel, THETA, X, X) + HUGE + np.diag(LAM)
    k = covariance(kernel, THETA, A, X) + HUGE
    cov = covariance(kernel, THETA, A, A) + HUGE - k @ np.linalg.solve(K, k.T)
    mean, std = posterior(kernel, waiting=False).predict(A)
    np.testing.assert_allclose(mean, k @ np.linalg.solve(K, Y), atol=1e-5)
    np.testing.assert_allclose(std**2, np.diag(cov), atol=1e-5)


def test_far_from_all_points_f_is_the_mean_and_is_uncertain_with_it() -> None:
    """The mean is no average: repeats of one value do not pull it."""
    points = np.array([[0.0], [1.0], *[[0.5]] * 8])
    y = np.array([0.0, 1.0, *[5.0] * 8])
    made = condition(SquaredExponential(), np.array([0.1]), points, y, 1e-6, kriging=True)
    mean, std = made.predict(np.array([[10.0]]))
    assert mean[0] == pytest.approx(2.0, abs=1e-3)  # of three independent places
    assert std[0] ** 2 == pytest.approx(1 + 1 / 3, abs=1e-3)


@every_kernel
def test_gradients_of_mean_and_std(kernel: Covariance) -> None:
    made = posterior(kernel)
    mean, std, dmean, dstd = made.predict_gradients(A)
    np.testing.assert_allclose(np.stack([mean, std]), np.stack(made.predict(A)), atol=1e-9)
    for row in range(len(A)):
        for slope, which in ((dmean, 0), (dstd, 1)):
            numeric = naive.numeric_gradient(lambda x, w=which: made.predict(x[None])[w][0], A[row])
            np.testing.assert_allclose(slope[row], numeric, atol=1e-6)


@every_kernel
def test_appending_is_conditioning_anew(kernel: Covariance) -> None:
    made = condition(kernel, THETA, X[:9], Y[:9], LAM[:9], kriging=True)
    for x, y, lam in zip(X[9:], Y[9:], LAM[9:], strict=True):
        made = made.append(x, float(y), float(lam))
    for x in WAITING:
        made = made.append(x, None, PENDING_NOISE)
    whole = posterior(kernel)
    assert made.observed == whole.observed == 12
    for got, wanted in zip(made.predict_gradients(A), whole.predict_gradients(A), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-9)
    np.testing.assert_allclose(made.z, whole.z, atol=1e-9)
    assert made.mean == pytest.approx(whole.mean, abs=1e-10)
    assert made.information_gain == pytest.approx(whole.information_gain)


def test_pending_points_narrow_the_variance_and_leave_the_mean() -> None:
    with_them, without = posterior(Matern(2.5)), posterior(Matern(2.5), waiting=False)
    np.testing.assert_allclose(with_them.predict(A)[0], without.predict(A)[0], atol=1e-10)
    assert np.all(with_them.predict(A)[1] < without.predict(A)[1])


def test_the_leading_rows_are_exact_and_the_others_stay_below() -> None:
    generator = np.random.default_rng(4)
    many, at = generator.random((700, 3)), generator.random((900, 3))  # screened in two steps
    y = np.sin(5 * many[:, 0]) + 4
    made = condition(Matern(2.5), np.full(3, 0.3), many, y, 1e-3, kriging=True)
    mean, std = made.predict(at)
    quick_mean, quick_std = made.predict_leading(at, 2.0, 20)
    leading = np.argsort(-(mean + 2 * std))[:20]
    np.testing.assert_allclose(quick_mean, mean, atol=1e-10)
    np.testing.assert_allclose(quick_std[leading], std[leading], atol=1e-9)
    bound = quick_mean + 2 * quick_std
    assert set(np.argsort(-bound)[:20].tolist()) == set(leading.tolist())
    assert np.abs(quick_std - std).max() > 1e-6  # some were ruled out on the way


# -- evidence --


def dense_evidence(kernel: Covariance, theta: Array, lam: Array) -> float:
    """log ∫ p(y | b) db = −½ yᵀPy − ½ log|K| − ½ log 1ᵀK⁻¹1 − ½(n − 1) log 2π, without a factor."""
    n = len(Y)
    K = covariance(kernel, theta, X, X) + np.diag(lam)
    inverse, one = np.linalg.inv(K), np.ones(n)
    precision = one @ inverse @ one
    P = inverse - np.outer(inverse @ one, one @ inverse) / precision
    value = -0.5 * Y @ P @ Y - 0.5 * np.linalg.slogdet(K)[1] - 0.5 * math.log(precision)
    return float(value - 0.5 * (n - 1) * math.log(2 * math.pi))


@every_kernel
def test_evidence_is_the_integral_over_the_mean(kernel: Covariance) -> None:
    value, by_theta, by_noise = log_evidence_gradient(kernel, THETA, X, Y, LAM, kriging=True)
    assert value == pytest.approx(dense_evidence(kernel, THETA, LAM), abs=1e-9)
    K = covariance(kernel, THETA, X, X)
    spread = 0.5 * math.log(2 * math.pi * HUGE)  # a normal mean has density 1/√(2πT) around 0
    assert value == pytest.approx(naive.log_evidence(K + HUGE, Y, LAM) + spread, abs=1e-4)
    means = np.linspace(-40, 50, 20_001)  # and by quadrature
    values = np.array([naive.log_evidence(K, Y - b, LAM) for b in means[::20]])
    step = 20 * (means[1] - means[0])
    assert value == pytest.approx(float(np.logaddexp.reduce(values) + math.log(step)), abs=1e-6)
    np.testing.assert_allclose(
        by_theta,
        naive.numeric_gradient(lambda u: dense_evidence(kernel, np.exp(u), LAM), np.log(THETA)),
        atol=1e-6,
    )
    np.testing.assert_allclose(
        by_noise,
        naive.numeric_gradient(lambda u: dense_evidence(kernel, THETA, np.exp(u)), np.log(LAM)),
        atol=1e-6,
    )


@every_kernel
def test_weights_of_the_evidence_are_its_derivatives(kernel: Covariance) -> None:
    """dlog p = Σ W dK, here for a change of K in one direction; both ways to the gradient agree."""
    value, W, by_noise = evidence_weights(kernel, THETA, X, Y, LAM, kriging=True)
    again, _, noise_again = log_evidence_gradient(kernel, THETA, X, Y, LAM, kriging=True)
    assert value == pytest.approx(again)
    np.testing.assert_allclose(by_noise, noise_again, atol=1e-10)
    longer = 1.0 + 1e-6
    dK = covariance(kernel, THETA * longer, X, X) - covariance(kernel, THETA / longer, X, X)
    change = dense_evidence(kernel, THETA * longer, LAM) - dense_evidence(
        kernel, THETA / longer, LAM
    )
    assert float(np.sum(W * dK)) == pytest.approx(change, rel=1e-4)


def test_evidence_does_not_know_where_zero_is() -> None:
    def evidence(y: Array) -> Array:
        value, by_theta, by_noise = log_evidence_gradient(
            Matern(2.5), THETA, X, y, LAM, kriging=True
        )
        return np.concatenate([[value], by_theta, by_noise])

    for shift in (-100.0, 1e4):
        np.testing.assert_allclose(evidence(Y + shift), evidence(Y), atol=1e-6)
    plain = log_evidence_gradient(Matern(2.5), THETA, X, Y, LAM)[0]  # the control
    assert abs(log_evidence_gradient(Matern(2.5), THETA, X, Y + 100, LAM)[0] - plain) > 100


@pytest.mark.parametrize("jacobian", [False, True])
def test_the_log_posterior_of_hyperparameters_has_the_right_gradient(jacobian: bool) -> None:
    told = np.where(np.arange(12) < 4, 0.02, np.nan)
    prior = LogNormal(0.3, 1.0, dimension_scaled=True)
    evidence = Evidence(Matern(2.5), X, Y, told, prior, LogNormal(-4, 1), kriging=True)
    phi = np.log([*THETA, 0.05])
    _, gradient = evidence.log_posterior(phi, jacobian=jacobian)
    numeric = naive.numeric_gradient(lambda u: evidence.log_posterior(u, jacobian=jacobian)[0], phi)
    np.testing.assert_allclose(gradient, numeric, atol=1e-5)
    assert evidence.part(np.arange(6)).kriging
