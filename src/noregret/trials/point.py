"""The point of a trial: what was asked for does not change, so neither does it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from noregret.errors import TrialError


class Point(dict[str, Any]):
    """Parameters by name, to read. ``copy()`` and ``dict(…)`` give a plain dict to change."""

    __slots__ = ()

    def _refuse(self, *args: object, **named: object) -> NoReturn:
        raise TrialError(
            "the point of a trial does not change: take a copy, params = dict(trial.params); if"
            " another point was run, tell(trial, value, params={…}) says which"
        )

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[type[Point], tuple[dict[str, Any]]]:
        return Point, (dict(self),)


def fixed(params: Any) -> Any:
    """The same point, in a form that cannot be changed."""
    if isinstance(params, np.ndarray):
        if not params.flags.writeable:
            return params
        kept = params.copy()
        kept.setflags(write=False)
        return kept
    if isinstance(params, Mapping) and not isinstance(params, Point):
        return Point(params)
    return params
