"""noregret with SciPy's manners: ``minimize_noisy(fun, bounds)`` returns an ``OptimizeResult``."""

from __future__ import annotations

import math
from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from scipy.optimize import Bounds, OptimizeResult

from noregret.errors import ConfigurationError, SpaceError, check_count
from noregret.integrations.axes import tell_finite
from noregret.space import Array, Float, Int, Parameter, Space
from noregret.strategies import InsuredGPUCB, Strategy
from noregret.study import Study

STOPPED = 99  # SciPy's status for a callback that raised StopIteration


def minimize_noisy(
    fun: Callable[..., Any],
    bounds: Any,
    args: tuple[Any, ...] = (),
    *,
    maxfun: int = 50,
    x0: Any = None,
    y0: Any = None,
    integrality: Any = None,
    noise_std: float | None = None,
    strategy: Strategy | None = None,
    rng: Any = None,
    callback: Callable[..., Any] | None = None,
) -> OptimizeResult:
    """Minimises ``fun(x, *args)``, which may be noisy and expensive, over a box.

    Args:
        fun: The function. A value that is not finite marks its point as failed.
        bounds: ``scipy.optimize.Bounds`` or ``(low, high)`` pairs.
        args: Further arguments of ``fun``.
        maxfun: How often ``fun`` is called.
        x0: A point, or rows of points, to begin with.
        y0: Their values, if they are known already.
        integrality: Which variables are whole numbers.
        noise_std: The noise's standard deviation, if it is known; 0 for exact values.
        strategy: How points are chosen; None is the default strategy.
        rng: A seed or a Generator.
        callback: Called after each evaluation, with ``intermediate_result`` if that is its
            argument's name, else with x. ``StopIteration`` ends the run.

    Returns:
        A result whose ``x`` is the evaluated point with the lowest posterior mean and ``fun`` that
        mean, with ``fun_std``. ``x_observed`` and ``fun_observed`` are the lowest value seen, which
        under noise is partly luck. ``x_iters`` and ``func_vals`` are all evaluations, ``study`` is
        the study behind them.

    Raises:
        ConfigurationError: A setting is wrong, or ``fun`` returns no real number.
        SpaceError: The bounds are not finite, or a point of ``x0`` is outside.
    """
    check_count("maxfun", maxfun)
    if strategy is not None and noise_std is not None:
        raise ConfigurationError(
            "give noise_std or a strategy, not both: a strategy has its own noise_std"
        )
    box = _Box(bounds, integrality)
    seed = int(np.random.default_rng(rng).integers(2**31))
    strategy = InsuredGPUCB(noise_std=noise_std) if strategy is None else strategy
    study = Study(box.space, "minimize", strategy, seed)
    start = _start(box, x0, y0)
    for index, x in enumerate(start):
        if y0 is None:
            study.enqueue(x[box.varies])
        else:
            study.add(x[box.varies], np.ravel(y0)[index])
    X: list[Array] = []
    values: list[float] = []
    status, message = 0, f"maxfun={maxfun} evaluations were made."
    while len(X) < maxfun and status == 0:
        trial = study.ask()
        x = box.full(trial.params)
        value = _number(fun(x.copy(), *args))
        tell_finite(study, trial, value)
        X.append(x)
        values.append(value)
        try:
            if callback is not None and "intermediate_result" in signature(callback).parameters:
                callback(intermediate_result=OptimizeResult(x=x.copy(), fun=value, nfev=len(X)))
            elif callback is not None:
                callback(x.copy())
        except StopIteration:
            status, message = STOPPED, "`callback` raised `StopIteration`."
    given = 0 if y0 is not None else min(len(start), len(X))
    result = OptimizeResult(success=status == 0, status=status, message=message, study=study)
    result.update(x_iters=np.array(X), func_vals=np.array(values), nfev=len(X), nit=len(X) - given)
    _add_optimum(result, box)
    return result


class _Box:
    """SciPy's bounds; a variable whose bounds are equal is none of the study's."""

    def __init__(self, bounds: Any, integrality: Any) -> None:
        self.low, high_ends = _limits(bounds)
        flags = np.asarray(False if integrality is None else integrality)
        try:
            whole = np.broadcast_to(flags, self.low.shape).astype(bool)
        except ValueError:
            raise SpaceError(
                f"integrality must be one flag or {len(self.low)}, got {integrality!r}"
            ) from None
        self.varies = self.low < high_ends
        parameters: dict[str, Parameter] = {}
        for index in np.flatnonzero(self.varies):
            low, high = float(self.low[index]), float(high_ends[index])
            try:
                ends = (math.ceil(low), math.floor(high)) if whole[index] else (low, high)
                parameters[f"x{index}"] = Int(*ends) if whole[index] else Float(*ends)
            except (SpaceError, OverflowError) as error:
                raise SpaceError(f"bounds at position {index}: {error}") from None
        if not parameters:
            raise SpaceError(f"all bounds are equal, {bounds!r}: there is nothing to optimise")
        self.space = Space(parameters, vector=True)

    def full(self, free: Array) -> Array:
        x = self.low.copy()
        x[self.varies] = free
        return x


def _limits(bounds: Any) -> tuple[Array, Array]:
    try:
        if isinstance(bounds, Bounds):
            low, high = np.broadcast_arrays(np.atleast_1d(bounds.lb), np.atleast_1d(bounds.ub))
        else:
            pairs = [[float(low), float(high)] for low, high in bounds]
            low, high = np.array(pairs).reshape(-1, 2).T
    except (TypeError, ValueError):
        raise SpaceError(
            f"bounds must be scipy.optimize.Bounds or finite (low, high) pairs, got {bounds!r}"
        ) from None
    if not (len(low) and np.isfinite([low, high]).all() and (low <= high).all()):
        raise SpaceError(f"bounds must be finite with low ≤ high, got {bounds!r}")
    return np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)


def _start(box: _Box, x0: Any, y0: Any) -> list[Array]:
    if x0 is None:
        if y0 is not None:
            raise ConfigurationError("y0 are the values at x0: give x0 too")
        return []
    rows = np.atleast_2d(np.asarray(x0, dtype=np.float64))
    if rows.ndim != 2 or rows.shape[1] != len(box.low):
        count, shape = len(box.low), np.shape(x0)
        raise SpaceError(
            f"x0 must be a point of {count} numbers or rows of them, got shape {shape}"
        )
    if y0 is not None and np.size(y0) != len(rows):
        raise ConfigurationError(
            f"y0 must have one value per point of x0, got {np.size(y0)} for {len(rows)}"
        )
    for row in rows:
        box.space.encode(row[box.varies])
        if not np.array_equal(row[~box.varies], box.low[~box.varies]):
            raise SpaceError(f"x0 {row.tolist()!r} differs from the bounds where they are equal")
    return list(rows)


def _number(raw: Any) -> float:
    array = np.asarray(raw)
    if array.size != 1 or array.dtype.kind not in "iuf":
        raise ConfigurationError(f"fun must return one real number, got {raw!r}")
    return float(array.reshape(()))


def _add_optimum(result: OptimizeResult, box: _Box) -> None:
    """What was found: the recommended point and the best observed one."""
    study = result.study
    if not any(trial.state == "complete" for trial in study.trials):
        x = result.x_iters[0]
        result.update(x=x, fun=np.nan, fun_std=np.nan, x_observed=x, fun_observed=np.nan)
        result.update(success=False, status=1, message="no value was finite.")
        return
    found = study.result()
    mean, std = found.prediction or (found.recommended.value, np.nan)
    result.update(x=box.full(found.recommended.params), fun=mean, fun_std=std)
    result.update(x_observed=box.full(found.best.params), fun_observed=found.best.value)
