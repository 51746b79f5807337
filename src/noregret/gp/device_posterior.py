"""A posterior whose factor lies on a device, and the evidence there: see ``posterior``, whose
formulas these are. What goes in and out are arrays here.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np

from noregret.errors import NumericalError
from noregret.gp import linalg, panels
from noregret.gp.device import Device, Tensor
from noregret.gp.device_kernels import differences, products, values, values_and_slopes
from noregret.gp.kernels import Kernel, simple
from noregret.gp.linalg import not_positive_definite
from noregret.gp.posterior import VARIANCE_FLOOR, Posterior
from noregret.space import Array

EXACT = 4_096  # rows of a prediction up to which distances are by differences
LARGEST = 65_536  # rows that are worked on at once: the next ones are on their way meanwhile
SMALLEST = 64  # rows of a prediction that must fit into the memory


class DevicePosterior(Posterior):
    """As ``Posterior``; n² numbers stay on the device, n come back."""

    __slots__ = ("_ones", "_points", "_weights", "factor")

    factor: panels.Factor
    _points: Tensor  # X over the lengthscales
    _weights: Tensor
    _ones: Tensor  # None: the mean is known to be 0

    def __init__(
        self,
        factor: panels.Factor,
        kernel: Kernel,
        lengthscales: Array,
        X: Array,
        noise_var: Array,
        z: Array,
        observed: int,
        *,
        kriging: bool = False,
    ) -> None:
        """z = L⁻¹y, 0 where a value is pending."""
        device = factor.device
        mean, ones, mean_var = 0.0, None, 0.0
        if kriging:
            u = factor.whiten(device.put(np.ones(len(X)))[:, None])[:, 0]
            seen, squared = device.get(u)[:observed], float((u * u).sum())
            mean = float(seen @ z[:observed] / (seen @ seen)) if observed else 0.0
            z = np.concatenate([z[:observed] - mean * seen, np.zeros(len(X) - observed)])
            ones, mean_var = factor.unwhiten(u[:, None].clone())[:, 0], 1.0 / squared
        weights = factor.unwhiten(device.put(z)[:, None])[:, 0]
        given = {
            "kernel": kernel,
            "lengthscales": lengthscales,
            "X": X,
            "noise_var": noise_var,
            "z": z,
            "weights": device.get(weights),
            "observed": observed,
            "mean": mean,
            "ones": None if ones is None else device.get(ones),
            "mean_var": mean_var,
            "factor": factor,
            "_ones": ones,
            "_points": device.put(X / lengthscales),
            "_weights": weights,
        }
        for name, value in given.items():
            object.__setattr__(self, name, value)

    @property
    def L(self) -> Array:  # noqa: N802
        return self.factor.dense()

    @property
    def diagonal(self) -> Array:
        return self.factor.diagonal()

    @property
    def precision_diagonal(self) -> Array:
        with self._room("what each point says of itself"):
            diagonal = self.factor.inverse_diagonal()
        return diagonal if self.ones is None else diagonal - self.mean_var * self.ones**2

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
                    found = device.mapped(
                        lambda part: self._predict(part.div_(theta), many), A, step
                    )
                except RuntimeError as error:
                    if step <= SMALLEST or not device.is_full(error):
                        raise
                else:
                    return found[0], found[1]
                device.torch.cuda.empty_cache()
                step = max(step // 2, SMALLEST)

    def _predict(self, scaled: Tensor, many: bool) -> Tensor:
        """Mean and std (2, m)."""
        device, torch = self.factor.device, self.factor.device.torch
        apart = products if many else differences
        k = values(device, simple(self.kernel), apart(device, self._points, scaled))  # (n, m)
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
        device, torch = self.factor.device, self.factor.device.torch
        with self._room(f"a prediction with gradients at {len(A)} points"):
            scaled = self._scaled(A)
            k, slope = values_and_slopes(
                device, simple(self.kernel), differences(device, self._points, scaled)
            )  # (n, m)
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
            dmean = scaled * slope.sum(dim=0)[:, None] - slope.T @ self._points
            dvar = scaled * w.sum(dim=0)[:, None] - w.T @ self._points
            found = device.get(torch.cat([mean[:, None], var[:, None], dmean, dvar], dim=1))
        d, scale = A.shape[1], 2.0 / self.lengthscales
        std = np.sqrt(np.maximum(found[:, 1], VARIANCE_FLOOR))
        by_mean, by_var = scale * found[:, 2 : 2 + d], -2.0 * scale * found[:, 2 + d :]
        return np.ascontiguousarray(found[:, 0]), std, by_mean, by_var / (2.0 * std[:, None])

    def joint(self, A: Array) -> tuple[Array, Array]:
        device = self.factor.device
        with self._room(f"the covariance of {len(A)} points"):
            scaled = self._scaled(A)
            k = values(device, simple(self.kernel), differences(device, self._points, scaled))
            mean = self._weights @ k + self.mean
            own = values(device, simple(self.kernel), differences(device, scaled, scaled))
            if self._ones is not None:
                c = 1.0 - self._ones @ k
                own.add_(self.mean_var * c[:, None] * c[None, :])
            v = self.factor.whiten(k)
            return device.get(mean), device.get(own.addmm_(v.T, v, alpha=-1.0))

    def append(self, x: Array, y: float | None, noise_var: float) -> Posterior:
        self.check_order(y)
        X = np.vstack([self.X, np.asarray(x, dtype=np.float64).reshape(1, -1)])
        noise = np.append(self.noise_var, noise_var)
        with self._room(f"the factor of {len(X)} points"):
            made = panels.factor(
                self.factor.device, simple(self.kernel), self.lengthscales, X, noise
            )
            z_last, last, z = 0.0, made.panels[-1], self.z
            if self._ones is not None:  # L⁻¹y of the observed points
                white = self.factor.whiten(made.device.put(np.ones(len(self.X)))[:, None])[:, 0]
                seen = made.device.get(white)[: self.observed]
                z = np.append(z[: self.observed] + self.mean * seen, z[self.observed :])
            if y is not None:
                row = made.device.torch.cat([last.above[:, -1], last.corner[-1]])
                row = made.device.get(row)
                z_last = (y - row[:-1] @ z) / row[-1]
            z, observed = np.append(z, z_last), self.observed + (y is not None)
            kernel, kriging = simple(self.kernel), self._ones is not None
            return DevicePosterior(
                made, kernel, self.lengthscales, X, noise, z, observed, kriging=kriging
            )

    def _scaled(self, A: Array) -> Tensor:
        device = self.factor.device
        return device.put(A).div_(device.put(self.lengthscales))

    def _room(self, what: str) -> AbstractContextManager[None]:
        return self.factor.device.room_for(f"{what}, given {len(self.X)},")


def condition_on(
    device: Device,
    kernel: Kernel,
    lengthscales: Array,
    X: Array,
    y: Array,
    noise_var: Array,
    *,
    kriging: bool = False,
) -> Posterior:
    """The posterior given y at the first rows of X; the others are pending."""
    with device.room_for(f"the factor of {len(X)} points"):
        made = panels.factor(device, kernel, lengthscales, X, noise_var)
        z = np.zeros(len(X))
        z[: len(y)] = y
        white = made.whiten(device.put(z)[:, None])[:, 0]
        white[len(y) :] = 0.0  # pending at the mean: innovation 0
        z = device.get(white)
        return DevicePosterior(made, kernel, lengthscales, X, noise_var, z, len(y), kriging=kriging)


def sweep_on(device: Device, posterior: Posterior, A: Array) -> tuple[Array, Array]:
    """A posterior from here asked at many rows there."""
    kriging, z = posterior.ones is not None, posterior.z
    if kriging:  # L⁻¹y of the observed points
        seen = linalg.solve_lower(posterior.L, np.ones(len(posterior.X)))[: posterior.observed]
        z = z.copy()
        z[: posterior.observed] += posterior.mean * seen
    with device.room_for(f"the factor of {len(posterior.X)} points"):
        made = DevicePosterior(
            panels.from_dense(device, posterior.L),
            simple(posterior.kernel),
            posterior.lengthscales,
            posterior.X,
            posterior.noise_var,
            z,
            posterior.observed,
            kriging=kriging,
        )
    return made.predict(A)


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
    """As ``posterior.log_evidence_gradient``."""
    torch, n = device.torch, len(X)
    with device.room_for(f"the evidence of {n} points"):
        centred = device.put((X - X.mean(axis=0)) / lengthscales)
        K, slope = values_and_slopes(device, kernel, differences(device, centred, centred))
        noise = device.put(noise_var)
        K.diagonal().add_(noise)
        L, info = torch.linalg.cholesky_ex(K)
        if int(info) != 0:
            raise NumericalError(not_positive_definite(n))
        z = torch.linalg.solve_triangular(L, device.put(y)[:, None], upper=False)
        value = -L.diagonal().log().sum()
        ones = None
        if kriging:
            u = torch.linalg.solve_triangular(L, torch.ones_like(z), upper=False)
            squared = (u * u).sum()
            z = z - u * ((u * z).sum() / squared)
            ones = torch.linalg.solve_triangular(L.T, u, upper=True) / squared.sqrt()
            value = value + 0.5 * torch.log(2 * np.pi / squared)
        value = value - 0.5 * (z * z).sum()
        weights = torch.linalg.solve_triangular(L.T, z, upper=True)
        # ½ tr((ww' − K⁻¹) dK), Rasmussen & Williams eq. (5.9); C is its negative
        C = torch.cholesky_inverse(L).addmm_(weights, weights.T, alpha=-1.0)
        if ones is not None:
            C.addmm_(ones, ones.T, alpha=-1.0)
        grad_noise = -0.5 * C.diagonal() * noise
        C.mul_(slope)
        # Σ_jk W_jk (a_j − a_k)² = 2 (Σ_j a_j² W_j· − aᵀ W a), with a a column of X/θ
        row_sums, product = C.sum(dim=1, keepdim=True), C @ centred
        grad = 2.0 * (centred * centred * row_sums - centred * product).sum(dim=0)
        found = device.get(torch.cat([value[None], grad, grad_noise]))
    d = X.shape[1]
    whole = float(found[0]) - 0.5 * n * np.log(2 * np.pi)
    return whole, found[1 : 1 + d], found[1 + d :]
