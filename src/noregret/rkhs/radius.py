"""One radius for all classes: a bound on the residual of f that names no kernel, and what follows.

Notation: y_i = f(x_i) + noise, R_i-sub-Gaussian given everything before it; R_i = noise_bounds[i]
is known before the value. ρ² = ``radius_squared`` bounds Σ((y_i − f(x_i))/R_i)² at all times at
once with probability at least 1 − δ. Afterwards every class (θ, B) may be asked, chosen from the
data or not: with c > 0, λ_i = c·R_i² and the posterior μ_c, σ_c of the unit-variance kernel,

    |f(x) − μ_c(x)| ≤ σ_c(x) √(ρ²/c + B² − yᵀ(K + λ)⁻¹y)      if ‖f‖_θ ≤ B,
    ‖f‖_θ² ≥ yᵀ(K + λ)⁻¹y − ρ²/c.

Proofs: docs/theory.md#radius and docs/theory.md#refuted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import logsumexp

from noregret.errors import DELTA_HINT, ConfigurationError, check_range
from noregret.gp import Covariance, Posterior, condition, covariance, linalg
from noregret.rkhs.function_class import FunctionClass
from noregret.space import Array, Indices

SCALES = (1 / 16, 1 / 4, 1.0, 4.0, 16.0, 64.0, 256.0)  # the c of a band: λ = c·R²
LEAST_RATIO = 1e-9  # smallest λ, in prior variances of 1: below, a band would be rounding only
LENGTHS = 14  # number of lengthscales of the mixture
SIZES = (1 / 4, 1 / 2, 1 / 8, 1.0, 4.0, 16.0)  # amplitudes of the mixture, in units of B_0
SHARED = 0.75  # weight of the members with one scaling for all inputs
LONG = 8.0  # θ/θ_0 of a member in an input on which f hardly depends
MOST_INPUTS = 64  # with more, all inputs share one scaling: a member's weight would underflow
SEARCH = 200  # members at which the search for the most evidence ends
SEARCHED = 1e-9, 1e9  # range of c in which a lower bound of the norm is sought


@dataclass(frozen=True, slots=True)
class Values:
    """Observed values; pending points do not belong here."""

    X: Array  # (n, d)
    y: Array  # (n,)
    noise_bounds: Array  # (n,), R_i

    def __post_init__(self) -> None:
        X = np.asarray(self.X, dtype=np.float64)
        y = np.asarray(self.y, dtype=np.float64)
        bounds = np.asarray(self.noise_bounds, dtype=np.float64)
        if X.ndim != 2 or not y.shape == bounds.shape == (len(X),):
            raise ConfigurationError(
                "n points (n, d) need n values and n noise bounds, got "
                f"{X.shape}, {y.shape} and {bounds.shape}"
            )
        exact = "with exact values the radius is undefined; pass 1e-3 × the range of y, for example"
        linalg.check_all_positive("noise bounds", bounds, exact)
        for name, value in (("X", X), ("y", y), ("noise_bounds", bounds)):
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.y)


# -- the event --


def radius_squared(log_ratios: Sequence[float] | Array, weights: Array, delta: float) -> float:
    """ρ² of a mixture of forecasters: their summed log ratios, and weights of at most 1 in all."""
    weights = np.asarray(weights, dtype=np.float64)
    check_range("delta", delta, "(0, 1)", DELTA_HINT)
    if not (np.all(weights > 0) and weights.sum() <= 1 + 1e-9):
        raise ConfigurationError(
            f"weights must be positive and sum to at most 1, got a sum of {weights.sum():.6g}: "
            "with more than 1 the bound would fail more often than delta"
        )
    mixed = logsumexp(np.asarray(log_ratios, dtype=np.float64), b=weights)
    return float(-2 * mixed + 2 * math.log(1 / delta))  # theory.md#radius


@dataclass(frozen=True, slots=True)
class Mixture:
    """Gaussian processes a_j²·k_θj with weights, all fixed before the data.

    Their joint density of n values does not depend on the order in which these came.
    """

    kernel: Covariance
    lengthscales: Array  # (J, d)
    amplitudes: Array  # (J,)
    weights: Array  # (J,), with a sum of at most 1

    @staticmethod
    def around(kernel: Covariance, start: FunctionClass, g: float = 1.0) -> Mixture:
        """θ_0·2^(−j/2), down to θ_0/g at least, and amplitudes around a quarter of B_0.

        The weights .15·.85^j and 2^−(i+1) sum to 1 over i, j ≥ 0: ending early leaves some unused,
        which is why the end may depend on anything.
        """
        lengths = max(LENGTHS, 1 + math.ceil(2 * math.log2(g)))
        shorter, rank = (part.ravel() for part in np.mgrid[:lengths, : len(SIZES)])
        weights = 0.15 * 0.85**shorter * 2.0 ** -(rank + 1)
        theta = start.lengthscales[None, :] * 2.0 ** (-shorter[:, None] / 2)
        return Mixture(kernel, theta, start.norm_bound * np.array(SIZES)[rank], weights)

    @staticmethod
    def fitted(
        kernel: Covariance, start: FunctionClass, values: Values, g: float = 1.0
    ) -> tuple[Mixture, Array]:
        """A mixture with a scaling per input in a part of its weight, and its log ratios.

        Of the members of that part only those are kept that a search for the most evidence met.
        Without the others the radius is only larger, so the search may depend on the values.
        theory.md#per-input
        """
        common = Mixture.around(kernel, start, g)
        ratios, d = common.log_ratios(values), start.dimension
        if d == 1 or d > MOST_INPUTS:
            return common, ratios
        common = replace(common, weights=SHARED * common.weights)
        members: dict[tuple[int, ...], tuple[Mixture, float]] = {}

        def contribution(place: tuple[int, ...]) -> float:
            """The log of weight times density."""
            if place not in members:
                member = Mixture._member(kernel, start, place)
                members[place] = member, float(member.log_ratios(values)[0])
            member, ratio = members[place]
            return math.log(member.weights[0]) + ratio

        shorter, rank = divmod(int(np.argmax(np.log(common.weights) + ratios)), len(SIZES))
        place, before = (*(d * (shorter,)), rank), -1
        last = len(common.weights) // len(SIZES) - 1  # theory.md#per-input: none is shorter
        while before < len(members) < SEARCH:
            before = len(members)
            for i, here in enumerate(place):
                near = list(range(len(SIZES)))
                if i < d:
                    near = np.unique(
                        np.clip([-1, 0, here - 1, here + 1, here + 2], -1, last)
                    ).tolist()
                moves = [(*place[:i], to, *place[i + 1 :]) for to in near]
                place = max([place, *moves], key=contribution)
        parts = [common, *(member for member, _ in members.values())]
        mixture = Mixture(
            kernel,
            np.concatenate([part.lengthscales for part in parts]),
            np.concatenate([part.amplitudes for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )
        return mixture, np.append(ratios, [ratio for _, ratio in members.values()])

    @staticmethod
    def _member(kernel: Covariance, start: FunctionClass, place: tuple[int, ...]) -> Mixture:
        """The member with lengthscales θ_0,i·2^(−j_i/2), or LONG·θ_0,i for j_i = −1, and an
        amplitude by its rank. The weights of all of them sum to 1 − SHARED.
        """
        shorter, rank = np.array(place[:-1]), place[-1]
        shares = np.where(shorter < 0, 0.5, 0.5 * 0.15 * 0.85 ** np.maximum(shorter, 0))
        weight = (1 - SHARED) * float(np.prod(shares)) * 2.0 ** -(rank + 1)
        theta = start.lengthscales * np.where(shorter < 0, LONG, 2.0 ** (-shorter / 2))
        size = start.norm_bound * SIZES[rank]
        return Mixture(kernel, theta[None, :], np.array([size]), np.array([weight]))

    def log_ratios(self, values: Values) -> Array:
        """log of each member's density of the values over that of f, f's residual left out."""
        n, scaled = len(values), values.y / values.noise_bounds
        result = np.empty(len(self.weights))
        unit = np.outer(1 / values.noise_bounds, 1 / values.noise_bounds)
        base, previous = np.empty((n, n)), None
        for j, (theta, amplitude) in enumerate(
            zip(self.lengthscales, self.amplitudes, strict=True)
        ):
            if previous is None or not np.array_equal(theta, previous):
                base, previous = unit * covariance(self.kernel, theta, values.X, values.X), theta
            K = amplitude**2 * base
            K[np.diag_indices(n)] += 1.0  # rows divided by R_i
            L = linalg.cholesky(K.T)
            z = linalg.solve_lower(L, scaled)
            result[j] = -0.5 * z @ z - np.sum(np.log(np.diag(L)))  # theory.md#radius, with a GP
        return result

    def radius_squared(self, values: Values, delta: float) -> float:
        return radius_squared(self.log_ratios(values), self.weights, delta)


# -- what follows for a class --


@dataclass(frozen=True, slots=True)
class RadiusBand:
    """Where every f of the class can be that keeps within the radius: one ellipsoid for each c, all
    of which contain f, so the narrowest bound at each point counts.

    ``predict`` gives the middle of the band and half its width: with them β^½ = 1.
    """

    posteriors: tuple[Posterior, ...]
    widths: tuple[float, ...]  # √(ρ²/c + B² − yᵀ(K + λ)⁻¹y), 0 if the class is refuted
    scales: tuple[float, ...]  # the c of each: λ_i = c·R_i²
    function_class: FunctionClass
    refuted: bool  # no f of the class keeps within the radius

    @property
    def reference(self) -> int:
        """Which of the posteriors has c = 1: its λ_i is the noise of value i, told or not."""
        return int(np.argmin(np.abs(np.log(self.scales))))

    def with_pending(self, pending: Array) -> RadiusBand:
        """Smaller variances at pending points, each width times e^I(pending) in return; for what is
        asked next only.
        """
        if len(pending) == 0:
            return self
        posteriors, widths = [], []
        for posterior, width in zip(self.posteriors, self.widths, strict=True):
            full, noise_var = posterior, float(posterior.noise_var.min())  # c·R²
            for x in pending:
                full = full.append(x, None, noise_var)
            posteriors.append(full)
            widths.append(width * math.exp(full.pending_information))  # theory.md#pending
        return replace(self, posteriors=tuple(posteriors), widths=tuple(widths))

    def bounds(self, A: Array) -> tuple[Array, Array]:
        """Lower and upper bound at the rows of A."""
        lower, upper, _, _ = self._select([p.predict(A) for p in self.posteriors])
        return lower, upper

    def upper(self, A: Array) -> Array:
        return self.bounds(A)[1]

    def predict(self, A: Array) -> tuple[Array, Array]:
        lower, upper = self.bounds(A)
        return (lower + upper) / 2, (upper - lower) / 2

    def predict_gradients(self, A: Array) -> tuple[Array, Array, Array, Array]:
        """Middle, half-width and their gradients: of the ellipsoid in force at each row."""
        each = [p.predict_gradients(A) for p in self.posteriors]
        lower, upper, low, high = self._select([(mean, std) for mean, std, _, _ in each])
        widths, rows = np.array(self.widths), np.arange(len(A))
        dmean = np.stack([dm for _, _, dm, _ in each])  # (C, m, d)
        dstd = np.stack([ds for _, _, _, ds in each])
        d_upper = dmean[high, rows] + widths[high, None] * dstd[high, rows]
        d_lower = dmean[low, rows] - widths[low, None] * dstd[low, rows]
        middle, half = (lower + upper) / 2, (upper - lower) / 2
        return middle, half, (d_lower + d_upper) / 2, (d_upper - d_lower) / 2

    def _select(self, each: list[tuple[Array, Array]]) -> tuple[Array, Array, Indices, Indices]:
        """The narrowest bounds, and which c gave them."""
        widths = np.array(self.widths)[:, None]
        mean, std = (np.stack(part) for part in zip(*each, strict=True))  # (C, m)
        lowers, uppers = mean - widths * std, mean + widths * std
        low, high = np.argmax(lowers, axis=0), np.argmin(uppers, axis=0)
        rows = np.arange(mean.shape[1])
        return lowers[low, rows], uppers[high, rows], low, high


def radius_band(
    kernel: Covariance,
    function_class: FunctionClass,
    values: Values,
    radius_sq: float,
    scales: Sequence[float] | Array = SCALES,
) -> RadiusBand:
    """The band of a class on the event of ``radius_sq``, which must belong to the same values."""
    posteriors, widths, refuted = [], [], False
    usable = _usable(scales, values)
    for scale in usable:
        noise_var = scale * values.noise_bounds**2
        posterior = condition(kernel, function_class.lengthscales, values.X, values.y, noise_var)
        explained = float(posterior.z @ posterior.z)  # yᵀ(K + λ)⁻¹y
        squared = radius_sq / scale + function_class.norm_bound**2 - explained  # theory.md#radius
        refuted |= squared < 0
        posteriors.append(posterior)
        widths.append(math.sqrt(max(squared, 0.0)))
    return RadiusBand(tuple(posteriors), tuple(widths), tuple(usable), function_class, refuted)


def _usable(scales: Sequence[float] | Array, values: Values) -> list[float]:
    least = LEAST_RATIO / float(np.min(values.noise_bounds)) ** 2 if len(values) else 0.0
    usable = sorted({max(float(scale), least) for scale in scales})
    if not usable or usable[0] <= 0:
        raise ConfigurationError(f"a band needs at least one positive scale c, got {scales!r}")
    return usable


def norm_lower_bound(
    kernel: Covariance, lengthscales: Array, values: Values, radius_sq: float
) -> float:
    """‖f‖_θ is at least this on the event of ``radius_sq``: the least norm within the radius.

    The supremum over c is where the residual of μ_c equals the radius (the discrepancy principle).
    """
    scaled = values.y / values.noise_bounds
    if float(scaled @ scaled) <= radius_sq:
        return 0.0  # f = 0 keeps within the radius
    K = covariance(kernel, lengthscales, values.X, values.X)
    K = K / np.outer(values.noise_bounds, values.noise_bounds)
    spectrum, basis = np.linalg.eigh(K)
    spectrum, parts = np.maximum(spectrum, 0.0), (basis.T @ scaled) ** 2
    low, high = SEARCHED
    for _ in range(100):  # the residual Σ p (c/(e + c))² rises with c
        c = math.sqrt(low * high)
        if float(np.sum(parts * (c / (spectrum + c)) ** 2)) < radius_sq:
            low = c
        else:
            high = c
    bound = float(np.sum(parts / (spectrum + low))) - radius_sq / low  # theory.md#refuted
    return math.sqrt(max(bound, 0.0))
