"""A trial that nobody is going to run is neither a value nor a failure."""

import io
from pathlib import Path

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import alarms, effective_trials, predictions
from noregret.storage import MemoryStorage, SQLStorage, Storage

SPACE = {"x": nr.Float(0, 1), "y": nr.Float(0, 1)}


def bowl(p: dict[str, float]) -> float:
    return (p["x"] - 0.3) ** 2 + (p["y"] - 0.6) ** 2


@pytest.fixture(params=["memory", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return MemoryStorage() if request.param == "memory" else SQLStorage(tmp_path / "s.db")


def begun(storage: Storage, trials: int = 8) -> nr.Study:
    study = nr.Study.create("s", SPACE, "minimize", storage=storage)
    return study.run(bowl, trials, progress=False)


def test_it_teaches_nothing_and_is_not_proposed_again(storage: Storage) -> None:
    study = begun(storage)
    before = study.belief()
    unwanted = study.ask()
    told = study.tell(unwanted, state="withdrawn", note="no gas left")
    assert (told.state, told.value, told.is_finished) == ("withdrawn", None, True)
    after = study.belief()
    assert before is not None
    assert after is not None
    X = np.random.default_rng(0).uniform(size=(50, 2))
    # nor is any region avoided; the estimate starts from the one of the ask, and ends where it did
    np.testing.assert_allclose(before.band(X), after.band(X), rtol=1e-3, atol=1e-5)
    history = study._history(study.trials)
    assert len(history.failed) == 0
    np.testing.assert_array_equal(history.pending, [study.space.encode(unwanted.params)])
    following = study.ask()
    assert following.number == unwanted.number + 1
    far = np.abs(study.space.encode(following.params) - study.space.encode(unwanted.params))
    assert far.max() > 0.01
    study.tell(following, bowl(following.params))
    study.run(bowl, 3, progress=False)
    assert study.replay().number is None  # every proposal can be derived again
    with pytest.raises(nr.errors.TrialError, match="withdrawn"):
        study.tell(unwanted, 1.0)


def test_counts_and_alarms_leave_it_out(storage: Storage) -> None:
    study = begun(storage, 4)
    for _ in range(6):
        study.tell(study.ask(), state="withdrawn")
    (summary,) = nr.studies(storage)
    assert (summary.trials, summary.complete, summary.failed, summary.withdrawn) == (10, 4, 0, 6)
    study.correct(0, 0.5)  # counted in another way from then on
    (summary,) = nr.studies(storage)
    assert (summary.trials, summary.complete, summary.withdrawn) == (10, 4, 6)
    assert "6 withdrawn" in study._repr_html_() + repr(study)
    trials = effective_trials(study.trials)
    made = predictions(trials, study.goal, study.strategy)
    found = alarms(study.space, trials, made, study.goal, study.strategy)
    assert "failures" not in {alarm.kind for alarm in found}
    assert len([t for t in study.trials if t.state == "withdrawn"]) == 6


def test_a_point_of_ones_own_that_is_withdrawn_leaves_no_trace(storage: Storage) -> None:
    study = begun(storage)
    slip = study.enqueue({"x": 0.9, "y": 0.9})
    assert study.preview().params == slip.params
    study.tell(slip, state="withdrawn")
    assert len(study._history(study.trials).pending) == 0


def test_a_result_that_was_none_is_struck_out(storage: Storage) -> None:
    study = begun(storage)
    best = study.best
    study.correct(best, state="withdrawn")
    assert study.best.number != best.number
    history = study._history(study.trials)
    assert (len(history.y), len(history.pending), len(history.failed)) == (7, 0, 0)


def test_it_goes_into_files_and_copies(storage: Storage) -> None:
    study = begun(storage, 3)
    study.tell(study.ask(), state="withdrawn")
    file = io.StringIO()
    study.export(file, "csv")
    copy = nr.Study(SPACE, "minimize")
    copy.import_csv(io.StringIO(file.getvalue()))
    assert [trial.state for trial in copy.trials] == ["complete"] * 3 + ["withdrawn"]
    derived = study.derived("wider", parameters={"x": nr.Float(0, 2)})
    assert [trial.state for trial in derived.trials] == ["complete"] * 3 + ["withdrawn"]


def test_it_has_no_value_and_no_reason() -> None:
    study = nr.Study(SPACE, "minimize")
    trial = study.ask()
    with pytest.raises(nr.errors.TrialError, match="a withdrawn trial has no value"):
        study.tell(trial, 1.0, state="withdrawn")
    with pytest.raises(nr.errors.TrialError, match="reason is for a trial that failed"):
        study.tell(trial, state="withdrawn", reason="no gas")
    with pytest.raises(nr.errors.TrialError, match="state is one of"):
        study.tell(trial, state="dropped")  # type: ignore[arg-type]
    assert study.trials[0].state == "running"
