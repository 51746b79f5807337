"""A study whose outcomes have limits: told, stored, corrected, derived, run by workers, read."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, TrialError
from noregret.study.result import violations
from noregret.testing.problems import rkhs_sample
from noregret.trials import Limit

SPACE = {"x": nr.Float(0, 1), "y": nr.Float(0, 1)}
LIMITS: dict[str, Limit] = {"sum": nr.AtMost(1.0), "x²": nr.AtLeast(0.04)}


def measure(p: dict[str, float]) -> dict[str, Any]:
    x, y = p["x"], p["y"]
    told: dict[str, Any] = {"sum": (x + y, 0.01), "x²": x * x}
    return told | ({"value": x + 2 * y} if x + y <= 1.1 else {})


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> nr.Study:
    path = tmp_path_factory.mktemp("outcomes") / "s.db"
    study = nr.Study.create("lab", SPACE, "maximize", storage=path, outcomes=LIMITS)
    return study.run(measure, 12)


def test_a_stored_study_opens_where_it_stopped(stored: nr.Study) -> None:
    again = nr.Study.open("lab", storage=stored._storage)
    assert again.outcomes == LIMITS
    assert again.trials == stored.trials
    assert any(trial.value is None and trial.state == "complete" for trial in again.trials)
    assert again.trials[0].outcome_noise == {"sum": 0.01}
    assert again.ask().params == stored.preview().params or again.trials[-1].state == "running"
    assert stored.replay().number is None
    for trial in again.trials:
        assert nr.Trial.from_json(json.loads(json.dumps(trial.to_json()))) == trial
    summary = nr.studies(stored._storage)[0]
    assert summary.best == stored.best.value


def test_the_best_is_within_the_limits(stored: nr.Study) -> None:
    within = [trial for trial in stored.trials if trial.feasible]
    assert within
    for trial in stored.trials:
        if trial.state == "complete":
            kept = trial.outcomes["sum"] <= 1.0 and trial.outcomes["x²"] >= 0.04
            assert trial.feasible is kept
    assert stored.best.value == max(trial.value for trial in within if trial.value is not None)
    assert stored.feasibility().trials == tuple(trial.number for trial in within)
    assert not nr.Reached(10.0)(stored)
    assert nr.Reached(float(stored.best.value or 0.0))(stored)


def test_nothing_feasible_is_a_state() -> None:
    study = nr.Study(SPACE, "maximize", outcomes={"c": nr.AtMost(0.0)})
    assert str(study.feasibility()) == "nothing feasible yet"
    for value, c in ((5.0, 3.0), (1.0, 0.5), (9.0, 2.0)):
        study.tell(study.ask(), value, outcomes={"c": c})
    state = study.feasibility()
    assert (state.state, state.trials) == ("unknown", ())
    assert study.best.number == 1  # it misses the limit least
    assert state.closest == study.best
    assert "nothing feasible yet" in repr(study)
    assert "beyond a limit" in repr(study.best)
    assert study.result().feasible in (True, False)
    assert not nr.Reached(0.0)(study)
    assert study._repr_html_()


def test_violations_are_counted_in_each_outcomes_unit() -> None:
    trials = [
        nr.Trial(0, {}, "complete", outcomes={"sum": 2.0, "x²": 0.04}),
        nr.Trial(1, {}, "complete", outcomes={"sum": 1.5, "x²": 0.03}),
    ]
    # units: 1.0 of the sum, 0.01 of x²
    assert violations([*trials, nr.Trial(2, {})], LIMITS) == pytest.approx([1.0, 1.5, math.inf])


def test_a_correction_keeps_the_outcomes_unless_told() -> None:
    study = nr.Study(SPACE, "maximize", outcomes={"c": nr.AtMost(1.0)})
    study.tell(study.ask(), 1.0, outcomes={"c": (0.5, 0.1)})
    kept = study.correct(0, 2.0)
    assert (kept.value, kept.outcomes, kept.outcome_noise) == (2.0, {"c": 0.5}, {"c": 0.1})
    beyond = study.correct(0, outcomes={"c": 3.0})
    assert (beyond.value, beyond.feasible) == (None, False)
    with pytest.raises(TrialError, match="missing only where"):
        study.correct(0, outcomes={"c": 0.1})
    assert study.feasibility().state == "unknown"


def test_a_derived_study_judges_by_its_own_limits(stored: nr.Study) -> None:
    strict = stored.derived("strict", outcomes={"sum": nr.AtMost(0.5)}, storage=nr_memory())
    assert strict.outcomes == {"sum": nr.AtMost(0.5)}
    for trial in strict.trials:
        if trial.state == "complete":
            assert trial.feasible is (trial.outcomes["sum"] <= 0.5)
            assert set(trial.outcomes) == {"sum"}
    free = stored.derived("free", outcomes={}, storage=nr_memory())
    lost = [trial for trial in stored.trials if trial.state == "complete" and trial.value is None]
    failed = [trial for trial in free.trials if trial.state == "failed"]
    assert len(failed) == len(lost) > 0  # they had no value
    copy = stored.derived("copy", storage=nr_memory())
    assert [t.outcomes for t in copy.trials] == [t.outcomes for t in stored.trials]
    assert copy.outcomes == LIMITS


def nr_memory() -> Any:
    from noregret.storage import MemoryStorage

    return MemoryStorage()


def test_resuming_with_other_limits_is_refused(stored: nr.Study) -> None:
    same: dict[str, Any] = {"storage": stored._storage, "resume": True}
    nr.Study.create("lab", SPACE, "maximize", outcomes=LIMITS, **same)
    with pytest.raises(ConfigurationError, match="exists with another limits"):
        nr.Study.create("lab", SPACE, "maximize", **same)


def test_a_bad_objective_fails_its_trial_and_loses_nothing() -> None:
    study = nr.Study(SPACE, "maximize", outcomes={"c": nr.AtMost(1.0)})
    with pytest.raises(TrialError, match="the objective returned"):
        study.run(lambda p: p["x"], 2)
    assert [trial.state for trial in study.trials] == ["failed"]
    study.run(lambda p: (p["x"], {"c": p["y"]}), 4, workers=2)
    assert sum(trial.state == "complete" for trial in study.trials) == 4


def test_all_outcomes_in_other_units_give_the_same_proposals() -> None:
    """A margin's model is free of units: an outcome in thousandths changes nothing but rounding."""
    f, g = (rkhs_sample(seed, lengthscale=0.3, norm=1.0) for seed in (1, 2))
    asked = []
    for unit in (1.0, 1024.0):
        study = nr.Study([(0, 1)], "maximize", outcomes={"g": nr.AtMost(0.1 * unit)})
        for _ in range(8):
            trial = study.ask()
            told = float(g(trial.params))
            study.tell(trial, float(f(trial.params)), outcomes={"g": unit * told})
        asked.append([float(trial.params[0]) for trial in study.trials])
    assert asked[0] == pytest.approx(asked[1], abs=1e-6)


def test_files_have_outcomes(stored: nr.Study, tmp_path: Path) -> None:
    stored.export(tmp_path / "t.csv")
    header = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()[0]
    assert "sum,sum.noise_std,x²" in header
    other = nr.Study(SPACE, "maximize", outcomes=LIMITS)
    other.import_csv(tmp_path / "t.csv")
    done = [trial for trial in stored.trials if trial.state == "complete"]
    read = [trial for trial in other.trials if trial.state == "complete"]
    assert [t.outcomes for t in read] == [t.outcomes for t in done]
    assert [t.outcome_noise for t in read] == [t.outcome_noise for t in done]
    assert [t.feasible for t in read] == [t.feasible for t in done]
    frame = stored.export()
    assert frame["feasible"].dropna().tolist() == [t.feasible for t in done]
    plain = tmp_path / "lab.csv"
    plain.write_text("x;y;value;sum;x²\n0,5;0,25;1,0;0,75;0,25\n", encoding="utf-8")
    (added,) = other.import_csv(plain)
    assert (added.outcomes["sum"], added.feasible) == (0.75, True)
    plain.write_text("x,y,value,sum\n0.5,0.25,1.0,0.75\n", encoding="utf-8")
    with pytest.raises(TrialError, match=r"missing \['x²'\]"):
        other.import_csv(plain)


def _dosed(seed: int, count: int = 70) -> nr.Study:
    """The value rises with the dose, and so does its toxicity, measured with noise."""
    rng = np.random.default_rng(seed)
    at = rng.uniform(0.3, 0.7)
    study = nr.Study([(0, 1)], "maximize", outcomes={"toxicity": nr.AtMost(float(at))})
    for x in np.sort(rng.random(count)):
        study.add([x], x, outcomes={"toxicity": x + 0.1 * rng.standard_normal()})
    return study


def test_the_recommended_point_keeps_its_limit_as_often_as_was_asked() -> None:
    """Half as sure, the control, it breaks it more often."""
    kept: dict[float, list[bool]] = {0.5: [], 0.9: []}
    for seed in range(40):
        study = _dosed(seed)
        limit = study.outcomes["toxicity"].limit
        for chance, marks in kept.items():
            found = study.recommend(chance=chance)
            assert found.chance is not None
            assert found.feasible == (found.chance >= chance)
            assert found.number is not None
            marks.append(bool(found.params[0] <= limit))
    assert np.mean(kept[0.9]) >= 0.85
    assert np.mean(kept[0.5]) < 0.8


def test_how_sure_it_must_be() -> None:
    study = _dosed(0)
    sure, surer = study.recommend(), study.recommend(chance=0.9999)
    assert sure.params == study.recommended.params
    assert surer.params[0] < sure.params[0]
    assert study.result(chance=0.9999).recommended.number == surer.number
    assert study.result().chance == pytest.approx(sure.chance)
    for wrong in (0.0, 1.0, -1):
        with pytest.raises(ConfigurationError, match="chance"):
            study.recommend(chance=wrong)
    hopeless = nr.Study([(0, 1)], "maximize", outcomes={"t": nr.AtMost(-5.0)})
    for x in (0.1, 0.5, 0.8):
        hopeless.add([x], x, outcomes={"t": x})
    assert hopeless.recommend().number == 0  # the surest one
    assert hopeless.recommend().feasible is False


def test_bands_of_outcomes_cover_where_the_fitted_class_is_too_sure() -> None:
    averaged: list[float] = []
    fitted: list[float] = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        phase, slope = rng.random(2) * 6
        study = nr.Study([(0, 1)] * 2, "maximize", outcomes={"c": nr.AtMost(0.0)})
        X, A = rng.random((12, 2)), rng.random((50, 2))

        def c(x: np.ndarray, phase: float = phase, slope: float = slope) -> np.ndarray:
            return np.asarray(np.sin(3 * x[:, 0] + phase) * np.cos(slope * x[:, 1]))

        for x, value in zip(X, c(X) + 0.05 * rng.standard_normal(12), strict=True):
            study.add(x, float(x[0]), outcomes={"c": float(value)})
        belief = study.belief()
        assert belief is not None
        (outcome,) = belief.outcomes
        for found, (low, high) in (
            (averaged, outcome.band(A)),
            (fitted, [-end for end in outcome.margin.band(A)][::-1]),
        ):
            found.append(float(np.mean((low <= c(A)) & (c(A) <= high))))
    assert np.mean(averaged) > 0.9
    assert np.mean(fitted) < np.mean(averaged) - 0.03
