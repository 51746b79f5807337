"""import, export, replay."""

import csv
import io
import json
import os
from pathlib import Path

import pytest

import noregret as nr
from tests.cli.conftest import Shell


@pytest.fixture
def measured(lab: Shell) -> Shell:
    lab("add temperature=30 stirring=2 solvent=dmf 4.5")
    lab("ask")
    lab("tell 1 2.5 --noise 0.5")
    lab("ask")
    return lab


def test_export_to_standard_output(measured: Shell) -> None:
    rows = list(csv.DictReader(io.StringIO(measured("export").out)))
    assert [row["value"] for row in rows] == ["4.5", "2.5", ""]
    assert rows[0]["solvent"] == "dmf"
    assert [row["value"] for row in measured("export --json").json] == [4.5, 2.5, None]


@pytest.mark.parametrize("name", ["out.csv", "out.json", "out.parquet", "OUT.CSV"])
def test_export_to_a_file(measured: Shell, name: str) -> None:
    if name.endswith("parquet"):
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            if "CI" in os.environ:
                raise
            pytest.skip("needs pyarrow")
    document = measured(f"export {name} --json").json
    assert document == {
        "study": "lab",
        "file": name,
        "format": name.rpartition(".")[2].lower(),
        "trials": 3,
    }
    assert Path(name).stat().st_size > 100


def test_an_export_can_be_imported(measured: Shell) -> None:
    measured("export out.csv")
    measured(
        "create again --float temperature 20 90 --int stirring 1 5 --choice solvent water dmf"
        " --goal maximize"
    )
    assert len(measured("import out.csv -s again --json").json["trials"]) == 3
    first, second = (nr.Study.open(name).trials for name in ("lab", "again"))
    assert [trial.params for trial in first] == [trial.params for trial in second]
    assert [(trial.value, trial.noise_std) for trial in first] == [
        (trial.value, trial.noise_std) for trial in second
    ]


def test_import_from_standard_input(lab: Shell) -> None:
    assert (
        "added 1 trials"
        in lab("import -", typed="temperature,stirring,solvent,value\n30,2,dmf,7\n").out
    )
    assert nr.Study.open("lab").best.value == 7


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "lacks the columns"),
        ("temperature,value\n30,1\n", "lacks the columns"),
        ("temperature,stirring,solvent,value\n30,2,dmf,1\n30,2,milk,1\n", "milk"),
        ("temperature,stirring,solvent,value\n30,2,dmf,1\n30,2,dmf,high\n", "high"),
        ("temperature,stirring,solvent,value\n30,2,dmf,1\n300,2,dmf,1\n", "outside"),
        ("temperature,stirring,solvent,value\n30,2,dmf\n", "no value"),
    ],
)
def test_import_all_or_nothing(lab: Shell, content: str, expected: str) -> None:
    Path("m.csv").write_text(content)
    lab.fails("import m.csv", expected)
    assert nr.Study.open("lab").trials == []


def test_files_that_are_not_there(measured: Shell) -> None:
    measured.fails("import absent.csv", "absent.csv")
    measured.fails("export absent/out.csv", "absent/out.csv")
    measured.fails("export out.xlsx", ".csv, .json or .parquet")
    measured.fails("export --format parquet", "name a file")
    measured.fails("export --format csv --json", "name a file")
    Path("binary.csv").write_bytes(bytes(range(256)))
    measured.fails("import binary.csv", "not text in UTF-8")
    Path("quote.csv").write_text('temperature,stirring,solvent,value\n30,2,"dmf,1\n')
    measured.fails("import quote.csv", "cannot be read")


def test_replay(measured: Shell) -> None:
    assert "2 proposals derived again" in measured("replay").out
    assert measured("replay --json").json == {
        "study": "lab",
        "agrees": True,
        "agreed": 2,
        "differs": None,
    }


def test_replay_finds_a_point_that_was_changed(measured: Shell) -> None:
    import sqlite3

    with sqlite3.connect("noregret.db") as connection:
        (text,) = connection.execute(
            "SELECT params FROM noregret_trials WHERE number = 2"
        ).fetchone()
        params = json.loads(text) | {"temperature": 33.0}
        connection.execute(
            "UPDATE noregret_trials SET params = ? WHERE number = 2", [json.dumps(params)]
        )
    connection.close()
    answer = measured.run("replay")
    assert answer.code == 1
    assert "trial 2 is the first that differs" in answer.out
    answer = measured.run("replay --json")
    assert answer.code == 1
    assert answer.json["differs"]["number"] == 2
    assert answer.json["differs"]["recorded"]["temperature"] == 33.0
