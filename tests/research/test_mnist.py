"""The objective of figure 6, on tiny data of its own: MNIST is not in the repository."""

from __future__ import annotations

import gzip
import http.client
import io
import json
import math
import struct
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from noregret.errors import ConfigurationError, StorageError
from research.paper import mnist
from research.paper.mnist import (
    Budget,
    DataError,
    DivergedWarning,
    EvaluationLog,
    Hyperparameters,
    Mnist,
    ValidationLoss,
    fit,
    train,
)

POINT: dict[str, Any] = {"learning_rate": 0.1, "l2": 0.01, "batch_size": 20, "dropout": 0.25}


def digits(count: int, pixels: int, seed: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Images that show their label: class k brightens every tenth pixel from k."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, count).astype(np.uint8)
    images = rng.integers(0, 100, (count, pixels)) + 150 * (
        np.arange(pixels) % 10 == labels[:, None]
    )
    return images.astype(np.uint8), labels


def tiny(count: int = 60, pixels: int = 20, validation: int = 30) -> Mnist:
    images, labels = digits(count + validation, pixels, seed=0)
    scaled = images.astype(np.float32) / np.float32(255)
    return Mnist(scaled[:count], labels[:count], scaled[count:], labels[count:])


def idx(array: NDArray[np.uint8]) -> bytes:
    return (
        bytes((0, 0, 8, array.ndim))
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def write_files(
    folder: Path, compress: Callable[[bytes], bytes] = bytes, suffix: str = ""
) -> list[NDArray[np.uint8]]:
    arrays: list[NDArray[np.uint8]] = []
    for count, seed in ((7, 1), (4, 2)):
        images, labels = digits(count, 784, seed)
        arrays += [images.reshape(-1, 28, 28), labels]
    for name, array in zip(mnist.FILES, arrays, strict=True):
        (folder / f"{name}{suffix}").write_bytes(compress(idx(array)))
    return arrays


# -- the data --


@pytest.mark.parametrize(
    ("compress", "suffix"),
    [(bytes, ""), (gzip.compress, ".gz"), (bytes, ".gz")],
    ids=["plain", "gz", "unpacked but named gz"],
)
def test_load_idx(tmp_path: Path, compress: Callable[[bytes], bytes], suffix: str) -> None:
    train_images, train_labels, validation_images, validation_labels = write_files(
        tmp_path, compress, suffix
    )
    data = mnist.load_mnist(tmp_path)
    for pixels, expected in (
        (data.train_images, train_images),
        (data.validation_images, validation_images),
    ):
        assert pixels.dtype == np.float32
        assert pixels.shape == (len(expected), 784)
        np.testing.assert_allclose(pixels, expected.reshape(-1, 784) / 255, rtol=1e-6)
    np.testing.assert_array_equal(data.train_labels, train_labels)
    np.testing.assert_array_equal(data.validation_labels, validation_labels)


def test_missing_files_are_named(tmp_path: Path) -> None:
    write_files(tmp_path)
    (tmp_path / mnist.FILES[3]).unlink()
    with pytest.raises(DataError, match=f"no {mnist.FILES[3]} in") as error:
        mnist.load_mnist(tmp_path)
    assert all(name in str(error.value) for name in mnist.FILES)
    assert "folder=None" in str(error.value)


WRONG: dict[str, tuple[int, Callable[[bytes], bytes], str]] = {
    "magic": (
        0,
        lambda content: b"\0\0\x08\x01" + content[4:],
        r"magic number 00000803 .* got 00000801.*swapped",
    ),
    "type": (
        1,
        lambda content: b"\0\0\x0d\x01" + content[4:],
        r"magic number 00000801 .* got 00000d01",
    ),
    "empty": (0, lambda content: b"", r"truncated: its header needs 16 bytes, got 0"),
    "header": (0, lambda content: content[:9], r"truncated: its header needs 16 bytes, got 9"),
    "data": (
        2,
        lambda content: content[:-1],
        r"truncated: its header \(4, 28, 28\) promises 3136 bytes, got 3135",
    ),
    "more": (
        1,
        lambda content: content + b"\0",
        r"damaged: its header \(7,\) promises 7 bytes, got 8",
    ),
    "gzip": (2, lambda content: gzip.compress(content)[:-20], r"truncated or damaged gzip"),
    "count": (3, lambda content: idx(np.zeros(3, dtype=np.uint8)), r"3 labels for 4 images"),
    "label": (
        1,
        lambda content: idx(np.full(7, 10, dtype=np.uint8)),
        r"must hold digits, got the label 10",
    ),
    "shape": (
        0,
        lambda content: idx(np.zeros((7, 28, 27), dtype=np.uint8)),
        r"28 × 28 pixels, got the shape \(7, 28, 27\)",
    ),
    "none": (
        2,
        lambda content: idx(np.zeros((0, 28, 28), dtype=np.uint8)),
        r"got the shape \(0, 28, 28\)",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_files(tmp_path: Path, case: str) -> None:
    write_files(tmp_path)
    index, spoil, message = WRONG[case]
    path = tmp_path / mnist.FILES[index]
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(DataError, match=message) as error:
        mnist.load_mnist(tmp_path)
    assert mnist.FILES[index] in str(error.value)


def test_first_keeps_the_validation_split() -> None:
    data = tiny()
    part = data.first(11)
    np.testing.assert_array_equal(part.train_images, data.train_images[:11])
    np.testing.assert_array_equal(part.train_labels, data.train_labels[:11])
    assert len(part.validation_images) == 30
    assert part.fingerprint != data.fingerprint
    assert part.fingerprint == tiny().first(11).fingerprint
    wide, tall = (
        np.zeros((1, 8), dtype=np.float32),
        np.zeros((2, 4), dtype=np.float32),
    )  # the same bytes
    assert (
        len(
            {
                Mnist(images, part.train_labels, tall, part.validation_labels).fingerprint
                for images in (wide, tall)
            }
        )
        == 2
    )
    for images in (0, 61):
        with pytest.raises(ConfigurationError, match=f"60 training images there are, got {images}"):
            data.first(images)


ARFF = """% a comment
@RELATION small

@attribute pixel1 real
@ATTRIBUTE 'pixel 2' real
@ATTRIBUTE class {0,1,2,3,4,5,6,7,8,9}
@DATA
% another
0,255,'3'
% a third
12,7.0,9
"""


def test_arff() -> None:
    images, labels = mnist.parse_arff(ARFF.splitlines())
    np.testing.assert_array_equal(images, [[0, 255], [12, 7]])
    np.testing.assert_array_equal(labels, [3, 9])
    assert images.dtype == labels.dtype == np.uint8


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@DATA", "", "needs a line @DATA"),
        ("@attribute pixel1 real\n", "", "must have 2 columns, one for each attribute, got 3"),
        ("12,7.0,9", "12,9", "equally many"),
        ("12,7.0,9", "{1 7, 2 9}", "must be numbers"),
        ("12,", "256,", "0 to 255"),
        ("7.0", "7.5", "whole numbers"),
        (",9\n", ",10\n", "classes from 0 to 9"),
        ("0,255,'3'\n% a third\n12,7.0,9\n", "", "no rows after @DATA"),
    ],
)
def test_wrong_arff(old: str, new: str, message: str) -> None:
    assert old in ARFF
    with pytest.raises(DataError, match=message):
        mnist.parse_arff(ARFF.replace(old, new).splitlines())


def openml(count: int) -> tuple[bytes, NDArray[np.uint8], NDArray[np.uint8]]:
    images, labels = digits(count, 784, seed=3)
    header = (
        "@RELATION mnist_784\n"
        + "".join(f"@ATTRIBUTE pixel{i + 1} real\n" for i in range(784))
        + "@ATTRIBUTE class {0,1,2}\n@DATA\n"
    )
    rows = "".join(
        ",".join(map(str, row)) + "\n" for row in np.column_stack([images, labels]).tolist()
    )
    return (header + rows).encode(), images, labels


def test_download_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content, images, labels = openml(5)
    asked: list[str] = []

    def urlopen(url: str, timeout: float) -> io.BytesIO:
        asked.append(url)
        return io.BytesIO(content)

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    monkeypatch.setattr(mnist, "OPENML_ROWS", (3, 2))
    for _ in range(2):
        data = mnist.load_mnist(None, cache=tmp_path / "new")
        np.testing.assert_allclose(data.train_images, images[:3] / 255, rtol=1e-6)
        np.testing.assert_allclose(data.validation_images, images[3:] / 255, rtol=1e-6)
        np.testing.assert_array_equal(
            np.concatenate([data.train_labels, data.validation_labels]), labels
        )
    assert asked == [mnist.OPENML_URL]
    assert sorted(path.name for path in (tmp_path / "new" / "mnist").iterdir()) == sorted(
        f"{name}.gz" for name in mnist.FILES
    )


@pytest.mark.parametrize(
    "failure",
    [
        urllib.error.URLError("no route"),
        http.client.HTTPException("no route"),
    ],
)
def test_failed_download_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def urlopen(url: str, timeout: float) -> io.BytesIO:
        raise failure

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    with pytest.raises(
        DataError,
        match=(
            r"cannot download MNIST from https://.*no route.*pass the folder that holds the four"
            r" IDX files"
        ),
    ) as error:
        mnist.load_mnist(None, cache=tmp_path)
    assert all(name in str(error.value) for name in mnist.FILES)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>", "is not MNIST: an ARFF file needs"),
        (openml(4)[0], r"5 images of 784 pixels, got \(4, 784\)"),
    ],
)
def test_a_wrong_download_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: io.BytesIO(content))
    monkeypatch.setattr(mnist, "OPENML_ROWS", (3, 2))
    with pytest.raises(DataError, match=message) as error:
        mnist.load_mnist(None, cache=tmp_path)
    assert "pass the folder" in str(error.value)
    assert list((tmp_path / "mnist").iterdir()) == []


def test_a_kill_while_storing_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(self: Path, target: Path) -> Path:
        raise OSError("no space left")

    monkeypatch.setattr("urllib.request.urlopen", lambda url, timeout: io.BytesIO(openml(5)[0]))
    monkeypatch.setattr(mnist, "OPENML_ROWS", (3, 2))
    monkeypatch.setattr(Path, "replace", killed)
    with pytest.raises(DataError, match=r"no space left.*make room"):
        mnist.load_mnist(None, cache=tmp_path)
    assert list((tmp_path / "mnist").glob("t*")) == []


# -- training --


def naive_sgd(
    data: Mnist, settings: Hyperparameters, epochs: int, seed: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Image by image and class by class, in float64, without dropout."""
    X, y = data.train_images.astype(np.float64), data.train_labels
    W, b = np.zeros((X.shape[1], 10)), np.zeros(10)
    rng = np.random.Generator(np.random.SFC64(seed))
    for _ in range(epochs):
        order = rng.permutation(len(X))
        for k in range(len(X) // settings.batch_size):
            W_slope, b_slope = settings.l2 * W, np.zeros(10)
            for i in order[k * settings.batch_size : (k + 1) * settings.batch_size]:
                scores = np.exp(X[i] @ W + b)
                for c in range(10):
                    error = (scores[c] / scores.sum() - (c == y[i])) / settings.batch_size
                    W_slope[:, c] += error * X[i]
                    b_slope[c] += error
            W, b = W - settings.learning_rate * W_slope, b - settings.learning_rate * b_slope
    return W, b


@pytest.mark.parametrize(
    "batch_size", [7, 300, 610]
)  # blocks cut short, images left over, one block
@pytest.mark.parametrize("l2", [0.0, 0.4])
def test_without_dropout_it_is_plain_sgd(batch_size: int, l2: float) -> None:
    data, settings = tiny(610, 12), Hyperparameters(0.3, l2, batch_size, 0.0)
    W, b = naive_sgd(data, settings, 2, seed=5)
    model = fit(data, settings, epochs=2, seed=5)
    np.testing.assert_allclose(model.weights, W, atol=2e-5)
    np.testing.assert_allclose(model.bias, b, atol=2e-5)
    assert np.abs(W).max() > 0.01
    logits = data.validation_images @ W + b
    naive = [
        math.log(np.exp(z).sum()) - z[label]
        for z, label in zip(logits, data.validation_labels, strict=True)
    ]
    loss = train(data, 0.3, l2, batch_size, 0.0, epochs=2, seed=5)
    assert loss == pytest.approx(np.mean(naive), abs=1e-4)
    assert loss < math.log(10)


def test_dropout_leaves_inputs_out_and_scales_the_others() -> None:
    """From zero weights one step with one image of ones shows the mask: W = −rate·(1/10 −
    target)·mask/(1 − p).
    """
    pixels, p = 4000, 0.75
    ones = np.ones((1, pixels), dtype=np.float32)
    label = np.array([3], dtype=np.uint8)
    model = fit(Mnist(ones, label, ones, label), Hyperparameters(0.1, 0.0, 1, p), epochs=1, seed=0)
    scaled = model.weights / np.where(np.arange(10) == 3, 0.09, -0.01)
    np.testing.assert_allclose(scaled, np.repeat(scaled[:, :1], 10, axis=1), atol=1e-4)
    assert set(np.round(scaled[:, 0], 3)) == {0.0, 4.0}
    assert np.mean(scaled[:, 0] == 0) == pytest.approx(p, abs=0.03)  # four standard deviations
    np.testing.assert_allclose(model.bias, np.where(np.arange(10) == 3, 0.09, -0.01), rtol=1e-5)


def test_same_seed_same_loss_other_seed_other_loss() -> None:
    losses = [train(tiny(), 0.1, 0.01, 7, 0.3, epochs=2, seed=seed) for seed in (4, 4, 5)]
    assert losses[0] == losses[1]
    assert losses[0] != losses[2]
    without = [train(tiny(), 0.1, 0.01, 7, 0.0, epochs=2, seed=seed) for seed in (4, 5)]
    assert without[0] != without[1]  # the order of the images is random, too
    assert train(tiny(), 0.1, 0.01, 7, 0.3, epochs=3, seed=4) < losses[0]


def test_l2_shrinks_the_weights_and_not_the_bias() -> None:
    blank = np.zeros((40, 5), dtype=np.float32)
    data = tiny()
    models = [
        fit(data, Hyperparameters(0.1, l2, 10, 0.2), epochs=5, seed=0) for l2 in (0.0, 0.1, 1.0)
    ]
    norms = [float(np.linalg.norm(model.weights)) for model in models]
    assert norms[0] > 1.05 * norms[1] > 1.05**2 * norms[2] > 0
    labels = np.full(40, 2, dtype=np.uint8)
    bias = [
        fit(
            Mnist(blank, labels, blank, labels), Hyperparameters(0.1, l2, 10, 0.0), epochs=5, seed=0
        ).bias
        for l2 in (0.0, 1.0)
    ]
    np.testing.assert_array_equal(bias[0], bias[1])
    assert bias[0][2] > 0.1


def test_divergence_is_told_and_finite() -> None:
    with pytest.warns(DivergedWarning, match="lower the learning rate") as caught:
        loss = train(
            tiny(), 1e4, 1e4, 5, 0.0, epochs=3, seed=0
        )  # weights grow 10⁸-fold each step: nan
    assert loss == mnist.DIVERGED_LOSS == pytest.approx(10 * math.log(10))
    assert "validation loss nan" in str(caught[0].message)
    with pytest.warns(DivergedWarning, match=r"validation loss \d"):
        assert (
            train(tiny(), 1e5, 0.0, 5, 0.0, epochs=1, seed=0) == loss
        )  # finite, and larger: not better than nan


def test_the_corners_of_the_space_do_not_diverge() -> None:
    for corner in (0, 5, 10, 15):
        params = mnist.SPACE.decode(np.array([float(corner >> k & 1) for k in range(4)]))
        assert isinstance(params, dict)
        assert 0 < train(tiny(2000), **params, epochs=3, seed=0) < mnist.DIVERGED_LOSS


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
        ({"l2": -0.1}, "l2 must be at least 0"),
        ({"batch_size": 0}, "batch_size must be a whole number of at least 1, got 0"),
        ({"batch_size": 61}, "at most the 60 training images, got 61"),
        ({"dropout": 1.0}, r"dropout must be in \[0, 1\), got 1.0"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_bad_settings(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        train(tiny(), **{**POINT, "epochs": 1, "seed": 0, **bad})


# -- the cache --


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What was really trained."""
    calls: list[dict[str, Any]] = []

    def counted(data: Mnist, **settings: Any) -> float:
        calls.append(settings)
        return train(data, **settings)

    monkeypatch.setattr(mnist, "train", counted)
    return calls


def test_nothing_is_trained_twice(tmp_path: Path, trainings: list[dict[str, Any]]) -> None:
    cache = tmp_path / "new" / "losses.jsonl"
    objective = ValidationLoss(tiny(), Budget(50, 2), seed=3, cache=cache)
    loss = objective(POINT)
    assert loss == train(tiny().first(50), **POINT, epochs=2, seed=3)
    assert trainings == [{**POINT, "epochs": 2, "seed": 3}]
    assert objective(POINT) == loss
    assert (
        ValidationLoss(tiny(), Budget(50, 2), seed=3, cache=cache)(dict(reversed(POINT.items())))
        == loss
    )
    assert len(trainings) == 1


def test_whatever_changes_the_loss_is_in_the_key(
    tmp_path: Path, trainings: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    objective = ValidationLoss(tiny(), Budget(50, 1), cache=cache)
    objective(POINT)
    for name, value in {
        "learning_rate": np.nextafter(0.1, 1),
        "l2": 0.0,
        "batch_size": 21,
        "dropout": 0.0,
    }.items():
        objective({**POINT, name: value})
    for other in (
        ValidationLoss(tiny(), Budget(49, 1), cache=cache),
        ValidationLoss(tiny(), Budget(50, 2), cache=cache),
        ValidationLoss(tiny(), Budget(50, 1), seed=1, cache=cache),
        ValidationLoss(tiny(validation=29), Budget(50, 1), cache=cache),
        ValidationLoss(tiny(pixels=19), Budget(50, 1), cache=cache),
    ):
        other(POINT)
    monkeypatch.setattr(mnist, "PROCEDURE", mnist.PROCEDURE + 1)
    ValidationLoss(tiny(), Budget(50, 1), cache=cache)(POINT)
    assert len(trainings) == 11


def test_a_record_cut_short_by_a_kill_costs_itself_only(
    tmp_path: Path, trainings: list[dict[str, Any]]
) -> None:
    cache = tmp_path / "cache"
    points = [{**POINT, "batch_size": size} for size in (20, 21, 22)]
    losses = [ValidationLoss(tiny(), Budget(50, 1), cache=cache)(point) for point in points[:2]]
    cache.write_bytes(cache.read_bytes()[:-30])  # the second
    losses.append(ValidationLoss(tiny(), Budget(50, 1), cache=cache)(points[2]))
    again = ValidationLoss(tiny(), Budget(50, 1), cache=cache)
    assert [again(point) for point in points] == losses
    assert [call["batch_size"] for call in trainings] == [20, 21, 22, 21]


@pytest.mark.parametrize("line", ["[1, 2]", '{"x": 1}', '{"loss": null}'])
def test_a_file_of_something_else(tmp_path: Path, line: str) -> None:
    json.loads(line)
    (tmp_path / "cache").write_text(line + "\n")
    with pytest.raises(StorageError, match="choose a file of its own"):
        EvaluationLog(tmp_path / "cache").find({})


def test_a_point_has_the_parameters_of_the_space() -> None:
    objective = ValidationLoss(tiny(), Budget(50, 1))
    for params in ({"learning_rate": 0.1}, {**POINT, "momentum": 0.9}):
        with pytest.raises(ConfigurationError, match="take it from SPACE"):
            objective(params)
    with pytest.raises(ConfigurationError, match="seed must be"):
        ValidationLoss(tiny(), Budget(50, 1), seed=-1)
