"""The factor of a covariance matrix on a device, predictions at many points with it, and the
evidence there. The formulas are those of ``posterior`` and ``fit``; arrays go in and come out.

The factor lies there in panels of PANEL rows:

    L = [[L₁, 0], [Uᵀ, C]]   with   L₁ U = K₁₂,   C Cᵀ = K₂₂ + diag λ₂ − UᵀU

A panel is U (the points before it × its own), C and C⁻¹. It never changes, so factors share what
they have in common, and half of L is never stored. Whole panels of recent factors are cached in
this process; a process without the cache runs the same operations (docs/decisions/0022). Everything
above PANEL rows is matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.errors import NumericalError
from noregret.gp.device import Device, Tensor, device_for, differences, products, values
from noregret.gp.factor_cache import CachedFactor, FactorCache
from noregret.gp.kernels import Covariance, Kernel, stationary, value_and_slope
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
        """K: the covariance, λ included, conditioned on the points before."""
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
    """L in panels: the factor of a posterior on a device."""

    place: Device
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
            L[rows, : rows.start] = self.place.get(panel.above).T
            L[rows, rows] = self.place.get(panel.corner)
        return L

    @property
    def diagonal(self) -> Array:
        return np.concatenate([self.place.get(each.corner.diagonal()) for each in self.panels])

    @property
    def last_row(self) -> Array:
        last = self.panels[-1]
        return np.append(self.place.get(last.above[:, -1]), self.place.get(last.corner[-1]))

    def solve(self, b: Array, *, transposed: bool = False) -> Array:
        there = self.place.put(np.append(b, np.zeros(self.size - len(b))))[:, None]
        solved = (self.unwhiten if transposed else self.whiten)(there)[:, 0]
        return self.place.get(solved)[: len(b)]

    def append(
        self, kernel: Covariance, lengthscales: Array, X: Array, noise_var: Array
    ) -> PanelFactor:
        return panel_factor(self.place, stationary(kernel), lengthscales, X, noise_var)

    def whiten(self, B: Tensor) -> Tensor:
        V = self.place.empty(*B.shape)
        for panel in self.panels:
            rows = panel.rows
            if rows.start:
                B[rows].addmm_(panel.above.T, V[: rows.start], alpha=-1.0)
            _lower_product(self.place, panel.inverse, B[rows], V[rows])
        return V

    def unwhiten(self, B: Tensor) -> Tensor:
        for panel in reversed(self.panels):
            rows = panel.rows
            B[rows] = panel.inverse.T @ B[rows]
            if rows.start:
                B[: rows.start].addmm_(panel.above, B[rows], alpha=-1.0)
        return B

    def with_panel(self, kernel: Kernel, noise_var: Tensor, stop: int) -> PanelFactor:
        """The factor with one more panel, of the points before ``stop``."""
        device, rows = self.place, slice(self.size, stop)
        own = self.points[rows]
        above = values(device, kernel, differences(device, self.points[: rows.start], own))
        above = self.whiten(above)
        K = values(device, kernel, differences(device, own, own))
        K.diagonal().add_(noise_var[rows])
        if len(above):
            K.addmm_(above.T, above, alpha=-1.0)
        return PanelFactor(device, (*self.panels, Panel.of(device, above, K)), self.points)


def _lower_product(device: Device, M: Tensor, B: Tensor, out: Tensor) -> None:
    """M B for a lower triangular M; in halves if there are many columns, which saves a quarter."""
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
    with device.memory_for(f"the factor of {n} points"):
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


def predict_on_device(posterior: Posterior, A: Array) -> tuple[Array, Array]:
    """Latent mean and std at the rows of A, in pieces that fit into the memory. A factor that lies
    on the processor is copied.
    """
    if len(A) == 0:
        return np.empty(0), np.empty(0)
    n, factor = len(posterior.X), posterior.factor
    if not isinstance(factor, PanelFactor):
        device = device_for(posterior.kernel, n, len(A))
        assert device is not None
        factor = copied(device, factor.L, posterior.X / posterior.lengthscales)
    device = factor.place
    step = max(min(device.chunk // max(n, 1), LARGEST), SMALLEST)
    with device.memory_for(f"a prediction at {SMALLEST} points, given {n},"):
        theta, weights = device.put(posterior.lengthscales), device.put(posterior.weights)
        ones = None if posterior.ones is None else device.put(posterior.ones)

        def piece(rows: Tensor) -> Tensor:
            return _mean_and_std(posterior, factor, weights, ones, rows.div_(theta), len(A) > EXACT)

        while True:
            try:
                mean, std = device.mapped(piece, A, step)
            except RuntimeError as error:
                if step <= SMALLEST or not device.is_full(error):
                    raise
            else:
                return mean, std
            device.torch.cuda.empty_cache()
            step = max(step // 2, SMALLEST)


def _mean_and_std(
    posterior: Posterior, factor: PanelFactor, weights: Tensor, ones: Tensor, A: Tensor, many: bool
) -> Tensor:
    """(2, m), at the rows of A, which are divided by the lengthscales."""
    device, torch = factor.place, factor.place.torch
    sq = (products if many else differences)(device, factor.points, A)  # (n, m)
    k = values(device, stationary(posterior.kernel), sq)
    mean = weights @ k + posterior.mean  # JMLR eq. (3)
    prior = 1.0 if ones is None else posterior.mean_var * (1.0 - ones @ k) ** 2 + 1.0
    explained = torch.linalg.vector_norm(factor.whiten(k), dim=0)
    var = explained.square_().neg_().add_(prior)
    return torch.stack([mean, var.clamp_(min=VARIANCE_FLOOR).sqrt_()])


def copied(device: Device, L: Array, points: Array) -> PanelFactor:
    """A factor from the processor, in one panel."""
    n = len(L)
    with device.memory_for(f"the factor of {n} points"):
        corner = device.put(L)
        inverse = device.torch.linalg.solve_triangular(corner, device.eye(n), upper=False)
        return PanelFactor(
            device, (Panel(device.empty(0, n), corner, inverse),), device.put(points)
        )


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
    with device.memory_for(f"the evidence of {len(X)} points"):
        centred = device.put((X - X.mean(axis=0)) / lengthscales)
        K, slope = value_and_slope(kernel, differences(device, centred, centred), device.torch)
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
