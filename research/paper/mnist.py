"""Figure 6's objective: the validation loss of logistic regression on MNIST, by its training's four
hyperparameters.

The paper tunes learning rate, l2, batch size and dropout as HPOlib2 does; that benchmark trains 100
epochs on 50 000 images. Here one evaluation must cost a second on one core, since the figure needs
about 1500 of them: see ``FULL``. Run it with one BLAS thread: the matrices are small.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import itertools
import json
import math
import os
import struct
import urllib.request
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from noregret.errors import ConfigurationError, NoRegretError, StorageError
from noregret.space import Float, Int, Space

Pixels: TypeAlias = NDArray[np.float32]  # (n, 784), in [0, 1]
Labels: TypeAlias = NDArray[np.uint8]  # (n,), 0 to 9
Bytes: TypeAlias = NDArray[np.uint8]

SPACE = Space(
    {
        "learning_rate": Float(1e-6, 1.0, log=True),
        "l2": Float(0.0, 1.0),
        "batch_size": Int(20, 2000),
        "dropout": Float(0.0, 0.75),
    }
)  # theory.md#unstated

CLASSES = 10
SIDE = 28
FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
OPENML_URL = "https://api.openml.org/data/v1/download/52667/mnist_784.arff"
OPENML_ROWS = (
    60_000,
    10_000,
)  # data set 554 is LeCun's training images, then his test images, in order
DIVERGED_LOSS = CLASSES * math.log(CLASSES)  # ten times the loss of the uniform prediction
TICKS = 1 << 16  # dropout probabilities are multiples of 1/65536: four masks from one random word
# rows gathered and masked at a time: few Python calls at small batches, and they stay in the cache
BLOCK = 256
PROCEDURE = (
    1  # raise it when training changes, so that old cached losses are not taken for new ones
)


class DataError(NoRegretError, ValueError):
    """MNIST is not there, or what is there is not MNIST."""


class DivergedWarning(RuntimeWarning):
    """A training diverged: its loss is ``DIVERGED_LOSS`` and not a measurement."""


@dataclass(frozen=True, slots=True, eq=False)
class Mnist:
    """LeCun's training images, and his test images as the held-out validation split: figure 6
    reports nothing else on them.
    """

    train_images: Pixels
    train_labels: Labels
    validation_images: Pixels
    validation_labels: Labels

    def first(self, images: int) -> Mnist:
        """The same with that many training images; LeCun's order is shuffled already. The
        validation split stays whole.
        """
        available = len(self.train_images)
        if not 1 <= images <= available:
            raise ConfigurationError(
                f"images must be between 1 and the {available} training images there are, got"
                f" {images}: choose a smaller budget"
            )
        return Mnist(
            self.train_images[:images],
            self.train_labels[:images],
            self.validation_images,
            self.validation_labels,
        )

    @property
    def fingerprint(self) -> str:
        """Names the data in cached evaluations, so that losses on other images are never mistaken
        for these.
        """
        digest = hashlib.blake2b(digest_size=8)
        for part in (
            self.train_images,
            self.train_labels,
            self.validation_images,
            self.validation_labels,
        ):
            digest.update(repr(part.shape).encode())
            digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()


# -- the data --


def load_mnist(folder: Path | None, *, cache: Path | None = None) -> Mnist:
    """From the four IDX files in ``folder``, gzipped or not; without a folder, from OpenML once and
    then from ``cache``.

    cache: where a download is kept, ``~/.cache/noregret`` if None.
    """
    if folder is None:
        folder = (Path.home() / ".cache" / "noregret" if cache is None else Path(cache)) / "mnist"
        if any(_find(folder, name) is None for name in FILES):
            _download(folder)
    folder = Path(folder)
    found = [_find(folder, name) for name in FILES]
    missing = [name for name, path in zip(FILES, found, strict=True) if path is None]
    if missing:
        raise DataError(
            f"no {', '.join(missing)} in {folder}: MNIST is four files, {', '.join(FILES)}, each"
            " plain or with .gz; put them there, or pass folder=None to download them from OpenML"
        )
    train_images, train_labels, validation_images, validation_labels = (
        read_idx(path, dimensions)
        for path, dimensions in zip(found, (3, 1, 3, 1), strict=True)
        if path is not None
    )
    return Mnist(
        _checked_images(train_images, folder / FILES[0]),
        _checked_labels(train_labels, len(train_images), folder / FILES[1]),
        _checked_images(validation_images, folder / FILES[2]),
        _checked_labels(validation_labels, len(validation_images), folder / FILES[3]),
    )


def _find(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def read_idx(path: Path, dimensions: int) -> Bytes:
    """An IDX file of unsigned bytes: 0, 0, 8, the number of dimensions; each size, big-endian; the
    data.
    """
    content = path.read_bytes()
    if content[:2] == b"\x1f\x8b":  # by content: browsers unpack .gz files and keep the name
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise DataError(
                f"{path} is a truncated or damaged gzip file ({error}): fetch it again"
            ) from error
    magic = bytes((0, 0, 8, dimensions))
    start = 4 + 4 * dimensions
    if content[:4] != magic[: len(content)]:
        raise DataError(
            f"{path} must start with the magic number {magic.hex()} (IDX, unsigned bytes,"
            f" {dimensions} dimensions), got {content[:4].hex()}: it is another file, perhaps"
            " images and labels are swapped; fetch it again"
        )
    if len(content) < start:
        raise DataError(
            f"{path} is truncated: its header needs {start} bytes, got {len(content)}; fetch it"
            " again"
        )
    shape = struct.unpack(f">{dimensions}I", content[4:start])
    if len(content) - start != math.prod(shape):
        state = "truncated" if len(content) - start < math.prod(shape) else "damaged"
        raise DataError(
            f"{path} is {state}: its header {shape} promises {math.prod(shape)} bytes, got"
            f" {len(content) - start}; fetch it again"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(shape)


def _checked_images(images: Bytes, path: Path) -> Pixels:
    if len(images) == 0 or images.shape[1:] != (SIDE, SIDE):
        raise DataError(
            f"{path} must hold images of {SIDE} × {SIDE} pixels, got the shape {images.shape}: this"
            " is not MNIST"
        )
    return images.reshape(len(images), -1).astype(np.float32) / np.float32(255)


def _checked_labels(labels: Bytes, images: int, path: Path) -> Labels:
    if len(labels) != images:
        raise DataError(
            f"{path} must hold one label for each image, got {len(labels)} labels for {images}"
            " images: the files do not belong together"
        )
    if labels.max() >= CLASSES:
        raise DataError(f"{path} must hold digits, got the label {labels.max()}: this is not MNIST")
    return labels


def _download(folder: Path) -> None:
    """Stored as the four IDX files: a tenth of the ARFF file's size, and read in a second."""
    advice = (
        f"pass the folder that holds the four IDX files ({', '.join(FILES)}) to load_mnist, or try"
        " again with internet access"
    )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"cannot keep MNIST in {folder} ({error}): pass a cache folder that can be written"
        ) from error
    try:
        with urllib.request.urlopen(OPENML_URL, timeout=60) as response:
            content: bytes = response.read()
    except (OSError, http.client.HTTPException) as error:
        raise DataError(f"cannot download MNIST from {OPENML_URL} ({error}): {advice}") from error
    try:
        images, labels = parse_arff(content.decode("utf-8", errors="replace").splitlines())
    except DataError as error:
        raise DataError(f"what {OPENML_URL} answers is not MNIST: {error}; {advice}") from error
    if images.shape != (sum(OPENML_ROWS), SIDE * SIDE):
        raise DataError(
            f"{OPENML_URL} must hold {sum(OPENML_ROWS)} images of {SIDE * SIDE} pixels, got"
            f" {images.shape}: {advice}"
        )
    try:
        _store(folder, images.reshape(-1, SIDE, SIDE), labels)
    except OSError as error:
        raise DataError(
            f"cannot keep MNIST in {folder} ({error}): make room, or pass a cache folder that can"
            " be written"
        ) from error


def _store(folder: Path, images: Bytes, labels: Labels) -> None:
    split = OPENML_ROWS[0]
    for name, part in zip(
        FILES, (images[:split], labels[:split], images[split:], labels[split:]), strict=True
    ):
        content = (
            bytes((0, 0, 8, part.ndim))
            + struct.pack(f">{part.ndim}I", *part.shape)
            + part.tobytes()
        )
        unfinished = folder / f".{name}.{os.getpid()}"
        unfinished.write_bytes(gzip.compress(content, 6, mtime=0))
        unfinished.replace(
            folder / f"{name}.gz"
        )  # at once: a kill leaves no half file under the name that is read


def parse_arff(lines: Iterable[str]) -> tuple[Bytes, Labels]:
    """Images (n, pixels) and labels of a dense ARFF table whose last attribute is the class."""
    rows = iter(lines)
    attributes: list[str] = []
    for line in rows:
        words = line.split(maxsplit=2)
        if words and words[0].lower() == "@attribute":
            attributes.append(words[1].strip("'\"").lower() if len(words) > 1 else "")
        if words and words[0].lower() == "@data":
            break
    else:
        raise DataError(
            "an ARFF file needs a line @DATA, got none: it is truncated or another file"
        )
    if len(attributes) < 2 or attributes[-1] != "class":
        raise DataError(
            f"the ARFF file must have pixels and then the class, got {len(attributes)} attributes,"
            f" the last {attributes[-1:]}"
        )
    first = next((line for line in rows if line.strip() and not line.startswith("%")), None)
    if first is None:
        raise DataError("the ARFF file has no rows after @DATA: it is truncated")
    try:
        table = np.loadtxt(
            itertools.chain([first], rows),
            dtype=np.float32,
            comments="%",
            delimiter=",",
            quotechar="'",
            ndmin=2,
        )
    except ValueError as error:
        raise DataError(
            f"the ARFF rows must be numbers and equally many in each: {error}"
        ) from error
    if table.shape[1] != len(attributes):
        raise DataError(
            f"the ARFF rows must have {len(attributes)} columns, one for each attribute, got"
            f" {table.shape[1]}"
        )
    if not np.all((table >= 0) & (table <= 255) & (table == np.floor(table))) or np.any(
        table[:, -1] >= CLASSES
    ):
        raise DataError(
            f"ARFF pixels must be whole numbers from 0 to 255 and classes from 0 to {CLASSES - 1},"
            " got others"
        )
    values = table.astype(np.uint8)
    return np.ascontiguousarray(values[:, :-1]), np.ascontiguousarray(values[:, -1])


# -- training --


@dataclass(frozen=True, slots=True)
class Hyperparameters:
    """What figure 6 tunes. Values outside ``SPACE`` are legal as long as they mean something."""

    learning_rate: float
    l2: float
    batch_size: int
    dropout: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ConfigurationError(
                f"learning_rate must be positive and finite, got {self.learning_rate!r}: without it"
                " nothing is learned"
            )
        if not (math.isfinite(self.l2) and self.l2 >= 0):
            raise ConfigurationError(
                f"l2 must be at least 0 and finite, got {self.l2!r}: a negative penalty rewards"
                " large weights; pass 0 for none"
            )
        _check_count("batch_size", self.batch_size, 1)
        if not 0 <= self.dropout < 1:
            raise ConfigurationError(
                f"dropout must be in [0, 1), got {self.dropout!r}: it is the share of inputs left"
                " out; pass 0 for none"
            )
        for name, number in (
            ("learning_rate", float),
            ("l2", float),
            ("batch_size", int),
            ("dropout", float),
        ):
            object.__setattr__(self, name, number(getattr(self, name)))


def _check_count(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ConfigurationError(
            f"{name} must be a whole number of at least {least}, got {value!r}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Classifier:
    """Class probabilities are softmax(images @ weights + bias)."""

    weights: Pixels  # (pixels, 10)
    bias: Pixels  # (10,)

    def cross_entropy(self, images: Pixels, labels: Labels) -> float:
        """Mean over the images, in float64; nan or inf if the weights are."""
        with np.errstate(all="ignore"):
            logits = (images @ self.weights + self.bias).astype(np.float64)
            logits -= logits.max(axis=1, keepdims=True)
            return float(
                np.mean(np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(labels)), labels])
            )


def train(
    data: Mnist,
    learning_rate: float,
    l2: float,
    batch_size: int,
    dropout: float,
    *,
    epochs: int,
    seed: int,
) -> float:
    """The validation loss after training: mean cross-entropy without dropout and without the
    penalty.

    A loss that is not finite, or not below ``DIVERGED_LOSS``, is returned as ``DIVERGED_LOSS`` with
    a ``DivergedWarning``: the optimizer needs a number, and a diverged training must not look
    better than a bad one. In ``SPACE`` it does not happen.
    """
    settings = Hyperparameters(learning_rate, l2, batch_size, dropout)
    loss = fit(data, settings, epochs=epochs, seed=seed).cross_entropy(
        data.validation_images, data.validation_labels
    )
    if not loss < DIVERGED_LOSS:
        warnings.warn(
            f"training with {settings} diverged (validation loss {loss}): returned"
            f" {DIVERGED_LOSS:.4g}, ten times a uniform prediction's; lower the learning rate, and"
            " keep learning_rate × l2 below 2",
            DivergedWarning,
            stacklevel=2,
        )
        return DIVERGED_LOSS
    return loss


def fit(data: Mnist, settings: Hyperparameters, *, epochs: int, seed: int) -> Classifier:
    """Mini-batch SGD from zero weights on mean cross-entropy + l2/2·‖W‖², reshuffled each epoch;
    the same seed, the same weights.

    The images that do not fill a last batch sit out the epoch: a batch of a few at the full
    learning rate would make the loss jagged in the batch size.
    """
    _check_count("epochs", epochs, 1)
    _check_count("seed", seed, 0)
    count, pixels = data.train_images.shape
    if settings.batch_size > count:
        raise ConfigurationError(
            f"batch_size must be at most the {count} training images, got {settings.batch_size}: no"
            " batch would be full"
        )
    dropped = min(round(settings.dropout * TICKS), TICKS - 1)  # in ticks
    inputs = np.ones((count, pixels + 1), dtype=np.float32)  # the last column is the bias's
    np.multiply(
        data.train_images, np.float32(TICKS / (TICKS - dropped)), out=inputs[:, :-1]
    )  # inverted dropout, once for all epochs
    targets = (np.arange(CLASSES)[:, None] == data.train_labels).astype(np.float32)
    generator = np.random.Generator(np.random.SFC64(seed))
    W = np.zeros((CLASSES, pixels + 1), dtype=np.float32)
    with np.errstate(all="ignore"):  # an overflow is found by the check below, and told by train
        for _ in range(epochs):
            _descend(
                W, _batches(inputs, targets, settings.batch_size, dropped, generator), settings
            )
            if not np.isfinite(W).all():
                break
    return Classifier(np.ascontiguousarray(W[:, :-1].T), W[:, -1].copy())


def _batches(
    inputs: Pixels, targets: Pixels, batch_size: int, dropped: int, generator: np.random.Generator
) -> Iterator[tuple[Pixels, Pixels]]:
    """One epoch: inputs (batch, pixels + 1) and one-hot targets (10, batch). The inputs are
    overwritten by later batches.
    """
    count, width = inputs.shape
    order = generator.permutation(count)[: count // batch_size * batch_size]
    size = max(1, BLOCK // batch_size) * batch_size
    gathered = np.empty((size, width), dtype=np.float32)
    for start in range(0, len(order), size):
        rows = order[start : start + size]
        X = gathered[: len(rows)]
        inputs.take(rows, axis=0, out=X, mode="clip")  # "raise" would copy once more
        T = targets.take(rows, axis=1)
        if dropped:
            words = generator.bit_generator.random_raw(-(-X.size // 4))
            kept = words.view(np.uint16)[: X.size].reshape(X.shape) >= dropped
            kept[:, -1] = True  # the bias is no input
            np.multiply(X, kept, out=X)
        for first in range(0, len(rows), batch_size):
            yield X[first : first + batch_size], T[:, first : first + batch_size]


def _descend(
    W: Pixels, batches: Iterable[tuple[Pixels, Pixels]], settings: Hyperparameters
) -> None:
    """W ← W − learning_rate·(∇ mean cross-entropy + l2·W), the bias without l2, for each batch; in
    place and without allocations.
    """
    size = settings.batch_size
    rate = np.float32(settings.learning_rate / size)
    decay = np.float32(
        1 - settings.learning_rate * settings.l2
    )  # in [0, 1] on SPACE: the penalty alone cannot diverge there
    penalised, transposed, step = W[:, :-1], W.T, np.empty_like(W)
    by_image, P, reduced = (
        np.empty((size, CLASSES), np.float32),
        np.empty((CLASSES, size), np.float32),
        np.empty(size, np.float32),
    )
    for X, T in batches:
        np.matmul(X, transposed, out=by_image)
        np.copyto(P, by_image.T)  # reductions over ten rows are far faster than over ten columns
        np.subtract(P, np.maximum.reduce(P, axis=0, out=reduced), out=P)
        np.exp(P, out=P)
        np.divide(P, np.add.reduce(P, axis=0, out=reduced), out=P)
        np.subtract(P, T, out=P)  # the gradient by the logits
        np.multiply(P, rate, out=P)
        np.matmul(P, X, out=step)
        np.multiply(penalised, decay, out=penalised)
        np.subtract(W, step, out=W)


# -- the objective --


@dataclass(frozen=True, slots=True)
class Budget:
    """What one evaluation may cost: training images and epochs."""

    images: int
    epochs: int

    def __post_init__(self) -> None:
        _check_count("images", self.images, 1)
        _check_count("epochs", self.epochs, 1)


FULL = Budget(images=20_000, epochs=25)  # 0.6 to 1.1 s on one core
QUICK = Budget(images=5_000, epochs=10)  # about a tenth


class EvaluationLog:
    """Losses by their key in a file of JSON lines that is only ever appended to.

    Each record is one write to a file in append mode, so that several processes can share it. It
    starts with a line break of its own: a record cut short by a kill ends there and is skipped,
    instead of spoiling the next one.
    """

    __slots__ = ("_bytes_read", "_losses", "path")

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self._losses: dict[str, float] = {}
        self._bytes_read = 0

    def find(self, key: Mapping[str, Any]) -> float | None:
        name = json.dumps(key, sort_keys=True)
        if name not in self._losses:
            self._read()
        return self._losses.get(name)

    def add(self, key: Mapping[str, Any], loss: float) -> None:
        record = f"\n{json.dumps({**key, 'loss': loss}, sort_keys=True)}\n".encode()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with open(self.path, "ab", buffering=0) as file:
                written = file.write(record)
        except OSError as error:
            raise StorageError(
                f"cannot append an evaluation to {self.path} ({error}): it would be computed again;"
                " choose another file"
            ) from error
        if written != len(record):
            raise StorageError(
                f"only {written} of {len(record)} bytes could be appended to {self.path}: make room"
                " on the disk and run again"
            )

    def _read(self) -> None:
        try:
            with open(self.path, "rb") as file:
                file.seek(self._bytes_read)
                content = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(
                f"cannot read the evaluations in {self.path} ({error}): choose another file"
            ) from error
        complete = (
            content.rfind(b"\n") + 1
        )  # the rest may be a record that another process is writing
        self._bytes_read += complete
        for line in content[:complete].splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue  # blank, or cut short by a kill
            if not isinstance(record, dict) or not isinstance(record.get("loss"), float):
                raise StorageError(
                    f"{self.path} must hold evaluations, got the line {line[:80]!r}: choose a file"
                    " of its own for the cache"
                )
            loss = record.pop("loss")
            self._losses[json.dumps(record, sort_keys=True)] = loss


class ValidationLoss:
    """The objective to minimise over ``SPACE``: call it with a point. With a cache file, nothing is
    ever trained twice.

    seed: of shuffling and dropout, the only noise; the same at every point, so the objective is a
    function.
    """

    __slots__ = ("_fixed", "_log", "budget", "data", "seed")

    def __init__(
        self, data: Mnist, budget: Budget = FULL, *, seed: int = 0, cache: Path | None = None
    ) -> None:
        _check_count("seed", seed, 0)
        self.data = data.first(budget.images)
        self.budget = budget
        self.seed = int(seed)
        self._log = None if cache is None else EvaluationLog(cache)
        self._fixed = {  # the part of the key that no point changes
            **asdict(budget),
            "seed": self.seed,
            "validation_images": len(data.validation_images),
            "data": self.data.fingerprint,
            "procedure": PROCEDURE,
        }

    def __call__(self, params: Mapping[str, Any]) -> float:
        if set(params) != set(SPACE.parameters):
            raise ConfigurationError(
                f"a point has the parameters {list(SPACE.parameters)}, got {list(params)}: take it"
                " from SPACE"
            )
        point = asdict(Hyperparameters(**params))
        key = {**point, **self._fixed}
        known = None if self._log is None else self._log.find(key)
        if known is not None:
            return known
        loss = train(self.data, **point, epochs=self.budget.epochs, seed=self.seed)
        if self._log is not None:
            self._log.add(key, loss)
        return loss
