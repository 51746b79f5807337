"""A whole optimisation in one call, with nothing lost if it ends early."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from noregret.diagnostics import check_count
from noregret.errors import ConfigurationError, TrialError
from noregret.storage import MemoryStorage
from noregret.strategies import InsuredGPUCB, Strategy
from noregret.study.running import check_call
from noregret.study.study import Callback, Place, Study
from noregret.trials import Goal

_last: list[Study] = []  # of the latest call, at most one


def last_study() -> Study:
    """The study of the latest ``minimize`` or ``maximize`` in this process, however it ended."""
    if not _last:
        raise TrialError("there is no last study: minimize and maximize were not called")
    return _last[0]


def maximize(
    objective: Callable[[Any], Any],
    space: Any,
    trials: int = 50,
    strategy: Strategy | None = None,
    seed: int = 0,
    *,
    noise_std: float | None = None,
    storage: Place = None,
    name: str | None = None,
    resume: bool = False,
    catch: tuple[type[Exception], ...] = (),
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> Study:
    """Evaluates ``objective`` where its largest value may be.

    Args:
        objective: Called with the parameters; returns the value, or the pair (value, noise std).
        space: ``{"lr": nr.Float(1e-5, 1, log=True), …}``, SciPy's bounds ``[(0, 1), (-5, 5)]``, or
            ``nr.Candidates(…)``, a list of designs.
        trials: How many evaluations.
        strategy: How points are chosen; ``None`` is ``nr.InsuredGPUCB()``.
        seed: Of the random numbers: the same seed gives the same proposals.
        noise_std: Standard deviation of a value's noise, in place of ``strategy``. 0: values are
            exact, as those of a simulation. None: the strategy's own, which the default estimates.
        storage: A file or a URL in which the study is kept, under ``name``.
        name: Of the stored study.
        resume: If the stored study is there already it goes on, until it has ``trials`` in all.
        catch: Exceptions that make a trial failed instead of ending the call.
        callbacks: Each called with the study and the trial after every trial.
        progress: Whether a progress bar is drawn; ``None``: on a terminal and in a notebook.

    Returns:
        The study: ``.best``, ``.recommended``, ``.trials``, ``.certificate()``. If the call ends
        early, by an exception or Ctrl-C, it is ``error.study`` and ``last_study()``.
    """
    strategy = _with_noise(strategy, noise_std)
    settings = (objective, space, trials, strategy, seed, storage, name, resume)
    return _optimise("maximize", *settings, catch, callbacks, progress)


def minimize(
    objective: Callable[[Any], Any],
    space: Any,
    trials: int = 50,
    strategy: Strategy | None = None,
    seed: int = 0,
    *,
    noise_std: float | None = None,
    storage: Place = None,
    name: str | None = None,
    resume: bool = False,
    catch: tuple[type[Exception], ...] = (),
    callbacks: Sequence[Callback] = (),
    progress: bool | None = None,
) -> Study:
    """Evaluates ``objective`` where its smallest value may be.

    Args:
        objective: As for ``maximize``, like all other arguments.
        space: The search space.
        trials: How many evaluations.
        strategy: How points are chosen.
        seed: The seed of the random numbers.
        noise_std: The noise's standard deviation; 0 for exact values.
        storage: Where the study is kept.
        name: The name of the stored study.
        resume: Whether a stored study goes on.
        catch: Exceptions that make a trial failed instead of ending the call.
        callbacks: Each called with the study and the trial after every trial.
        progress: Whether a progress bar is drawn.

    Returns:
        The study.
    """
    strategy = _with_noise(strategy, noise_std)
    settings = (objective, space, trials, strategy, seed, storage, name, resume)
    return _optimise("minimize", *settings, catch, callbacks, progress)


def _with_noise(strategy: Strategy | None, noise_std: float | None) -> Strategy | None:
    if noise_std is None:
        return strategy
    if strategy is not None:
        raise ConfigurationError(
            "give noise_std or a strategy, not both: a strategy has its own noise_std"
        )
    return InsuredGPUCB(noise_std=noise_std)


def _optimise(
    goal: Goal,
    objective: Callable[[Any], Any],
    space: Any,
    trials: int,
    strategy: Strategy | None,
    seed: int,
    storage: Place,
    name: str | None,
    resume: bool,
    catch: tuple[type[Exception], ...],
    callbacks: Sequence[Callback],
    progress: bool | None,
) -> Study:
    check_call(objective, catch, callbacks)
    check_count("trials", trials, 0)
    if storage is not None and name is None:
        raise ConfigurationError("a stored study needs a name: give name=…")
    if storage is None and resume:
        raise ConfigurationError("resume=True needs storage=…: a study in memory is not kept")
    place = MemoryStorage() if storage is None else storage
    settings = (name or "study", space, goal, strategy, seed)
    study = Study.create(*settings, storage=place, resume=resume)
    _last[:] = [study]
    started, total = (None, trials) if resume else (trials, None)
    try:
        return study.run(
            objective, started, total=total, catch=catch, callbacks=callbacks, progress=progress
        )
    except BaseException as error:
        error.study = study  # type: ignore[attr-defined]
        done = sum(trial.state == "complete" for trial in study.trials)
        more = (
            f"the same call with resume=True goes on (study {study.name!r})"
            if study._storage.shared
            else "it is in memory only, noregret.last_study() has it, and"
            " last_study().run(objective, trials) goes on"
        )
        error.add_note(f"The study is kept with {done} values (this error's .study): {more}.")
        raise
