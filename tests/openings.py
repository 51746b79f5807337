"""Processes that open one new SQLite file at the same moment, again and again:
``python -m tests.openings [--rounds 50] [--processes 8] [--kind new|restored]``.

Each process creates a study, as those of ``make demo`` do. Prints how many failed, and why.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sqlite3
import sys
import tempfile
from collections import Counter
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import noregret as nr
from noregret.storage import SQLStorage

KINDS = ("new", "restored")


def create(path: Path, number: int, together: Barrier, reasons: Any) -> None:
    """Creates one study in the file, and reports "" or why it failed."""
    together.wait()
    try:
        study = nr.Study.create(f"s{number}", [(0, 1)], "maximize", storage=path)
        study.enqueue([0.5])
        reasons.put("")
    except Exception as error:
        reasons.put(f"{type(error).__name__}: {error}")


def prepared(kind: str, path: Path) -> None:
    """The file before the first opening: none, or one restored from a dump, which is not in
    write-ahead mode.
    """
    if kind == "restored":
        storage = SQLStorage(path.with_suffix(".old"))
        storage.close()
        with sqlite3.connect(path.with_suffix(".old")) as old:
            old.execute("VACUUM INTO ?", (str(path),))
        old.close()


def open_together(path: Path, processes: int, kind: str = "new") -> list[str]:
    """The reasons for which processes failed that open the file at one moment."""
    prepared(kind, path)
    context = multiprocessing.get_context("fork")
    together, reasons = context.Barrier(processes), context.SimpleQueue()
    children = [
        context.Process(target=create, args=(path, number, together, reasons))
        for number in range(processes)
    ]
    for child in children:
        child.start()
    found = [reasons.get() for _ in children]
    for child in children:
        child.join()
    failures = [reason for reason in found if reason]
    if not failures:
        storage = SQLStorage(path, must_exist=True)
        assert len(storage.names()) == processes
        storage.close()
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--kind", choices=KINDS, default="new")
    chosen = parser.parse_args()
    failures: Counter[str] = Counter()
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(chosen.rounds):
            path = Path(folder) / f"{number}.db"
            reasons = open_together(path, chosen.processes, chosen.kind)
            failures.update(reason.replace(str(path), "FILE") for reason in reasons)
            failed += bool(reasons)
    print(
        f"{chosen.kind}: {failures.total()} of {chosen.rounds * chosen.processes} processes failed,"
        f" in {failed} of {chosen.rounds} rounds of {chosen.processes}"
    )
    for reason, count in failures.most_common(5):
        print(f"{count:6d}  {reason}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
