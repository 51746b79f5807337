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

LARGEST = 10**9  # bytes: what SQLite and PostgreSQL take as one value
SAMPLE = 8_192  # values by which it is decided whether a column is worth compressing
WORTH = 0.5
LEVEL = 1
HEAD = 8  # bytes that hold the header's length

# lists that are open in this process, by content: a study that is looked at often is read once
_open: WeakValueDictionary[str, Candidates] = WeakValueDictionary()


def pack(space: Candidates) -> tuple[str, bytes]:
    """Digest and bytes of a list."""
    columns, bodies = [], []
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
        bodies.append(body)
    header = json.dumps(
        {"count": len(space), "vector": space.vector, "columns": columns}, allow_nan=False
    ).encode()
    content = b"".join([len(header).to_bytes(HEAD, "little"), header, *bodies])
    if len(content) > LARGEST:
        raise StorageError(
            f"a list of {len(content) / 1e9:.1f} GB is too long to be stored: leave out columns, or"
            " keep the study in memory"
        )
    key = digest.hexdigest()
    _open[key] = space
    return key, content


def is_open(key: str) -> Candidates | None:
    """The list with this digest, if this process has it."""
    return _open.get(key)


def unpack(key: str, content: bytes) -> Candidates:
    """The list that ``pack`` was given."""
    start = HEAD + int.from_bytes(content[:HEAD], "little")
    try:
        header, columns = json.loads(content[HEAD:start]), {}
        for about in header["columns"]:
            body = memoryview(content)[start : start + about["size"]]
            start += about["size"]
            options = None if about["options"] is None else tuple(about["options"])
            columns[about["name"]] = Column(_values(body, about, header["count"]), options)
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise StorageError(f"a stored list of designs is damaged ({error})") from None
    made = Candidates.of_columns(columns, header["vector"])
    _open[key] = made
    return made


def _squeezed(values: NDArray[Any]) -> bytes:
    planes = values.view(np.uint8).reshape(len(values), values.dtype.itemsize)
    return zlib.compress(np.ascontiguousarray(planes.T).data, LEVEL)


def _values(body: memoryview, about: dict[str, Any], count: int) -> NDArray[Any]:
    if about["kind"] == "json":
        mixed = np.empty(count, dtype=object)
        mixed[:] = json.loads(zlib.decompress(body))
        return mixed
    kind = np.dtype(about["kind"])
    if not about["packed"]:
        values = np.frombuffer(body, dtype=kind)
    else:
        planes = np.frombuffer(zlib.decompress(body), dtype=np.uint8)
        planes = planes.reshape(kind.itemsize, -1)
        values = np.ascontiguousarray(planes.T).view(kind)[:, 0]
    if len(values) != count:
        raise ValueError(f"{len(values)} values instead of {count}")
    return values.astype(kind.newbyteorder("="), copy=False)
