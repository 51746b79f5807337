"""Limits and context in the shell."""

import sys
from pathlib import Path

import pytest

import noregret as nr
from noregret.cli.definition import limits_of
from noregret.errors import ConfigurationError
from tests.cli.conftest import Shell


@pytest.fixture
def lab(shell: Shell) -> Shell:
    shell(
        "create lab --float dose 0 1 --goal maximize --outcome 'toxicity<=0.3'"
        " --outcome 'purity >= 50'"
    )
    return shell


def test_limits_are_typed(lab: Shell) -> None:
    found = lab("show --json").json
    assert found["outcomes"] == {"toxicity": {"at_most": 0.3}, "purity": {"at_least": 50.0}}
    assert "limits       toxicity ≤ 0.3; purity ≥ 50" in lab("show").out


def test_outcomes_are_told_and_shown(lab: Shell) -> None:
    asked = lab("ask").out
    assert "tell 0 VALUE --outcome toxicity=… --outcome purity=…" in asked
    said = lab("tell 0 4.5 --outcome toxicity=0.5±0.02 --outcome purity=60").out
    assert "nothing feasible yet" in said
    assert "nothing feasible yet" in lab("show").out
    lab("ask")
    lab("tell 1 --outcome toxicity=0,9 --outcome purity=10")  # there is no value
    lab("add dose=0.1 1.5 --outcome toxicity=0.1 --outcome purity=70")
    shown = lab("show").out
    assert "within limits" in shown
    assert "best         1.5" in shown
    lab("correct 2 2.5")
    found = lab("show --json").json
    assert found["best"]["value"] == 2.5
    assert found["best"]["outcomes"] == {"toxicity": 0.1, "purity": 70.0}
    assert found["feasibility"]["state"] == "feasible"
    assert found["trials"][0]["outcome_noise"] == {"toxicity": 0.02}
    assert "toxicity 0.1, purity 70" in lab("show 3").out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tell 0 4.5", "add --outcome toxicity=VALUE --outcome purity=VALUE"),
        ("add dose=0.1 4.5 --outcome purity=60", "add --outcome toxicity=VALUE"),
        ("tell 0 --outcome purity=10", "missing toxicity, unknown none"),
        ("tell 0 4.5 --outcome colour=1", "there is no outcome 'colour'"),
        ("tell 0 4.5 --outcome toxicity=low", "toxicity"),
        ("tell 0 --outcome toxicity=0.1 --outcome purity=60", "may be missing"),
    ],
)
def test_bad_outcomes_are_refused_and_nothing_is_lost(lab: Shell, line: str, said: str) -> None:
    lab("ask")
    lab.fails(line, said)
    assert lab("show --json").json["trials"][0]["state"] == "running"


def test_a_program_prints_its_outcomes(lab: Shell, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(
        "import json, sys\nx = float(sys.argv[1])\n"
        'print(json.dumps({"value": x, "toxicity": x * x, "purity": 60}))\n'
    )
    lab(f"run --command '{sys.executable} {program} {{dose}}' --trials 3")
    trials = lab("show --json").json["trials"]
    assert [trial["state"] for trial in trials] == ["complete"] * 3
    assert all(trial["outcomes"]["purity"] == 60 for trial in trials)


def test_context_is_typed(shell: Shell) -> None:
    shell("create heat --float set 20 60 --float outside -10 30 --goal minimize --context outside")
    shell.fails("ask", "missing outside: add --context outside=VALUE")
    shell.fails("ask --context set=30 --context outside=3", "set is not a context parameter")
    for number in range(4):
        shell(f"ask --context outside={4 * number}")
        shell(f"tell {number} {number}")
    found = shell("show --json").json
    assert found["context"] == ["outside"]
    assert [trial["params"]["outside"] for trial in found["trials"]] == [0, 4, 8, 12]
    assert "depends on outside" in shell("show").out
    shell.fails("ask --context outside=31", "31")


def test_a_derived_study_has_other_limits(lab: Shell) -> None:
    lab("add dose=0.1 1.5 --outcome toxicity=0.1 --outcome purity=70")
    lab("derive strict --study lab --outcome 'toxicity<=0.05'")
    found = lab("show --study strict --json").json
    assert found["outcomes"] == {"toxicity": {"at_most": 0.05}}
    assert found["trials"][0]["feasible"] is False


def test_limits_of_a_file() -> None:
    limits = limits_of(["c ≥ 1,5"], {"a": {"at_most": 1}, "b": {"at_least": 2}})
    assert limits == {"a": nr.AtMost(1), "b": nr.AtLeast(2), "c": nr.AtLeast(1.5)}
    for wrong in ({"a": 1}, {"a": {"below": 1}}, [1]):
        with pytest.raises(ConfigurationError):
            limits_of([], wrong)
    for word in ("toxicity", "a=1", "toxicity<0.3"):
        with pytest.raises(ConfigurationError, match="write an outcome's limit"):
            limits_of([word])


def test_of_two_limits_on_one_outcome_none_is_lost(shell: Shell) -> None:
    typed = "create oven --float x 0 1 --goal minimize --outcome 'temp>=20' --outcome 'temp<=80'"
    shell.fails(typed, "temp has two limits", "temp_low")
    with pytest.raises(ConfigurationError, match="temp has two limits, ≤ 80 and ≥ 20"):
        limits_of(["temp>=20"], {"temp": {"at_most": 80}})
