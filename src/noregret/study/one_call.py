"""A whole optimisation in one call, with nothing lost if it ends early."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from noregret.errors import ConfigurationError, TrialError
from noregret.storage import Storage
from noregret.strategies import Strategy
from noregret.study.study import Callback, Study
from noregret.trials import Goal

_last: list[Study] = []  # of the latest call, at most one


def last_study() -> Study:
    """The study of the latest ``minimize`` or ``maximize`` in this process, however it ended."""
    if not _last:
        raise TrialError(
            "there is no last study: neither minimize nor maximize was called in this process"
        )
    return _last[0]


def maximize(
    objective: Callable[[Any], Any],
    space: Any,
    trials: int = 50,
    strategy: Strategy | None = None,
    seed: int = 0,
    *,
    storage: Storage | str | os.PathLike[str] | None = None,
    name: str | None = None,
    resume: bool = False,
    catch: tuple[type[Exception], ...] = (),
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> Study:
    """Evaluates ``objective(params)`` at ``trials`` points and returns the study: ``.best``,
    ``.recommended``, ``.trials``, ``.certificate()``.

    storage: a file or a URL in which the study is kept under ``name``. resume: if it is there
    already it goes on, until it has ``trials`` in all. If the call ends early, by an exception or
    Ctrl-C, the study is ``error.study`` and ``last_study()``.
    """
    return _optimise(
        "maximize",
        objective,
        space,
        trials,
        strategy,
        seed,
        storage,
        name,
        resume,
        catch=catch,
        callbacks=callbacks,
        progress=progress,
    )


def minimize(
    objective: Callable[[Any], Any],
    space: Any,
    trials: int = 50,
    strategy: Strategy | None = None,
    seed: int = 0,
    *,
    storage: Storage | str | os.PathLike[str] | None = None,
    name: str | None = None,
    resume: bool = False,
    catch: tuple[type[Exception], ...] = (),
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> Study:
    """As ``maximize``, for a loss."""
    return _optimise(
        "minimize",
        objective,
        space,
        trials,
        strategy,
        seed,
        storage,
        name,
        resume,
        catch=catch,
        callbacks=callbacks,
        progress=progress,
    )


def _optimise(
    goal: Goal,
    objective: Callable[[Any], Any],
    space: Any,
    trials: int,
    strategy: Strategy | None,
    seed: int,
    storage: Storage | str | os.PathLike[str] | None,
    name: str | None,
    resume: bool,
    **settings: Any,
) -> Study:
    if storage is None:
        if resume:
            raise ConfigurationError(
                "resume=True needs storage=…, the file or URL the study is kept in: without one it"
                " is in memory and gone with this process"
            )
        study = Study(space, goal, strategy, seed, name=name or "study")
    else:
        if name is None:
            raise ConfigurationError(
                "a stored study needs a name, by which it is opened again: give name=…"
            )
        study = Study.create(name, space, goal, strategy, seed, storage=storage, resume=resume)
    _last[:] = [study]
    count: dict[str, Any] = {"total": trials} if resume else {"trials": trials}
    try:
        return study.run(objective, **count, **settings)
    except BaseException as error:
        error.study = study  # type: ignore[attr-defined]
        done = sum(trial.state == "complete" for trial in study.trials)
        more = (
            f"the same call with resume=True goes on (study {study.name!r})"
            if storage is not None
            else "it is in memory only, noregret.last_study() has it, and"
            " last_study().run(objective, trials) goes on"
        )
        error.add_note(f"The study is kept with {done} values (this error's .study): {more}.")
        raise
