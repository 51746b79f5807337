"""Helpers that the shell, the page and the plots share: texts, and values along an input."""

from __future__ import annotations

import ast
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noregret.space import (
    Array,
    Candidates,
    Choice,
    Int,
    Parameter,
    SearchSpace,
    named_params,
    slice_points,
)
from noregret.strategies import Belief
from noregret.trials import Goal, sign_of

VALUE = re.compile(r"\{'[^{}\"]*\}|\['[^\[\]\"]*\]|\[\]")  # a dict or list with text
CALL = re.compile(r"\b(ask|tell|add|correct|enqueue|reclaim|retry|annotate|replay)\([^()]*\)")
SHELL = {"enqueue": "add", "reclaim": "retry", "replay": "research replay"}  # of other names
MAX_DESIGNS = 2_000  # largest number of designs of a list at which the model is computed


def format_number(value: float | None, digits: int = 6) -> str:
    """``value`` with that many significant digits; an empty text for None."""
    return "" if value is None else f"{value:.{digits}g}"


def without_python(message: str) -> str:
    """A message of the library as a person reads it in the shell and on the page: ``a, b`` instead
    of a list, ``a=1`` instead of a dict, and `tell` instead of ``tell(…)``.
    """

    def value_text(match: re.Match[str]) -> str:
        try:
            value = ast.literal_eval(match[0])
        except (ValueError, SyntaxError):
            return match[0]
        if isinstance(value, dict):
            value = [f"{name}={each}" for name, each in value.items()]
        return ", ".join(map(str, value)) or "none"

    def command_text(match: re.Match[str]) -> str:
        name = SHELL.get(match[1], match[1])
        return f"`{name}{' --failed' if 'failed' in match[0] else ''}`"

    return CALL.sub(command_text, VALUE.sub(value_text, message))


def plus_minus(mean: float, std: float) -> str:
    """``mean ± std`` with two digits of the standard deviation, and the mean to the same place."""
    if not 1e-6 < std < 1e6:
        return f"{mean:.4g} ± {std:.2g}"
    decimals = max(0, 1 - math.floor(math.log10(std)))
    return f"{round(mean, decimals) + 0.0:.{decimals}f} ± {std:.{decimals}f}"  # + 0.0: no −0.00


def format_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> str:
    """Aligned columns as text.

    Args:
        header: The names of the columns.
        rows: The cells, one sequence per line.
        right: Indices of the columns that are aligned to the right.
    """
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    align = [str.rjust if index in right else str.ljust for index in range(len(header))]
    return "\n".join(
        "  ".join(pad(cell, n) for pad, cell, n in zip(align, line, widths, strict=True)).rstrip()
        for line in lines
    )


def spans_decades(values: Sequence[float]) -> bool:
    """Whether a log scale suits these: all positive, and more than three decades apart."""
    return len(values) > 1 and min(values) > 0 and math.log10(max(values) / min(values)) > 3


def values_along(parameter: Parameter, count: int) -> list[Any]:
    """Distinct values of a parameter, in order, at which a curve along it is computed.

    Args:
        parameter: The input.
        count: The largest number of values of a numeric parameter.

    Returns:
        All options of a ``Choice``; all levels of an ``Int`` with at most ``count`` of them;
        otherwise values evenly spaced on the parameter's own scale.
    """
    if isinstance(parameter, Choice):
        return list(parameter.options)
    if isinstance(parameter, Int) and parameter.size <= count:
        return list(range(parameter.low, parameter.high + 1, parameter.step))
    values = [parameter.decode(np.array([u])) for u in np.linspace(0, 1, count)]
    return list(dict.fromkeys(values))  # rounding to a level repeats values


@dataclass(frozen=True, slots=True)
class ModelSlice:
    """The model along one input or two, in the values' units and sign.

    Args:
        values: Where it was computed, along each input; of a list, the values of each design.
        mean: The expected values, one per value. Along two inputs an array with one row per value
            of the second, and NaN where a constraint does not hold.
        std: Posterior standard deviations, shaped as ``mean``.
        lower: Lower ends of the band, shaped as ``mean``.
        upper: Upper ends of the band, shaped as ``mean``.
    """

    values: tuple[list[Any], ...]
    mean: Array
    std: Array
    lower: Array
    upper: Array


def model_slice(
    belief: Belief, space: SearchSpace, goal: Goal, at: Any, counts: Mapping[str, int]
) -> ModelSlice:
    """The model along one input or two.

    Args:
        belief: The model.
        space: The search space. Of a list every design is taken, or MAX_DESIGNS of a long one:
            there is nothing between them.
        goal: "maximize" or "minimize".
        at: The point that holds the values of the other inputs.
        counts: The largest number of values along each input, by name.
    """
    names = list(counts)
    shape: tuple[int, ...] = (-1,)
    if isinstance(space, Candidates):
        rows = space.spread(MAX_DESIGNS)
        values = [space.columns[name].take(rows).tolist() for name in names]
        points, feasible = space.enumeration()[rows], np.ones(len(rows), dtype=np.bool_)
    else:
        values = [values_along(space.parameters[name], count) for name, count in counts.items()]
        held = named_params(space, at)
        grid = itertools.product(*reversed(values))  # the first input varies fastest
        encoded = [space.encode({**held, **dict(zip(names, v[::-1], strict=True))}) for v in grid]
        points, feasible = slice_points(space, np.array(encoded), names)
        if len(names) == 1:
            values = [list(itertools.compress(values[0], feasible))]
            points, feasible = points[feasible], feasible[feasible]
        else:
            shape = (len(values[1]), len(values[0]))
    mean, std = belief.predict(points)
    lower, upper = np.sort(sign_of(goal) * np.array(belief.band(points)), axis=0)
    columns = (sign_of(goal) * mean, std, lower, upper)
    surfaces = [np.where(feasible, column, np.nan).reshape(shape) for column in columns]
    return ModelSlice(tuple(values), *surfaces)


def distances_to_slice(
    belief: Belief, space: SearchSpace, at: Any, names: Sequence[str], points: Sequence[Any]
) -> Array:
    """How far points lie from a slice, in lengthscales; on a list, 0.

    Args:
        belief: The model.
        space: The search space.
        at: The point that holds the values of the other inputs.
        names: The inputs along which the slice runs.
        points: The points.
    """
    if isinstance(space, Candidates):
        return np.zeros(len(points))
    encoded = np.array([space.encode(point) for point in points]).reshape(-1, space.dimension)
    away = (encoded - space.encode(at)) / belief.lengthscales
    for name in names:
        away[:, space.slices[name]] = 0.0
    return np.asarray(np.linalg.norm(away, axis=1))


def best_so_far(values: Sequence[float | None], goal: Goal) -> list[float | None]:
    """The best value up to each position.

    Args:
        values: One entry per trial; None where a trial has no value that counts.
        goal: "maximize" or "minimize".

    Returns:
        As many entries; None before the first value.
    """
    better = max if goal == "maximize" else min

    def update(best: float | None, value: float | None) -> float | None:
        return value if best is None else best if value is None else better(best, value)

    return list(itertools.accumulate(values, update))
