"""Trials in and out of files."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, KnownRowsError, TrialError
from noregret.study import imports_of, take_back
from noregret.trials import standing
from noregret.trials.trial import Trial
from tests.components import needed

MIXED = {
    "x": nr.Float(1e-3, 10, log=True),
    "n": nr.Int(1, 50),
    "c": nr.Choice(["a", 1, None, True]),
    "value": nr.Float(0, 1),
}


def mixed_study() -> nr.Study:
    study = nr.Study(MIXED, "minimize", nr.RandomSearch(), seed=3)
    study.run(lambda p: p["x"], 12)
    study.tell(study.ask(), 1 / 3, noise_std=0.1)
    study.tell(study.ask(), state="failed")
    study.correct(4, -2.5)
    study.ask()
    study.enqueue({"x": 0.1, "n": 7, "c": None, "value": 0.5})
    return study


def outcomes(trials: list[Trial]) -> list[Any]:
    return [(t.params, t.value, t.noise_std) for t in trials]


def test_csv_there_and_back(tmp_path: Path) -> None:
    study = mixed_study()
    study.export(tmp_path / "s.csv")
    again = nr.Study(MIXED, "minimize", nr.RandomSearch())
    imported = again.import_csv(tmp_path / "s.csv")
    assert imported == again.trials
    standing = [t for t in study.trials if t.number != 4]  # 4 was corrected
    assert outcomes(imported) == outcomes(standing)
    states = {
        "complete": "complete",
        "failed": "failed",
        "running": "waiting",
        "waiting": "waiting",
    }
    assert [t.state for t in imported] == [states[t.state] for t in standing]
    assert again.ask().number == next(t.number for t in imported if t.state == "waiting")


def test_a_laboratorys_file_into_a_running_study(tmp_path: Path) -> None:
    """As a spreadsheet writes it: byte order mark, semicolons, columns of its own in any order, no
    state.
    """
    study = nr.Study({"t": nr.Float(0, 100), "s": nr.Choice(["water", "dmf"])}, "maximize").run(
        lambda p: p["t"], 3
    )
    text = "\ufeffoperator;value;s;t\nAda;1.5;water;20\nBo; 2.5 ;dmf;40.5\n"
    (tmp_path / "lab.csv").write_text(text, encoding="utf-8")
    added = study.import_csv(tmp_path / "lab.csv")
    assert [(t.number, t.state, t.params, t.value) for t in added] == [
        (3, "complete", {"t": 20.0, "s": "water"}, 1.5),
        (4, "complete", {"t": 40.5, "s": "dmf"}, 2.5),
    ]
    assert study.best.value is not None
    assert study.replay().number is None


def test_vectors_and_candidates() -> None:
    vector = nr.Study([(0, 1), (0, 1)], "maximize")
    assert vector.import_csv(io.StringIO("x0,x1,value\n0.1,0.2,3\n"))[0].params.tolist() == [
        0.1,
        0.2,
    ]
    out = io.StringIO()
    vector.export(out)
    assert (
        out.getvalue().splitlines()[0]
        == "number,state,x0,x1,value,noise_std,corrects,created,finished,started,duration,"
        "error,note,attributes,transient"
    )
    listed = nr.Study(nr.Candidates([{"t": 20, "s": "water"}, {"t": 40, "s": "dmf"}]), "maximize")
    assert listed.import_csv(io.StringIO("t,s,value\n40,dmf,1\n"))[0].params == {
        "t": 40,
        "s": "dmf",
    }
    with pytest.raises(TrialError, match=r"row 1 .* is not one of the 2 candidates"):
        listed.import_csv(io.StringIO("t,s,value\n40,water,1\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"lacks the columns \['value', 't', 's'\]"),
        ("t,value\n1,2\n", r"lacks the columns \['s'\]"),
        ("t,s,value\n1,water,2\n1,water,\n", "row 2 of the file: it has no value"),
        ("t,s,value\n1,water,abc\n", "value must be a number, got 'abc'"),
        ('t,s,value\n"1,500",water,1\n', "may mean 1.5 or 1500"),
        ("t,s,value\n12k,water,1\n", "'k' behind a number is no unit"),
        ("t,s,value\n1 2,water,1\n", "must be a number, got '1 2'"),
        ("t,s,value\n1,water,nan\n", "finite"),
        ("t,s,value\n101,water,1\n", "outside"),
        ("t,s,value\n1,tea,1\n", "'tea' is none of the options"),
        ("t,s,value\n,water,1\n", "parameter 't' is empty"),
        ("t,s,value,state\n1,water,1,done\n", "state is one of"),
        ("t,s,value,state\n1,water,1,failed\n", "a failed trial has no value"),
        ("t,s,value,noise_std\n1,water,1,-1\n", "noise_std must be a positive number"),
        ("t,s,value\n1,water,1,7\n", "more cells than columns"),
    ],
)
def test_bad_files_import_nothing(text: str, words: str) -> None:
    study = nr.Study({"t": nr.Float(0, 100), "s": nr.Choice(["water", "dmf"])}, "maximize")
    with pytest.raises(TrialError, match=words):
        study.import_csv(io.StringIO(text))
    assert study.trials == []


def test_a_number_and_its_text_are_told_apart() -> None:
    study = nr.Study({"x": nr.Float(0, 1), "c": nr.Choice([1, "1"])}, "maximize")
    study.import_csv(io.StringIO('x,c,value\n0.5,1,2\n0.5,"""1""",2\n'))
    assert [trial.params["c"] for trial in study.trials] == [1, "1"]


def test_json_is_complete(tmp_path: Path) -> None:
    study = nr.Study([(0, 1)], "maximize").run(lambda x: float(x[0]), 6)
    study.export(tmp_path / "s.json")
    rows = json.loads((tmp_path / "s.json").read_text())
    assert [Trial.from_json(row) for row in rows] == study.trials
    again = nr.Study([(0, 1)], "maximize", trials=[Trial.from_json(row) for row in rows])
    assert again.ask().params == study.ask().params
    assert again.trials[0].created == study.trials[0].created


def test_frames_and_parquet(tmp_path: Path) -> None:
    pandas = needed("pandas", "frame")
    study = mixed_study()
    frame = study.export()
    assert list(frame.columns) == [
        "number",
        "state",
        "x",
        "n",
        "c",
        "params.value",
        "value",
        "noise_std",
        "corrects",
        "created",
        "finished",
        "started",
        "duration",
        "error",
        "note",
        "attributes",
        "transient",
    ]
    assert frame["value"].isna().sum() == sum(t.value is None for t in study.trials)
    assert frame["corrects"].dropna().tolist() == [4]
    assert str(frame["created"].dt.tz) == "UTC"
    study.export(tmp_path / "s.parquet")
    back = pandas.read_parquet(tmp_path / "s.parquet")
    np.testing.assert_array_equal(back["x"], frame["x"])
    assert [json.loads(cell) for cell in back["c"]] == [t.params["c"] for t in study.trials]
    assert len(nr.Study(MIXED, "maximize").export()) == 0


def test_formats() -> None:
    study = nr.Study([(0, 1)], "maximize")
    for bad, words in (("xlsx", "xlsx is not text"), ("CSV", "format is")):
        with pytest.raises(ConfigurationError, match=words):
            study.export(io.StringIO(), bad)  # type: ignore[call-overload]
    out = io.StringIO()
    study.export(out)
    assert len(list(csv.reader(io.StringIO(out.getvalue())))) == 1


def test_a_long_file_is_one_transaction(tmp_path: Path) -> None:
    storage = tmp_path / "s.db"
    study = nr.Study.create("s", [(0, 1)], "maximize", storage=storage)
    rows = "".join(f"{row / 5000},{row}\n" for row in range(5000))
    assert len(study.import_csv(io.StringIO("x0,value\n" + rows))) == 5000
    assert nr.Study.open("s", storage=storage).best.value == 4999


@pytest.mark.parametrize(
    "text",
    [
        "t;s;value;noise_std\n65,5;water;1,234;0,1\n",
        "t,s,value,noise_std\n65.5 °C,water,1.234 g,0.1\n",
        't,s,value,noise_std\n"65,5",water,"1,234","0,1"\n',
        "t\ts\tvalue\tnoise_std\n65,5°C\twater\t1,234\t0,1\n",
    ],
)
def test_numbers_as_people_write_them(text: str) -> None:
    study = nr.Study({"t": nr.Float(0, 100), "s": nr.Choice(["water", "dmf"])}, "maximize")
    (trial,) = study.import_csv(io.StringIO(text))
    assert (trial.params, trial.value, trial.noise_std) == ({"t": 65.5, "s": "water"}, 1.234, 0.1)


def test_remarks_go_through_files(tmp_path: Path) -> None:
    study = nr.Study({"x": nr.Float(0, 1), "note": nr.Float(0, 1)}, "maximize", nr.RandomSearch())
    study.tell(study.ask(), 1.0, note="cloudy, and late", attributes={"who": "anna", "cell": 4})
    study.tell(study.ask(), state="failed", reason="the pump stopped")
    study.export(tmp_path / "s.csv")
    again = nr.Study(study.space, "maximize", nr.RandomSearch())
    first, second = again.import_csv(tmp_path / "s.csv")
    assert (first.note, first.attributes) == ("cloudy, and late", {"who": "anna", "cell": 4})
    assert (second.state, second.error) == ("failed", "the pump stopped")
    with pytest.raises(TrialError, match=r"needs \['value', 'x', 'params.note'\]"):
        again.import_csv(io.StringIO("x,note,value\n0.1,0.2,3\n"))
    row = json.loads(study.export()["attributes"][0])
    assert row == {"who": "anna", "cell": 4}
    assert study.export()["duration"].notna().all()


LAB = {"t": nr.Float(0, 100), "s": nr.Choice(["water", "dmf"])}


def test_names_as_people_write_them(tmp_path: Path) -> None:
    """The value's own name, any case, and columns that are nobody's: those become attributes."""
    study = nr.Study(LAB, "maximize")
    study.annotate(attributes={"value_name": "Yield"})
    text = "Operator;YIELD; T ;S;Batch;remark\nAda;1,5;20;water;7;\n'=Bo;2,5;40;dmf;0,25;late\n"
    first, second = study.import_csv(io.StringIO(text))
    assert (first.value, first.params) == (1.5, {"t": 20.0, "s": "water"})
    assert first.attributes == {"Operator": "Ada", "Batch": 7}
    assert second.attributes == {"Operator": "=Bo", "Batch": 0.25, "remark": "late"}
    plain = nr.Study(LAB, "maximize")
    with pytest.raises(TrialError, match=r"lacks the columns \['value'\]"):
        plain.import_csv(io.StringIO(text))
    with pytest.raises(TrialError, match=r"lacks the columns \['t'\]"):  # no guess between two
        plain.import_csv(io.StringIO("T, T ,S,value\n1,2,dmf,1\n"))
    # a parameter's name comes before the value's other name, and exact names before similar ones
    odd = nr.Study({"yield": nr.Float(0, 9), "Value": nr.Float(0, 9)}, "maximize")
    odd.annotate(attributes={"value_name": "yield"})
    (trial,) = odd.import_csv(io.StringIO("yield,Value,value\n1,2,3\n"))
    assert (trial.params, trial.value) == ({"yield": 1.0, "Value": 2.0}, 3.0)


def test_a_file_imported_twice_is_noticed() -> None:
    study = nr.Study(LAB, "maximize")
    rows = ["t,s,value", "1,dmf,5", "1,dmf,5", "2,water,6"]
    study.import_csv(io.StringIO("\n".join(rows)))  # two equal rows of one file are replicates
    with pytest.raises(KnownRowsError, match=r'3 of 3 rows are in the study already: known="skip"'):
        study.import_csv(io.StringIO("\n".join(rows)))
    rows += ["3,dmf,7", "1,dmf,5"]  # the table has grown
    with pytest.raises(KnownRowsError) as caught:
        study.import_csv(io.StringIO("\n".join(rows)))
    assert (caught.value.known, caught.value.rows) == (3, 5)
    added = study.import_csv(io.StringIO("\n".join(rows)), known="skip")
    assert [(trial.params["t"], trial.value) for trial in added] == [(3.0, 7.0), (1.0, 5.0)]
    assert study.import_csv(io.StringIO("\n".join(rows)), known="skip") == []
    assert len(study.import_csv(io.StringIO("\n".join(rows)), known="add")) == 5
    with pytest.raises(ConfigurationError, match='known is one of "refuse", "skip", "add"'):
        study.import_csv(io.StringIO("\n".join(rows)), known="ask")  # type: ignore[arg-type]


@pytest.mark.parametrize("stored", [False, True])
def test_an_import_can_be_taken_back(stored: bool, tmp_path: Path) -> None:
    study = nr.Study(LAB, "maximize")
    if stored:
        study = nr.Study.create("lab", LAB, "maximize", storage=tmp_path / "s.db")
    study.add({"t": 50, "s": "dmf"}, 1.0)
    text = "t,s,value,state\n1,dmf,99,complete\n2,dmf,,failed\n3,dmf,,waiting\n4,dmf,,waiting\n"
    study.import_csv(io.StringIO(text), label="wrong units")
    assert study.ask().params["t"] == 3.0  # under way: it stays
    assert [len(trials) for trials in imports_of(study.trials).values()] == [4]
    gone = take_back(study, "wrong units")
    assert [trial.params["t"] for trial in gone] == [1.0, 2.0, 4.0]
    assert study.best.value == 1.0
    states = {trial.params["t"]: trial.state for trial in standing(study.trials)}
    assert states == {
        **dict.fromkeys((1.0, 2.0, 4.0), "withdrawn"),
        3.0: "running",
        50.0: "complete",
    }
    assert study.trials[1].value == 99.0  # on record
    with pytest.raises(TrialError, match="there is no import 'other' to take back"):
        take_back(study, "other")
    study.tell(3, 5.0)
    assert [trial.number for trial in take_back(study, "wrong units")] == [3]
    with pytest.raises(TrialError, match="the study has none"):
        take_back(study, "wrong units")
    assert len(study.import_csv(io.StringIO(text))) == 4  # it may come again
