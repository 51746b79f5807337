"""Studies made from others."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, SpaceError, StudyExistsError

SPACE = {"t": nr.Float(20, 90), "s": nr.Choice(["water", "dmf"])}


def f(p: dict[str, Any]) -> float:
    return -((p["t"] - 85) ** 2) / 100 + (p["s"] == "dmf")


def laboratory(storage: Any = None) -> nr.Study:
    study = nr.Study(SPACE, "maximize", seed=1, name="lab", storage=storage).run(f, 8)
    study.annotate(2, note="cloudy", attributes={"who": "anna"})
    study.correct(3, -7.0)
    study.tell(study.ask(), state="failed", reason="no gas")
    study.ask()
    study.enqueue({"t": 30, "s": "dmf"}, note="later")
    return study


def test_a_copy_has_every_decision() -> None:
    study = laboratory()
    copy = study.derived("copy")
    assert copy.replay().number is None
    assert [t.decision for t in copy.trials] == [t.decision for t in study.trials]
    assert [t.created for t in copy.trials] == [t.created for t in study.trials]
    assert [t.state for t in copy.trials].count("waiting") == 2  # nobody runs it here
    origin = copy.record().origin
    assert origin is not None
    assert (origin["study"], origin["was"]) == ("lab", {})
    assert study.record().origin is None
    with pytest.raises(StudyExistsError):
        study.derived("copy")


def test_a_range_is_widened_and_an_input_added(tmp_path: Path) -> None:
    study = laboratory()
    before = study.trials
    new = study.derived(
        "wide",
        parameters={"t": nr.Float(20, 120), "pH": nr.Float(3, 9, step=0.5)},
        past={"pH": 7},
        storage=tmp_path / "s.db",
        note="as agreed on Monday",
    )
    assert study.trials == before
    again = nr.Study.open("wide", storage=tmp_path / "s.db")
    assert list(again.space.parameters) == ["t", "s", "pH"]
    origin = again.record().origin
    assert origin is not None
    assert origin["numbers"] == [0, 1, 2, 4, 5, 6, 7, 8, 9, 11]
    assert set(origin["was"]) == {"space"}
    assert again.record().note == "as agreed on Monday"
    told = dict(zip(origin["numbers"], again.trials, strict=True))
    assert told[8].value == -7.0  # what the correction says
    assert (told[9].state, told[9].error) == ("failed", "no gas")
    assert (told[2].note, told[2].attributes) == ("cloudy", {"who": "anna"})
    assert {t.params["pH"] for t in again.trials} == {7.0}
    assert all(not t.decision.chosen for t in again.trials)
    assert again.ask().note == "later"
    trial = again.ask()
    assert trial.decision.model is not None  # the old values count: no initial design again
    again.tell(trial, f(trial.params))
    assert new.replay().number is None


def test_another_strategy_and_the_other_goal() -> None:
    study = laboratory()
    new = study.derived("ei", strategy=nr.LogEI(), seed=5, goal="minimize")
    assert (new.strategy, new.record().seed, new.goal) == (nr.LogEI(), 5, "minimize")
    assert new.best.value == min(t.value for t in new.trials if t.value is not None)
    second = new.derived("again", parameters={"t": nr.Float(0, 90)})
    origin = second.record().origin
    assert origin is not None
    assert origin["origin"]["study"] == "lab"


def test_vectors_and_lists() -> None:
    vector = nr.Study([(0, 1), (0, 2)], "minimize", nr.RandomSearch()).run(lambda x: x[0], 3)
    wide = vector.derived("wide", parameters={"x2": nr.Float(-1, 1)}, past={"x2": 0.5})
    assert wide.trials[0].params.tolist() == [*vector.trials[0].params.tolist(), 0.5]
    assert wide.ask().params.shape == (3,)
    rows = [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}]
    listed = nr.Study(nr.Candidates(rows), "minimize", nr.RandomSearch())
    listed.add(rows[0], 1.0)
    longer = listed.derived("longer", space=nr.Candidates([*rows, {"a": 3.0, "b": "x"}]))
    assert np.isclose(longer.trials[0].params["a"], 1.0)
    with pytest.raises(ConfigurationError, match="no ranges to change"):
        listed.derived("no", parameters={"a": nr.Float(0, 9)})


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"parameters": {"t": nr.Float(20, 60)}}, SpaceError, "does not fit the new space"),
        ({"parameters": {"pH": nr.Float(3, 9)}}, ConfigurationError, "say which, past="),
        ({"parameters": {"pH": nr.Float(3, 9)}, "past": {"pH": 1}}, SpaceError, "'pH': 1"),
        (
            {"parameters": {"t": nr.Float(0, 90)}, "past": {"s": "dmf"}},
            ConfigurationError,
            "no new inputs",
        ),
        ({"space": {"t": nr.Float(20, 90)}}, ConfigurationError, r"lacks \['s'\]"),
        ({"space": SPACE, "parameters": {}}, ConfigurationError, "not both"),
    ],
)
def test_what_cannot_be_derived(
    change: dict[str, Any], error: type[Exception], message: str
) -> None:
    study = laboratory()
    with pytest.raises(error, match=message):
        study.derived("new", **change)
