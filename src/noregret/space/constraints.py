"""Constraints that are known before anything is measured: linear ones, combinations that are
forbidden, and functions that say yes or no. A constraint is a value; ``str`` is its name, from
which ``read_constraint`` reads it.
"""

from __future__ import annotations

import importlib
import math
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from operator import attrgetter
from typing import Any, TypeAlias

from noregret.errors import SpaceError
from noregret.space.parameters import Choice, Float, Parameter, check_names, is_finite

TOLERANCE = 1e-6  # of a linear constraint's range: how far an evaluated point may violate it
ROUNDED = 5e-3  # the same where the digits that were typed explain it
FORM = "Linear({'a': 1, 'b': 1}, at_most=1.0)"
AROUND = r"\s*(?:±|\+/-|\+-)\s*"  # before the tolerance: a + b = 100 ± 0.5
RELATIONS = {
    **dict.fromkeys(("<=", "≤", "<"), "at_most"),
    **dict.fromkeys((">=", "≥", ">"), "at_least"),
    **dict.fromkeys(("==", "="), "equals"),
}
NUMBER = r"\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?|[.,]\d+"
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
            never exact); None: a millionth of its range, or what its rounded digits explain, up to
            half a percent.

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
                f"Linear needs coefficients by name, got {self.coefficients!r}: write {FORM}"
            )
        for name, coefficient in self.coefficients.items():
            if not is_finite(coefficient) or coefficient == 0:
                raise SpaceError(
                    f"Linear needs a finite number other than 0 for {name!r}, got {coefficient!r}"
                )
        bounds = {"at_most": self.at_most, "at_least": self.at_least, "equals": self.equals}
        for what, bound in (bounds | {"tolerance": self.tolerance}).items():
            if bound is not None and not is_finite(bound):
                raise SpaceError(f"Linear {what} must be a finite number, got {bound!r}")
            object.__setattr__(self, what, None if bound is None else float(bound))
        if (self.equals is None) == (self.at_most is None and self.at_least is None):
            raise SpaceError(
                "Linear needs at_most, at_least or both, or equals alone; got"
                f" { ({k: v for k, v in bounds.items() if v is not None})!r}: write {FORM}"
            )
        if self.tolerance is not None and self.tolerance < 0:
            raise SpaceError(f"Linear tolerance must be at least 0, got {self.tolerance!r}")
        low, high = self.bounds
        if low > high:
            raise SpaceError(
                f"Linear needs at_least ≤ at_most, got at_least={low!r}, at_most={high!r}"
            )
        coefficients = {str(name): float(c) for name, c in self.coefficients.items()}
        object.__setattr__(self, "coefficients", coefficients)

    def __str__(self) -> str:
        text = "".join(
            f" {'-' if c < 0 else '+'} {'' if abs(c) == 1 else f'{abs(c):.12g} '}{name}"
            for name, c in self.coefficients.items()
        )
        text = text[3:] if text.startswith(" + ") else f"-{text[3:]}"
        around = "" if self.tolerance is None else f" ± {self.tolerance:.12g}"
        if self.equals is not None:
            return f"{text} = {self.equals:.12g}{around}"
        if self.at_least is None:
            return f"{text} <= {self.at_most:.12g}{around}"
        if self.at_most is None:
            return f"{text} >= {self.at_least:.12g}{around}"
        return f"{self.at_least:.12g} <= {text} <= {self.at_most:.12g}{around}"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.coefficients)

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest sum."""
        low = self.at_least if self.equals is None else self.equals
        high = self.at_most if self.equals is None else self.equals
        return -math.inf if low is None else low, math.inf if high is None else high

    def check(self, parameters: Mapping[str, Parameter]) -> None:
        """Checks that it fits a space."""
        check_names(f"the constraint {self}", self.names, parameters)
        for name in self.names:
            parameter = parameters[name]
            if isinstance(parameter, Choice):
                raise SpaceError(
                    f"the constraint {self} counts {name!r}, which is a choice: use Forbidden(…)"
                    " or Satisfies(…)"
                )
            if not math.isfinite(parameter.span):
                raise SpaceError(
                    f"the constraint {self} counts {name!r}, whose range is too wide to be added"
                    f" up, {parameter}: narrow it"
                )

    def unit(self, parameters: Mapping[str, Parameter]) -> float:
        """The largest change that one input can make: the sum's own scale."""
        spans = {name: p.span for name, p in parameters.items() if not isinstance(p, Choice)}
        return max(abs(c) * spans[name] for name, c in self.coefficients.items())

    def broken(self, values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str | None:
        """What is wrong with a point, in words; None: nothing."""
        allowed = TOLERANCE * self.unit(parameters) if self.tolerance is None else self.tolerance
        return None if self._excess(values) <= allowed else f"the sum is {self._sum(values):.10g}"

    def _sum(self, values: Mapping[str, Any]) -> float:
        return math.fsum(c * float(values[name]) for name, c in self.coefficients.items())

    def _excess(self, values: Mapping[str, Any]) -> float:
        """How far the sum is out of its bounds."""
        low, high = self.bounds
        return max(low - self._sum(values), self._sum(values) - high)

    def is_rounding(self, values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> bool:
        """Whether a point violates it only because its numbers were rounded, as .3333 three times
        in a + b + c = 1. All are taken to have as many digits as the longest.
        """
        weighed = self._weighed(parameters)
        if self.tolerance is not None or not weighed:
            return False
        digits = min(
            int(Decimal(repr(float(values[name]))).as_tuple().exponent) for name in weighed
        )
        rounded = math.fsum(abs(self.coefficients[name]) for name in weighed) * 0.5 * 10.0**digits
        return self._excess(values) <= min(rounded, ROUNDED * self.unit(parameters)) * (1 + 1e-9)

    def scaled(
        self, values: Mapping[str, Any], parameters: Mapping[str, Parameter]
    ) -> dict[str, float] | None:
        """The inputs of an equality times one factor, so that their sum is right; None: there is no
        such point.
        """
        total, names = self._sum(values), self._weighed(parameters)
        same_sign = len({c > 0 for c in self.coefficients.values()}) == 1
        if not (self.equals and total and same_sign and len(names) == len(self.coefficients)):
            return None
        scaled = {name: float(values[name]) * self.equals / total for name in names}
        inside = all(parameters[n].low <= v <= parameters[n].high for n, v in scaled.items())  # type: ignore[union-attr]
        return scaled if inside else None

    def _weighed(self, parameters: Mapping[str, Parameter]) -> list[str]:
        """Its inputs that may take any number."""
        named = {name: parameters[name] for name in self.coefficients}
        return [n for n, p in named.items() if isinstance(p, Float) and p.resolution is None]


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
        check_names(f"the constraint {self}", self.names, parameters)
        for name, value in self.values.items():
            parameter = parameters[name]
            if isinstance(parameter, Float) and parameter.resolution is None:
                raise SpaceError(
                    f"the constraint {self} forbids one value of {name!r}, which may take any"
                    " number: give it a step, or forbid a range by Linear(…) or Satisfies(…)"
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
        """A constraint from storage: a stored name alone does not permit the call."""
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

    def broken(self, values: Mapping[str, Any], parameters: Mapping[str, Parameter]) -> str | None:
        try:
            return None if self._called(dict(values)) else "the function says no"
        except SpaceError:
            raise
        except Exception as error:
            raise SpaceError(
                f"the constraint {self} failed at {dict(values)!r} with"
                f" {type(error).__name__}: {error}. It must return True or False for every point"
            ) from error


Constraint = Linear | Forbidden | Satisfies


def import_path(function: Callable[..., Any]) -> str | None:
    """``module:function`` if that is this function; None if it has no such path."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not module or not name or module == "__main__" or _is_standard(module):
        return None
    try:
        value = attrgetter(name)(sys.modules.get(module))
    except AttributeError:  # of a lambda, or a function inside another
        return None
    return f"{module}:{name}" if value is function else None


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _check_path(path: str) -> None:
    module, colon, name = path.partition(":")
    parts = [*module.split("."), *name.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise SpaceError(f"Satisfies needs an import path such as 'module:function', got {path!r}")
    if _is_standard(module):
        raise SpaceError(
            f"Satisfies takes a function of yours, got {path!r} of Python's own library: wrap it in"
            " a function of your own module"
        )


def _imported(path: str) -> Predicate:
    _check_path(path)
    module, _, name = path.partition(":")
    allowed = [each.strip() for each in os.environ.get(FUNCTIONS, "").split(",")]
    if path not in _named_here and module not in allowed:
        raise SpaceError(
            f"what a stored study names is not run unasked, got 'satisfies {path}': set"
            f" {FUNCTIONS}={module}, or write nr.Satisfies({path!r}) before you open the study"
        )
    try:
        function: Predicate = attrgetter(name)(importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise SpaceError(
            f"the constraint 'satisfies {path}' cannot be loaded here ({error}): install the"
            " module, or add its folder to PYTHONPATH"
        ) from error
    if not callable(function):
        raise SpaceError(f"the constraint 'satisfies {path}' is not a function but {function!r}")
    return function


# -- from text --


def read_constraint(
    text: str, parameters: Mapping[str, Parameter], *, functions: bool = True
) -> Constraint:
    """A constraint as ``str`` writes it.

    Args:
        text: For example ``a + 2 b <= 1``, ``not solvent=water, base=NaH`` or
            ``satisfies module:function``.
        parameters: The parameters of the space.
        functions: Whether the text may name a function.

    Raises:
        SpaceError: The text is not of such a form, or does not fit the parameters.
    """
    words = text.strip()
    if words.startswith("not "):
        return _forbidden(words[4:], parameters)
    if words.startswith("satisfies "):
        if not functions:
            raise SpaceError(f"{words!r} names a function: do this from Python or the shell")
        return Satisfies(words.removeprefix("satisfies ").strip())
    return _linear(words, parameters)


def _linear(text: str, parameters: Mapping[str, Parameter]) -> Linear:
    """``a + 2 b <= 1``, ``a + b + c = 1 ± 0.01``, ``0.2 <= a - b <= 1``, ``a <= 2 b``."""
    tolerance = re.search(rf"{AROUND}({NUMBER})\s*$", text)
    about = None if tolerance is None else float(tolerance[1].replace(",", "."))
    sides, kinds = _sides(text[: tolerance.start()] if tolerance else text, parameters)
    if not kinds or len(kinds) > 2 or (len(kinds) == 2 and "equals" in kinds):
        raise _unclear(text, "it needs one <=, >= or =, or two of the same direction")
    if len(kinds) == 2:
        (left, low), (middle, constant), (right, high) = sides
        if kinds[0] != kinds[1] or left or right:
            raise _unclear(text, "between two relations stands the sum, around them numbers")
        ends = sorted([low - constant, high - constant])
        return Linear(middle, at_least=ends[0], at_most=ends[1], tolerance=about)
    (left, below), (right, above) = sides
    total = {name: left.get(name, 0.0) - right.get(name, 0.0) for name in {**left, **right}}
    total = {name: coefficient for name, coefficient in total.items() if coefficient != 0}
    if not total:
        raise _unclear(text, f"it names no input; there are {', '.join(parameters)}")
    return Linear(total, **{kinds[0]: above - below}, tolerance=about)


def _sides(
    text: str, parameters: Mapping[str, Parameter]
) -> tuple[list[tuple[dict[str, float], float]], list[str]]:
    """The sums between the relations, each as coefficients by name and the number beside them; and
    what the relations say. A name may hold anything.
    """
    names = "|".join(map(re.escape, sorted(parameters, key=len, reverse=True)))
    word = rf"(?<![^\W\d])(?:{names})(?!\w)"  # by itself; a number may stand before it: 2a
    relation = "|".join(RELATIONS)
    pieces = re.findall(rf"({word})|({relation})|(.)", text, re.DOTALL)
    sides, kinds = [""], []
    for name, sign, other in pieces:
        if sign:
            kinds.append(RELATIONS[sign])
            sides.append("")
        sides[-1] += name or other
    term = re.compile(rf"\s*([+\-−]?)\s*(?:({word})|({NUMBER})(?:\s*[*·]?\s*({word}))?)\s*")
    return [_sum(side.strip(), term, text, parameters) for side in sides], kinds


def _sum(
    side: str, term: re.Pattern[str], text: str, parameters: Mapping[str, Parameter]
) -> tuple[dict[str, float], float]:
    total: dict[str, float] = {}
    constant, place = 0.0, 0
    if not side:
        raise _unclear(text, "something is missing beside a relation")
    while place < len(side):
        match, rest = term.match(side, place), side[place:].lstrip("+-− ")
        if match is None:
            named = ", ".join(parameters)
            raise _unclear(text, f"{rest or 'the end'!r} is no input; there are {named}")
        sign, alone, number, of = match.groups()
        if place and not sign:
            raise _unclear(text, f"a + or − is missing before {rest!r}")
        amount = float(number.replace(",", ".")) if number else 1.0
        amount = -amount if sign in ("-", "−") else amount
        name = alone or of
        if name:
            total[name] = total.get(name, 0.0) + amount
        else:
            constant += amount
        place = match.end()
    return total, constant


def _forbidden(text: str, parameters: Mapping[str, Parameter]) -> Forbidden:
    """``solvent=water, base=NaH``."""
    values: dict[str, Any] = {}
    for part in text.split(","):
        name, _, word = (each.strip() for each in part.partition("="))
        if not name or not word:
            raise SpaceError(f"write forbidden combinations as name=value, …, got {text!r}")
        check_names(f"the forbidden combination {text!r}", [name], parameters)
        values[name] = _value(word, parameters[name], text)
    return Forbidden(values)


def _value(word: str, parameter: Parameter, text: str) -> Any:
    if isinstance(parameter, Choice):
        options = [option for option in parameter.options if str(option) == word]
        return options[0] if options else word  # Forbidden refuses a word that is no option
    try:
        number = float(word)
    except ValueError:
        raise SpaceError(f"the combination {text!r} needs a number, got {word!r}") from None
    return number if isinstance(parameter, Float) or number != int(number) else int(number)


def _unclear(text: str, why: str) -> SpaceError:
    return SpaceError(
        f"the constraint {text!r} cannot be read: {why}. Write it as a + 2 b <= 1,"
        " a + b + c = 100 ± 0.5, 0.2 <= a - b <= 1, or not solvent=water, base=NaH"
    )
