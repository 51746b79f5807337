"""Studies from files."""

import json
import os
from pathlib import Path

import pytest

import noregret as nr
from noregret.gp import Matern
from tests.cli.conftest import Shell

TOML = """
goal = "minimize"
seed = 3
[strategy]
name = "rigorous"
noise_bound = 0.1
kernel = { type = "Matern", nu = 2.5 }
[parameters]
rate = { type = "float", low = 1e-5, high = 0.1, log = true }
layers = { type = "int", low = 1, high = 8 }
optimizer = { type = "choice", options = ["sgd", true] }
"""
SPACE = {"parameters": {"x": {"type": "float", "low": 0, "high": 1}}, "goal": "maximize"}


def test_toml(shell: Shell) -> None:
    Path("s.toml").write_text(TOML)
    shell("create a --file s.toml")
    study = nr.Study.open("a")
    assert study.space == nr.Space(
        {
            "rate": nr.Float(1e-5, 0.1, log=True),
            "layers": nr.Int(1, 8),
            "optimizer": nr.Choice(["sgd", True]),
        }
    )
    assert (study.goal, study.record().seed) == ("minimize", 3)
    assert study.strategy == nr.AdaptiveGPUCB.rigorous(0.1, kernel=Matern(2.5))


def test_flags_win_over_the_file(shell: Shell) -> None:
    Path("s.toml").write_text(TOML)
    shell("create a --file s.toml --goal maximize --seed 4 --strategy log-ei")
    study = nr.Study.open("a")
    assert (study.goal, study.record().seed, study.strategy) == ("maximize", 4, nr.LogEI())


def test_json_and_a_strategy_in_full(shell: Shell) -> None:
    Path("s.json").write_text(json.dumps({**SPACE, "strategy": {"type": "GPUCB", "width": 1.0}}))
    shell("create a --file s.json")
    assert nr.Study.open("a").strategy == nr.GPUCB(width=1.0)


def test_candidates(shell: Shell) -> None:
    Path("designs.csv").write_text("temperature, solvent\n20, water\n40, dmf\n\n60, water\n")
    shell("create a --candidates designs.csv --goal maximize")
    rows = [
        {"temperature": t, "solvent": s} for t, s in ((20, "water"), (40, "dmf"), (60, "water"))
    ]
    assert nr.Study.open("a").space == nr.Candidates(rows)
    trial = shell("ask --fix temperature=40 --json").json["trials"][0]
    assert trial["params"] == {"temperature": 40, "solvent": "dmf"}
    shell.fails("add temperature=40 solvent=water", "not one of the 3 candidates")
    (shell.folder / "in").mkdir()
    (shell.folder / "in" / "c.csv").write_text("x\n1\n2\n")
    (shell.folder / "in" / "s.toml").write_text('goal = "minimize"\ncandidates = "c.csv"')
    shell("create b --file in/s.toml")  # beside the file
    assert nr.Study.open("b").space == nr.Candidates([{"x": 1}, {"x": 2}])


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("s.toml", "x = [", "not valid TOML"),
        ("s.json", "{", "not valid JSON"),
        ("s.json", "[" * 100_000, "not valid JSON"),
        ("s.json", "[1]", "JSON object"),
        ("s.yaml", "", ".toml or .json"),
        ("s.toml", "", "--goal"),
        ("s.toml", 'goal = "maximize"', "needs parameters"),
        ("s.toml", 'goal = "maximize"\nspace = 3', "unknown key 'space'"),
        ("s.toml", 'goal = "maximize"\nparameters = 3', "must be a table"),
        ("s.toml", 'goal = "maximize"\nparameters.x = 3', "needs a type"),
        ("s.toml", 'goal = "maximize"\nparameters.x = {type = "real"}', "needs a type"),
        (
            "s.toml",
            'goal = "maximize"\nparameters.x = {type = "float", low = 0}',
            "high is missing",
        ),
        (
            "s.toml",
            'goal = "maximize"\nparameters.x = {type = "float", low = 0, high = 1, steps = 1}',
            "unknown steps; a float has low, high",
        ),
        (
            "s.toml",
            'goal = "maximize"\nparameters.x = {type = "float", low = "0", high = 1}',
            "parameter 'x'",
        ),
        (
            "s.toml",
            'goal = "maximize"\nparameters.x = {type = "choice", options = "abc"}',
            "list of options",
        ),
        (
            "s.toml",
            'goal = "maximize"\nparameters.x = {type = "choice", options = [[1], [2]]}',
            "parameter 'x'",
        ),
        ("s.json", json.dumps({**SPACE, "goal": "up"}), "got 'up'"),
        ("s.json", json.dumps({**SPACE, "seed": "one"}), "seed"),
        ("s.json", json.dumps({**SPACE, "strategy": 3}), "a strategy is a name"),
        ("s.json", json.dumps({**SPACE, "strategy": "magic"}), "no strategy 'magic'"),
        ("s.json", json.dumps({**SPACE, "strategy": {"name": ["a"]}}), "no strategy a"),
        (
            "s.json",
            json.dumps({**SPACE, "strategy": {"type": "Matern", "nu": 1.5}}),
            "not a strategy",
        ),
        ("s.json", json.dumps({**SPACE, "strategy": {"type": "GPUCB", "foo": 1}}), "foo"),
        (
            "s.json",
            json.dumps({**SPACE, "strategy": {"name": "gp-ucb", "kernel": {"type": "os.system"}}}),
            "unknown type",
        ),
        ("s.json", json.dumps({**SPACE, "candidates": [{"x": 1}]}), "given twice"),
        (
            "s.json",
            json.dumps({"goal": "maximize", "candidates": "absent.csv"}),
            "cannot read absent.csv",
        ),
        ("s.json", json.dumps({"goal": "maximize", "candidates": 3}), "candidates"),
    ],
)
def test_files_that_cannot_be_read(shell: Shell, name: str, content: str, expected: str) -> None:
    Path(name).write_text(content)
    shell.fails(f"create a --file {name}", expected)


def test_unreadable(shell: Shell) -> None:
    shell.fails("create a --file absent.toml", "cannot read absent.toml")
    Path("folder.toml").mkdir()
    shell.fails("create a --file folder.toml", "cannot read folder.toml")
    Path("binary.toml").write_bytes(b"\xff\xfe\x00")
    shell.fails("create a --file binary.toml", "not a text file")
    if os.getuid() != 0:  # root may read everything
        Path("secret.toml").touch(mode=0o000)
        shell.fails("create a --file secret.toml", "cannot read secret.toml")


@pytest.mark.parametrize(
    ("content", "expected"),
    [("", "at least one line"), ("a,b\n", "at least one line"), ("a,b\n1\n", "has 1 values")],
)
def test_bad_lists_of_candidates(shell: Shell, content: str, expected: str) -> None:
    Path("c.csv").write_text(content)
    shell.fails("create a --candidates c.csv --goal maximize", expected)


def test_what_does_not_fit_this_space_is_refused_at_once(shell: Shell) -> None:
    shell.fails(
        "create a --float x 0 1 --float y 0 1 --float z 0 1 --goal maximize --strategy rigorous"
        " --with noise_bound=0.1 --with 'lengthscales=[0.5, 0.5]'",
        "2 entries",
    )
