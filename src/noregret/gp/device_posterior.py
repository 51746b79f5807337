"""A posterior whose factor lies on a device, and the evidence there: see ``posterior``, whose
formulas these are. What goes in and out are arrays here.

The factor lies there in panels of PANEL rows:

    L = [[L₁, 0], [Uᵀ, C]]   with   L₁ U = K₁₂,   C Cᵀ = K₂₂ + diag λ₂ − UᵀU

A panel is U (the points before it × its own), C and C⁻¹; it never changes, so factors share what
they have in common, and half of L is never stored. The whole panels of the factors that were used
last are cached in this process: a process without them runs the same operations
(docs/decisions/0022). Everything above PANEL rows is matrix products.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields

import numpy as np

from noregret.errors import NumericalError
from noregret.gp.device import Device, Tensor, differences, products, values, values_and_slopes
from noregret.gp.factor_cache import CachedFactor, FactorCache
from noregret.gp.kernels import Covariance, Kernel, stationary
from noregret.gp.linalg import not_positive_definite
from noregret.gp.posterior import VARIANCE_FLOOR, Posterior, log_evidence
from noregret.space import Array

PANEL = 512  # rows of a panel; more need fewer and larger products, and more memory for C⁻¹
WIDE = 4_096  # columns from which on a triangular product is cut into halves
EXACT = 4_096  # rows of a prediction up to which distances are by differences
LARGEST = 65_536  # rows of a prediction computed at once, while the next ones are transferred
SMALLEST = 64  # rows of a prediction that must fit into the memory


@dataclass(frozen=True, slots=True)
class Panel:
    above: Tensor  # U (start, rows)
    corner: Tensor  # C (rows, rows), lower
    inverse: Tensor  # C⁻¹

    @staticmethod
    def of(device: Device, above: Tensor, K: Tensor) -> Panel:
        """K: what is left of the covariance, λ included, given the points before."""
        linalg = device.torch.linalg
        corner, info = linalg.cholesky_ex(K)
        if int(info) != 0:
            raise NumericalError(not_positive_definite(len(above) + len(K)))
        return Panel(
            above, corner, linalg.solve_triangular(corner, device.eye(len(K)), upper=False)
        )

    @property
    def rows(self) -> slice:
        start = len(self.above)
        return slice(start, start + len(self.corner))


@dataclass(frozen=True, slots=True)
class PanelFactor:
    """L in panels: the factor of a ``DevicePosterior``."""

    device: Device
    panels: tuple[Panel, ...]
    points: Tensor  # X over the lengthscales

    @property
    def size(self) -> int:
        return self.panels[-1].rows.stop if self.panels else 0

    @property
    def L(self) -> Array:  # noqa: N802
        L = np.zeros((self.size, self.size), order="F")
        for panel in self.panels:
            rows = panel.rows
            L[rows, : rows.start] = self.device.get(panel.above).T
            L[rows, rows] = self.device.get(panel.corner)
        return L

    @property
    def diagonal(self) -> Array:
        return np.concatenate([self.device.get(each.corner.diagonal()) for each in self.panels])

    @property
    def last_row(self) -> Array:
        last = self.panels[-1]
        return np.append(self.device.get(last.above[:, -1]), self.device.get(last.corner[-1]))

    def solve(self, B: Array, *, transposed: bool = False) -> Array:
        """L⁻¹B for a vector B, of the first rows of L where B has fewer; or L⁻ᵀB."""
        there = self.device.put(np.append(B, np.zeros(self.size - len(B))))[:, None]
        solved = (self.unwhiten if transposed else self.whiten)(there)[:, 0]
        return self.device.get(solved)[: len(B)]

    def append(
        self, kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array
    ) -> PanelFactor:
        return panel_factor(self.device, stationary(kernel), lengthscales, X, noise_var)

    def whiten(self, B: Tensor) -> Tensor:
        """L⁻¹B for B (n, m), which is overwritten."""
        V = self.device.empty(*B.shape)
        for panel in self.panels:
            rows = panel.rows
            if rows.start:
                B[rows].addmm_(panel.above.T, V[: rows.start], alpha=-1.0)
            _lower_product(self.device, panel.inverse, B[rows], V[rows])
        return V

    def unwhiten(self, B: Tensor) -> Tensor:
        """L⁻ᵀB in the place of B (n, m)."""
        for panel in reversed(self.panels):
            rows = panel.rows
            B[rows] = panel.inverse.T @ B[rows]
            if rows.start:
                B[: rows.start].addmm_(panel.above, B[rows], alpha=-1.0)
        return B

    def with_panel(self, kernel: Kernel, noise_var: Tensor, stop: int) -> PanelFactor:
        """The factor with one panel more, of the points before ``stop``."""
        device, rows = self.device, slice(self.size, stop)
        own = self.points[rows]
        above = values(device, kernel, differences(device, self.points[: rows.start], own))
        above = self.whiten(above)
        K = values(device, kernel, differences(device, own, own))
        K.diagonal().add_(noise_var[rows])
        if len(above):
            K.addmm_(above.T, above, alpha=-1.0)
        return PanelFactor(device, (*self.panels, Panel.of(device, above, K)), self.points)


def _lower_product(device: Device, M: Tensor, B: Tensor, out: Tensor) -> None:
    """M B for a lower triangular M; with many columns in halves, a quarter of the work less."""
    half = len(M) // 2
    if B.shape[1] < WIDE or half == 0:
        device.torch.mm(M, B, out=out)
        return
    device.torch.mm(M[:half, :half], B[:half], out=out[:half])
    device.torch.mm(M[half:, half:], B[half:], out=out[half:])
    out[half:].addmm_(M[half:, :half], B[:half])


cache: FactorCache[tuple[Panel, ...]] = FactorCache(lambda n: n // PANEL * PANEL)


def panel_factor(
    device: Device, kernel: Kernel, lengthscales: Array, X: Array, noise_var: Array
) -> PanelFactor:
    """L with L Lᵀ = k(X, X) + diag noise_var."""
    n, whole, key = len(X), len(X) // PANEL * PANEL, (device, kernel)
    with device.room_for(f"the factor of {n} points"):
        cached, size = cache.take(key, lengthscales, X, noise_var)
        panels, uses = ((), 0) if cached is None else (cached.value, cached.uses + 1)
        noise = device.put(noise_var)
        L = PanelFactor(device, panels[: size // PANEL], device.put(X / lengthscales))
        for stop in range(size + PANEL, whole + 1, PANEL):
            L = L.with_panel(kernel, noise, stop)
        if whole:
            data = lengthscales, X[:whole], noise_var[:whole]
            cache.put(CachedFactor(key, *data, L.panels, uses))
        return L.with_panel(kernel, noise, n) if whole < n else L


@dataclass(frozen=True, slots=True)
class DevicePosterior(Posterior):
    """As ``Posterior``; n² numbers stay on the device, n come back."""

    factor: PanelFactor
    _weights: Tensor = field(init=False, repr=False, compare=False)
    _ones: Tensor = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = self.factor.device.put
        object.__setattr__(self, "_weights", put(self.weights))
        object.__setattr__(self, "_ones", None if self.ones is None else put(self.ones))

    def predict(self, A: Array) -> tuple[Array, Array]:
        """Latent mean and std at the rows of A, in pieces that fit into the memory."""
        if len(A) == 0:
            return np.empty(0), np.empty(0)
        device = self.factor.device
        step = max(min(device.chunk // max(len(self.X), 1), LARGEST), SMALLEST)
        theta, many = device.put(self.lengthscales), len(A) > EXACT
        with self._room(f"a prediction at {SMALLEST} points"):
            while True:
                try:
                    mean, std = device.mapped(
                        lambda part: self._predict(part.div_(theta), many), A, step
                    )
                except RuntimeError as error:
                    if step <= SMALLEST or not device.is_full(error):
                        raise
                else:
                    return mean, std
                device.torch.cuda.empty_cache()
                step = max(step // 2, SMALLEST)

    def _predict(self, scaled: Tensor, many: bool) -> Tensor:
        """Mean and std (2, m)."""
        device, torch, points = self.factor.device, self.factor.device.torch, self.factor.points
        sq = (products if many else differences)(device, points, scaled)  # (n, m)
        k = values(device, stationary(self.kernel), sq)
        mean, prior = self._weights @ k + self.mean, self._prior_on(k)  # JMLR eq. (3)
        explained = torch.linalg.vector_norm(self.factor.whiten(k), dim=0)
        var = explained.square_().neg_().add_(prior)
        return torch.stack([mean, var.clamp_(min=VARIANCE_FLOOR).sqrt_()])

    def _prior_on(self, k: Tensor) -> Tensor | float:
        """1, and what the unknown mean adds at points with covariances k (n, m)."""
        return 1.0 if self._ones is None else self.mean_var * (1.0 - self._ones @ k) ** 2 + 1.0

    def predict_leading(self, A: Array, width: float, top: int) -> tuple[Array, Array]:
        """All of them: dropping some on the way is no gain where columns are cheap."""
        return self.predict(A)

    def predict_gradients(self, A: Array) -> tuple[Array, Array, Array, Array]:
        device, torch, points = self.factor.device, self.factor.device.torch, self.factor.points
        with self._room(f"a prediction with gradients at {len(A)} points"):
            scaled = self._scaled(A)
            sq = differences(device, points, scaled)  # (n, m)
            k, slope = values_and_slopes(device, stationary(self.kernel), sq)
            mean, prior = self._weights @ k + self.mean, self._prior_on(k)
            unsure = None
            if self._ones is not None:
                unsure = self.mean_var * self._ones[:, None] * (1.0 - self._ones @ k)
            v = self.factor.whiten(k)
            var = prior - torch.linalg.vector_norm(v, dim=0) ** 2
            w = self.factor.unwhiten(v)  # (K + λ)⁻¹ k
            w = (w if unsure is None else w.add_(unsure)).mul_(slope)
            slope.mul_(self._weights[:, None])
            # Σ_n c_nm · 2 (A_m − X_n)/θ², without an (n, m, d) array
            dmean = scaled * slope.sum(dim=0)[:, None] - slope.T @ points
            dvar = scaled * w.sum(dim=0)[:, None] - w.T @ points
            columns = device.get(torch.cat([mean[:, None], var[:, None], dmean, dvar], dim=1))
        d, scale = A.shape[1], 2.0 / self.lengthscales
        std = np.sqrt(np.maximum(columns[:, 1], VARIANCE_FLOOR))
        by_mean, by_var = scale * columns[:, 2 : 2 + d], -2.0 * scale * columns[:, 2 + d :]
        return np.ascontiguousarray(columns[:, 0]), std, by_mean, by_var / (2.0 * std[:, None])

    def joint(self, A: Array) -> tuple[Array, Array]:
        device, kernel = self.factor.device, stationary(self.kernel)
        with self._room(f"the covariance of {len(A)} points"):
            scaled = self._scaled(A)
            k = values(device, kernel, differences(device, self.factor.points, scaled))
            mean = self._weights @ k + self.mean
            own = values(device, kernel, differences(device, scaled, scaled))
            if self._ones is not None:
                c = 1.0 - self._ones @ k
                own.add_(self.mean_var * c[:, None] * c[None, :])
            v = self.factor.whiten(k)
            return device.get(mean), device.get(own.addmm_(v.T, v, alpha=-1.0))

    def _scaled(self, A: Array) -> Tensor:
        device = self.factor.device
        return device.put(A).div_(device.put(self.lengthscales))

    def _room(self, what: str) -> AbstractContextManager[None]:
        return self.factor.device.room_for(f"{what}, given {len(self.X)},")


def sweep_on(device: Device, posterior: Posterior, A: Array) -> tuple[Array, Array]:
    """A posterior from here asked at many rows there."""
    n = len(posterior.X)
    with device.room_for(f"the factor of {n} points"):
        corner = device.put(posterior.L)
        inverse = device.torch.linalg.solve_triangular(corner, device.eye(n), upper=False)
        panel = Panel(device.empty(0, n), corner, inverse)
        points = device.put(posterior.X / posterior.lengthscales)
        values_of = {each.name: getattr(posterior, each.name) for each in fields(Posterior)}
        values_of["factor"] = PanelFactor(device, (panel,), points)
    return DevicePosterior(**values_of).predict(A)


def log_evidence_gradient_on(
    device: Device,
    kernel: Kernel,
    lengthscales: Array,
    X: Array,
    y: Array,
    noise_var: Array,
    *,
    kriging: bool = False,
) -> tuple[float, Array, Array]:
    """As ``fit.log_evidence_gradient``."""
    with device.room_for(f"the evidence of {len(X)} points"):
        centred = device.put((X - X.mean(axis=0)) / lengthscales)
        K, slope = values_and_slopes(device, kernel, differences(device, centred, centred))
        noise = device.put(noise_var)
        K.diagonal().add_(noise)
        panel = Panel.of(device, device.empty(0, len(X)), K)
        value, *minus = log_evidence(PanelFactor(device, (panel,), centred), y, kriging=kriging)
        # ½ tr((ww' − K⁻¹) dK), Rasmussen & Williams eq. (5.9); C is its negative
        C = panel.inverse.T @ panel.inverse
        for weights in (device.put(each) for each in minus if each is not None):
            C.addr_(weights, weights, alpha=-1.0)
        grad_noise = -0.5 * C.diagonal() * noise
        C.mul_(slope)
        # Σ_jk W_jk (a_j − a_k)² = 2 (Σ_j a_j² W_j· − aᵀ W a), with a a column of X/θ
        row_sums, product = C.sum(dim=1, keepdim=True), C @ centred
        grad = 2.0 * (centred * centred * row_sums - centred * product).sum(dim=0)
        return value, device.get(grad), device.get(grad_noise)
