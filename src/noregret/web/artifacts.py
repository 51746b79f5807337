"""Files beside trials: a spectrum, a photo, a log. They lie in a folder beside the database, by the
study's identity and the trial's number, under names that no system can take for a path.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from urllib.parse import quote, unquote

from noregret.errors import StorageError, TrialError
from noregret.storage import StudyRecord
from noregret.storage.database import storage_file

LARGEST_FILE = 20 * 2**20  # bytes
MOST_FILES = 20  # of a trial
LONGEST_NAME = 200  # characters, as it is stored
IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}  # by the first bytes


def root(url: str) -> Path:
    """The folder of all files beside a database; StorageError if the database is no file."""
    file = storage_file(url)
    if file is None:
        raise StorageError("files are kept beside a SQLite database: this one is on a server")
    return Path(f"{file}-files")


def _folder(url: str, record: StudyRecord, number: int) -> Path:
    assert record.key is not None
    return root(url) / quote(record.key.identity, safe="") / str(number)


def files_of(url: str, record: StudyRecord, number: int) -> list[str]:
    """The names of a trial's files."""
    if storage_file(url) is None or not (folder := _folder(url, record, number)).is_dir():
        return []
    return sorted(unquote(path.name[1:]) for path in folder.iterdir() if path.name[0] == "_")


def path_of(url: str, record: StudyRecord, number: int, name: str) -> Path:
    """Where a file lies, or would."""
    stored = f"_{quote(name, safe=' ')}"
    if not name.strip() or not name.isprintable() or len(stored) > LONGEST_NAME:
        raise TrialError(f"{name!r} cannot be a file's name here: take a short one, of one line")
    return _folder(url, record, number) / stored


def attach(url: str, record: StudyRecord, number: int, name: str, content: bytes) -> None:
    """Keep a file with a trial; one of the same name is replaced."""
    path, present = path_of(url, record, number, name), files_of(url, record, number)
    if len(content) > LARGEST_FILE:
        raise TrialError(f"{name} has more than {LARGEST_FILE >> 20} MB: keep it elsewhere")
    if len({*present, name}) > MOST_FILES:
        raise TrialError(f"trial {number} has {MOST_FILES} files already: remove one")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{os.getpid()}-{os.urandom(4).hex()}")
    part.write_bytes(content)
    part.replace(path)


def forget(url: str, record: StudyRecord) -> None:
    """Remove all files of a study that was deleted."""
    if storage_file(url) is not None:
        shutil.rmtree(_folder(url, record, 0).parent, ignore_errors=True)
