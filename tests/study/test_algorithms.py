"""Which version of a strategy's rule proposed a point: it is stored, said and respected."""

import json
import sqlite3
from dataclasses import dataclass
from typing import ClassVar

import pytest

import noregret as nr
from noregret.storage import codec
from noregret.strategies import algorithm_of, register
from noregret.study import algorithms
from tests.cli.conftest import Shell
from tests.cli.conftest import shell as shell  # a fixture


@register
@dataclass(frozen=True)
class Numbered(nr.RandomSearch):
    """A strategy with a rule that changes."""

    algorithm: ClassVar[int] = 1


@register
@dataclass(frozen=True)
class Named(nr.RandomSearch):
    """Of which an algorithm is a setting."""

    algorithm: str = "plain"


def test_the_number_is_stored_with_the_settings() -> None:
    assert codec.to_json(nr.InsuredGPUCB())["algorithm"] == nr.InsuredGPUCB.algorithm
    for strategy in (nr.InsuredGPUCB(), nr.LogEI(), Numbered(), Named("other")):
        assert codec.from_json(json.loads(json.dumps(codec.to_json(strategy)))) == strategy
    assert codec.from_json({"type": "InsuredGPUCB", "algorithm": 99}) == nr.InsuredGPUCB()
    assert algorithm_of(Named("other")) == 0
    # a change of the inner strategy's rule is one of the outer's
    assert algorithm_of(nr.Subspace()) == 1 + algorithm_of(nr.InsuredGPUCB())


def test_a_study_of_an_older_algorithm_goes_on_by_the_newer(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", "noregret")
    study = nr.Study.create("lab", {"x": nr.Float(0, 1)}, "maximize", Numbered())
    for value in range(3):
        study.tell(study.ask(), float(value))
    assert algorithms(study.trials) == [(0, 1)]
    assert "algorithm" not in shell("show").out
    monkeypatch.setattr(Numbered, "algorithm", 2)
    study = nr.Study.open("lab")
    assert "algorithm    1 from trial 0 on, 2 from the next one on" in shell("show").out
    assert (study.replay().agreed, study.replay().skipped, study.replay().since) == (0, 3, 3)
    assert caplog.records == []
    study.ask(2)
    assert [record.getMessage() for record in caplog.records] == [
        "study 'lab': its earlier trials were proposed by algorithm 1 of Numbered, from trial 3 on"
        " algorithm 2 decides, of the installed noregret; replay can derive proposals from there on"
    ]
    assert algorithms(nr.Study.open("lab").trials) == [(0, 1), (3, 2)]
    assert shell("show --json").json["algorithms"] == [[0, 1], [3, 2]]
    answer = shell("research replay")
    assert "2 proposals derived again, all as they are recorded" in answer.out
    assert "3 were made by another version of the strategy" in answer.out
    assert "from trial 3 on, all can" in answer.out
    # what can be derived still has to be what is recorded
    connection = sqlite3.connect(shell.folder / "noregret.db")
    connection.execute(
        """UPDATE noregret_trials SET params = '{"x": 0.5}' WHERE number IN (1, 4)"""
    )
    connection.commit()
    connection.close()
    differs = nr.Study.open("lab").replay()
    assert (differs.number, differs.agreed, differs.skipped) == (4, 1, 3)
