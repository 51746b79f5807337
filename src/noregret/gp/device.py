"""Which device the large matrices live on: the processor (NumPy), or a GPU through PyTorch.

The device is a setting of the process, not of a study: proposals agree to rounding, so a study may
start on one device and continue on the other. Why PyTorch: docs/decisions/0022.
"""

from __future__ import annotations

import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from noregret.errors import ConfigurationError, DeviceMemoryError, MissingExtraError
from noregret.gp.kernels import (
    Covariance,
    Kernel,
    Matern,
    SquaredExponential,
    covariance,
    squared_distances,
    stationary,
    value_and_slope,
)
from noregret.space import Array

VARIABLE = "NOREGRET_DEVICE"
PROCESSOR = "cpu"
IN_TORCH = "torch-cpu"  # the GPU's code on the processor, for tests and comparisons
Tensor = Any  # PyTorch is optional: it is imported only when a device is chosen

LEAST = 512  # points from which a factor is computed on the device
MANY = 4_000_000  # kernel values from which a sweep is computed there, given fewer points
# Matérn 5/2 in one pass over the memory instead of seven; compiled by PyTorch where it can
FUSED = """
template <typename T> T matern(T sq) {
    T z = sqrt(5.0 * (sq > 0.0 ? sq : 0.0));
    return (1.0 + z + z * z / 3.0) * exp(-z);
}
"""


class Processor:
    """NumPy, by the names that a posterior asks a device for."""

    xp: ClassVar[Any] = np
    squared_distances = staticmethod(squared_distances)
    covariance = staticmethod(covariance)

    def put(self, array: Array) -> Array:
        return array

    get = put

    def memory_for(self, what: str) -> AbstractContextManager[None]:
        return nullcontext()


@dataclass(frozen=True, slots=True)
class Device:
    """PyTorch and the place where its tensors lie; everything in double precision."""

    name: str
    torch: Any
    place: Any
    chunk: int  # kernel values computed at once

    @property
    def xp(self) -> Any:
        return self.torch

    def put(self, array: Array) -> Tensor:
        """A copy of an array on the device."""
        array = np.ascontiguousarray(array, dtype=np.float64)
        if self.place.type == PROCESSOR:
            return self.torch.from_numpy(array.copy())
        with warnings.catch_warnings():  # PyTorch warns of arrays that are only to be read
            warnings.simplefilter("ignore")
            return self.torch.from_numpy(array).to(self.place)

    def get(self, tensor: Tensor) -> Array:
        """A copy of a tensor as an array."""
        array: Array = tensor.cpu().numpy()
        return array.copy() if self.place.type == PROCESSOR else array

    def squared_distances(self, A: Tensor, B: Tensor, lengthscales: Array) -> Tensor:
        theta = self.put(lengthscales)
        return differences(self, A / theta, B / theta)

    def covariance(self, kernel: Covariance, lengthscales: Array, A: Tensor, B: Tensor) -> Tensor:
        return values(self, stationary(kernel), self.squared_distances(A, B, lengthscales))

    def mapped(self, function: Callable[[Tensor], Tensor], A: Array, step: int) -> Array:
        """``function`` of ``step`` rows at a time, (2, rows) each, side by side. On a GPU the next
        rows are uploaded and the last results downloaded while it computes.
        """
        starts = range(0, len(A), step)
        if self.place.type == PROCESSOR:
            return np.hstack([self.get(function(self.put(A[s : s + step]))) for s in starts])
        cuda = self.torch.cuda
        work, copies = cuda.current_stream(self.place), cuda.Stream(self.place)
        result = np.empty((2, len(A)))
        computed: list[tuple[int, Tensor, Any]] = []

        def upload(start: int) -> Tensor:
            with cuda.stream(copies):
                return self.put(A[start : start + step])

        def download() -> None:
            start, columns, event = computed.pop(0)
            copies.wait_event(event)
            with cuda.stream(copies):
                result[:, start : start + step] = self.get(columns)

        rows = upload(0)
        for start in starts:
            work.wait_stream(copies)
            rows.record_stream(work)
            columns = function(rows)
            columns.record_stream(copies)
            computed.append((start, columns, work.record_event()))
            if start + step < len(A):
                rows = upload(start + step)
            if len(computed) > 1:
                download()
        download()
        return result

    def empty(self, *shape: int) -> Tensor:
        return self.torch.empty(shape, dtype=self.torch.float64, device=self.place)

    def eye(self, size: int) -> Tensor:
        return self.torch.eye(size, dtype=self.torch.float64, device=self.place)

    def is_full(self, error: RuntimeError) -> bool:
        """Whether an error means that the memory is too small; CUDA's libraries raise their own
        message.
        """
        return isinstance(error, self.torch.OutOfMemoryError) or "ALLOC_FAILED" in str(error)

    @contextmanager
    def memory_for(self, what: str) -> Iterator[None]:
        """Turns a memory that is too small into an error that says what did not fit, and how to go
        on.
        """
        try:
            yield
        except RuntimeError as error:
            if not self.is_full(error):
                raise
            from noregret.gp.device_factor import cache

            cache.clear()
            free = ""
            if self.place.type == "cuda":
                self.torch.cuda.empty_cache()
                left, whole = self.torch.cuda.mem_get_info(self.place)
                free = f", where {left / 1e9:.1f} of {whole / 1e9:.1f} GB are free now"
            raise DeviceMemoryError(
                f"{what} did not fit into the memory of the device {self.name!r}{free}. Nothing was"
                " proposed and the study is as it was. To go on, call"
                f' noregret.use_device("{PROCESSOR}") (or set {VARIABLE}={PROCESSOR}) and ask'
                " again: the proposals are the same. The factor of n points takes 4n² bytes, and"
                " up to three are there at once; other processes on the same GPU count too"
            ) from error


Place = Processor | Device

_lock = threading.Lock()
_chosen: list[Device | None] = []  # empty until the first use


def use_device(name: str) -> str:
    """Chooses where this process computes from now on. Proposals agree to rounding: the device is
    not a setting of a study. The environment variable NOREGRET_DEVICE does the same.

    Args:
        name: "cpu" (the default, NumPy); with the extra ``gpu`` also "cuda", or "cuda:1" for the
            second GPU; "torch-cpu" runs the GPU's code on the processor.

    Returns:
        The name of the device before.

    Raises:
        ConfigurationError: There is no such device.
        MissingExtraError: PyTorch is not installed.
    """
    before, chosen = _in_use(), _made(name)
    with _lock:
        _chosen[:] = [chosen]
    return PROCESSOR if before is None else before.name


def device_for(kernel: Covariance, points: int, rows: int | None = None) -> Device | None:
    """The device on which to compute a factor of that many points, or predictions at that many
    rows given few points; None: NumPy, as for a kernel that only NumPy can evaluate.
    """
    if points < LEAST if rows is None else rows * points < MANY:
        return None
    has_formula = type(kernel) is SquaredExponential or (
        type(kernel) is Matern and kernel.has_closed_form
    )
    return _in_use() if has_formula else None


def _in_use() -> Device | None:
    if not _chosen:
        made = _made(os.environ.get(VARIABLE) or PROCESSOR)
        with _lock:
            _chosen[:] = [made]
    return _chosen[0]


def _made(name: str) -> Device | None:
    if name == PROCESSOR:
        return None
    is_name = isinstance(name, str) and re.fullmatch(rf"cuda(:[0-9]+)?|{IN_TORCH}", name)
    if not is_name:
        raise ConfigurationError(
            f'a device is "cpu", "cuda" or "cuda:" and a number, got {name!r}: choose it with'
            f" noregret.use_device or the environment variable {VARIABLE}"
        )
    try:
        import torch
    except ImportError:
        raise MissingExtraError(
            f"the device {name!r} needs PyTorch: install it with `pip install noregret[gpu]`, or"
            f' stay on the processor with "{PROCESSOR}"'
        ) from None
    if name == IN_TORCH:
        return Device(name, torch, torch.device("cpu"), 2**20)
    place, count = torch.device(name), torch.cuda.device_count()
    if not torch.cuda.is_available() or (place.index or 0) >= count:
        raise ConfigurationError(
            f"the device {name!r} is not there: PyTorch {torch.__version__} sees {count} GPU(s)."
            " Its driver may be missing, or this build of PyTorch is one for processors (see"
            f' pytorch.org for the others). To go on without, use "{PROCESSOR}"'
        )
    return Device(name, torch, place, 2**27)


# -- kernels; points are given divided by the lengthscales --


def differences(device: Device, A: Tensor, B: Tensor) -> Tensor:
    """s for all pairs of rows by differences, so that equal points are at distance 0 exactly."""
    sq = device.empty(len(A), len(B)).zero_()
    for left, right in zip(A.T, B.T, strict=True):
        apart = left[:, None] - right[None, :]
        sq.addcmul_(apart, apart)
    return sq


def products(device: Device, A: Tensor, B: Tensor) -> Tensor:
    """s as ‖a‖² + ‖b‖² − 2a·b: one matrix product for many rows. Its error is about 1e-16·‖a‖², so
    that it may be below 0: enough for a sweep of predictions, never for a factor.
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
    fused = _fused(device) if kernel == Matern(2.5) else None
    if fused is not None:
        return fused(sq)
    return value_and_slope(kernel, sq.clamp_(min=0.0), device.torch)[0]


@cache
def _fused(device: Device) -> Callable[[Tensor], Tensor] | None:
    """Matérn 5/2 compiled for this GPU; None where PyTorch cannot, or would compute another
    function.
    """
    if device.place.type != "cuda":
        return None
    sq = np.linspace(-1e-12, 50.0, 1001)
    expected = Matern(2.5).value(np.maximum(sq, 0))
    try:
        compiled: Callable[[Tensor], Tensor] = device.torch.cuda.jiterator._create_jit_fn(FUSED)
        is_right = np.allclose(device.get(compiled(device.put(sq))), expected, rtol=1e-12)
    except (RuntimeError, AttributeError, ImportError):
        return None
    return compiled if is_right else None
