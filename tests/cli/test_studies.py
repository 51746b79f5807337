"""create, list, show, best, delete, upgrade."""

import re
from pathlib import Path

import pytest

import noregret as nr
from tests.cli.conftest import Shell


def test_create_takes_parameters_in_the_order_typed(shell: Shell) -> None:
    shell(
        "create s --int n 1 9 log --float x -5 5 --choice c red green --float y 1e-5 1e-1 log"
        " --goal minimize --seed 7"
    )
    study = nr.Study.open("s")
    expected = {
        "n": nr.Int(1, 9, log=True),
        "x": nr.Float(-5, 5),
        "c": nr.Choice(["red", "green"]),
        "y": nr.Float(1e-5, 1e-1, log=True),
    }
    assert list(study.space.parameters.items()) == list(expected.items())
    assert (study.goal, study.record().seed, study.strategy) == ("minimize", 7, nr.InsuredGPUCB())


def test_choices_that_are_numbers_are_numbers(shell: Shell) -> None:
    shell("create s --choice batch 32 64 --choice rate 0.1 1 --choice mixed 1 two --goal maximize")
    options = [parameter.options for parameter in nr.Study.open("s").space.parameters.values()]  # type: ignore[union-attr]
    assert options == [(32, 64), (0.1, 1.0), ("1", "two")]


def test_create_json(shell: Shell) -> None:
    document = shell(
        "create s --float x 0 1 --goal maximize --strategy rigorous --with noise_bound=0.1 --json"
    ).json
    assert document["study"] == "s"
    assert document["strategy"]["noise_bound"] == 0.1
    assert "one radius for all classes" in document["theorem"]
    assert nr.Study.open("s").strategy == nr.AdaptiveGPUCB.rigorous(noise_bound=0.1)


def test_a_width_that_is_no_bound_is_said_once(shell: Shell) -> None:
    assert (
        "not a confidence bound"
        in shell("create s --float x 0 1 --goal maximize --strategy paper").err
    )
    assert shell("ask").err == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("a --float x 0 1", "--goal maximize or --goal minimize"),
        ("a --goal maximize", "needs parameters"),
        ("a --float x 1 0 --goal maximize", "low < high"),
        ("a --float x 0 1 lin --goal maximize", "NAME LOW HIGH"),
        ("a --float x zero 1 --goal maximize", "must be a number"),
        ("--float x 0 1 a --goal maximize", "comes first"),
        ("a --int n 0.5 3 --goal maximize", "whole bounds"),
        ("a --float x 0 1 log --goal maximize", "log scale needs low > 0"),
        ("a --float x 0 inf --goal maximize", "finite"),
        ("a --choice c --goal maximize", "OPTION"),
        ("a --choice c one one --goal maximize", "twice"),
        ("a --float x 0 1 --float x 0 2 --goal maximize", "duplicate"),
        ("a --float x=y 0 1 --goal maximize", "NAME=VALUE"),
        ("'' --float x 0 1 --goal maximize", "printable"),
        ("'a\nb' --float x 0 1 --goal maximize", "printable"),
        ("a --float x 0 1 --goal best", "maximize"),
        ("a --float x 0 1 --goal maximize --seed -1", "--seed"),
        ("a --float x 0 1 --goal maximize --strategy magic", "choose one of insured"),
        ("a --float x 0 1 --goal maximize --strategy rigorous --with noise_bound=-1", "positive"),
        ("a --float x 0 1 --goal maximize --strategy rigorous --with noise=1", "no option 'noise'"),
        ("a --float x 0 1 --goal maximize --strategy random --with x=1", "it has none"),
        ("a --float x 0 1 --goal maximize --with delta=1", "--strategy"),
        ("a --float x 0 1 --goal maximize --strategy gp-ucb --with kernel=3", "kernel"),
        ("a --float x 0 1 --goal maximize --storage /nonexistent/folder/x.db", "folder"),
        ("a --float x 0 1 --goal maximize --storage mysql://h/d", "mysql is not supported"),
        ("a --float x 0 1 --goal maximize --frobnicate", "--frobnicate"),
    ],
)
def test_create_refuses(shell: Shell, words: str, expected: str) -> None:
    shell.fails(f"create {words}", expected)
    assert not Path("noregret.db").exists()


def test_a_name_is_taken_once(lab: Shell) -> None:
    lab.fails("create lab --float x 0 1 --goal maximize", "exists already")


def test_list(lab: Shell) -> None:
    lab("create other --float x 0 1 --goal minimize")
    lab("add -s other x=0.5 -3")
    header, *rows = lab("list").out.splitlines()
    assert header.split()[:2] == ["study", "goal"]
    assert [row.split()[0] for row in rows] == ["lab", "other"]
    assert (
        len(
            {row.index("-3") + len("-3") for row in rows[1:]} | {header.index("best") + len("best")}
        )
        == 1
    )  # to the right below its name
    studies = lab("list --json").json["studies"]
    assert [(each["name"], each["trials"], each["best"]) for each in studies] == [
        ("lab", 0, None),
        ("other", 1, -3.0),
    ]


def test_an_empty_database_and_none(shell: Shell) -> None:
    shell.fails("list", "no database noregret.db")
    shell.fails("ask", "noregret create")
    assert not Path("noregret.db").exists()  # looking makes none
    shell("create a --float x 0 1 --goal maximize")
    shell("delete a --yes")
    assert "no studies yet" in shell("list").out
    shell.fails("ask", "no study yet")


def test_a_file_that_is_no_database(shell: Shell) -> None:
    Path("notes.txt").write_text("my notes " * 200)
    shell.fails("list --storage notes.txt", "notes.txt")
    assert Path("notes.txt").read_text() == "my notes " * 200


def test_the_study_is_named_where_there_are_several(
    lab: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab("create other --float x 0 1 --goal minimize")
    lab.fails("ask", "2 studies (lab, other)", "--study")
    lab.fails("ask --study third", "no study named 'third'")
    assert lab("ask --study other --json").json["study"] == "other"
    assert (
        "noregret tell other 1 VALUE" in lab("ask -s other").out
    )  # the hint can be typed as it stands
    monkeypatch.setenv("NOREGRET_STUDY", "lab")
    assert lab("ask --json").json["study"] == "lab"


def test_the_storage_is_named_by_option_or_environment(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = shell("create a --float x 0 1 --goal maximize --storage 'my lab.db'").out
    assert said.endswith("next: noregret ask --storage 'my lab.db'\n")
    shell.fails("show", "no database")
    monkeypatch.setenv("NOREGRET_STORAGE", "my lab.db")
    assert "next: noregret ask\n" in shell("show").out
    assert not Path("noregret.db").exists()


def test_show(lab: Shell) -> None:
    lab("tell 0 1") if lab("ask") else None
    lab("add temperature=30 stirring=2 solvent=dmf")
    lab("ask --count 2")
    text = lab("show").out
    for expected in (
        "lab: maximize, 3 trials",
        "whole numbers 1 to 5",
        "water, dmf",
        "insured, seed",
        "2 under way",
        "enqueued",
        "tell 1 VALUE",
    ):
        assert expected in text
    document = lab("show --json").json
    assert [trial["state"] for trial in document["trials"]] == ["complete", "running", "running"]
    assert document["best"]["number"] == document["recommended"]["number"] == 0
    assert (document["complete"], document["running"], document["failed"]) == (1, 2, 0)


def test_show_one_trial(lab: Shell) -> None:
    lab("add temperature=30 stirring=2 solvent=dmf 4.5 --noise 0.25")
    text = lab("show 0").out
    assert "4.5" in text
    assert "0.25" in text
    assert "added" in text
    assert lab("show 0 --json").json["trial"]["params"] == {
        "temperature": 30.0,
        "stirring": 2,
        "solvent": "dmf",
    }
    lab.fails("show 1", "no trial 1")


def test_a_long_study_is_cut(shell: Shell) -> None:
    shell("create a --float x 0 1 --goal maximize --strategy random")
    study = nr.Study.open("a")
    for _ in range(23):
        study.tell(study.ask(), 1.0)
    assert "(3 earlier trials: --all shows them)" in shell("show").out
    assert len(shell("show --all").out.splitlines()) == len(shell("show").out.splitlines()) + 3 - 1


def test_best(lab: Shell) -> None:
    assert "best         none yet" in lab("show").out
    lab("add temperature=30 stirring=2 solvent=dmf 4.5")
    lab("add temperature=80 stirring=2 solvent=water 1.5")
    text = lab("show").out
    assert "best         4.5 at trial 0:  temperature=30 stirring=2 solvent=dmf" in text
    assert "too few values to say how far it scatters)" in text
    assert "left         how much better it could get is not known yet" in text
    document = lab("show --json").json
    assert document["left"] == {"gain": None, "chance": 0.95}
    assert document["predicted"]["std"] is document["predicted"]["repeat_std"] is None
    assert document["best"]["value"] == 4.5
    assert document["predicted"]["mean"] == pytest.approx(4.5, abs=1)
    assert document["certificate"] is None


def test_what_is_left_and_where_a_repeat_would_be(shell: Shell) -> None:
    shell("create a --float x 0 1 --goal minimize")
    for i in range(9):
        shell(f"add x={i / 8} {(i / 8 - 0.4) ** 2 + 0.02 * (-1) ** i}")
    document, text = shell("show --json").json, shell("show").out
    predicted, left = document["predicted"], document["left"]["gain"]
    assert predicted["repeat_std"] > predicted["std"] > 0
    assert 0 < left < 0.4
    assert f"left         at most {left:.3g} better than the recommended point, with a" in text
    assert " ± " in text
    mean, half = predicted["mean"], 1.645 * predicted["repeat_std"]
    said = re.search(r", 90% of repeats between (\S+) and (\S+)\)", text)
    assert said is not None
    assert [float(end) for end in said.groups()] == pytest.approx([mean - half, mean + half], 0.1)


def test_exact_values(shell: Shell) -> None:
    shell("create a --float x 0 1 --goal minimize --exact")
    assert shell("show a --json").json["strategy"]["noise_std"] == 0
    for x in (0.1, 0.5, 0.9):
        shell(f"add x={x} {(x - 0.4) ** 2}")
    assert "recommended  the same point  (0.01, values are exact)" in shell("show").out
    shell("create b --float x 0 1 --goal minimize --exact --strategy log-ei")
    assert shell("show b --json").json["strategy"]["type"] == "LogEI"


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_predictions_have_the_users_sign_and_certificates_a_condition(
    shell: Shell, goal: str
) -> None:
    shell(
        f"create a --float x 0 1 --goal {goal} --strategy rigorous --with noise_bound=0.1 --with"
        " norm_bound=20 --with offset=5"
    )
    for x, value in ((0.1, 5.1), (0.5, 5.3), (0.9, 5.2)):
        shell(f"add x={x} {value}")
    document = shell("show --json --delta 0.2").json
    assert document["predicted"]["mean"] == pytest.approx(5.2, abs=0.2)
    assert document["certificate"]["regret_bound"] > 0
    assert "probability at least 0.8" in document["certificate"]["condition"]
    assert document["certificate"]["refuted"] is False
    assert document["resolution"]["exact"] is True
    assert document["resolution"]["radius"] == pytest.approx(0.2, abs=1e-3)
    assert "certified    at most" in shell("show").out
    assert "resolution   A bump that reaches 0.2 of every range" in shell("show").out


def test_delete_asks(lab: Shell) -> None:
    lab.run("delete lab", typed="n\n")
    assert [each.name for each in nr.studies()] == ["lab"]
    lab.fails("delete lab --json", "--yes")
    lab.fails("delete other --yes", "no study named 'other'")
    answer = lab("delete lab", typed="y\n")
    assert "for good?" in answer.err
    assert [each.name for each in nr.studies()] == []


def test_delete_without_asking(lab: Shell) -> None:
    assert lab("delete lab --yes --json").json == {"deleted": "lab"}
    assert [each.name for each in nr.studies()] == []


def test_upgrade_of_a_current_database(lab: Shell) -> None:
    assert "already" in lab("database upgrade").out
    document = lab("database upgrade --json").json
    assert document["from"] == document["to"]


def test_derive(lab: Shell) -> None:
    for number in range(4):
        lab("ask")
        lab(f"tell {number} {number}")
    said = lab(
        "derive lab2 --study lab --float temperature 20 120 step=10 --float pH 3 9"
        " --past 'pH=6,5' --strategy log-ei --note wider"
    ).out
    assert said.startswith("study lab2 from lab: maximize, temperature 20 to 120, in steps of 10")
    assert "4 trials: 4 complete" in said
    document = lab("show --study lab2 --json").json
    assert {t["params"]["pH"] for t in document["trials"]} == {6.5}
    assert (document["strategy_name"], document["note"]) == ("log-ei", "wider")
    assert "made from    lab" in lab("show --study lab2").out
    copied = lab("derive copy --study lab --json").json
    assert (copied["origin"]["study"], copied["trials"]) == ("lab", 4)
    lab.fails(
        "derive lab3 --study lab --float pH 3 9",
        "give its value in the old trials, --past pH=VALUE",
    )
    lab.fails("derive lab --study lab2", "exists already")


def test_backup_copies_into_a_new_file(lab: Shell) -> None:
    assert "copied all studies to copy.db" in lab("database backup copy.db").out
    lab.fails("database backup copy.db", "exists already")
    assert lab("show --json --storage copy.db").json == lab("show --json").json


def test_recover_says_what_could_be_read(lab: Shell) -> None:
    assert "all that was found could be read" in lab("database recover").out
    (saved,) = lab("database recover --json").json["studies"]
    assert saved["strategy"]["type"] == "InsuredGPUCB"
    assert saved["seed"] == 0
