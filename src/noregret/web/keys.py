"""A study's name as one segment of a path, and back.

Proxies and routers rewrite ``%2F`` and ``..``, so every byte besides letters, digits, ``-``, ``_``
and inner dots is written ``~XX`` in hexadecimal.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote_to_bytes

KEY = r"^(?:[A-Za-z0-9._-]|~[0-9A-F]{2})+$|^~$"
_KEY = re.compile(KEY)


def key_of(name: str) -> str:
    key = (
        quote(name.encode("utf-8", "surrogatepass"), safe="").replace("~", "%7E").replace("%", "~")
    )
    if not key.strip("."):  # "", "." and ".." mean something else in a path
        return key.replace(".", "~2E") or "~"
    return key


def name_of(key: str) -> str | None:
    """None if this is no study's key."""
    if not _KEY.fullmatch(key):
        return None
    try:
        name = (
            unquote_to_bytes(key.replace("~", "%")).decode("utf-8", "surrogatepass")
            if key != "~"
            else ""
        )
    except UnicodeDecodeError:
        return None
    return name if key_of(name) == key else None
