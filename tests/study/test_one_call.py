"""minimize and maximize: nothing is lost, whatever ends them; open or create in one call."""

import inspect
import logging
import re
import threading
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.errors import ConfigurationError, StudyExistsError

SPACE = {"x": nr.Float(0, 1)}
CHEAP = nr.RandomSearch()


class Ending:
    """A function that ends a run at its nth call."""

    def __init__(self, error: BaseException, after: int) -> None:
        self.error, self.left = error, after

    def __call__(self, p: dict[str, Any]) -> float:
        self.left -= 1
        if self.left < 0:
            raise self.error
        return float(p["x"])


@pytest.mark.parametrize("error", [RuntimeError("no power"), KeyboardInterrupt()])
def test_the_study_comes_with_the_error(error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        nr.minimize(Ending(error, 3), SPACE, 9, CHEAP, name="mine")
    study: Any = caught.value.study  # type: ignore[attr-defined]
    assert study is nr.last_study()
    assert study.name == "mine"
    assert [t.state for t in study.trials[:3]] == ["complete"] * 3
    notes = " ".join(caught.value.__notes__)
    assert "kept with 3 values" in notes
    assert "in memory only" in notes
    assert "open it again" not in notes  # in memory there is nothing to open
    assert f"x={study.trials[3].params['x']!r}" in notes
    study.run(lambda p: p["x"], 2)
    assert len([t for t in study.trials if t.state == "complete"]) == 5


def test_an_interrupted_trial_is_given_out_again_by_what_the_note_says() -> None:
    with pytest.raises(KeyboardInterrupt):
        nr.maximize(Ending(KeyboardInterrupt(), 2), SPACE, 9, CHEAP)
    nr.last_study().run(lambda p: 1.0, 1)
    assert [t.state for t in nr.last_study().trials] == ["complete"] * 3


def test_the_same_call_goes_on(tmp_path: Path) -> None:
    call: dict[str, Any] = {"storage": tmp_path / "s.db", "name": "tuning", "resume": True}
    with pytest.raises(RuntimeError) as caught:
        nr.minimize(Ending(RuntimeError("no power"), 4), SPACE, 8, seed=3, **call)
    assert "the same call with resume=True goes on" in " ".join(caught.value.__notes__)
    study = nr.minimize(lambda p: p["x"], SPACE, 8, seed=3, **call)
    assert [t.state for t in study.trials].count("complete") == 7
    assert len(study.trials) == 8
    again = nr.minimize(lambda p: p["x"], SPACE, 8, seed=3, **call)
    assert len(again.trials) == 8  # there is nothing left to do


def test_a_study_of_that_name_is_not_taken_for_another(tmp_path: Path) -> None:
    place: dict[str, Any] = {"storage": tmp_path / "s.db", "name": "tuning"}
    nr.minimize(lambda p: p["x"], SPACE, 2, CHEAP, **place)
    with pytest.raises(StudyExistsError) as caught:
        nr.minimize(lambda p: p["x"], SPACE, 2, CHEAP, **place)
    assert "resume=True" in " ".join(caught.value.__notes__)
    with pytest.raises(ConfigurationError, match=r"another goal, 'minimize'.*study\.derived"):
        nr.maximize(lambda p: p["x"], SPACE, 2, CHEAP, **place, resume=True)
    with pytest.raises(ConfigurationError, match="another space"):
        nr.minimize(lambda p: p["x"], {"x": nr.Float(0, 2)}, 2, CHEAP, **place, resume=True)
    with pytest.raises(ConfigurationError, match="another strategy"):
        nr.minimize(lambda p: p["x"], SPACE, 2, nr.LogEI(), **place, resume=True)
    assert len(nr.Study.open("tuning", storage=tmp_path / "s.db").trials) == 2


@pytest.mark.parametrize(
    ("given", "message"),
    [({"resume": True}, "needs storage"), ({"storage": "s.db"}, "needs a name")],
)
def test_what_one_call_needs(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        nr.minimize(lambda p: 1.0, SPACE, 1, **given)


def test_it_takes_what_a_run_takes() -> None:
    gate = threading.Barrier(3)

    def together(p: dict[str, Any]) -> float:
        gate.wait(timeout=10)  # broken unless three run at the same time
        return float(p["x"])

    assert len(nr.minimize(together, SPACE, 6, CHEAP, workers=3).trials) == 6
    assert len(nr.maximize(lambda p: p["x"], SPACE, 6, CHEAP, timeout=0).trials) == 0
    study = nr.minimize(lambda p: p["x"], SPACE, 9, CHEAP, until=lambda s: len(s.trials) == 4)
    assert len(study.trials) == 4


def test_it_takes_limits_context_and_noise() -> None:
    def reaction(p: dict[str, Any]) -> dict[str, float]:
        return {"value": p["x"], "heat": 1 - p["x"]}

    limits = {"heat": nr.AtMost(0.5)}
    study = nr.minimize(reaction, SPACE, 12, outcomes=limits)
    assert study.outcomes == limits
    assert 0.5 <= study.best_params["x"] < 0.7
    space = {"x": nr.Float(0, 1), "humidity": nr.Float(0, 100)}
    study = nr.minimize(lambda p: p["x"], space, 3, CHEAP, context={"humidity": 45})
    assert study.context == ("humidity",)
    assert [trial.params["humidity"] for trial in study.trials] == [45.0] * 3
    days = iter(range(9))
    study = nr.maximize(lambda p: p["x"], space, 3, CHEAP, context=lambda: {"humidity": next(days)})
    assert [trial.params["humidity"] for trial in study.trials] == [1.0, 2.0, 3.0]
    study = nr.minimize(lambda p: p["x"], SPACE, 1, noise_std=0.1)
    assert study.strategy == nr.InsuredGPUCB(noise_std=0.1)
    assert nr.minimize(lambda p: p["x"], SPACE, 1, nr.LogEI(), noise_std=0.1).strategy == nr.LogEI(
        noise_std=0.1
    )
    with pytest.raises(ConfigurationError, match="RandomSearch has no noise_std: leave it out"):
        nr.minimize(lambda p: p["x"], SPACE, 1, CHEAP, noise_std=0.1)


def test_the_best_point_is_there_to_be_passed_on() -> None:
    options: Any = {"svm": {"C": nr.Float(0.1, 10)}, "forest": {"trees": nr.Int(10, 500)}}
    study = nr.Study({"model": nr.Branch(options), "x": nr.Float(0, 1)}, "minimize", CHEAP)
    study.add({"model": "svm", "C": 2.0, "x": 0.5}, 1.0)
    assert study.best_params == {"model": "svm", "C": 2.0, "x": 0.5}
    study.best_params["x"] = 9  # a new dict
    assert study.best.params["x"] == 0.5
    vector = nr.minimize(lambda x: float(x[0]), [(0, 1)], 3, CHEAP)
    assert vector.best_params == vector.best.params


@pytest.mark.parametrize("call", [nr.minimize, nr.maximize])
def test_each_argument_is_documented(call: Any) -> None:
    names = inspect.signature(call).parameters
    assert all(re.search(rf"^ +{name}: ", call.__doc__, re.M) for name in names)
    assert {"workers", "timeout", "until", "outcomes", "context", "noise_std"} <= names.keys()


def test_a_study_needs_a_goal() -> None:
    with pytest.raises(ConfigurationError, match="say what is wanted: goal is"):
        nr.Study(space=SPACE)
    with pytest.raises(ConfigurationError, match="got 'best'"):
        nr.Study(SPACE, "best")  # type: ignore[arg-type]


# -- callbacks --


def test_callbacks_see_every_trial_that_ended() -> None:
    seen: list[tuple[int, str]] = []

    def note(study: nr.Study, trial: nr.Trial) -> None:
        assert study.trials[trial.number] == trial
        seen.append((trial.number, trial.state))

    def f(p: dict[str, Any]) -> float:
        if p["x"] > 0.8:
            raise ArithmeticError
        return float(p["x"])

    for workers in (1, 3):
        seen.clear()
        study = nr.Study(SPACE, "minimize", CHEAP)
        study.run(f, 12, workers=workers, catch=(ArithmeticError,), callbacks=[note])
        assert sorted(seen) == [(t.number, t.state) for t in study.trials]
        assert {state for _, state in seen} == {"complete", "failed"}


def test_a_callback_stops_the_run_and_it_goes_on() -> None:
    def enough(study: nr.Study, trial: nr.Trial) -> None:
        if trial.number == 4:
            study.stop()

    study = nr.Study(SPACE, "minimize", CHEAP).run(lambda p: p["x"], 20, callbacks=[enough])
    assert len(study.trials) == 5
    assert len(study.run(lambda p: p["x"], 3).trials) == 8
    with pytest.raises(ConfigurationError, match="no run to stop"):
        study.stop()


def test_a_callback_that_fails_ends_the_run_with_the_value_told() -> None:
    def broken(study: nr.Study, trial: nr.Trial) -> None:
        raise LookupError("no such sheet")

    study = nr.Study(SPACE, "minimize", CHEAP)
    with pytest.raises(LookupError, match="no such sheet"):
        study.run(lambda p: p["x"], 20, callbacks=[broken])
    assert [t.state for t in study.trials] == ["complete"]
    with pytest.raises(ConfigurationError, match="callbacks is a list"):
        study.run(lambda p: p["x"], 2, callbacks=broken)  # type: ignore[arg-type]


def test_a_run_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def f(p: dict[str, Any]) -> float:
        if p["x"] > 0.5:
            raise ArithmeticError("too much")
        return 2.5

    with caplog.at_level(logging.INFO, "noregret"):
        nr.Study(SPACE, "minimize", CHEAP).run(f, 8, catch=(ArithmeticError,))
    said = "\n".join(caplog.messages)
    assert ": 2.5 at x=" in said
    assert "failed: ArithmeticError: too much" in said
    assert len(caplog.messages) == 8
