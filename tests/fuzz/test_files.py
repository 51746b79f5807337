"""Files of which one value was changed: every call answers, or says in an error of ours what is
damaged. 30 files run with the tests, 325 with ``make fuzz``.
"""

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.errors import NoRegretError
from noregret.storage import SQLStorage, recover

FILES = 325 if "NOREGRET_FUZZ" in os.environ else 30
DEEP = 5_000
ODD: list[Any] = [
    *(None, "", "{", "[]", "{}", "null", "0", '"x"', "[1,2]", "\x00", "é" * 50, b"\x00\xff", "NaN"),
    *('{"type": 3}', '{"type": "Float"}', '{"type": "Nope"}', '{"version": "x"}', '{"x": 1}'),
    *('{"version": 1}', '{"version": 1, "source": "model", "model": {}}', '{"x": null, "n": 2}'),
    *("complete", "failed", "waiting", "running", "withdrawn", "maximize", "2020-01-01"),
    *(0, -1, 1, 3, 7, 1.5, 2**31, 2**62, 1e308, float("inf"), "1" * 400),
    *("[" * DEEP + "]" * DEEP, '{"a":' * DEEP + "1" + "}" * DEEP),
]
INSIDE: list[Any] = [None, "x", -1, 2**62, 1e400, [], {}, [1, "a"], True, 1.5, {"type": "dict"}]


def write(path: Path) -> None:
    """Three kinds of space, limits, a correction, a failure, trials under way and waiting."""
    storage = SQLStorage(path)
    space = {"x": nr.Float(0.1, 10, log=True), "n": nr.Int(1, 9)}
    study = nr.Study.create(
        *("lab", space, "minimize", nr.InsuredGPUCB(initial_points=3)),
        storage=storage,
        outcomes={"toxicity": nr.AtMost(0.5)},
    )
    for number in range(6):
        trial = study.ask()
        if number == 2:
            study.tell(trial, state="failed", reason="the pump stopped")
        elif number != 5:
            measured = {"toxicity": (0.1 * number, 0.05)}
            study.tell(trial, float(number), 0.1, outcomes=measured, attributes={"batch": 1})
    study.correct(1, 3.0)
    study.enqueue({"x": 1.0, "n": 2}, note="next")
    designs = nr.Candidates([{"t": t, "s": s} for t in (20.0, 40.0) for s in ("water", "dmf")])
    listed = nr.Study.create("list", designs, "maximize", nr.RandomSearch(), storage=storage)
    listed.tell(listed.ask(), 1.0)
    listed.derived("child", seed=3)
    vector = nr.Study.create("vector", [(0, 1)], "maximize", nr.GPUCB(), storage=storage)
    for value in (0.5, 0.7, 0.6):
        vector.tell(vector.ask(), value)
    storage.close()


def changed_inside(rng: random.Random, text: str) -> Any:
    """A JSON document with one of its values gone, renamed or exchanged."""
    document, places = json.loads(text), []
    open_ends = [document]
    while open_ends:
        each = open_ends.pop()
        if isinstance(each, dict | list):
            keys = list(each) if isinstance(each, dict) else list(range(len(each)))
            places += [(each, key) for key in keys]
            open_ends += [each[key] for key in keys]
    if not places:
        return rng.choice(ODD)
    holder, key = rng.choice(places)
    match rng.randrange(3):
        case 0:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[f"other {key}"] = holder.pop(key)
        case _:
            holder[key] = rng.choice(INSIDE)
    return json.dumps(document)


def mutate(path: Path, seed: int) -> str:
    """Changes one value of one row; what it did."""
    rng, connection = random.Random(seed), sqlite3.connect(path)
    table = rng.choice(["noregret_trials", "noregret_studies"] * 3 + ["noregret_lists"])
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    row = rng.choice(connection.execute(f"SELECT rowid, * FROM {table}").fetchall())
    column = rng.choice(columns)
    old = row[1 + columns.index(column)]
    if isinstance(old, str) and old[:1] in ("{", "[") and rng.random() < 0.5:
        new = changed_inside(rng, old)
    elif isinstance(old, bytes) and rng.random() < 0.7:
        place = rng.randrange(len(old))
        new = old[:place] + bytes([rng.randrange(256)]) + old[place + 1 :]
    else:
        new = rng.choice(ODD)
    cast = "CAST(x'61ff' AS TEXT)" if rng.random() < 0.04 else "?"  # no UTF-8
    query = f"UPDATE OR IGNORE {table} SET {column} = {cast} WHERE rowid = {row[0]}"
    with suppress(sqlite3.IntegrityError):  # a value that the table does not take
        connection.execute(query, (new,) if cast == "?" else ())
    connection.commit()
    connection.close()
    return f"{table}.{column} of row {row[0]}: {new!r:.80}"


def calls(path: Path) -> Iterator[Callable[[], Any]]:
    yield lambda: [each.name for each in nr.studies(path)]
    yield lambda: nr.studies(path)
    yield lambda: json.dumps(recover(path).studies)
    for name in ("lab", "list", "vector", "child"):
        try:
            study = nr.Study.open(name, storage=path)
        except NoRegretError:
            continue
        yield partial(repr, study)
        yield study._repr_html_
        yield partial(study.export, path.with_suffix(".csv"))
        yield partial(study.export, path.with_suffix(".json"))
        yield study.result
        yield study.ask
        yield partial(study.derived, f"{name} again", seed=4)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files") / "original.db"
    write(path)
    return path


@pytest.mark.parametrize("first", range(0, FILES, 10))
def test_a_changed_file_is_read_or_named(first: int, original: Path, tmp_path: Path) -> None:
    for seed in range(first, min(first + 10, FILES)):
        path = tmp_path / f"{seed}.db"
        shutil.copy(original, path)
        what = mutate(path, seed)
        for call in calls(path):
            try:
                call()
            except NoRegretError:
                continue
            except Exception as error:
                error.add_note(f"seed {seed}, {what}")
                raise
