"""Sums, products and warped inputs: covariances typed out, every gradient against differences."""

import math
from typing import Any

import numpy as np
import pytest

from noregret.errors import ConfigurationError
from noregret.extensions.warping import Warped
from noregret.gp import (
    Dead,
    Factor,
    Masked,
    Matern,
    SquaredExponential,
    Structure,
    Term,
    additive,
    condition,
    covariance,
    evidence_weights,
    log_evidence_gradient,
)
from noregret.gp.kernels import stationary
from tests import naive

RNG = np.random.default_rng(8)
X, Y = RNG.uniform(0.05, 0.95, (9, 3)), RNG.standard_normal(9)
X[:, 2] = (X[:, 2] > 0.5).astype(float)  # an indicator
A = RNG.uniform(0.05, 0.95, (4, 3))
A[:, 2] = [0, 1, 1, 0]
THETA = np.array([0.4, 0.7, 0.9])
M, SE = Matern(2.5), SquaredExponential()
KERNELS: dict[str, Any] = {
    "additive": additive(M, [(0,), (1,), (2,)]),
    "groups": additive(SE, [(0, 1), (2,)], (0.7, 0.3)),
    "product": Structure((Term(1.0, (Factor(M, (0, 1)), Factor(SE, (2,)))),)),
    "branch": Structure(
        (
            Term(0.4, (Factor(M, (0,)),)),
            Term(0.6, (Factor(M, (0,)), Factor(None, (2,)), Factor(SE, (1,)))),
        )
    ),
    "masked": Masked(additive(M, [(0, 1, 2)]), (Dead((2,), (1.0,)),)),
    "warped": Warped(M, (0.5, 2.0, 1.0), (1.5, 0.7, 1.0)),
    "warped sum": Warped(additive(M, [(0,), (1, 2)]), (1.3, 0.8, 1.0), (0.9, 2.2, 1.0)),
}


def typed_out(name: str, x: Any, z: Any) -> float:
    def k(kind: str, at: list[int], u: Any = x, v: Any = z) -> float:
        return naive.kernel_value(kind, 2.5, THETA[at], np.array(u)[at], np.array(v)[at])

    if name == "additive":
        return (k("m", [0]) + k("m", [1]) + k("m", [2])) / 3
    if name == "groups":
        return 0.7 * k("se", [0, 1]) + 0.3 * k("se", [2])
    if name == "product":
        return k("m", [0, 1]) * k("se", [2])
    if name == "branch":
        return k("m", [0]) * (0.4 + 0.6 * (x[2] == z[2]) * k("se", [1]))

    if name == "masked":
        x, z = ([0.5, 0.5, 1.0] if u[2] == 1 else u for u in (x, z))
        return k("m", [0, 1, 2], x, z)

    def bent(u: Any, a: list[float], b: list[float]) -> list[float]:
        return [1 - (1 - v**p) ** q for v, p, q in zip(u, a, b, strict=True)]

    if name == "warped":
        a, b = [0.5, 2.0, 1.0], [1.5, 0.7, 1.0]
        return k("m", [0, 1, 2], bent(x, a, b), bent(z, a, b))
    a, b = [1.3, 0.8, 1.0], [0.9, 2.2, 1.0]
    u, v = bent(x, a, b), bent(z, a, b)
    return 0.5 * k("m", [0], u, v) + 0.5 * k("m", [1, 2], u, v)


@pytest.mark.parametrize("name", KERNELS)
def test_the_covariance_is_the_formula(name: str) -> None:
    expected = [[typed_out(name, a, x) for x in X] for a in A]
    np.testing.assert_allclose(covariance(KERNELS[name], THETA, A, X), expected, rtol=1e-10)
    assert np.linalg.eigvalsh(covariance(KERNELS[name], THETA, X, X)).min() > -1e-9


@pytest.mark.parametrize("name", KERNELS)
def test_predictions_and_their_gradients(name: str) -> None:
    kernel = KERNELS[name]
    posterior = condition(kernel, THETA, X, Y, 0.1)
    noise = np.full(9, 0.1)
    K, k = covariance(kernel, THETA, X, X), covariance(kernel, THETA, X, A)
    k_aa = np.diag(covariance(kernel, THETA, A, A))
    inverse = np.linalg.inv(K + np.diag(noise))
    mean, std = posterior.predict(A)
    np.testing.assert_allclose(mean, k.T @ inverse @ Y, rtol=1e-9)
    np.testing.assert_allclose(k_aa, 1.0)
    np.testing.assert_allclose(std**2, 1 - np.diag(k.T @ inverse @ k), rtol=1e-9)
    value, spread, dmean, dstd = posterior.predict_gradients(A)
    np.testing.assert_allclose(value, mean, rtol=1e-12)
    np.testing.assert_allclose(spread, std, rtol=1e-9)
    for row in range(len(A)):
        for moved in (0, 1):
            point = A[row] if name in ("branch", "masked") else A[row] * 0.98 + 0.01
            numeric = naive.numeric_gradient(
                lambda x, i=moved: float(posterior.predict(x[None, :])[i][0]), point
            )
            at = posterior.predict_gradients(point[None, :])[2 + moved][0]
            free = slice(0, 2) if name in ("branch", "masked") else slice(0, 3)
            np.testing.assert_allclose(at[free], numeric[free], rtol=1e-4, atol=1e-5)
        assert dmean.shape == dstd.shape == A.shape


@pytest.mark.parametrize("name", KERNELS)
def test_the_evidence_and_its_gradient(name: str) -> None:
    kernel, noise = KERNELS[name], np.full(9, 0.2)
    value, by_theta, by_noise = log_evidence_gradient(kernel, THETA, X, Y, noise)
    K = covariance(kernel, THETA, X, X)
    assert value == pytest.approx(naive.log_evidence(K, Y, noise), rel=1e-10)

    def at(phi: Any) -> float:
        return log_evidence_gradient(kernel, np.exp(phi[:3]), X, Y, np.full(9, math.exp(phi[3])))[0]

    phi = np.append(np.log(THETA), math.log(0.2))
    numeric = naive.numeric_gradient(at, phi)
    np.testing.assert_allclose(by_theta, numeric[:3], rtol=1e-5, atol=1e-6)
    assert by_noise.sum() == pytest.approx(numeric[3], rel=1e-5)


def test_the_gradient_in_the_shapes_of_the_bend() -> None:
    noise = np.full(9, 0.2)

    def kernel(phi: Any) -> Warped:
        return Warped(M, tuple(np.exp(phi[:3])), tuple(np.exp(phi[3:])))

    phi = np.log([0.5, 2.0, 1.2, 1.5, 0.7, 0.9])
    inside = np.clip(X, 0.02, 0.98)
    _, W, _ = evidence_weights(kernel(phi), THETA, inside, Y, noise)
    ours = np.concatenate(kernel(phi).shape_gradient(THETA, inside, W))
    numeric = naive.numeric_gradient(
        lambda p: evidence_weights(kernel(p), THETA, inside, Y, noise)[0], phi
    )
    np.testing.assert_allclose(ours, numeric, rtol=1e-4, atol=1e-6)


def test_one_group_is_the_kernel_itself() -> None:
    whole = additive(M, [(0, 1, 2)])
    np.testing.assert_allclose(covariance(whole, THETA, A, X), covariance(M, THETA, A, X))
    ours = log_evidence_gradient(whole, THETA, X, Y, np.full(9, 0.1))
    plain = log_evidence_gradient(M, THETA, X, Y, np.full(9, 0.1))
    assert ours[0] == pytest.approx(plain[0], rel=1e-10)
    np.testing.assert_allclose(ours[1], plain[1], rtol=1e-8)
    np.testing.assert_allclose(ours[2], plain[2], rtol=1e-8)


def test_mistakes() -> None:
    with pytest.raises(ConfigurationError, match="sum to 1"):
        additive(M, [(0,), (1,)], (0.5, 0.6))
    with pytest.raises(ConfigurationError, match="shares"):
        Structure(())
    with pytest.raises(ConfigurationError, match="positive"):
        Warped(M, (0.0,), (1.0,))
    with pytest.raises(ConfigurationError, match="no function of one distance"):
        stationary(additive(M, [(0,)]))
