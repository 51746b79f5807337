"""The factor of a covariance matrix on a device, in panels of PANEL rows.

    L = [[L₁, 0], [Uᵀ, C]]   with   L₁ U = K₁₂,   C Cᵀ = K₂₂ + diag λ₂ − UᵀU

A panel is U (the points before it × its own), C and C⁻¹; it never changes, so factors share what
they have in common, and half of L is never stored. The whole panels of the factors that were used
last are kept from one call to the next in this process: whoever starts over runs the same
operations (docs/decisions/0022). Everything above PANEL rows is matrix products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noregret.errors import NumericalError
from noregret.gp.device import Device, Tensor
from noregret.gp.device_kernels import differences, values
from noregret.gp.factor_cache import FactorCache, common_rows
from noregret.gp.kernels import Kernel
from noregret.gp.linalg import not_positive_definite
from noregret.space import Array

PANEL = 512
WIDE = 4_096  # columns from which on a product is worth being cut


@dataclass(frozen=True, slots=True)
class Panel:
    above: Tensor  # U (start, rows)
    corner: Tensor  # C (rows, rows), lower
    inverse: Tensor  # C⁻¹

    @property
    def rows(self) -> slice:
        start = len(self.above)
        return slice(start, start + len(self.corner))


@dataclass(frozen=True, slots=True)
class Factor:
    device: Device
    panels: tuple[Panel, ...]

    @property
    def size(self) -> int:
        return self.panels[-1].rows.stop if self.panels else 0

    def whiten(self, B: Tensor, first: int = 0) -> Tensor:
        """L⁻¹B for B (n, m), which is overwritten; ``first``: the panel before whose rows B is
        0.
        """
        V = self.device.empty(*B.shape)
        zero = self.panels[first].rows.start if self.panels else 0
        V[:zero] = 0.0
        for panel in self.panels[first:]:
            rows, start = panel.rows, panel.rows.start
            if start > zero:
                B[rows].addmm_(panel.above[zero:].T, V[zero:start], alpha=-1.0)
            _lower_product(self.device, panel.inverse, B[rows], V[rows])
        return V

    def unwhiten(self, B: Tensor) -> Tensor:
        """L⁻ᵀB in the place of B (n, m)."""
        for panel in reversed(self.panels):
            rows, start = panel.rows, panel.rows.start
            B[rows] = panel.inverse.T @ B[rows]
            if start:
                B[:start].addmm_(panel.above, B[rows], alpha=-1.0)
        return B

    def diagonal(self) -> Array:
        parts = [self.device.get(panel.corner.diagonal()) for panel in self.panels]
        return np.concatenate(parts) if parts else np.empty(0)

    def inverse_diagonal(self) -> Array:
        """The diagonal of (L Lᵀ)⁻¹, a panel of columns at a time."""
        found = []
        for index, panel in enumerate(self.panels):
            columns = self.device.empty(self.size, len(panel.corner)).zero_()
            columns[panel.rows] = self.device.eye(len(panel.corner))
            white = self.whiten(columns, index)
            found.append(self.device.get((white * white).sum(dim=0)))
        return np.concatenate(found) if found else np.empty(0)

    def dense(self) -> Array:
        """L as an array here."""
        L = np.zeros((self.size, self.size), order="F")
        for panel in self.panels:
            rows = panel.rows
            L[rows, : rows.start] = self.device.get(panel.above).T
            L[rows, rows] = self.device.get(panel.corner)
        return L

    def grown(
        self, kernel: Kernel, scaled: Tensor, noise_var: Tensor, rows: slice, points: int
    ) -> Factor:
        """With one panel more, for these rows of ``scaled``, the points over the lengthscales."""
        device, torch = self.device, self.device.torch
        own = scaled[rows]
        above = values(device, kernel, differences(device, scaled[: rows.start], own))
        above = self.whiten(above)
        K = values(device, kernel, differences(device, own, own))
        K.diagonal().add_(noise_var[rows])
        if len(above):
            K.addmm_(above.T, above, alpha=-1.0)
        corner, info = torch.linalg.cholesky_ex(K)
        if int(info) != 0:
            raise NumericalError(not_positive_definite(points))
        inverse = torch.linalg.solve_triangular(corner, device.eye(len(own)), upper=False)
        return Factor(device, (*self.panels, Panel(above, corner, inverse)))


def _lower_product(device: Device, M: Tensor, B: Tensor, out: Tensor) -> None:
    """M B for a lower triangular M; with many columns in halves, a quarter of the work less."""
    half = len(M) // 2
    if B.shape[1] < WIDE or half == 0:
        device.torch.mm(M, B, out=out)
        return
    device.torch.mm(M[:half, :half], B[:half], out=out[:half])
    device.torch.mm(M[half:, half:], B[half:], out=out[half:])
    out[half:].addmm_(M[half:, :half], B[:half])


def from_dense(device: Device, L: Array) -> Factor:
    """Of a factor that was made here, as one panel."""
    corner = device.put(L)
    inverse = device.torch.linalg.solve_triangular(corner, device.eye(len(L)), upper=False)
    return Factor(device, (Panel(device.empty(0, len(L)), corner, inverse),))


@dataclass(slots=True)
class CachedPanels:
    """The whole panels of some points."""

    kernel: Kernel
    lengthscales: Array
    X: Array
    noise_var: Array
    factor: Factor
    uses: int = 0

    def shared(
        self, device: Device, kernel: Kernel, lengthscales: Array, X: Array, noise_var: Array
    ) -> int:
        """How many of its panels are those of a factor of other points."""
        if self.factor.device != device or self.kernel != kernel:
            return 0
        if not np.array_equal(self.lengthscales, lengthscales):
            return 0
        return common_rows(self.X, self.noise_var, X, noise_var) // PANEL


_cache: FactorCache[CachedPanels] = FactorCache()


def factor(
    device: Device, kernel: Kernel, lengthscales: Array, X: Array, noise_var: Array
) -> Factor:
    """L with L Lᵀ = k(X, X) + diag noise_var."""
    n, whole = len(X), len(X) // PANEL
    kept = _found(device, kernel, lengthscales, X, noise_var)
    made = kept.factor
    scaled, noise = device.put(X / lengthscales), device.put(noise_var)
    while len(made.panels) < whole:
        rows = slice(made.size, made.size + PANEL)
        made = made.grown(kernel, scaled, noise, rows, rows.stop)
    if made.panels:
        rows = slice(0, made.size)
        _cache.put(CachedPanels(kernel, lengthscales, X[rows], noise_var[rows], made, kept.uses))
    if made.size < n:
        made = made.grown(kernel, scaled, noise, slice(made.size, n), n)
    return made


def forget() -> None:
    """Frees what is kept."""
    _cache.clear()


def _found(
    device: Device, kernel: Kernel, lengthscales: Array, X: Array, noise_var: Array
) -> CachedPanels:
    """What is kept and shares most panels, cut to them, or nothing yet."""
    best, most = _cache.take(lambda each: each.shared(device, kernel, lengthscales, X, noise_var))
    n, panels = most * PANEL, () if best is None else best.factor.panels[:most]
    uses = 0 if best is None else best.uses + 1
    return CachedPanels(kernel, lengthscales, X[:n], noise_var[:n], Factor(device, panels), uses)
