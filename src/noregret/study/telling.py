"""What changes a study: outcomes, corrections, points from elsewhere, notes, trials taken back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from noregret.errors import ConfigurationError, TrialError, UnknownTrialError
from noregret.storage import UNLIMITED
from noregret.study import remarks
from noregret.study.plan import ATTEMPTS, check_grace
from noregret.study.running import plain_point
from noregret.trials import (
    About,
    Decision,
    Measured,
    State,
    Trial,
    check_attributes,
    check_measured,
    check_note,
    check_outcome,
    check_valued,
    corrections,
    latest,
    number_of,
)

if TYPE_CHECKING:
    from noregret.study.study import Study

FIRST = "ask for a trial first, or add() a measured point"


@dataclass(frozen=True, slots=True)
class Ending:
    """What a trial ends with, checked."""

    state: State
    value: float | None
    noise_std: float | None
    measured: Measured

    @staticmethod
    def checked(study: Study, value: Any, noise_std: Any, state: State, outcomes: Any) -> Ending:
        limits = study.outcomes
        number, noise = check_outcome(value, noise_std, state, may_miss=bool(limits))
        measured = check_measured(outcomes, limits, state)
        if limits:
            check_valued(number, measured, state)
        return Ending(state, number, noise, measured)

    def on(self, trial: Trial) -> Trial:
        """The trial, ended with it."""
        return replace(
            trial,
            state=self.state,
            value=self.value,
            noise_std=self.noise_std,
            outcomes=self.measured.values,
            outcome_noise=self.measured.noise,
            feasible=self.measured.feasible,
        )


def measured_about(measured: Measured, about: About | None) -> About | None:
    """What a storage is told beside the value."""
    if not measured.values:
        return about
    return replace(
        about or About(),
        outcomes=measured.values,
        outcome_noise=measured.noise,
        feasible=measured.feasible,
    )


def tell(study: Study, number: int, end: Ending, told: remarks.Told) -> Trial:
    with_it, state = None, end.state
    if told.says:
        with_it = remarks.about(study.space, trial_of(study, number, FIRST), state, told)
    with_it = measured_about(end.measured, with_it)
    finished = study._storage.finish(
        study._key, number, state, end.value, end.noise_std, about=with_it
    )
    if finished is None:
        now = trial_of(study, number, FIRST)
        said = f"complete with value {now.value!r}" if now.state == "complete" else now.state
        raise TrialError(
            f"trial {number} is {said} already: the first tell stands; correct() it if that was"
            " wrong, add() the point again if you measured it twice"
        )
    return finished


def number_in(study: Study, trial: Trial | int) -> int:
    """The number of a trial of this study; one of another study, or of a preview whose number
    somebody else took, is refused.
    """
    number = number_of(trial)
    if isinstance(trial, Trial):
        there = trial_of(study, number, FIRST).proposed
        if not remarks.same(there, trial.proposed):
            raise TrialError(
                f"trial {number} of this study is at {plain_point(there)}, the one given at"
                f" {plain_point(trial.proposed)}: it is of another study, or was only previewed;"
                " nothing was recorded. Give it to its own study, or add() the point here"
            )
    return number


def trial_of(study: Study, number: int, advice: str) -> Trial:
    trials = study.trials
    if not 0 <= number < len(trials):
        raise UnknownTrialError(
            f"there is no trial {number}: this study has {len(trials)} (numbers from 0); {advice}"
        )
    return trials[number]


def add(
    study: Study, params: Any, end: Ending, note: str | None, attributes: Mapping[str, Any] | None
) -> Trial:
    normal = study.space.canonical(params)
    said = check_note(note), check_attributes(attributes)
    return append(study, [end.on(Trial(0, normal, note=said[0], attributes=said[1]))])[0]


def enqueue(
    study: Study, params: Any, note: str | None, attributes: Mapping[str, Any] | None
) -> Trial:
    normal, decision = study.space.canonical(params), Decision("enqueued")
    said = check_note(note), check_attributes(attributes)
    return append(
        study, [Trial(0, normal, "waiting", decision=decision, note=said[0], attributes=said[1])]
    )[0]


def append(study: Study, trials: Sequence[Trial]) -> list[Trial]:
    """Trials under the next free numbers, all or none."""
    added = study._storage.append(study._key, trials)
    assert added is not None  # there is no limit
    return added


def annotate(
    study: Study,
    trial: Trial | int | None,
    note: str | None,
    attributes: Mapping[str, Any] | None,
) -> None:
    new, text = check_attributes(attributes), check_note(note)
    number = None if trial is None else number_in(study, trial)
    if number is not None:
        trial_of(study, number, "only a trial that is there can be annotated")
    study._storage.annotate(study._key, number, None if note is None else text or "", new)


def correct(
    study: Study,
    number: int,
    value: Any,
    noise_std: Any,
    state: State,
    outcomes: Any,
    told: remarks.Told,
) -> Trial:
    while True:
        trial_of(study, number, "only a told trial can be corrected")
        trials = study.trials
        before = trials[latest(number, corrections(trials))]
        if not before.is_finished:
            raise TrialError(
                f"trial {before.number} is {before.state}, there is nothing to correct: tell() its"
                " value"
            )
        kept = outcomes
        if outcomes is None and state == "complete" and before.outcomes:  # they stay
            noisy = before.outcome_noise
            kept = {name: (v, noisy.get(name)) for name, v in before.outcomes.items()}
        end = Ending.checked(study, value, noise_std, state, kept)
        said = remarks.about(study.space, before, state, told)
        new = replace(end.on(remarks.corrected(before, said)), number=len(trials))
        if study._storage.insert(study._key, [new]):
            return study.trials[new.number]


def reclaim(
    study: Study, grace: float, then: str, numbers: Iterable[Trial | int] | None
) -> list[Trial]:
    if then not in ("retry", "fail"):
        raise ConfigurationError(f'then is "retry" or "fail", got {then!r}')
    check_grace(grace)
    storage, key = study._storage, study._key
    if numbers is None:
        return storage.reclaim(key, ATTEMPTS if then == "retry" else 0, grace=grace)
    named = [number_in(study, number) for number in numbers]
    for number in named:
        state = trial_of(study, number, "only a running trial can be reclaimed").state
        if state != "running":
            raise TrialError(f"trial {number} is {state}: only a running trial can be reclaimed")
    return storage.reclaim(key, UNLIMITED if then == "retry" else 0, numbers=named)
