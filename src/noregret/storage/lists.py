"""A list of designs as bytes: columns one after the other, compressed where that helps, and a
digest of their content by which equal lists are kept once.

Numbers are stored plane by plane (all first bytes, all second bytes …), so that what they have in
common lies together; columns that this shrinks by less than a half are stored as they are, and
open without any work.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from noregret.errors import StorageError
from noregret.space import Candidates, Column
from noregret.storage.documents import load

# bytes: what SQLite and PostgreSQL take as one value, and what one may hold once it is unpacked
LARGEST = 10**9
LARGEST_TEXT = 10**8  # bytes of a column in JSON, of which Python makes ten times as much
SAMPLE = 8_192  # values by which it is decided whether a column is worth compressing
WORTH = 0.5
LEVEL = 1
HEAD = 8  # bytes that hold the header's length

DAMAGED = (
    *(ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, MemoryError),
    *(StopIteration, zlib.error),
)

# lists that are open in this process, by content: a study that is looked at often is read once
_open: WeakValueDictionary[str, Candidates] = WeakValueDictionary()


def pack(space: Candidates) -> tuple[str, bytes]:
    """Digest and bytes of a list."""
    columns, bodies, unpacked = [], [], 0
    digest = hashlib.sha256(repr((len(space), space.vector)).encode())
    for name, column in space.columns.items():
        values = column.values
        about: dict[str, Any] = {"name": name, "options": column.options, "kind": "json"}
        if values.dtype == np.dtype(object):
            raw = json.dumps(values.tolist(), allow_nan=False).encode()
            body, about["packed"] = zlib.compress(raw, LEVEL), True
        else:
            values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
            raw, about["kind"] = values.tobytes(), values.dtype.str
            about["packed"] = len(_squeezed(values[:SAMPLE])) < WORTH * values[:SAMPLE].nbytes
            body = _squeezed(values) if about["packed"] else raw
        digest.update(json.dumps([name, column.options, about["kind"]]).encode())
        digest.update(raw)
        columns.append({**about, "size": len(body)})
        unpacked += len(raw)
        if unpacked > LARGEST or (about["kind"] == "json" and len(raw) > LARGEST_TEXT):
            raise _too_long(unpacked)
        bodies.append(body)
    header = json.dumps(
        {"count": len(space), "vector": space.vector, "columns": columns}, allow_nan=False
    ).encode()
    content = b"".join([len(header).to_bytes(HEAD, "little"), header, *bodies])
    if len(content) > LARGEST:
        raise _too_long(len(content))
    key = digest.hexdigest()
    _open[key] = space
    return key, content


def _too_long(size: int) -> StorageError:
    return StorageError(
        f"a list of {size / 1e9:.1f} GB is too long to be stored: leave out columns, or keep the"
        " study in memory"
    )


def is_open(key: str) -> Candidates | None:
    """The list with this digest, if this process has it."""
    return _open.get(key)


def unpack(key: str, content: bytes) -> Candidates:
    """The list that ``pack`` was given."""
    try:
        start = HEAD + int.from_bytes(content[:HEAD], "little")
        header, columns = load(content[HEAD:start].decode()), {}
        kinds = [each["kind"] for each in header["columns"]]
        width = sum(8 if kind == "json" else _kind(kind).itemsize for kind in kinds)
        if not 0 <= header["count"] * width <= LARGEST:
            raise ValueError(f"{header['count']} designs")
        for about in header["columns"]:
            if not isinstance(about["name"], str) or about["size"] < 0:
                raise ValueError(f"a column {about['name']!r} of {about['size']!r} bytes")
            body = memoryview(content)[start : start + about["size"]]
            start += about["size"]
            options = None if about["options"] is None else tuple(about["options"])
            columns[about["name"]] = Column(_values(body, about, header["count"]), options)
        made = Candidates.of_columns(columns, header["vector"])
    except DAMAGED as error:
        raise StorageError(
            f"a stored list of designs is damaged ({error}). The trials are not concerned:"
            " `noregret recover` exports every one that can be read"
        ) from None
    _open[key] = made
    return made


def _squeezed(values: NDArray[Any]) -> bytes:
    planes = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
    return zlib.compress(np.ascontiguousarray(planes.T).data, LEVEL)


def _kind(name: str) -> np.dtype[Any]:
    kind = np.dtype(name)
    if kind.kind not in "biuf" or kind.itemsize > 8:
        raise ValueError(f"a column of {name!r}")
    return kind


def _unpacked(body: memoryview, most: int) -> bytes:
    """A few bytes may unpack to a thousand times as many: no more than is expected are made."""
    stream = zlib.decompressobj()
    raw = stream.decompress(body, most)
    if not stream.eof and (stream.unconsumed_tail or stream.decompress(b"", 1)):
        raise ValueError(f"a column is longer than its {most} bytes")
    if not stream.eof:
        raise ValueError("a column is cut off")
    return raw


def _values(body: memoryview, about: dict[str, Any], count: int) -> NDArray[Any]:
    if about["kind"] == "json":
        listed = load(_unpacked(body, LARGEST_TEXT).decode())
        if len(listed) != count:
            raise ValueError(f"{len(listed)} values instead of {count}")
        mixed = np.empty(count, dtype=object)
        mixed[:] = listed
        return mixed
    kind = _kind(about["kind"])
    if not about["packed"]:
        values = np.frombuffer(body, dtype=kind)
    else:
        planes = np.frombuffer(_unpacked(body, count * kind.itemsize), dtype=np.uint8)
        planes = planes.reshape(kind.itemsize, -1)
        values = np.ascontiguousarray(planes.T).view(kind)[:, 0]
    if len(values) != count:
        raise ValueError(f"{len(values)} values instead of {count}")
    return values.astype(kind.newbyteorder("="), copy=False)
