"""What a study asks its strategy: the next point, a look at it, and every earlier one again."""

from __future__ import annotations

import logging
import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from noregret.errors import ConfigurationError
from noregret.space import Candidates, FixedInputs, SearchSpace, Space, fix
from noregret.strategies import algorithm_of, display_name
from noregret.trials import Proposal, Trial, corrections, known_at, sign_of, utc_now

if TYPE_CHECKING:
    from noregret.study.study import Study

log = logging.getLogger("noregret")
SAME_POINT = 1e-3  # of every coordinate's range: nearer than this two workers had the same thought


@dataclass(frozen=True, slots=True)
class Replay:
    """How many of the strategy's proposals were derived again, and the first that came out
    differently. Those of another version of its rule cannot be derived and are skipped.
    """

    agreed: int
    number: int | None = None
    recorded: Any = None
    derived: Any = None
    skipped: int = 0  #: proposals by another algorithm than the strategy's of today
    since: int = 0  #: the trial from which on every proposal can be derived


def ask(
    study: Study,
    count: int | None,
    fixed: Mapping[str, Any] | None,
    context: Mapping[str, Any] | None,
) -> Trial | list[Trial]:
    if count is None:
        trial = next_trial(study, fixed=fixed, context=context)
        assert trial is not None
        return trial
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise ConfigurationError(f"count must be a whole number of at least 1, got {count!r}")
    return [study.ask(fixed=fixed, context=context) for _ in range(count)]


def searched(
    study: Study, fixed: Mapping[str, Any] | None, context: Mapping[str, Any] | None
) -> Space | Candidates | FixedInputs:
    """The part of the space that is searched: the context as it is now, and what is fixed."""
    if not study.context:
        if context is not None:
            raise ConfigurationError(
                f"this study has no context, got {context!r}: name the inputs that are not chosen"
                " when it is made, Study(…, context=(…)); for one ask use fixed="
            )
        return study.space if fixed is None else fix(study.space, fixed)
    given = check_given(study, context)
    twice = [name for name in fixed or {} if name in study.context]
    if twice:
        raise ConfigurationError(f"{twice!r} are context: give them in context=, not in fixed=")
    return fix(study.space, {**given, **(fixed or {})}, is_context=True)


def check_given(study: Study, context: Any) -> Mapping[str, Any]:
    """The value of every input that is context, and of no other."""
    named = ", ".join(f"{name!r}: …" for name in study.context)
    if not isinstance(context, Mapping):
        got = "" if context is None else f", got {context!r}"
        raise ConfigurationError(
            f"{', '.join(study.context)} is context here: say what it is now,"
            f" context={{{named}}}{got}"
        )
    missing = [name for name in study.context if name not in context]
    unknown = [name for name in context if name not in study.context]
    if missing or unknown:
        raise ConfigurationError(
            f"the context of this study is {list(study.context)!r}; missing {missing!r}, unknown"
            f" {unknown!r}: give context={{{named}}}"
        )
    return {name: context[name] for name in study.context}


def is_there(study: Study, trial: Trial, space: SearchSpace) -> bool:
    """Whether a waiting trial lies in the part of the space that is searched."""
    return bool(np.array_equal(study._encode(trial)[space.held], space.at[space.held]))


def next_trial(
    study: Study,
    worker: str | None = None,
    total: float = math.inf,
    fixed: Mapping[str, Any] | None = None,
    context: Mapping[str, Any] | None = None,
) -> Trial | None:
    """None: the study has ``total`` trials already, and none of them waits."""
    space = searched(study, fixed, context)
    thought: Trial | None = None
    seen, overtaken = 0, False
    # no lock while thinking. If others took the number meanwhile, the storage gives the point the
    # next free one all the same; only if they took the point too is it thought about again, once
    while True:
        trials = study.trials
        waits = [trial for trial in trials if trial.state == "waiting"]
        if study.context:  # of those that wait, one in the context as it is now
            waits = [trial for trial in waits if is_there(study, trial, space)]
        waiting = waits[0] if waits else None
        if waiting is not None and fixed is None:
            claimed = study._storage.claim(study._key, waiting.number, worker)
            if claimed is not None:
                return claimed
            continue
        limit = math.inf if total == math.inf else total + len(corrections(trials))
        if len(trials) >= limit:
            return None
        if thought is None:
            thought, seen = think(study, space, trials), len(trials)
        elif thought.decision.draw is None and is_among(study, thought, trials[seen:]):
            thought, seen = think(study, space, trials, secrets.randbelow(2**31)), len(trials)
        trial = replace(thought, number=len(trials))
        if not overtaken:
            if study._storage.insert(study._key, [trial], worker):
                return trial
            overtaken = True
            continue
        trial = replace(trial, decision=replace(trial.decision, seen=seen))
        look = None if trial.decision.draw is not None else partial(is_among, study, trial)
        given = study._storage.append(study._key, [trial], worker, limit, look)
        if given is not None:
            return given[0]


def think(
    study: Study, space: SearchSpace, trials: Sequence[Trial], draw: int | None = None
) -> Trial:
    """What is proposed next, with all that is needed to derive it again."""
    say_if_changed(study, trials)
    proposal = propose(study, space, trials, draw)
    decision = replace(
        proposal.decision.signed(sign_of(study.goal)),
        pending=tuple([trial.number for trial in trials if not trial.is_finished]),
        fixed=space.fixed or None,
        draw=draw,
        algorithm=algorithm_of(study.strategy),
    )
    return Trial(len(trials), space.decode(proposal.x), decision=decision, created=utc_now())


def algorithms(trials: Sequence[Trial]) -> list[tuple[int, int]]:
    """The trials from which on another algorithm proposed, each with its number."""
    runs: list[tuple[int, int]] = []
    for trial in trials:
        if trial.decision.chosen and (not runs or runs[-1][1] != trial.decision.algorithm):
            runs.append((trial.number, trial.decision.algorithm))
    return runs


def say_if_changed(study: Study, trials: Sequence[Trial]) -> None:
    """Says that another algorithm decides from here on. What it decides has its number, so it is
    said once in the life of a study.
    """
    earlier = next((each.decision for each in reversed(trials) if each.decision.chosen), None)
    today = algorithm_of(study.strategy)
    if earlier is not None and earlier.algorithm != today:
        log.warning(
            "study %r: its earlier trials were proposed by algorithm %d of %s, from trial %d on"
            " algorithm %d decides, of the installed noregret; replay can derive proposals from"
            " there on",
            *(study.name, earlier.algorithm, display_name(study.strategy), len(trials), today),
        )


def is_among(study: Study, thought: Trial, others: Sequence[Trial]) -> bool:
    """Whether others have the same point, or next to it."""
    x = study.space.encode(thought.params)
    return any(np.abs(study._encode(other) - x).max() < SAME_POINT for other in others)


def propose(
    study: Study, space: SearchSpace, trials: Sequence[Trial], draw: int | None = None
) -> Proposal:
    entropy = [study.seed, len(trials)] if draw is None else [study.seed, len(trials), draw]
    rng = np.random.default_rng(entropy)
    return study.strategy.propose(space, study._history(trials), rng)


def preview(study: Study, context: Mapping[str, Any] | None) -> Trial:
    """What the next ask would give; nothing is recorded."""
    trials, space = study.trials, searched(study, None, context)
    waits = [trial for trial in trials if trial.state == "waiting"]
    waiting = next((trial for trial in waits if is_there(study, trial, space)), None)
    if waiting is not None:
        return replace(waiting, state="running")
    proposal = propose(study, space, trials)
    decision = proposal.decision.signed(sign_of(study.goal))
    return Trial(len(trials), space.decode(proposal.x), decision=decision)


def replay(study: Study, tolerance: float) -> Replay:
    """Derives every proposal again from the trials before it."""
    if not tolerance >= 0:
        raise ConfigurationError(f"tolerance must be at least 0, got {tolerance!r}")
    trials, agreed, today = study.trials, 0, algorithm_of(study.strategy)
    chosen = [trial for trial in trials if trial.decision.chosen]
    others = [trial.number for trial in chosen if trial.decision.algorithm != today]
    skipped, since = len(others), others[-1] + 1 if others else 0
    for trial in chosen:
        if trial.decision.algorithm != today:
            continue
        fixed = trial.decision.fixed
        space: Space | Candidates | FixedInputs = study.space
        if fixed is not None:
            space = fix(study.space, fixed, is_context=bool(study.context))
        known, draw = known_at(trials, trial.number), trial.decision.draw
        derived = space.decode(propose(study, space, known, draw).x)
        recorded = study.space.encode(trial.proposed)
        if np.abs(study.space.encode(derived) - recorded).max() > tolerance:
            return Replay(agreed, trial.number, trial.proposed, derived, skipped, since)
        agreed += 1
    return Replay(agreed, skipped=skipped, since=since)
