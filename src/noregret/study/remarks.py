"""What goes with a trial besides its value: what was really run, notes, attributes, and finding
trials by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.errors import TrialError
from noregret.space import Candidates, Space, named_params
from noregret.trials import (
    About,
    Decision,
    State,
    Trial,
    check_attributes,
    check_note,
    check_transient,
    merged,
)


@dataclass(frozen=True, slots=True)
class Told:
    """What a person says of a trial beside its outcome, as yet unchecked."""

    params: Any = None
    reason: Any = None
    note: Any = None
    attributes: Any = None
    transient: Any = False

    @property
    def says(self) -> bool:
        """Whether there is anything."""
        said = (self.params, self.reason, self.note, self.attributes)
        return self.transient is not False or any(each is not None for each in said)


def about(space: Space | Candidates, trial: Trial, state: State, told: Told) -> About:
    """What is told of a trial beside its outcome, checked."""
    if told.reason is not None and state != "failed":
        raise TrialError(
            f'a reason is for a trial that failed, got {told.reason!r} for state="{state}": nothing'
            ' was recorded; write note=…, or state="failed"'
        )
    return About(
        really_run(space, trial, told.params),
        check_note(told.reason, "a reason"),
        check_note(told.note),
        check_attributes(told.attributes),
        check_transient(told.transient, state),
    )


def really_run(space: Space | Candidates, trial: Trial, params: Any) -> Any:
    """The point that was run, from the values that differed; None if it is the one asked for."""
    if params is None:
        return None
    if isinstance(params, Mapping):
        known = named_params(space, trial.params)
        unknown = [name for name in params if name not in known]
        if unknown:
            raise TrialError(
                f"params names {unknown!r}, which this study does not have: its parameters are"
                f" {list(known)!r}; nothing was recorded"
            )
        params = {**known, **params}
    normal = space.canonical(params)
    return None if same(normal, trial.params) else normal


def same(one: Any, other: Any) -> bool:
    return np.array_equal(np.asarray(one, object), np.asarray(other, object))


def corrected(old: Trial, about: About) -> Trial:
    """What takes the place of a trial, as yet without its outcome."""
    params = old.params if about.params is None else about.params
    return Trial(
        number=old.number,
        params=params,
        decision=Decision("correction"),
        corrects=old.number,
        asked=None if same(params, old.proposed) else old.proposed,
        error=about.error,
        note=about.note or old.note,
        attributes=merged(old.attributes, about.attributes),
        transient=about.transient,
    )


def chosen(
    trials: Iterable[Trial],
    state: State | None,
    note: str | None,
    attributes: Mapping[str, Any] | None,
) -> list[Trial]:
    """Those in this state, with this text in their note or reason, and with these attributes."""

    def fits(trial: Trial) -> bool:
        said = f"{trial.note or ''}\n{trial.error or ''}".casefold()
        return (
            (state is None or trial.state == state)
            and (note is None or note.casefold() in said)
            and all(
                name in trial.attributes and trial.attributes[name] == value
                for name, value in (attributes or {}).items()
            )
        )

    return [trial for trial in trials if fits(trial)]
