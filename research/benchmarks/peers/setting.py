"""What a peer is told before its first trial, and the unit cube for peers that know boxes only.
Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Value = bool | int | float | str
KINDS = ("float", "int", "choice")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One input: a float or int in [low, high], on a log scale if asked, or a choice among
    options.
    """

    name: str
    kind: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    options: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(
                f"kind of {self.name!r} must be one of {', '.join(KINDS)}, got {self.kind!r}"
            )
        if self.kind == "choice":
            if len(set(map(str, self.options))) < max(2, len(self.options)):
                raise ValueError(
                    f"options of {self.name!r} must be two or more with different names, got"
                    f" {list(self.options)}"
                )
            if len(set(map(type, self.options))) > 1:
                raise ValueError(
                    f"options of {self.name!r} must be of one type, which some peers ask for, got"
                    f" {list(self.options)}"
                )
            return
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(
                f"low of {self.name!r} must be below high and both finite, got [{self.low},"
                f" {self.high}]"
            )
        if self.log and self.low <= 0:
            raise ValueError(
                f"low of {self.name!r} must be positive on a log scale, got {self.low}"
            )
        if self.kind == "int" and not (
            float(self.low).is_integer() and float(self.high).is_integer()
        ):
            raise ValueError(
                f"bounds of the int {self.name!r} must be whole numbers, got [{self.low},"
                f" {self.high}]"
            )

    @property
    def width(self) -> int:
        """How many coordinates of the cube it takes: one, or one per option."""
        return len(self.options) if self.kind == "choice" else 1

    def _ends(self) -> tuple[float, float]:
        half = (
            0.5 if self.kind == "int" else 0.0
        )  # every whole number gets a cell of its own, the two end ones too
        low, high = self.low - half, self.high + half
        return (math.log(low), math.log(high)) if self.log else (low, high)

    def encode(self, value: Value) -> list[float]:
        if self.kind == "choice":
            return [float(option == value) for option in self.options]
        low, high = self._ends()
        number = float(value)
        return [((math.log(number) if self.log else number) - low) / (high - low)]

    def decode(self, cube: Sequence[float]) -> Value:
        if self.kind == "choice":
            return self.options[max(range(len(self.options)), key=lambda i: cube[i])]
        low, high = self._ends()
        number = low + min(1.0, max(0.0, float(cube[0]))) * (high - low)
        return self.native(math.exp(number) if self.log else number)

    def native(self, value: Any) -> Value:
        """A library's own number or string as the plain value JSON knows, with rounding past a
        bound taken back.
        """
        if self.kind == "choice":
            for option in self.options:
                if option == value or str(option) == str(value):
                    return option
            raise ValueError(f"{value!r} is no option of {self.name!r}")
        number = float(value)
        if not math.isfinite(number):
            raise ValueError(f"{self.name!r} must be finite, got {number}")
        number = min(self.high, max(self.low, number))
        return round(number) if self.kind == "int" else number


@dataclass(frozen=True, slots=True)
class Sum:
    """A known constraint: low ≤ Σ coefficient·value ≤ high, in the values' own units; equal ends:
    an equality. An end may be infinite.
    """

    coefficients: tuple[tuple[str, float], ...]
    low: float
    high: float

    @property
    def is_equality(self) -> bool:
        return self.low == self.high

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.coefficients)

    def violation(self, named: dict[str, Value]) -> float:
        """How far a point is outside; at most 0 inside."""
        total = sum(c * float(named[name]) for name, c in self.coefficients)
        return max(self.low - total, total - self.high)


@dataclass(frozen=True, slots=True)
class Setting:
    """The fields of the message that starts a run. ``noise_std`` is what the harness adds; 0 where
    it is not known. ``linear``: known constraints on the inputs. ``limits``: how many outcome
    constraints are measured with every value. ``own_start``: the peer starts by itself.
    """

    parameters: tuple[Parameter, ...]
    seed: int
    noisy: bool
    noise_std: float
    candidates: tuple[tuple[float, ...], ...] | None
    trials: int
    linear: tuple[Sum, ...] = ()
    own_start: bool = False
    limits: int = 0

    def __post_init__(self) -> None:
        if not self.parameters or len({parameter.name for parameter in self.parameters}) < len(
            self.parameters
        ):
            raise ValueError(
                "parameters must have names that differ, got"
                f" {[parameter.name for parameter in self.parameters]}"
            )
        if not 0 <= self.seed < 2**31:
            raise ValueError(
                f"seed must lie in [0, 2**31), the range every peer takes, got {self.seed}"
            )
        if not (math.isfinite(self.noise_std) and self.noise_std >= 0) or (
            self.noise_std > 0 and not self.noisy
        ):
            raise ValueError(
                f"noise_std must be finite, and 0 where noisy is false, got {self.noise_std} with"
                f" noisy={self.noisy}"
            )
        if self.trials < 1:
            raise ValueError(f"trials must be at least 1, got {self.trials}")
        if self.candidates is not None:
            if any(parameter.kind == "choice" for parameter in self.parameters):
                raise ValueError("candidates are rows of floats: no parameter may be a choice")
            if not self.candidates or any(
                len(row) != len(self.parameters) for row in self.candidates
            ):
                raise ValueError(
                    f"every candidate must have {len(self.parameters)} numbers, one per parameter"
                )

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Setting:
        """Reads the ``start`` message."""
        rows = message.get("candidates")
        described = [{**p, "options": tuple(p.get("options") or ())} for p in message["parameters"]]
        return cls(
            parameters=tuple(Parameter(**p) for p in described),
            seed=int(message["seed"]),
            noisy=bool(message["noisy"]),
            noise_std=float(message["noise_std"]),
            candidates=None if rows is None else tuple(tuple(map(float, row)) for row in rows),
            trials=int(message["trials"]),
            linear=tuple(
                Sum(
                    tuple((name, float(c)) for name, c in each["coefficients"].items()),
                    -math.inf if each["low"] is None else float(each["low"]),
                    math.inf if each["high"] is None else float(each["high"]),
                )
                for each in message.get("linear") or ()
            ),
            own_start=bool(message.get("own_start", False)),
            limits=int(message.get("limits", 0)),
        )

    @property
    def dimension(self) -> int:
        """Coordinates of the cube, choices one-hot."""
        return sum(parameter.width for parameter in self.parameters)

    def encode(self, x: Sequence[Value]) -> list[float]:
        """A point in the unit cube: log scales taken, choices one-hot."""
        return [
            u
            for parameter, value in zip(self.parameters, x, strict=True)
            for u in parameter.encode(value)
        ]

    def decode(self, cube: Sequence[float]) -> list[Value]:
        """The point a cube coordinate stands for: ints rounded, the largest coordinate of a choice
        taken.
        """
        point: list[Value] = []
        at = 0
        for parameter in self.parameters:
            point.append(parameter.decode(cube[at : at + parameter.width]))
            at += parameter.width
        return point

    def corners(self) -> list[dict[int, float]]:
        """Every combination of choices, as the values of its coordinates in the cube; one empty
        combination without choices.
        """
        combinations: list[dict[int, float]] = [{}]
        at = 0
        for parameter in self.parameters:
            if parameter.kind == "choice":
                codes = [
                    dict(enumerate(parameter.encode(option), start=at))
                    for option in parameter.options
                ]
                combinations = [
                    {**combination, **code} for combination in combinations for code in codes
                ]
            at += parameter.width
        return combinations

    def cube_sums(self) -> list[tuple[list[int], list[float], float, float]]:
        """The constraints on the cube: coordinates, coefficients and ends. Log scales have none."""
        place, at = {}, 0
        for parameter in self.parameters:
            place[parameter.name] = (at, parameter)
            at += parameter.width
        made = []
        for each in self.linear:
            columns, factors, below = [], [], 0.0
            for name, c in each.coefficients:
                column, parameter = place[name]
                if parameter.log or parameter.kind != "float":
                    raise ValueError(f"{name!r} in a sum must be a float on a linear scale")
                columns.append(column)
                factors.append(c * (parameter.high - parameter.low))
                below += c * parameter.low
            made.append((columns, factors, each.low - below, each.high - below))
        return made

    def named(self, x: Sequence[Value]) -> dict[str, Value]:
        return {parameter.name: value for parameter, value in zip(self.parameters, x, strict=True)}

    def native(self, x: Sequence[Any]) -> list[Value]:
        return [
            parameter.native(value) for parameter, value in zip(self.parameters, x, strict=True)
        ]
