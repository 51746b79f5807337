"""ask, tell, add, enqueue, correct, reclaim; import, export, replay."""

import csv
import io
import json
import re
from pathlib import Path

import pytest

import noregret as nr
from tests.cli.conftest import Shell
from tests.components import needed

POINT = "temperature=30 stirring=2 solvent=dmf"


def test_ask_gives_what_the_library_gives(lab: Shell) -> None:
    expected = nr.Study.open("lab").preview().params
    document = lab("ask --json").json
    assert document["study"] == "lab"
    (trial,) = document["trials"]
    assert trial["params"] == expected
    assert (trial["number"], trial["state"], trial["value"], trial["decision"]["source"]) == (
        0,
        "running",
        None,
        "initial",
    )


def test_ask_text_says_what_to_type_next(lab: Shell) -> None:
    lines = lab("ask").out.splitlines()
    assert lines[0].split() == ["trial", "temperature", "stirring", "solvent", "why"]
    assert lines[1].endswith("initial design")
    assert "measured:  noregret tell 0 VALUE" in lines
    assert "failed:    noregret tell 0 --failed" in lines


def test_ask_many_with_values_held(lab: Shell) -> None:
    trials = lab("ask --count 3 --fix solvent=dmf --fix temperature=40 --json").json["trials"]
    assert [trial["number"] for trial in trials] == [0, 1, 2]
    assert {(trial["params"]["solvent"], trial["params"]["temperature"]) for trial in trials} == {
        ("dmf", 40.0)
    }


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ask --count 0", "--count"),
        ("ask --fix pressure=1", "no parameter 'pressure'"),
        ("ask --fix temperature", "NAME=VALUE"),
        ("ask --fix temperature=1e9", "outside"),
        ("ask --fix temperature=hot", "number"),
        ("ask --fix solvent=milk", "milk"),
        ("ask --fix solvent=dmf --fix solvent=water", "given twice"),
        ("tell 0", "VALUE, or --failed"),
        ("tell 0 1 --failed", "VALUE, or --failed"),
        ("tell zero 0 1", "no study named 'zero'"),
        ("tell lab zero 1", "not a valid integer"),
        ("tell 0 high", "must be a number, got 'high'"),
        ("tell 0 1,500", "may mean 1.5 or 1500"),
        ("tell 0 1 --param temperature=999", "outside"),
        ("tell 0 1 --param pressure=1", "no parameter 'pressure'"),
        ("tell 0 1 --reason late", "a reason is for a trial that failed"),
        ("tell 0 1 --attribute who", "NAME=VALUE"),
        ("annotate 0", "give --note"),
        ("annotate 7 --note x", "no trial 7"),
        ("tell 0 nan", "finite"),
        ("tell 0 -inf", "finite"),
        ("tell 0 1 --noise -1", "positive"),
        ("tell 0 1 --noise nan", "finite"),
        ("tell 9 1", "no trial 9"),
        ("tell -1 1", "no trial -1"),
        ("tell 0 1 2", "unexpected extra argument"),
        ("tell 0 --faild", "--failed"),
        ("correct 0 1", "nothing to correct"),
        ("add 3", "NAME=VALUE"),
        ("add temperature=30 3", "missing"),
        ("add temperature=30 stirring=2.5 solvent=dmf 3", "whole number"),
        ("add temperature=30 stirring=2 solvent=dmf pressure=1 3", "no parameter 'pressure'"),
        (f"add {POINT} inf", "finite"),
        ("add temperature=30", "missing"),
        ("add", "missing temperature"),
        ("retry 7", "no trial 7"),
        ("retry --grace -1", "--grace"),
        ("retry --then forget", "retry"),
    ],
)
def test_mistakes_change_nothing(lab: Shell, words: str, expected: str) -> None:
    lab("ask")
    before = nr.Study.open("lab").trials
    lab.fails(words, expected)
    as_json = json.loads(lab.fails(f"{words} --json"))
    assert set(as_json) == {"error", "message"}
    assert expected in as_json["message"]
    assert nr.Study.open("lab").trials == before


def test_tell(lab: Shell) -> None:
    lab("ask --count 2")
    answer = lab("tell 0 -1.5e-3 --noise 0.25")
    assert answer.out.splitlines()[1:3] == ["the best so far", "still under way: trial 1"]
    trial = nr.Study.open("lab").trials[0]
    assert (trial.value, trial.noise_std) == (-0.0015, 0.25)
    document = lab("tell 1 -3 --json").json
    assert document["trial"]["value"] == -3.0
    assert document["best"]["number"] == 0
    lab.fails("tell 1 5", "the first tell stands")


def test_tell_withdrawn(lab: Shell) -> None:
    lab("ask")
    assert "trial 0: withdrawn at" in lab('tell 0 --withdrawn --note "no gas"').out
    shown = lab("show").out
    assert "1 withdrawn" in shown
    assert "no gas" in shown
    lab("ask")
    for words in ("--failed --withdrawn", "1.0 --withdrawn", ""):
        lab.fails(f"tell 1 {words}", "give a VALUE, or --failed, or --withdrawn")


def test_tell_failed(lab: Shell) -> None:
    lab("ask")
    assert "failed at" in lab("tell 0 --failed").out
    assert nr.Study.open("lab").trials[0].state == "failed"
    assert lab("ask --json").json["trials"][0]["number"] == 1


def test_numbers_after_two_dashes(lab: Shell) -> None:
    lab("ask")
    lab("tell -- 0 -2")
    assert nr.Study.open("lab").best.value == -2


def test_add(lab: Shell) -> None:
    assert lab(f"add {POINT} -4 --noise 0.5 --json").json["trial"]["value"] == -4.0
    (trial,) = nr.Study.open("lab").trials
    assert trial.params == {"temperature": 30.0, "stirring": 2, "solvent": "dmf"}
    assert (trial.value, trial.noise_std, trial.state) == (-4.0, 0.5, "complete")


def test_what_is_shown_can_be_typed(shell: Shell) -> None:
    shell("create s --float 'flow rate' 0 1 --choice gas 'dry air' argon --goal maximize")
    said = shell("add 'flow rate=0.25' 'gas=dry air'").out
    typed = said.splitlines()[0].removeprefix("trial 0 waits: ")
    assert typed == "'flow rate=0.25' 'gas=dry air'"
    shell(f"add {typed} 3")
    assert nr.Study.open("s").best.params == {"flow rate": 0.25, "gas": "dry air"}


def test_enqueued_points_come_first(lab: Shell) -> None:
    assert lab(f"add {POINT} --json").json["trial"]["state"] == "waiting"
    (trial,) = lab("ask --json").json["trials"]
    assert (trial["number"], trial["params"]["temperature"]) == (0, 30.0)


def test_correct(lab: Shell) -> None:
    lab(f"add {POINT} 612")
    lab("add temperature=50 stirring=1 solvent=water 50")
    trial = lab("correct 0 61.2 --json").json["trial"]
    assert (trial["corrects"], trial["decision"]["source"]) == (0, "correction")
    assert nr.Study.open("lab").best.value == 61.2
    lab("correct 0 --failed")
    assert nr.Study.open("lab").best.value == 50
    text = lab("show").out
    assert text.count("corrected") == 2
    assert "corrects trial" in text
    assert "2 trials: 1 complete, 1 failed" in text


def test_a_correction_keeps_the_noise(lab: Shell) -> None:
    lab(f"add {POINT} 612 --noise 0.5")
    assert "61.2 ± 0.5" in lab("correct 0 61.2").out
    assert lab("correct 0 62 --noise 0.1 --json").json["trial"]["noise_std"] == 0.1
    assert nr.Study.open("lab").correct(0, 63).noise_std is None  # as the call says
    lab.fails("correct 9 1", "there is no trial 9")


def test_reclaim(lab: Shell) -> None:
    lab("ask --count 2")
    assert (
        "no trial to take back" in lab("retry").out
    )  # nobody sends signs of life for an experiment by hand
    assert lab("retry 1 --json").json["trials"][0]["state"] == "waiting"
    assert lab("ask --json").json["trials"][0]["number"] == 1
    assert "marked failed" in lab("retry 0 1 --then fail").out
    assert [trial.state for trial in nr.Study.open("lab").trials] == ["failed", "failed"]


def test_predictions_are_shown_in_the_users_sign(shell: Shell) -> None:
    shell("create s --float x 0 1 --goal minimize")
    for x in (0.1, 0.3, 0.5, 0.7, 0.9):
        shell(f"add x={x} {100 + x}")
    said = shell("ask").out
    ends = re.search(r"model, expects ([\d.]+) to ([\d.]+) \(90%\)", said)
    assert ends is not None
    assert 99 < float(ends[1]) < float(ends[2]) < 101.5


# -- all at once --


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
        needed("pyarrow", "frame")
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


def test_an_import_is_noticed_and_taken_back(lab: Shell) -> None:
    rows = "Temperature,stirring,solvent,value,operator\n30,2,dmf,7,anna\n"
    Path("my table.csv").write_text(rows)
    said = lab("import 'my table.csv'").out
    assert "stored as attributes: operator" in said
    assert "noregret import 'my table.csv' --undo" in said
    lab.fails("import 'my table.csv'", "1 of 1 rows are in the study already: --known skip")
    Path("my table.csv").write_text(f"{rows}40,2,dmf,8,bo\n")
    assert "added 1 trials" in lab("import 'my table.csv' --known skip").out
    assert "took back 1 trials of my table.csv, 2" in lab("import 'my table.csv' --undo").out
    assert nr.Study.open("lab").best.value == 7  # the latest import of the file
    lab("import 'my table.csv' --undo")
    lab.fails("import 'my table.csv' --undo", "no import of my table.csv is left to take back")


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
    measured.fails("export out.ods", ".csv, .json, .parquet or .xlsx")
    measured.fails("export --format parquet", "name a file")
    measured.fails("export --format csv --json", "name a file")
    Path("binary.csv").write_bytes(bytes(range(256)))
    measured.fails("import binary.csv", "not text in UTF-8")
    Path("quote.csv").write_text('temperature,stirring,solvent,value\n30,2,"dmf,1\n')
    measured.fails("import quote.csv", "cannot be read")


def test_replay(measured: Shell) -> None:
    assert "2 proposals derived again" in measured("research replay").out
    assert measured("research replay --json").json == {
        "study": "lab",
        "agrees": True,
        "agreed": 2,
        "differs": None,
        "skipped": 0,
        "since": 0,
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
    answer = measured.run("research replay")
    assert answer.code == 1
    assert "trial 2 is the first that differs" in answer.out
    answer = measured.run("research replay --json")
    assert answer.code == 1
    assert answer.json["differs"]["number"] == 2
    assert answer.json["differs"]["recorded"]["temperature"] == 33.0


def test_what_was_really_run(lab: Shell) -> None:
    asked = lab("ask --json").json["trials"][0]["params"]
    said = lab("tell 0 '41,5 %' --param 'temperature=65,5 °C' --note 'second batch'").out
    assert said.startswith("trial 0: 41.5 at temperature=65.5")
    assert "\nasked for: temperature=" in said
    trial = nr.Study.open("lab").trials[0]
    assert trial.params == {**asked, "temperature": 65.5}
    assert (trial.asked, trial.value, trial.note) == (asked, 41.5, "second batch")
    shown = lab("show 0").out
    for word in ("asked for", "second batch", "took", "begun (UTC)"):
        assert word in shown
    document = lab("correct 0 40 --param temperature=64 --json").json["trial"]
    assert (document["params"]["temperature"], document["asked"]) == (64.0, asked)
    lab("research replay")


def test_notes_attributes_and_reasons(lab: Shell) -> None:
    lab("ask --count 3")
    lab("tell 0 --failed --reason 'the pump stopped' --attribute who=anna --attribute cell=4")
    lab("tell 1 3 --attribute who=ben")
    lab(f"add {POINT} 4 --note 'last year' --attribute who=anna")
    lab(f"add {POINT} --note later")
    numbers = [t["number"] for t in lab("show --where who=anna --json").json["trials"]]
    assert numbers == [0, 3]
    numbers = [t["number"] for t in lab("show --where cell=4 --json").json["trials"]]
    assert numbers == [0]
    numbers = [t["number"] for t in lab("show --state failed --about PUMP --json").json["trials"]]
    assert numbers == [0]
    table = lab("show").out
    assert "the pump stopped; who=anna cell=4" in table
    assert "last year; who=anna" in table
    assert lab("annotate 1 --note better --attribute who=null").out == "trial 1: better\n"
    assert lab("annotate --note 'the big one'").out == "study lab: the big one\n"
    document = lab("show --json").json
    assert (document["note"], document["trials"][1]["attributes"]) == ("the big one", {})
    assert "note         the big one" in lab("show").out
    lab("export lab.csv")
    assert "the pump stopped" in Path("lab.csv").read_text(encoding="utf-8")


def test_a_resolution_is_typed_and_kept(shell: Shell) -> None:
    said = shell(
        "create s --float t '20,0' 90 step=5 --float x 0 1 digits=2 --int n 0 100 step=10"
        " --levels speed slow middle fast --goal maximize"
    ).out
    assert "t 20 to 90, in steps of 5; x 0 to 1, in steps of 0.01" in said
    assert "n whole numbers 0 to 100, in steps of 10; speed slow < middle < fast" in said
    for number in range(8):
        (trial,) = shell("ask --json").json["trials"]
        assert trial["params"]["t"] % 5 == 0
        assert trial["params"]["n"] % 10 == 0
        shell(f"tell {number} {trial['params']['t']}")
    shell.fails("create u --float t 0 1 step=0.3 --goal maximize", "write high=0.9 or high=1.2")
    shell.fails(
        "create u --int t 0 4 digits=1 --goal maximize", "--int NAME LOW HIGH [log] [step=…]"
    )
    shell.fails("create u --float t 0 1 steps=1 --goal maximize", "[step=…|digits=…]")
    text = 'goal = "maximize"\n[parameters]\nt = {type = "float", low = 0, high = 1, digits = 1}\n'
    levels = 's = {type = "choice", options = ["a", "b", "c"], ordered = true}\n'
    Path("v.toml").write_text(text + levels, encoding="utf-8")
    shell("create v --file v.toml")
    assert nr.Study.open("v").space.dimension == 2


def test_a_list_of_designs_from_a_spreadsheet(shell: Shell) -> None:
    Path("c.csv").write_text("t;solvent\n20,5 °C;water\n40,5 °C;dmf\n", encoding="utf-8")
    shell("create s --candidates c.csv --goal maximize")
    rows = nr.Study.open("s").space.rows  # type: ignore[union-attr]
    assert tuple(rows) == ({"t": 20.5, "solvent": "water"}, {"t": 40.5, "solvent": "dmf"})
    Path("d.csv").write_text("t,solvent\n20,water\n40\n", encoding="utf-8")
    shell.fails("create u --candidates d.csv --goal maximize", "has 1 values")


def test_a_failure_that_is_not_the_points_fault_is_tried_again(shell: Shell) -> None:
    shell("create s --float x 0 1 --goal maximize --strategy random")
    shell("ask")
    said = shell('tell 0 --failed --transient --reason "power cut"').out
    assert "trial 0: failed, not the point's fault, at x=" in said
    assert "again: noregret retry 0" in said
    assert "failed by chance" in shell("show").out
    point = nr.Study.open("s").trials[0].params
    assert "trial 0 again" in shell("retry 0").out
    assert shell("ask --json").json["trials"][0]["params"] == point
    said = shell("show").out
    assert "retried" in said
    assert "trial 0 again" in said
    shell("tell 1 0.5")
    shell("correct 1 --failed --transient")
    assert nr.Study.open("s").trials[2].transient
    shell("ask")
    shell.fails("tell 3 1 --transient", "transient is for a trial that failed")


def test_texts_that_cannot_be_stored_end_in_a_line(lab: Shell) -> None:
    lab("ask")
    lab.fails("tell 0 1.5 --note 'caf\udce9'", "a note holds")
    lab.fails("show --study 'caf\udce9'", "none that the database holds")
    assert lab("show --json").json["trials"][0]["state"] == "running"


@pytest.mark.parametrize(
    "text", ["1/2", "5 e3", "2–3", "0x10", "5o", "1_000", "41 g", "1.500,5", "nan"]
)
def test_a_number_in_doubt_is_refused_wherever_it_is_typed(lab: Shell, text: str) -> None:
    units = '{"temperature": "°C"}'
    lab(f"annotate --attribute unit=mg --attribute 'units={units}'")
    lab("ask")
    before = nr.Study.open("lab").trials
    for words in (
        f'tell 0 "{text}"',
        f'tell 0 1 --noise "{text}"',
        f'tell 0 "1 ± {text}"',
        f'tell 0 1 --param "temperature={text}"',
        f'ask --fix "temperature={text}"',
        f'add "temperature={text}" stirring=2 solvent=dmf',
        f'add {POINT} "{text}"',
        f'create other --float x 0 "{text.replace(" g", "±1")}" --goal maximize',
    ):
        assert "got " in lab.fails(words, "number")
    assert nr.Study.open("lab").trials == before
    lab.fails("tell 0 '41 g'", "its unit is g where mg is meant")


def test_what_was_understood_is_echoed(lab: Shell) -> None:
    lab("annotate --attribute unit=%")
    lab("ask --count 3")
    assert lab("tell 0 '41,5 ± 0,2 %'").out.startswith("trial 0: 41.5 ± 0.2 % at ")
    assert lab("tell 1 \"1'234'567,25\"").out.startswith("trial 1: 1234567.25 % at ")
    assert lab("correct 1 '−5×10³' --noise '1 %'").out.startswith("trial 3: -5000 ± 1 % at ")
    trials = nr.Study.open("lab").trials
    assert [(t.value, t.noise_std) for t in trials[:2]] == [(41.5, 0.2), (1234567.25, None)]
    lab.fails("tell 2 2±1 --noise 1", "its noise twice")
