"""``recover`` returns all that a file holds, and names what it could not read."""

import sqlite3
from pathlib import Path

import noregret as nr
from noregret.storage import SQLStorage, codec, recover
from noregret.storage.recovery import Recovered
from noregret.trials import Trial


def same_as_stored(found: Recovered, storage: SQLStorage) -> None:
    """What was recovered, against the studies as they open."""
    assert found.lost == []
    assert {about["name"] for about in found.studies} == set(storage.names())
    for about in found.studies:
        record = storage.open(about["name"])
        assert codec.from_json(about["space"]) == record.space
        assert codec.from_json(about["strategy"]) == record.strategy
        assert (about["goal"], about["seed"]) == (record.goal, record.seed)
        assert (about["note"], about["origin"]) == (record.note, record.origin)
        assert (about["attributes"] or {}) == record.attributes
        assert codec.from_json(about["outcomes"] or {"type": "dict", "items": []}) == (
            record.outcomes
        )
        assert tuple(about["context"] or ()) == record.context
        kept = storage.trials(about["name"])
        assert about["trials"] == [{**each.to_json(), "worker": None} for each in kept]


def test_all_of_a_study_is_recovered(tmp_path: Path) -> None:
    storage = SQLStorage(tmp_path / "s.db")
    study = nr.Study.create(
        "lab",
        {"x": nr.Float(0, 1), "room": nr.Float(10, 30)},
        "minimize",
        storage=storage,
        strategy=nr.RandomSearch(),
        seed=7,
        outcomes={"toxicity": nr.AtMost(0.3)},
        context=("room",),
    )
    study.annotate(note="first", attributes={"unit": "g"})
    trial = study.ask(context={"room": 20})
    study.tell(
        trial,
        1.5,
        outcomes={"toxicity": (0.2, 0.1)},
        params={"x": 0.25, "room": 20.0},
        note="spilt",
        attributes={"batch": 3},
    )
    study.tell(study.ask(context={"room": 21}), state="failed", reason="no power", transient=True)
    study.derived("next", seed=8)
    for name, rows in (
        ("named", [{"a": 1, "b": "u"}, {"a": 2, "b": "v"}]),
        ("bare", [[1.0, 2.0], [3.0, 4.0]]),
    ):
        nr.Study.create(name, nr.Candidates(rows), "maximize", storage=storage).ask()
    same_as_stored(recover(tmp_path / "s.db"), storage)


def test_a_damaged_remark_costs_itself_alone(tmp_path: Path) -> None:
    storage = SQLStorage(tmp_path / "s.db")
    study = nr.Study.create("lab", nr.Candidates([{"a": 1}, {"a": 2}]), "maximize", storage=storage)
    for number in range(4):
        study.add({"a": 1 + number % 2}, float(number), note="as planned")
    storage.close()
    raw = sqlite3.connect(tmp_path / "s.db")
    raw.execute("UPDATE noregret_trials SET note = x'00ff', decision = '{' WHERE number = 1")
    raw.execute("DELETE FROM noregret_trials WHERE number = 2")
    raw.execute("UPDATE noregret_studies SET strategy = '{'")
    raw.execute("UPDATE noregret_lists SET digest = 'gone'")
    raw.commit()
    raw.close()
    found = recover(tmp_path / "s.db")
    (lab,) = found.studies
    assert [trial["value"] for trial in lab["trials"]] == [0.0, 1.0, 3.0]
    assert Trial.from_json(lab["trials"][1]).note is None
    parts = (
        *("the space of study 'lab': the list of designs", "the strategy of study 'lab'"),
        *("the decision of trial 1", "the note of trial 1", "the rows of trials 2 of study 'lab'"),
    )
    assert len(found.lost) == len(parts)
    assert all(any(each.startswith(part) for each in found.lost) for part in parts)
