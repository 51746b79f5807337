"""Kernels and distances on a device: the formulas of ``kernels`` once more, as tensors.

Points are given divided by the lengthscales.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from noregret.gp.device import Device, Tensor
from noregret.gp.kernels import Kernel, Matern

# one pass over the memory instead of seven, where PyTorch can compile it
FUSED = """
template <typename T> T matern(T sq) {
    T z = sqrt(5.0 * (sq > 0.0 ? sq : 0.0));
    return (1.0 + z + z * z / 3.0) * exp(-z);
}
"""


def differences(device: Device, A: Tensor, B: Tensor) -> Tensor:
    """s for all pairs of rows by differences, so that equal points are at distance 0 exactly."""
    sq = device.empty(len(A), len(B)).zero_()
    for left, right in zip(A.T, B.T, strict=True):
        apart = left[:, None] - right[None, :]
        sq.addcmul_(apart, apart)
    return sq


def products(device: Device, A: Tensor, B: Tensor) -> Tensor:
    """s as ‖a‖² + ‖b‖² − 2a·b: one matrix product for many rows. It is wrong by about 1e-16·‖a‖²,
    and so may be below 0: enough for a sweep of predictions, never for a factor.
    """
    torch = device.torch
    middle = A.mean(dim=0)
    A, B = A - middle, B - middle
    ones = torch.ones_like
    left = torch.cat([A * -2.0, (A * A).sum(dim=1, keepdim=True), ones(A[:, :1])], dim=1)
    right = torch.cat([B, ones(B[:, :1]), (B * B).sum(dim=1, keepdim=True)], dim=1)
    return left @ right.T


def values(device: Device, kernel: Kernel, sq: Tensor) -> Tensor:
    """k for each s, which may be overwritten and may be a little below 0."""
    torch = device.torch
    if isinstance(kernel, Matern) and kernel.nu == 2.5:
        fused = _fused(device)
        if fused is not None:
            return fused(sq)
    sq.clamp_(min=0.0)
    if not isinstance(kernel, Matern):
        return sq.mul_(-0.5).exp_()  # theory.md#kernels
    z = sq.mul_(2 * kernel.nu).sqrt_()
    if kernel.nu == 0.5:
        return z.neg_().exp_()  # theory.md#kernels
    value = z + 1.0 if kernel.nu == 1.5 else torch.addcmul(z, z, z, value=1 / 3).add_(1.0)
    return value.mul_(z.neg_().exp_())  # theory.md#kernels


def values_and_slopes(device: Device, kernel: Kernel, sq: Tensor) -> tuple[Tensor, Tensor]:
    """k and dk/ds for each s, which may be overwritten."""
    torch = device.torch
    if not isinstance(kernel, Matern):
        value = torch.exp(sq.mul_(-0.5))
        return value, value * -0.5
    z = sq.mul_(2 * kernel.nu).sqrt_()
    decay = torch.exp(-z)
    if kernel.nu == 2.5:
        return torch.addcmul(z, z, z, value=1 / 3).add_(1.0).mul_(decay), (
            (z + 1.0).mul_(decay).mul_(-5 / 6)
        )
    if kernel.nu == 1.5:
        return (z + 1.0).mul_(decay), decay * -1.5
    kink = torch.where(z > 0, decay / (-2 * z), torch.zeros_like(z))  # infinite at 0: taken as 0
    return decay, kink


@cache
def _fused(device: Device) -> Callable[[Tensor], Tensor] | None:
    """Matérn 5/2 compiled for this GPU; None where PyTorch cannot, or would compute another
    function.
    """
    if device.place.type != "cuda":
        return None
    sq = np.linspace(-1e-12, 50.0, 1001)
    z = np.sqrt(5 * np.maximum(sq, 0.0))
    try:
        compiled: Callable[[Tensor], Tensor] = device.torch.cuda.jiterator._create_jit_fn(FUSED)
        right = np.allclose(
            device.get(compiled(device.put(sq))), (1 + z + z**2 / 3) * np.exp(-z), rtol=1e-12
        )
    except (RuntimeError, AttributeError, ImportError):
        return None
    return compiled if right else None
