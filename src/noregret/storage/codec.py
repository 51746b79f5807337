"""Stored values: spaces and strategies as JSON, and lists of designs as bytes.

Nothing is pickled, and only registered classes are loaded: see ``strategies.registry``. A stored
text may be damaged or hostile: anything this library did not write is a ValueError or StorageError.

A list of designs is stored column by column, under a digest of its content, so that equal lists are
stored once. Numbers are transposed to byte planes (all first bytes, all second bytes …) before they
are compressed. A column that shrinks by less than a half is stored as it is.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from noregret.errors import StorageError
from noregret.rkhs import BUILT_IN
from noregret.space import Candidates, Column, Satisfies, Space
from noregret.strategies import own_algorithm, settings_of, stored_kind, stored_name

MAX_READABLE = 1_000  # designs; ``described`` gives a longer list by its size and ranges only
MAX_DEPTH = 100  # levels of a document: ours have ten, and the functions that walk it are recursive
MAX_LIST_BYTES = 10**9  # of a list, packed or not: one value of SQLite or PostgreSQL
MAX_TEXT_BYTES = 10**8  # of a JSON column: Python needs ten times as much for it
SAMPLE_SIZE = 8_192  # values by which it is decided whether a column is compressed
MIN_COMPRESSION = 0.5  # compress a column whose sample shrinks below this share
COMPRESSION_LEVEL = 1
HEADER_BYTES = 8  # bytes that hold the header's length

# Errors that malformed content can raise while a list, a record or a trial is rebuilt.
MALFORMED = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, ArithmeticError, MemoryError),
    *(StopIteration, zlib.error),
)

# Lists in use in this process, by digest: a study that is read often unpacks its list once.
open_lists: WeakValueDictionary[str, Candidates] = WeakValueDictionary()


# -- spaces and strategies --


def to_json(value: Any) -> Any:
    """Returns plain JSON values from which ``from_json`` makes an equal value.

    Args:
        value: A space, a strategy, or what they consist of.

    Raises:
        StorageError: The value holds a callable, or a class that is not registered.
    """
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        finite = math.isfinite(value)
        return float(value) if finite else {"type": "float", "value": repr(float(value))}
    if isinstance(value, np.generic):
        return to_json(value.item())
    if isinstance(value, Mapping):
        return {"type": "dict", "items": [[key, to_json(item)] for key, item in value.items()]}
    if isinstance(value, (tuple, list)):
        return [to_json(item) for item in value]
    if isinstance(value, Candidates):
        return {"type": "Candidates", "rows": [to_json(row) for row in value.rows]}
    if isinstance(value, Satisfies) and not isinstance(value.function, str):
        raise StorageError(
            f"the constraint '{value}' has no import path and cannot be stored: write"
            " Satisfies('module:function'), or keep the study in memory"
        )
    name = stored_name(type(value))
    if name is not None:
        algorithm = own_algorithm(type(value))
        is_box = isinstance(value, Space) and not value.constraints
        return {
            "type": name,
            **({"algorithm": algorithm} if algorithm else {}),
            **{
                field.name: to_json(getattr(value, field.name))
                for field in dataclasses.fields(value)
                if field.init and not (is_box and field.name == "constraints")
            },
        }
    if callable(value) and not dataclasses.is_dataclass(value):
        raise StorageError(
            f"a schedule given as a Python callable ({value!r}) cannot be stored: use a built-in"
            f" one, {BUILT_IN}, or keep the study in memory"
        )
    raise StorageError(
        f"{value!r} cannot be stored: its class is not registered. Register it with"
        " noregret.strategies.register, or keep the study in memory"
    )


def described(space: Space | Candidates) -> Any:
    """Returns a space as JSON for readers: of a long list only its size and its columns' ranges."""
    if isinstance(space, Candidates) and len(space) > MAX_READABLE:
        ranges = {name: to_json(parameter) for name, parameter in space.parameters.items()}
        return {"type": "Candidates", "designs": len(space), "columns": ranges}
    return to_json(space)


def from_json(data: Any) -> Any:
    """Returns the value that ``to_json`` was given.

    Args:
        data: The JSON values.

    Raises:
        StorageError: A type is missing or not registered.
    """
    if isinstance(data, list):
        return tuple(from_json(item) for item in data)
    if not isinstance(data, dict):
        return data
    kind = data.get("type")
    if kind == "float":
        return float(data["value"])
    if kind == "dict":
        return {key: from_json(item) for key, item in data["items"]}
    if not isinstance(kind, str):
        raise StorageError(f"a stored study holds {data!r}, which names no type: it is damaged")
    cls = stored_kind(kind)
    fields = {key: from_json(item) for key, item in data.items() if key != "type"}
    if "algorithm" not in settings_of(cls):  # the study goes on by today's algorithm
        fields.pop("algorithm", None)
    if cls is Space or cls is Satisfies:
        return cls.stored(**fields)
    return cls(**fields)


# -- JSON texts --


def load_json(text: Any) -> Any:
    """Returns the value of a JSON text; raises ValueError for anything else."""
    if not isinstance(text, str):
        raise ValueError(f"{_shortened(text)} instead of a JSON text")
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError(f"a JSON text is more than {MAX_DEPTH} levels deep") from None
    # a deep document has at least this many brackets: most texts need not be walked
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(value)
    return value


def load_dict(text: Any) -> dict[str, Any]:
    """Returns the value of a JSON object; {} for NULL and for an empty text."""
    value = load_json(text) if text not in (None, "") else {}
    if not isinstance(value, dict):
        raise ValueError(f"{_shortened(value)} instead of a JSON object")
    return value


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for node in level
            if isinstance(node, dict | list)
            for item in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return
    raise ValueError(f"a JSON text is more than {MAX_DEPTH} levels deep")


def _shortened(value: Any) -> str:
    return repr(value)[:80]


# -- lists of designs --


def pack(space: Candidates) -> tuple[str, bytes]:
    """Returns a list's digest and its bytes; raises StorageError if it is too long."""
    columns, bodies, raw_size = [], [], 0
    digest = hashlib.sha256(repr((len(space), space.vector)).encode())
    for name, column in space.columns.items():
        values = column.values
        header: dict[str, Any] = {"name": name, "options": column.options, "kind": "json"}
        if values.dtype == np.dtype(object):
            raw = json.dumps(values.tolist(), allow_nan=False).encode()
            body, header["packed"] = zlib.compress(raw, COMPRESSION_LEVEL), True
        else:
            values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
            raw, header["kind"] = values.tobytes(), values.dtype.str
            sample = values[:SAMPLE_SIZE]
            header["packed"] = len(_compressed(sample)) < MIN_COMPRESSION * sample.nbytes
            body = _compressed(values) if header["packed"] else raw
        digest.update(json.dumps([name, column.options, header["kind"]]).encode())
        digest.update(raw)
        columns.append({**header, "size": len(body)})
        raw_size += len(raw)
        is_text = header["kind"] == "json"
        if raw_size > MAX_LIST_BYTES or (is_text and len(raw) > MAX_TEXT_BYTES):
            raise _too_long(raw_size)
        bodies.append(body)
    text = json.dumps(
        {"count": len(space), "vector": space.vector, "columns": columns}, allow_nan=False
    ).encode()
    content = b"".join([len(text).to_bytes(HEADER_BYTES, "little"), text, *bodies])
    if len(content) > MAX_LIST_BYTES:
        raise _too_long(len(content))
    key = digest.hexdigest()
    open_lists[key] = space
    return key, content


def _too_long(size: int) -> StorageError:
    return StorageError(
        f"a list of {size / 1e9:.1f} GB is too long to be stored: leave out columns, or keep the"
        " study in memory"
    )


def unpack(key: str, content: bytes) -> Candidates:
    """Returns the list that ``pack`` was given; raises StorageError if the bytes are damaged."""
    try:
        start = HEADER_BYTES + int.from_bytes(content[:HEADER_BYTES], "little")
        header, columns = load_json(content[HEADER_BYTES:start].decode()), {}
        kinds = [column["kind"] for column in header["columns"]]
        width = sum(8 if kind == "json" else _dtype(kind).itemsize for kind in kinds)
        if not 0 <= header["count"] * width <= MAX_LIST_BYTES:
            raise ValueError(f"{header['count']} designs")
        for column in header["columns"]:
            name, size, options = column["name"], column["size"], column["options"]
            if not isinstance(name, str) or size < 0:
                raise ValueError(f"a column {name!r} of {size!r} bytes")
            body = memoryview(content)[start : start + size]
            start += size
            values = _values(body, column, header["count"])
            columns[name] = Column(values, None if options is None else tuple(options))
        space = Candidates.of_columns(columns, header["vector"])
    except MALFORMED as error:
        raise StorageError(
            f"a stored list of designs is damaged ({error}): `noregret database recover` reads the"
            " trials"
        ) from None
    open_lists[key] = space
    return space


def _compressed(values: NDArray[Any]) -> bytes:
    planes = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
    return zlib.compress(np.ascontiguousarray(planes.T).data, COMPRESSION_LEVEL)


def _dtype(name: str) -> np.dtype[Any]:
    dtype = np.dtype(name)
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise ValueError(f"a column of {name!r}")
    return dtype


def _decompressed(body: memoryview, size: int) -> bytes:
    """Decompresses at most ``size`` bytes: a few bytes can expand to a thousand times as many."""
    stream = zlib.decompressobj()
    raw = stream.decompress(body, size)
    if not stream.eof and (stream.unconsumed_tail or stream.decompress(b"", 1)):
        raise ValueError(f"a column is longer than its {size} bytes")
    if not stream.eof:
        raise ValueError("a column is cut off")
    return raw


def _values(body: memoryview, column: dict[str, Any], count: int) -> NDArray[Any]:
    values: NDArray[Any]
    if column["kind"] == "json":
        items = load_json(_decompressed(body, MAX_TEXT_BYTES).decode())
        values = np.empty(len(items), dtype=object)
        values[:] = items
    else:
        dtype = _dtype(column["kind"])
        if column["packed"]:
            planes = np.frombuffer(_decompressed(body, count * dtype.itemsize), dtype=np.uint8)
            planes = planes.reshape(dtype.itemsize, -1)
            values = np.ascontiguousarray(planes.T).view(dtype)[:, 0]
        else:
            values = np.frombuffer(body, dtype=dtype)
        values = values.astype(dtype.newbyteorder("="), copy=False)
    if len(values) != count:
        raise ValueError(f"{len(values)} values instead of {count}")
    return values
