"""The formulas of docs/theory.md as a textbook would type them: slow, dense, and not from src."""

import math

import numpy as np
from scipy.special import gamma, kv

from noregret.rkhs import Values
from noregret.space.array import Array


def kernel_value(name: str, nu: float, lengthscales: Array, x: Array, z: Array) -> float:
    r = math.sqrt(sum(((a - b) / t) ** 2 for a, b, t in zip(x, z, lengthscales, strict=True)))
    if name == "se":
        return math.exp(-(r**2) / 2)
    if r == 0:
        return 1.0
    s = math.sqrt(2 * nu) * r
    return float(2 ** (1 - nu) / gamma(nu) * s**nu * kv(nu, s))


def kernel_matrix(name: str, nu: float, lengthscales: Array, A: Array, B: Array) -> Array:
    return np.array([[kernel_value(name, nu, lengthscales, a, b) for b in B] for a in A])


def posterior(K: Array, k: Array, y: Array, noise_var: Array) -> tuple[Array, Array]:
    """Mean and variance by explicit inverse; k is (n, m)."""
    inv = np.linalg.inv(K + np.diag(noise_var))
    return k.T @ inv @ y, 1.0 - np.diag(k.T @ inv @ k)


def information(K: Array, noise_var: Array) -> float:
    scaled = K / np.sqrt(np.outer(noise_var, noise_var))
    return float(0.5 * np.linalg.slogdet(np.eye(len(K)) + scaled)[1])


def log_evidence(K: Array, y: Array, noise_var: Array) -> float:
    C = K + np.diag(noise_var)
    return float(
        -0.5 * y @ np.linalg.inv(C) @ y
        - 0.5 * np.linalg.slogdet(C)[1]
        - 0.5 * len(y) * math.log(2 * math.pi)
    )


def numeric_gradient(function, x: Array, step: float = 1e-6) -> Array:  # type: ignore[no-untyped-def]
    return np.array(
        [(function(x + step * e) - function(x - step * e)) / (2 * step) for e in np.eye(len(x))]
    )


def equal_values(X: Array, y: Array, noise_bound: float) -> Values:
    """All with the same R."""
    return Values(X, y, np.full(len(y), noise_bound))
