"""Constraints that are known before anything is measured: linear ones, combinations that are
forbidden, and functions that say yes or no. A constraint is a value; ``str`` is its name.
"""

from __future__ import annotations

import importlib
import math
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from noregret.errors import SpaceError
from noregret.space.parameters import Choice, Float, Parameter

TOLERANCE = 1e-6  # of a linear constraint's range: by how much what was run may miss it
FORM = "Linear({'a': 1, 'b': 1}, at_most=1.0)"
FUNCTIONS = "NOREGRET_FUNCTIONS"  # modules whose functions stored studies may name, by commas
Predicate: TypeAlias = Callable[[dict[str, Any]], Any]  # whether a point may be run
_named_here: set[str] = set()  # paths that this program named itself


@dataclass(frozen=True, slots=True)
class Linear:
    """A weighted sum of numbers that is at most, at least or equal to a number, such as
    ``Linear({"a": 1, "b": 1}, at_most=1.0)``. Proposed points satisfy it to rounding.

    Args:
        coefficients: The weights by input.
        at_most: The largest sum.
        at_least: The smallest sum.
        equals: The sum, instead of the other two.
        tolerance: By how much a point that was run may violate it, in the sum's units (weighing is
            never exact); None: a millionth of its range.

    Raises:
        SpaceError: A number is not finite, a weight is 0, or the bounds contradict each other.
    """

    coefficients: dict[str, float]
    at_most: float | None = None
    at_least: float | None = None
    equals: float | None = None
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.coefficients, Mapping) or not self.coefficients:
            raise SpaceError(
                f"Linear needs the inputs' coefficients by name, got {self.coefficients!r}: write"
                f" {FORM}"
            )
        for name, coefficient in self.coefficients.items():
            if not _is_number(coefficient) or coefficient == 0:
                raise SpaceError(
                    f"Linear needs a finite number other than 0 for {name!r}, got {coefficient!r}:"
                    " leave out what does not count"
                )
        given = {"at_most": self.at_most, "at_least": self.at_least, "equals": self.equals}
        for what, bound in given.items():
            if bound is not None and not _is_number(bound):
                raise SpaceError(f"Linear {what} must be a finite number, got {bound!r}")
        if (self.equals is None) == (self.at_most is None and self.at_least is None):
            raise SpaceError(
                "Linear needs at_most, at_least or both, or equals alone; got"
                f" { ({k: v for k, v in given.items() if v is not None})!r}: write {FORM}"
            )
        if not (self.tolerance is None or (_is_number(self.tolerance) and self.tolerance >= 0)):
            raise SpaceError(
                f"Linear tolerance must be a number of at least 0, got {self.tolerance!r}"
            )
        coefficients = {str(name): float(c) for name, c in self.coefficients.items()}
        object.__setattr__(self, "coefficients", coefficients)
        for what in (*given, "tolerance"):
            bound = getattr(self, what)
            object.__setattr__(self, what, None if bound is None else float(bound))
        low, high = self.at_least, self.at_most
        if low is not None and high is not None and low > high:
            raise SpaceError(
                f"Linear needs at_least ≤ at_most, got at_least={low!r}, at_most={high!r}: no"
                " point satisfies both"
            )

    def __str__(self) -> str:
        text = "".join(
            f" {'-' if c < 0 else '+'} {'' if abs(c) == 1 else f'{abs(c):.12g} '}{name}"
            for name, c in self.coefficients.items()
        )
        text = text.removeprefix(" + ")
        text = f"-{text[3:]}" if text.startswith(" - ") else text
        if self.equals is not None:
            return f"{text} = {self.equals:.12g}"
        if self.at_least is None:
            return f"{text} <= {self.at_most:.12g}"
        if self.at_most is None:
            return f"{text} >= {self.at_least:.12g}"
        return f"{self.at_least:.12g} <= {text} <= {self.at_most:.12g}"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.coefficients)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest sum."""
        if self.equals is not None:
            return self.equals, self.equals
        low = -math.inf if self.at_least is None else self.at_least
        return low, math.inf if self.at_most is None else self.at_most

    def check(self, parameters: Mapping[str, Parameter]) -> None:
        """That it fits a space."""
        _check_names(self, parameters)
        for name in self.names:
            parameter = parameters[name]
            if isinstance(parameter, Choice):
                raise SpaceError(
                    f"the constraint {self} counts {name!r}, which is a choice: a linear"
                    " constraint needs numbers; Forbidden(…) and Satisfies(…) are for choices"
                )
            if not math.isfinite(parameter.span):
                raise SpaceError(
                    f"the constraint {self} counts {name!r}, whose range is too wide to be added"
                    f" up, {parameter}: narrow it"
                )

    def unit(self, parameters: Mapping[str, Parameter]) -> float:
        """The largest change that one input can make: the sum's own scale."""
        return max(abs(c) * _span(parameters[name]) for name, c in self.coefficients.items())

    def broken(self, values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str | None:
        """What is wrong with a point, in words; None: nothing."""
        total = math.fsum(c * float(values[name]) for name, c in self.coefficients.items())
        low, high = self.bounds
        allowed = TOLERANCE * self.unit(parameters) if self.tolerance is None else self.tolerance
        return None if low - allowed <= total <= high + allowed else f"the sum is {total:.10g}"


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A combination that must not be run: ``Forbidden({"solvent": "water", "base": "NaH"})``.

    Args:
        values: The values by input.

    Raises:
        SpaceError: There are none.
    """

    values: dict[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping) or not self.values:
            raise SpaceError(
                f"Forbidden needs values by name, got {self.values!r}: write"
                " Forbidden({'solvent': 'water', 'base': 'NaH'})"
            )
        object.__setattr__(self, "values", dict(self.values))

    def __str__(self) -> str:
        return "not " + ", ".join(f"{name}={value}" for name, value in self.values.items())

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.values)

    def check(self, parameters: Mapping[str, Parameter]) -> None:
        _check_names(self, parameters)
        for name, value in self.values.items():
            parameter = parameters[name]
            if isinstance(parameter, Float) and parameter.resolution is None:
                raise SpaceError(
                    f"the constraint {self} forbids one value of {name!r}, which may take any"
                    " number: that excludes next to nothing; give it a step, or write a range as"
                    " Linear(…) or Satisfies(…)"
                )
            try:
                parameter.encode(value)
            except SpaceError as error:
                raise SpaceError(f"the constraint {self}: parameter {name!r}: {error}") from None

    def broken(self, values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str | None:
        same = all(
            parameters[name].encode(values[name]) == parameters[name].encode(value)
            for name, value in self.values.items()
        )
        return "this combination is forbidden" if same else None


@dataclass(frozen=True)
class Satisfies:
    """A function that says whether a point may be run: ``Satisfies("lab:is_safe")``, or the
    function itself.

    A stored study keeps the import path ``module:function``; a function without one (a lambda, one
    of ``__main__``) serves in memory only. Where a stored study is opened, the function is called
    only if the program there names it too, or NOREGRET_FUNCTIONS names its module.

    Args:
        function: The function, or its import path. It takes a point's dict and returns True or
            False, always the same for the same point.

    Raises:
        SpaceError: It is neither a function nor an import path of one.
    """

    function: str | Predicate

    def __post_init__(self) -> None:
        if isinstance(self.function, str):
            _check_path(self.function)
            _named_here.add(self.function)
        elif callable(self.function):
            self.__dict__["_called"] = self.function
            path = import_path(self.function)
            if path is not None:
                _named_here.add(path)
                object.__setattr__(self, "function", path)
        else:
            raise SpaceError(
                "Satisfies needs a function of a point, or its import path such as"
                f" 'module:function', got {self.function!r}"
            )

    @staticmethod
    def stored(function: str) -> Satisfies:
        """From a study's row, which names a function and is not trusted to have it called."""
        constraint = object.__new__(Satisfies)
        object.__setattr__(constraint, "function", function)
        return constraint

    def __str__(self) -> str:
        if isinstance(self.function, str):
            return f"satisfies {self.function}"
        return f"satisfies {getattr(self.function, '__name__', repr(self.function))}"

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def check(self, parameters: Mapping[str, Parameter]) -> None:
        self._called  # noqa: B018  # a function that cannot be imported is an error here

    @cached_property
    def _called(self) -> Predicate:
        return _imported(self.function) if isinstance(self.function, str) else self.function

    def holds(self, values: Mapping[str, Any]) -> bool:
        """What the function says of a point."""
        try:
            return bool(self._called(dict(values)))
        except SpaceError:
            raise
        except Exception as error:
            raise SpaceError(
                f"the constraint {self} failed at {dict(values)!r} with"
                f" {type(error).__name__}: {error}. It must answer True or False for every point"
                " of the space"
            ) from error

    def broken(self, values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str | None:
        return None if self.holds(values) else "the function says no"


Constraint = Linear | Forbidden | Satisfies


def import_path(function: Callable[..., Any]) -> str | None:
    """``module:function`` if that is this function; None if it has no such path."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name or module == "__main__" or "<" in name:
        return None
    if module.partition(".")[0] in sys.stdlib_module_names:
        return None
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    return f"{module}:{name}" if value is function else None


def _check_path(path: str) -> None:
    module, colon, name = path.partition(":")
    parts = [*module.split("."), *name.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise SpaceError(
            f"Satisfies needs an import path such as 'module:function', got {path!r}: the part"
            " before the colon is imported, the part behind it is looked up there"
        )
    if parts[0] in sys.stdlib_module_names:
        raise SpaceError(
            f"Satisfies takes a function of yours, got {path!r} of Python's own library, which is"
            " never called from a stored study: wrap it in a function of your own module"
        )


def _imported(path: str) -> Predicate:
    _check_path(path)
    module, _, name = path.partition(":")
    allowed = [each.strip() for each in os.environ.get(FUNCTIONS, "").split(",")]
    if path not in _named_here and module not in allowed:
        raise SpaceError(
            f"this study has the constraint 'satisfies {path}', and what a file names is not run"
            f" unasked: set {FUNCTIONS}={module}, or write nr.Satisfies({path!r}) in your program"
            " before it opens the study"
        )
    try:
        value: Any = importlib.import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError) as error:
        raise SpaceError(
            f"the constraint 'satisfies {path}' cannot be loaded here ({error}): put the module"
            " where Python finds it (PYTHONPATH, or install it); nothing was changed"
        ) from error
    if not callable(value):
        raise SpaceError(f"the constraint 'satisfies {path}' is no function but {value!r}")
    function: Predicate = value
    return function


def _check_names(constraint: Constraint, parameters: Mapping[str, Parameter]) -> None:
    unknown = [name for name in constraint.names if name not in parameters]
    if unknown:
        raise SpaceError(
            f"the constraint {constraint} names {unknown!r}, which this space does not have: its"
            f" parameters are {list(parameters)!r}"
        )


def _span(parameter: Parameter) -> float:
    assert not isinstance(parameter, Choice)
    return parameter.span


def _is_number(value: Any) -> bool:
    number = isinstance(value, (int, float, np.integer, np.floating))
    return number and not isinstance(value, bool) and math.isfinite(value)
