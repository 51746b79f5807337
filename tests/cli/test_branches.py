"""Inputs that exist only for some options, from the shell."""

from pathlib import Path
from typing import Any

import noregret as nr
from noregret.space import ActiveWhen
from tests.cli.conftest import Shell

CREATE = (
    "create lab --float lr 0 1 --choice model svm forest none --float C 0.1 10 log"
    " --int trees 1 9 --only 'C model=svm' --only 'trees model=forest' --goal maximize"
)


def test_a_study_with_branches(shell: Shell) -> None:
    shell(CREATE)
    study: Any = nr.Study.open("lab", storage="noregret.db")
    assert study.space.branches == (
        ActiveWhen("C", "model", ("svm",)),
        ActiveWhen("trees", "model", ("forest",)),
    )
    for value in range(6):
        shell("ask")
        shell(f"tell {value} {value / 7}")
    shown = shell("show").out
    assert "exists       C only for model=svm" in shown
    for trial in nr.Study.open("lab", storage="noregret.db").trials:
        if trial.params["model"] == "none":
            assert trial.params["trees"] == 5
    derived = shell("derive other --study lab --float lr 0 2").out
    assert "trees only for model=forest" in derived


NESTED = (
    "create lab --choice model svm forest --float C 0 1 --choice kernel linear rbf"
    " --float gamma 0 1 --int trees 1 9 --only 'C model=svm' --only 'kernel model=svm'"
    " --only 'gamma kernel=rbf' --only 'trees model=forest' --linear 'C + gamma <= 1'"
    " --goal maximize --seed 3"
)


def test_branches_inside_branches_and_a_constraint(shell: Shell) -> None:
    """Made, asked, added, exported, imported and replayed by commands alone."""
    shell(NESTED)
    shown = shell("show").out
    assert "gamma only for kernel=rbf" in shown
    assert "C + gamma <= 1" in shown
    for value in range(8):
        shell("ask")
        shell(f"tell {value} {value / 7}")
    shell("add model=svm C=0.9 kernel=linear 2")
    assert "C + gamma <= 1" in shell.fails("add model=svm C=0.9 kernel=rbf gamma=0.5 2")
    assert "missing" in shell.fails("add model=svm C=0.9 kernel=rbf 2")
    study: Any = nr.Study.open("lab", storage="noregret.db")
    for trial in study.trials:
        active = study.space.active(trial.params)
        assert active.get("C", 0) + active.get("gamma", 0) <= 1 + 1e-9
    assert study.replay().number is None
    table = shell("show").out.splitlines()
    row = next(line for line in table if "linear" in line and "0.9" in line)
    assert "rbf" not in row
    shell("export rows.csv")
    shell(NESTED.replace("create lab", "create again"))
    shell("import rows.csv --study again")
    again: Any = nr.Study.open("again", storage="noregret.db")
    assert [t.params for t in again.trials] == [t.params for t in study.trials]
    shell("export rows.json --study lab")
    assert "gamma" in Path("rows.json").read_text(encoding="utf-8")


def test_mistakes(shell: Shell) -> None:
    assert "no option" in shell.fails(CREATE.replace("model=svm", "model=tree"))
    assert "where an input exists" in shell.fails(CREATE.replace("C model=svm", "C lr=svm"))
    assert "can exist only" in shell.fails(CREATE.replace("C model=svm", "D model=svm"))
    shell(CREATE)
    assert "when a study is made" in shell.fails("derive b --study lab --only 'C model=svm'")
