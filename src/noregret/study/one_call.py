"""A whole optimisation in one call, with nothing lost if it ends early."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from noregret.errors import ConfigurationError, TrialError, check_count
from noregret.storage import MemoryStorage
from noregret.strategies import InsuredGPUCB, Strategy
from noregret.study.running import check_call
from noregret.study.study import Callback, Context, Place, Study
from noregret.trials import Goal, Limit

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
    workers: int = 1,
    timeout: float | None = None,
    until: Callable[[Study], bool] | None = None,
    outcomes: Mapping[str, Limit] | None = None,
    context: Context | None = None,
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
            With ``outcomes``: the pair (value, outcomes), or a dict with "value" and each outcome.
        space: ``{"lr": nr.Float(1e-5, 1, log=True), …}``, SciPy's bounds ``[(0, 1), (-5, 5)]``, or
            ``nr.Candidates(…)``, a list of designs.
        trials: How many evaluations.
        strategy: How points are chosen; None is ``nr.InsuredGPUCB()``.
        seed: Of the random numbers: the same seed gives the same proposals.
        workers: Evaluations that run at the same time, in threads.
        timeout: Seconds after which nothing new is started.
        until: Asked with the study after each trial: whether to stop, as ``nr.Reached(0.01)``.
        outcomes: Limits of what is measured beside the value, ``{"toxicity": nr.AtMost(0.3)}``.
        context: Values of the inputs that are given instead of chosen, ``{"humidity": 45}``, or a
            function that returns them before each trial (and once at the start, for their names).
        noise_std: Standard deviation of each value's noise; None estimates it.
        storage: A file or a URL in which the study is kept, under ``name``.
        name: Of the stored study.
        resume: If the stored study is there already it goes on, until it has ``trials`` in all.
        catch: Exceptions that make a trial failed instead of ending the call.
        callbacks: Each called with the study and the trial after every trial.
        progress: Whether a progress bar is drawn; None: on a terminal and in a notebook.

    Returns:
        The study: ``.best``, ``.best_params``, ``.recommended``, ``.trials``, ``.certificate()``.
        If the call ends early, by an exception or Ctrl-C, it is ``error.study`` and
        ``last_study()``.

    Raises:
        ConfigurationError: An argument makes no sense, or the strategy takes no ``noise_std``.
        StudyExistsError: A study of this name is stored already, and ``resume`` is not set.
    """
    place: Any = {"storage": storage, "name": name, "resume": resume}
    run: Any = {"workers": workers, "timeout": timeout, "until": until, "context": context}
    run |= {"catch": catch, "callbacks": callbacks, "progress": progress}
    strategy = _with_noise(strategy, noise_std)
    return _optimise("maximize", objective, space, trials, strategy, seed, outcomes, place, run)


def minimize(
    objective: Callable[[Any], Any],
    space: Any,
    trials: int = 50,
    strategy: Strategy | None = None,
    seed: int = 0,
    *,
    workers: int = 1,
    timeout: float | None = None,
    until: Callable[[Study], bool] | None = None,
    outcomes: Mapping[str, Limit] | None = None,
    context: Context | None = None,
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
        objective: Called with the parameters; returns the value, or the pair (value, noise std).
            With ``outcomes``: the pair (value, outcomes), or a dict with "value" and each outcome.
        space: ``{"lr": nr.Float(1e-5, 1, log=True), …}``, SciPy's bounds ``[(0, 1), (-5, 5)]``, or
            ``nr.Candidates(…)``, a list of designs.
        trials: How many evaluations.
        strategy: How points are chosen; None is ``nr.InsuredGPUCB()``.
        seed: Of the random numbers: the same seed gives the same proposals.
        workers: Evaluations that run at the same time, in threads.
        timeout: Seconds after which nothing new is started.
        until: Asked with the study after each trial: whether to stop, as ``nr.Reached(0.01)``.
        outcomes: Limits of what is measured beside the value, ``{"toxicity": nr.AtMost(0.3)}``.
        context: Values of the inputs that are given instead of chosen, ``{"humidity": 45}``, or a
            function that returns them before each trial (and once at the start, for their names).
        noise_std: Standard deviation of each value's noise; None estimates it.
        storage: A file or a URL in which the study is kept, under ``name``.
        name: Of the stored study.
        resume: If the stored study is there already it goes on, until it has ``trials`` in all.
        catch: Exceptions that make a trial failed instead of ending the call.
        callbacks: Each called with the study and the trial after every trial.
        progress: Whether a progress bar is drawn; None: on a terminal and in a notebook.

    Returns:
        The study: ``.best``, ``.best_params``, ``.recommended``, ``.trials``, ``.certificate()``.
        If the call ends early, by an exception or Ctrl-C, it is ``error.study`` and
        ``last_study()``.

    Raises:
        ConfigurationError: An argument makes no sense, or the strategy takes no ``noise_std``.
        StudyExistsError: A study of this name is stored already, and ``resume`` is not set.
    """
    place: Any = {"storage": storage, "name": name, "resume": resume}
    run: Any = {"workers": workers, "timeout": timeout, "until": until, "context": context}
    run |= {"catch": catch, "callbacks": callbacks, "progress": progress}
    strategy = _with_noise(strategy, noise_std)
    return _optimise("minimize", objective, space, trials, strategy, seed, outcomes, place, run)


def _with_noise(strategy: Strategy | None, noise_std: float | None) -> Strategy | None:
    """The strategy with the std of the values' noise, where it is given."""
    if noise_std is None:
        return strategy
    changed: Any = InsuredGPUCB() if strategy is None else strategy
    if not hasattr(changed, "noise_std"):
        raise ConfigurationError(
            f"{type(changed).__name__} has no noise_std: leave it out, or return (value, noise std)"
        )
    return replace(changed, noise_std=noise_std)


def _optimise(
    goal: Goal,
    objective: Callable[[Any], Any],
    space: Any,
    trials: int,
    strategy: Strategy | None,
    seed: int,
    outcomes: Mapping[str, Limit] | None,
    place: dict[str, Any],
    run: dict[str, Any],
) -> Study:
    check_call(objective, run["catch"], run["callbacks"])
    check_count("trials", trials, 0)
    storage, name, resume = place.values()
    if storage is not None and name is None:
        raise ConfigurationError("a stored study needs a name: give name=…")
    if storage is None and resume:
        raise ConfigurationError("resume=True needs storage=…: a study in memory is not kept")
    context = run["context"]() if callable(run["context"]) else run["context"]
    study = Study.create(
        name or "study",
        space,
        goal,
        strategy,
        seed,
        storage=MemoryStorage() if storage is None else storage,
        resume=resume,
        outcomes=outcomes,
        context=tuple(context or ()),
    )
    _last[:] = [study]
    started, total = (None, trials) if resume else (trials, None)
    try:
        return study.run(objective, started, total=total, **run)
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
