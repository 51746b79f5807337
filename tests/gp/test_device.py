"""The posterior, the evidence and whole asks on a device. The code of a GPU runs here on the
processor, through PyTorch; what only a GPU has (its memory, its compiler) is put in its place.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import (
    ConfigurationError,
    DeviceMemoryError,
    MissingExtraError,
    NumericalError,
)
from noregret.gp import (
    Kernel,
    Matern,
    Posterior,
    SquaredExponential,
    condition,
    device,
    device_factor,
    factor_cache,
    log_evidence_gradient,
)
from noregret.gp.device_factor import PanelFactor
from noregret.gp.posterior import Cholesky
from noregret.space import Array
from noregret.trials import Decision, Trial
from tests.components import needed

torch: Any = needed("torch", "gpu")

KERNELS: list[Kernel] = [Matern(2.5), Matern(1.5), Matern(0.5), SquaredExponential()]
N = device_factor.PANEL + 90
RNG = np.random.default_rng(3)
X = RNG.random((N, 3))
Y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(N)
NOISE = RNG.uniform(1e-3, 1e-2, N)
THETA = np.array([0.4, 0.8, 1.5])
ADDED = Decision("added")
LIST = RNG.random((9_000, 4))
A = np.vstack([RNG.random((40, 3)), X[:2]])


@pytest.fixture(autouse=True)
def on_a_device() -> Iterator[None]:
    torch.set_num_threads(1)
    device_factor.cache.clear()
    nr.use_device("torch-cpu")
    yield
    nr.use_device("cpu")
    device_factor.cache.clear()


def made(kernel: Kernel = KERNELS[0], n: int = N, pending: Array | None = None) -> Posterior:
    posterior = condition(kernel, THETA, X[:n], Y[:n], NOISE[:n], pending, 2e-3)
    assert isinstance(posterior.factor, PanelFactor)
    return posterior


def gram(kernel: Kernel, P: Array, Q: Array) -> Array:
    """The naive way: a difference for every pair."""
    apart = (P[:, None, :] - Q[None, :, :]) / THETA
    return kernel.value((apart**2).sum(axis=-1))


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_it_is_the_posterior_of_the_textbook(kernel: Kernel) -> None:
    pending = np.array([[0.2, 0.3, 0.4], [0.9, 0.1, 0.5]])
    posterior = made(kernel, pending=pending)
    everywhere, noise = np.vstack([X, pending]), np.append(NOISE, [2e-3] * 2)
    K, k = gram(kernel, everywhere, everywhere) + np.diag(noise), gram(kernel, A, everywhere)
    inverse = np.linalg.inv(K)
    weights = np.linalg.solve(K[:N, :N], Y)
    mean = gram(kernel, A, X) @ weights
    full = gram(kernel, A, A) - k @ inverse @ k.T
    for found in (posterior.predict(A), posterior.predict_leading(A, 2.0, 3)):
        np.testing.assert_allclose(found[0], mean, atol=1e-9)
        np.testing.assert_allclose(found[1] ** 2, np.diag(full), atol=1e-9)
    together = posterior.joint(A)
    np.testing.assert_allclose(together[0], mean, atol=1e-9)
    np.testing.assert_allclose(together[1], full, atol=1e-9)
    np.testing.assert_allclose(posterior.L @ posterior.L.T, K, atol=1e-12)
    np.testing.assert_allclose(posterior.factor.diagonal, np.diag(posterior.L))
    gain = 0.5 * np.linalg.slogdet(np.diag(1 / NOISE) @ K[:N, :N])[1]
    assert posterior.information_gain == pytest.approx(gain, rel=1e-9)
    both = 0.5 * np.linalg.slogdet(np.diag(1 / noise) @ K)[1]
    assert posterior.pending_information == pytest.approx(both - gain, rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS[:2] + KERNELS[3:], ids=str)
def test_its_gradients_are_differences_of_its_predictions(kernel: Kernel) -> None:
    posterior, step = made(kernel), 1e-6
    mean, std, by_mean, by_std = posterior.predict_gradients(A[:40])
    np.testing.assert_allclose((mean, std), posterior.predict(A[:40]), atol=1e-10)
    for i in range(3):
        move = step * np.eye(3)[i]
        up, down = posterior.predict(A[:40] + move), posterior.predict(A[:40] - move)
        np.testing.assert_allclose(by_mean[:, i], (up[0] - down[0]) / (2 * step), atol=1e-6)
        np.testing.assert_allclose(by_std[:, i], (up[1] - down[1]) / (2 * step), atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_its_evidence_is_that_of_the_processor(kernel: Kernel) -> None:
    there = log_evidence_gradient(kernel, THETA, X, Y, NOISE)
    nr.use_device("cpu")
    here = log_evidence_gradient(kernel, THETA, X, Y, NOISE)
    assert there[0] == pytest.approx(here[0], rel=1e-12)
    np.testing.assert_allclose(there[1], here[1], rtol=1e-8)
    np.testing.assert_allclose(there[2], here[2], rtol=1e-7, atol=1e-9)


def test_a_point_more() -> None:
    whole = made()
    grown: Posterior = made(n=N - 1).append(X[N - 1], float(Y[N - 1]), float(NOISE[N - 1]))
    np.testing.assert_allclose(grown.predict(A), whole.predict(A), atol=1e-10)
    waiting = whole.append(A[0], None, 1e-3)
    assert (waiting.observed, len(waiting.X)) == (N, N + 1)
    np.testing.assert_allclose(waiting.predict(A)[0], whole.predict(A)[0], atol=1e-10)
    assert waiting.predict(A[:1])[1] < whole.predict(A[:1])[1]
    with pytest.raises(ConfigurationError, match="before pending ones"):
        waiting.append(A[1], 1.0, 1e-3)


def test_what_is_kept_changes_no_bit() -> None:
    n = 2 * device_factor.PANEL + 5
    rng = np.random.default_rng(0)
    P, noise = rng.random((n, 3)), np.full(n, 1e-3)

    def factor(points: Array) -> Array:
        place = device.device_for(KERNELS[0], n)
        assert place is not None
        return device_factor.panel_factor(place, KERNELS[0], THETA, points, noise[: len(points)]).L

    cold = factor(P)
    device_factor.cache.clear()
    first = factor(P[: n - 3])
    np.testing.assert_array_equal(factor(P), cold)
    other = P.copy()
    other[device_factor.PANEL + 1] += 0.01  # in the second panel: the first is shared
    moved = factor(other)
    np.testing.assert_array_equal(factor(P[: n - 3]), first)  # and what others hold is as it was
    device_factor.cache.clear()
    np.testing.assert_array_equal(factor(other), moved)
    assert not np.array_equal(moved, cold)


def test_threads_share_what_is_kept() -> None:
    expected = made().predict(A)
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append((n, made(n=n).predict(A))))
        for n in (N, N - 5, N, N - 5)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    for n, found in answers:
        if n == N:
            np.testing.assert_array_equal(found, expected)


def test_at_most_two_factors_are_kept() -> None:
    for scale in (1.0, 0.9, 0.8, 0.7):
        condition(KERNELS[0], scale * THETA, X, Y, NOISE)
        made()
    assert len(device_factor.cache.items) == factor_cache.CAPACITY
    assert any(np.array_equal(each.lengthscales, THETA) for each in device_factor.cache.items)


def test_many_rows_given_few_points_go_there_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "MANY", 100 * 6_000)
    rows = np.random.default_rng(1).random((6_000, 3))
    few = condition(KERNELS[0], THETA, X[:100], Y[:100], NOISE[:100])
    assert isinstance(few.factor, Cholesky)
    there = few.predict(rows)
    nr.use_device("cpu")
    here = few.predict(rows)
    assert not np.array_equal(there[0], here[0])  # it was somewhere else
    np.testing.assert_allclose(there, here, atol=1e-9)


def test_a_wide_product_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior = made()
    expected = posterior.predict(A)
    monkeypatch.setattr(device_factor, "WIDE", 8)
    np.testing.assert_allclose(posterior.predict(A), expected, rtol=1e-10, atol=1e-12)


def test_a_kernel_without_formula_there_stays_here() -> None:
    posterior = condition(Matern(1.0), THETA, X, Y, NOISE)
    assert isinstance(posterior.factor, Cholesky)


def test_an_impossible_noise_is_the_same_error() -> None:
    twice = np.vstack([X, X])
    with pytest.raises(NumericalError, match="No jitter was added"):
        condition(KERNELS[3], 40 * THETA, twice, np.append(Y, Y), 1e-300)
    with pytest.raises(NumericalError, match="No jitter was added"):
        log_evidence_gradient(
            KERNELS[3], 40 * THETA, twice, np.append(Y, Y), np.full(2 * N, 1e-300)
        )


# -- whole asks --


def study_of(n: int, space: Any, seed: int) -> nr.Study:
    rng = np.random.default_rng(seed)
    listed = isinstance(space, nr.Candidates)
    points = LIST[:n] if listed else rng.random((n, len(space)))
    trials = [
        Trial(i, x, "complete", objective(x) + 0.05 * rng.standard_normal(), decision=ADDED)
        for i, x in enumerate(points)
    ]
    return nr.Study(space, "maximize", seed=seed, trials=trials)


def objective(x: Array) -> float:
    return float(np.sin(9 * x[0]) + x[-1] - (x[1] - 0.3) ** 2)


def proposals(place: str, n: int, space: Any, seed: int) -> list[Array]:
    """Three, the last of them while the one before is under way."""
    nr.use_device(place)
    made = study_of(n, space, seed)
    first = made.ask()
    made.tell(first, objective(np.asarray(first.params)))
    return [np.asarray(trial.params) for trial in [first, *made.ask(count=2)]]


@pytest.mark.parametrize(
    ("n", "space"),
    [
        (600, [(0.0, 1.0)] * 3),
        (1030, [(0.0, 1.0)] * 2),
        (560, nr.Candidates(LIST)),
    ],
    ids=["numbers", "grid", "list"],
)
def test_proposals_agree_with_those_of_the_processor(n: int, space: Any) -> None:
    here, there = proposals("cpu", n, space, 1), proposals("torch-cpu", n, space, 1)
    np.testing.assert_allclose(there, here, atol=1e-6)
    if n == 600:  # the others may be points of a fixed cloud or list
        assert any((a != b).any() for a, b in zip(here, there, strict=True))  # another way there


def test_a_small_study_never_leaves_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    here = proposals("cpu", 60, [(0.0, 1.0)] * 2, 2)
    np.testing.assert_array_equal(proposals("torch-cpu", 60, [(0.0, 1.0)] * 2, 2), here)


# -- the setting --


def test_the_environment_chooses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_chosen", [])
    monkeypatch.setenv("NOREGRET_DEVICE", "torch-cpu")
    assert nr.use_device("cpu") == "torch-cpu"
    monkeypatch.setattr(device, "_chosen", [])
    monkeypatch.delenv("NOREGRET_DEVICE")
    assert nr.use_device("torch-cpu") == "cpu"


@pytest.mark.parametrize("name", ["gpu", "cuda:one", "", "CUDA", "mps"])
def test_a_device_that_is_none(name: str) -> None:
    with pytest.raises(ConfigurationError, match="got " + repr(name)):
        nr.use_device(name)
    assert nr.use_device("cpu") == "torch-cpu"  # the one before is still in use


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match=r"pip install noregret\[gpu\]"):
        nr.use_device("cuda")


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(ConfigurationError, match="sees 1 GPU"):
        nr.use_device("cuda:1")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigurationError, match="is not there"):
        nr.use_device("cuda")


# -- what only a GPU has --


def test_a_memory_that_is_too_small_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    begun = study_of(530, [(0.0, 1.0)] * 2, 4)
    with monkeypatch.context() as patched:
        patched.setattr(PanelFactor, "with_panel", full)
        with pytest.raises(DeviceMemoryError, match=r'530 points.*use_device\("cpu"\)') as caught:
            begun.ask()
    assert isinstance(caught.value, MemoryError)
    assert not device_factor.cache.items
    nr.use_device("cpu")
    assert begun.ask().number == 530


def test_other_errors_of_the_device_are_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError(words)

    monkeypatch.setattr(device_factor, "_mean_and_std", broken)
    posterior, words = made(), "an illegal memory access"
    with pytest.raises(RuntimeError, match=words):
        posterior.predict(A)
    words = "CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate"
    with pytest.raises(DeviceMemoryError):
        posterior.predict(A)


def test_a_prediction_takes_smaller_pieces_first(monkeypatch: pytest.MonkeyPatch) -> None:
    posterior, pieces = made(), []
    expected, usual = posterior.predict(np.repeat(A, 10, axis=0)), device_factor._mean_and_std

    def narrow(*given: Any) -> Any:
        pieces.append(len(given[4]))
        if len(given[4]) > 150:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return usual(*given)

    monkeypatch.setattr(device_factor, "_mean_and_std", narrow)
    found = posterior.predict(np.repeat(A, 10, axis=0))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert pieces[0] > 150 >= pieces[-1]
    monkeypatch.setattr(
        device_factor, "_mean_and_std", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError())
    )
    with pytest.raises(DeviceMemoryError, match="a prediction at 64 points"):
        posterior.predict(A)


class Torch:
    """PyTorch on a GPU, as far as its compiler goes; ``answer``: what it compiles to."""

    type = "cuda"

    def __init__(self, answer: Any) -> None:
        self.cuda = self.jiterator = self
        self._create_jit_fn = lambda code: answer


class Here(device.Device):
    def put(self, array: Array) -> Any:
        return torch.from_numpy(array)


class Streams:
    """Those of a GPU, which do at once what they are told; ``log`` has the order."""

    type = "cuda"

    def __init__(self) -> None:
        self.cuda, self.log = self, list[str]()

    def Stream(self, _: Any) -> Any:  # noqa: N802
        return self

    current_stream = Stream

    def stream(self, _: Any) -> Any:
        return nullcontext()

    def wait_event(self, number: int) -> None:
        self.log.append(f"back {number}")

    def wait_stream(self, _: Any) -> None:
        self.log.append("work")

    def record_event(self) -> int:
        return self.log.count("work")


class Copies(device.Device):
    def put(self, array: Array) -> Any:
        self.torch.log.append("there")
        return torch.from_numpy(array.copy()).as_subclass(Recorded)

    def get(self, tensor: Any) -> Array:
        return np.array(tensor.numpy())


class Recorded(torch.Tensor):  # type: ignore[misc]
    def record_stream(self, _: Any) -> None: ...


def test_rows_go_there_and_come_back_while_it_works() -> None:
    streams, rows = Streams(), np.arange(21.0).reshape(7, 3)
    gpu = Copies("cuda", streams, streams, 1)
    found = gpu.mapped(lambda part: torch.stack([part[:, 0], part.sum(dim=1)]), rows, 3)
    np.testing.assert_array_equal(found, [rows[:, 0], rows.sum(axis=1)])
    order = "there, work, there, work, there, back 1, work, back 2, back 3"
    assert ", ".join(streams.log) == order
    one = gpu.mapped(lambda part: part[:, 1:].T, rows, 100)
    np.testing.assert_array_equal(one, rows[:, 1:].T)


def compiler(answer: Any) -> device.Device:
    known = Torch(answer)
    return Here("cuda", known, known, 1)


def test_a_compiled_kernel_is_used_only_if_it_is_the_kernel() -> None:
    def right(sq: Any) -> Any:
        z = (5 * sq.clamp(min=0)).sqrt()
        return (1 + z + z * z / 3) * torch.exp(-z)

    def broken(_: Any) -> Any:
        raise RuntimeError("no compiler")

    assert device._fused(compiler(right)) is right
    assert device._fused(compiler(lambda sq: right(sq) + 1e-6)) is None
    assert device._fused(compiler(broken)) is None
    real = device.device_for(KERNELS[0], N)
    assert real is not None
    assert device._fused(real) is None


def test_an_unknown_mean_is_the_same_there_as_here() -> None:
    """Ordinary kriging on the device against the processor's, which is tested by dense formulas."""
    pending = np.array([[0.2, 0.3, 0.4], [0.9, 0.1, 0.5]])

    def asked() -> list[Array]:
        posterior = condition(KERNELS[0], THETA, X, Y + 5, NOISE, pending, 2e-3, kriging=True)
        appended = condition(KERNELS[0], THETA, X, Y + 5, NOISE, kriging=True)
        appended = appended.append(np.full(3, 0.3), 5.0, 1e-3).append(pending[0], None, 2e-3)
        evidence = log_evidence_gradient(KERNELS[0], THETA, X, Y + 5, NOISE, kriging=True)
        parts = [*posterior.predict(A), *posterior.predict_gradients(A), *posterior.joint(A)]
        parts += appended.predict(A)
        return [*parts, np.array(posterior.mean), *(np.asarray(part) for part in evidence)]

    there = asked()
    nr.use_device("cpu")
    for far, near in zip(there, asked(), strict=True):
        np.testing.assert_allclose(far, near, rtol=1e-7, atol=1e-8)


def test_a_sweep_of_a_kriging_posterior_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    nr.use_device("cpu")
    posterior = condition(KERNELS[0], THETA, X[:60], Y[:60] + 5, NOISE[:60], kriging=True)
    near = posterior.predict(LIST[:, :3])
    nr.use_device("torch-cpu")
    monkeypatch.setattr(device, "MANY", 60 * len(LIST))
    far = posterior.predict(LIST[:, :3])
    np.testing.assert_allclose(far, near, rtol=1e-7, atol=1e-8)
