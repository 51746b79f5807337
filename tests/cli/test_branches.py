"""Inputs that exist only for some options, from the shell."""

from typing import Any

import noregret as nr
from noregret.space import Only
from tests.cli.conftest import Shell

CREATE = (
    "create lab --float lr 0 1 --choice model svm forest none --float C 0.1 10 log"
    " --int trees 1 9 --only 'C model=svm' --only 'trees model=forest' --goal maximize"
)


def test_a_study_with_branches(shell: Shell) -> None:
    shell(CREATE)
    study: Any = nr.Study.open("lab", storage="noregret.db")
    assert study.space.branches == (
        Only("C", "model", ("svm",)),
        Only("trees", "model", ("forest",)),
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


def test_mistakes(shell: Shell) -> None:
    assert "no option" in shell.fails(CREATE.replace("model=svm", "model=tree"))
    assert "where an input exists" in shell.fails(CREATE.replace("C model=svm", "C lr=svm"))
    assert "can exist only" in shell.fails(CREATE.replace("C model=svm", "D model=svm"))
    shell(CREATE)
    assert "when a study is made" in shell.fails("derive b --study lab --only 'C model=svm'")
