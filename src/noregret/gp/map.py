"""Maximum a posteriori lengthscales and noise, by L-BFGS from several starts, and how they meet the
widening.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from noregret.errors import ConfigurationError, NumericalError
from noregret.gp.evidence import Evidence
from noregret.gp.priors import Gamma, LogNormal, Prior
from noregret.space import Array

LARGEST_LOSS, SINGULAR = 1e15, 1e25  # of a first evaluation; of a matrix that has no factor
TOLERANCE = 1e7 * float(np.finfo(np.float64).eps)  # of L-BFGS-B, SciPy's own


@dataclass(frozen=True, slots=True)
class MAP:
    """How lengthscales are estimated online, theory.md#estimation.

    combine: "min" takes min(θ^MAP, θ_0/g) per input, "scale" takes θ^MAP/g. θ^MAP is kept within
    [truncation·θ_0, ceiling·θ_0]. noise_prior is used when the strategy's noise is unknown; it is a
    prior of the noise variance in units of the prior variance. All ``starts`` are searched when the
    number of points has grown by the factor ``patience`` since that was last done; in between the
    last estimate is improved when it has grown by ``refresh``, or kept.
    """

    prior: Prior = Gamma()
    noise_prior: Prior = LogNormal(-4.0, 1.0)
    combine: Literal["min", "scale"] = "min"
    truncation: float = 0.01
    ceiling: float = 1.0
    starts: int = 3
    patience: float = 1.0
    refresh: float = 1.0

    def __post_init__(self) -> None:
        if self.combine not in ("min", "scale"):
            raise ConfigurationError(f'combine is "min" or "scale", got {self.combine!r}')
        if not 0 < self.truncation < 1:
            raise ConfigurationError(
                "truncation is the smallest θ^MAP as a fraction of θ_0, in (0, 1), got"
                f" {self.truncation!r}"
            )
        if not 1 <= self.ceiling < np.inf:
            raise ConfigurationError(
                f"ceiling is the largest θ^MAP in units of θ_0, at least 1, got {self.ceiling!r}"
            )
        for name in ("patience", "refresh"):
            if not 1 <= getattr(self, name) < np.inf:
                raise ConfigurationError(
                    f"{name} is a factor of at least 1 by which the data grow, got"
                    f" {getattr(self, name)!r}"
                )
        if not (isinstance(self.starts, int) and self.starts >= 1):
            raise ConfigurationError(
                f"starts must be a whole number of at least 1, got {self.starts!r}"
            )

    def combined(self, fitted: Array, initial: Array, g: float) -> Array:
        """θ_t from the estimate and the widening."""
        if self.combine == "min":
            return np.minimum(fitted, initial / g)  # JMLR eq. (17)
        return fitted / max(g, 1.0)  # JMLR eq. (18)


@dataclass(frozen=True, slots=True)
class Fit:
    """Estimated lengthscales, and the noise variance (NaN where it is known)."""

    lengthscales: Array
    noise_var: float
    searched: int = 0  # how many points there were when all starts were last searched,
    improved: int = 0  # and when the estimate was last improved


def fit_map(
    evidence: Evidence,
    lower: Array,
    upper: Array,
    starts: Array,
    searched: int = 0,
    tolerance: float = TOLERANCE,
) -> Fit:
    """argmax of the posterior over lower ≤ θ ≤ upper; ``starts`` (k, d or d+1) are values of φ.
    tolerance: a step that gains less of the logarithm, relative, is the last.
    """
    d = evidence.dimension
    bounds = [(float(np.log(a)), float(np.log(b))) for a, b in zip(lower, upper, strict=True)]
    if evidence.estimates_noise:
        bounds.append((float(np.log(evidence.smallest_noise_var)), 0.0))

    unit = 0.0  # of the loss, 1 unless the values are far too large for the class

    def loss(phi: Array) -> tuple[float, Array]:
        nonlocal unit
        try:
            value, gradient = evidence.log_posterior(phi, jacobian=False)
        except NumericalError:
            # a corner where the matrix is singular: never the optimum
            return SINGULAR, np.zeros_like(phi)
        unit = unit or max(1.0, abs(value) / LARGEST_LOSS)
        return -value / unit, -gradient / unit

    low, high = np.array(bounds).T
    best, best_loss = np.clip(starts[0], low, high), np.inf
    for start in starts:
        result = minimize(
            loss,
            np.clip(start, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 100, "ftol": tolerance},
        )
        if result.fun < best_loss:
            best, best_loss = np.asarray(result.x), float(result.fun)
    if not best_loss < SINGULAR:
        loss_value, _ = evidence.log_posterior(
            best, jacobian=False
        )  # raises the error that explains it
        raise NumericalError(
            f"no lengthscales between {lower} and {upper} have a finite likelihood ({loss_value})"
        )
    noise_var = float(np.exp(best[d])) if evidence.estimates_noise else float("nan")
    return Fit(np.clip(np.exp(best[:d]), lower, upper), noise_var, searched, len(evidence.y))


def starting_points(
    evidence: Evidence, estimation: MAP, previous: Fit | None, rng: np.random.Generator
) -> Array:
    """The last estimate first, then the prior's centre, then draws of the prior."""
    d = evidence.dimension
    rows = [] if previous is None else [previous.lengthscales]
    rows.append(np.full(d, estimation.prior.center(d)))
    while len(rows) < estimation.starts:
        rows.append(estimation.prior.draw(rng, d, d))
    phi = np.log(np.array(rows[: estimation.starts]))
    if not evidence.estimates_noise:
        return phi
    noise = np.full(len(phi), np.log(estimation.noise_prior.center(d)))
    if previous is not None and np.isfinite(previous.noise_var):
        noise[0] = np.log(previous.noise_var)
    return np.hstack([phi, noise[:, None]])
