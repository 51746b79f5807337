"""Decisions as values and as stored text."""

import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import noregret as nr
from noregret.errors import StorageError
from noregret.trials import Decision, ModelDecision, Trial, as_json, payload_as
from noregret.trials.decision import CHOSEN, VERSION

numbers = st.floats(allow_nan=False, allow_infinity=False)
models = st.builds(
    ModelDecision,
    t=st.integers(1, 100),
    mean=numbers,
    std=numbers,
    kind=st.sampled_from(["promise", "survey", "patrol"]),
)
decisions = st.builds(
    Decision,
    source=st.sampled_from([*CHOSEN, "added", "enqueued", "correction"]),
    model=st.none() | models,
    pending=st.lists(st.integers(0, 50), max_size=3).map(tuple),
    fixed=st.none() | st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3)),
    payload=st.dictionaries(st.text(max_size=3), st.lists(st.integers(), max_size=2)),
)


@given(decisions)
def test_a_decision_comes_back_from_text_as_it_was(decision: Decision) -> None:
    data = decision.to_json()
    assert data["version"] == VERSION
    assert Decision.from_json(json.loads(json.dumps(data, allow_nan=False))) == decision


@given(decisions)
def test_the_sign_is_changed_in_the_forecast_alone_and_back(decision: Decision) -> None:
    assert decision.signed(1.0) is decision
    turned = decision.signed(-1.0)
    assert turned.signed(-1.0) == decision
    if decision.model is None:
        assert turned is decision
        return
    assert turned.model is not None
    assert turned.model.mean == -decision.model.mean
    before, after = (dataclasses.replace(each, mean=0.0) for each in (decision.model, turned.model))
    assert before == after


def test_what_says_nothing_is_not_stored() -> None:
    assert Decision("initial").to_json() == {"version": VERSION, "source": "initial"}


def test_a_newer_form_is_refused() -> None:
    with pytest.raises(StorageError, match=r"newer version .*form 2, this one reads 1"):
        Decision.from_json({"version": VERSION + 1, "source": "model"})
    row = Trial(0, {"x": 0.5}).to_json()
    with pytest.raises(StorageError, match="newer version"):
        Trial.from_json({**row, "decision": {"version": VERSION + 1, "source": "model"}})


def test_what_a_later_version_may_add_to_a_model_is_left_alone() -> None:
    """A field more needs no new form: whoever does not know it goes on without."""
    decision = Decision("model", ModelDecision(1, 0.0, 1.0))
    data = decision.to_json()
    data["model"]["temperature"] = 3.0
    assert Decision.from_json(data) == decision


def test_who_chose_a_point() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy=nr.GPUCB(initial_points=1))
    study.add([0.5], 1.0)
    study.enqueue([0.2])
    study.tell(study.ask(), 0.4)
    study.tell(study.ask(), 0.3)
    study.correct(0, 0.9)
    assert [(t.decision.source, t.decision.chosen) for t in study.trials] == [
        ("added", False),
        ("enqueued", False),
        ("model", True),
        ("correction", False),
    ]
    assert study.trials[2].why == study.trials[2].decision.model
    assert [t.corrects for t in study.trials] == [None, None, None, 0]
    sources = [trial.why.kind for trial in study.trials]  # for every trial, model or not
    assert sources == ["added", "enqueued", "promise", "correction"]
    assert [trial.why.t for trial in study.trials] == [0, 0, 1, 0]
    assert math.isnan(study.trials[0].why.std)


def test_forecasts_have_the_sign_of_the_values() -> None:
    def f(x: Any) -> float:
        return 10.0 + float(math.sin(5 * x[0]))

    up = nr.maximize(lambda x: -f(x), [(0, 1)], 12, seed=1)
    down = nr.minimize(f, [(0, 1)], 12, seed=1)
    for one, two in zip(up.trials, down.trials, strict=True):
        assert one.decision.signed(-1.0) == two.decision
        if two.decision.model is not None:
            assert 5 < two.why.mean < 15
    # what a preview and a result say is in that sign too
    assert down.preview().why.mean == -up.preview().why.mean
    prediction = down.result().prediction
    assert prediction is not None
    assert 5 < prediction[0] < 15


def test_a_form_without_a_version_is_refused() -> None:
    assert Decision.from_json({}) == Decision()  # recovered without one
    for version in ({}, {"version": 0}, {"version": "1"}):
        with pytest.raises(ValueError, match="a decision's version is"):
            Decision.from_json({"source": "initial", **version})


@dataclasses.dataclass(frozen=True, slots=True)
class Note:
    level: float
    rows: tuple[tuple[int, float], ...] = ()
    inner: ModelDecision | None = None


def test_a_payload_is_read_as_what_its_strategy_made_of_it() -> None:
    note = Note(0.5, ((1, 0.1), (2, 0.2)), ModelDecision(1, 0.0, 1.0))
    stored = Decision.from_json(
        json.loads(json.dumps(Decision("model", payload=as_json(note)).to_json()))
    )
    assert payload_as(Note, stored) == note
    assert payload_as(Note, Decision("model", payload={**stored.payload, "more": 1})) == note


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"level": "high"},
        {"level": math.inf},
        {"level": True},
        {"level": 0.5, "rows": [[1, 2, 3]]},
        {"level": 0.5, "rows": [[-1, 2.0]]},
        {"level": 0.5, "inner": {"t": 1}},
        {"level": 0.5, "inner": [1]},
    ],
)
def test_the_payload_of_another_strategy_is_none(payload: dict[str, Any]) -> None:
    assert payload_as(Note, Decision("model", payload=payload)) is None
