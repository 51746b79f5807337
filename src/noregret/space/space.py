"""Search spaces: the base class that strategies and studies use, a box of named parameters, and
the part of a space with some inputs fixed.

A strategy sees points of ``[0, 1]^d`` only. Integers and choices are rounded by ``snap`` before the
model sees them, so two encodings of one point are one point to the kernel.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from noregret.errors import SpaceError
from noregret.space.array import Array, Indices, Mask, nearest_rows
from noregret.space.blocks import coordinate_mask, slices_of
from noregret.space.conditions import ActiveWhen, Branch, Conditions, flatten
from noregret.space.constraints import Constraint
from noregret.space.parameters import Choice, Float, Parameter, check_names
from noregret.space.region import Region

Params = dict[str, Any] | Array


class SearchSpace(ABC):
    """What a strategy and a study need of a space. Unless a space says otherwise, no input is fixed
    and nothing is constrained.
    """

    parameters: dict[str, Parameter]  # by name
    constraints: tuple[Constraint, ...] = ()  # known before anything is measured
    branches: tuple[ActiveWhen, ...] = ()  # which inputs exist only for some options of a choice
    is_context = False  # whether inputs are fixed because they are context, not for a single ask

    @cached_property
    def slices(self) -> dict[str, slice]:
        """The coordinates of each parameter."""
        return slices_of(self.parameters)

    @cached_property
    def dimension(self) -> int:
        """Number of coordinates of the unit cube."""
        return sum(parameter.width for parameter in self.parameters.values())

    @cached_property
    def inputs(self) -> Inputs:
        """The inputs, to which the coordinates of the unit cube belong."""
        return Inputs(self)

    @cached_property
    def region(self) -> Region | None:
        """The part of the box that satisfies the constraints; None: all of it."""
        return None

    @cached_property
    def whole(self) -> SearchSpace:
        """The space without fixed inputs."""
        return self

    @cached_property
    def fixed(self) -> dict[str, Any]:
        """Values of the fixed inputs by name; empty if none is fixed."""
        return {}

    @cached_property
    def held(self) -> Mask:
        """Which coordinates belong to fixed inputs."""
        return coordinate_mask(self.parameters, [name in self.fixed for name in self.parameters])

    @cached_property
    def at(self) -> Array:
        """The coordinates of the fixed inputs, zero elsewhere."""
        return np.zeros(self.dimension)

    @property
    @abstractmethod
    def continuous(self) -> Mask:
        """Which coordinates may take any value; the others jump or are fixed."""

    @property
    @abstractmethod
    def movable(self) -> Mask:
        """Which coordinates an ascent may move: the continuous ones, and those with a resolution,
        which are snapped afterwards.
        """

    @abstractmethod
    def encode(self, params: Any) -> Array:
        """The coordinates of a point."""

    @abstractmethod
    def decode(self, u: Array) -> Params:
        """The point at coordinates."""

    @abstractmethod
    def canonical(self, params: Any) -> Params:
        """The point as a study keeps it: checked, of plain Python types, numbers unrounded."""

    @abstractmethod
    def snap(self, U: Array) -> Array:
        """Each row moved to the encoding of the point it decodes to."""

    @abstractmethod
    def jumps(self, u: Array) -> Array:
        """The rows next to ``u`` that differ from it in one discrete parameter."""

    @abstractmethod
    def enumeration(self) -> Array | None:
        """All points, encoded, if they are finitely many and few enough to try each; else None."""


class Inputs:
    """Inputs as people count them: a choice is one input, however many coordinates it takes.

    Args:
        space: Their space; ``space.inputs`` keeps them.
    """

    def __init__(self, space: SearchSpace) -> None:
        shown = {name: p for name, p in space.parameters.items() if p.width}
        names, parameters = list(shown), list(shown.values())
        # (d,): the input each coordinate belongs to
        self.group: Indices = np.repeat(np.arange(len(names)), [p.width for p in parameters])
        self.is_choice: Mask = np.array([isinstance(p, Choice) for p in parameters])
        is_held = [space.held[self.group == index].all() for index in range(len(names))]
        self.is_free: Mask = ~np.array(is_held)
        self.count = max(int(self.is_free.sum()), 1)  # number of free inputs
        self.choices = int((self.is_free & self.is_choice).sum())  # of them, choices
        self.of_choices: Mask = self.is_choice[self.group]  # (d,): coordinates of a choice
        self.in_context = space.is_context  # some are given at each ask
        # each choice that decides where inputs exist, and these inputs
        self.branches = tuple(
            (
                names.index(choice),
                tuple(names.index(each.name) for each in space.branches if each.choice == choice),
            )
            for choice in dict.fromkeys(each.choice for each in space.branches)
        )
        # no coordinate moves freely: every design can be measured again
        finite = all(math.isfinite(p.size) for p in parameters)
        self.repeatable = finite if self.branches else not space.continuous.any()
        # per input: the encoded options of a choice, None for a number; None: there are constraints
        self.levels: tuple[Array | None, ...] | None = None
        self.combinations = 1.0  # number of combinations of the inputs with levels
        if space.region is None:
            self.levels = tuple(p.levels() if isinstance(p, Choice) else None for p in parameters)
            if not self.branches:
                self.combinations = math.prod(p.size for p in parameters if math.isfinite(p.size))


@dataclass(frozen=True, init=False)
class Space(SearchSpace):
    """A box of named parameters, and the constraints on them.

    ``Space({"lr": Float(1e-6, 1, log=True), "batch": Int(20, 2000)})``

    Args:
        parameters: Parameters by name, or pairs of name and parameter.
        vector: Whether points are arrays instead of dicts.
        constraints: What is known to be impossible: ``Linear``, ``Forbidden``, ``Satisfies``.
        branches: Which inputs exist only for some options of a choice.

    Raises:
        SpaceError: A parameter, constraint or branch is not valid, or no point is feasible.
    """

    parameters: dict[str, Parameter]
    vector: bool = False
    constraints: tuple[Constraint, ...] = ()
    branches: tuple[ActiveWhen, ...] = ()

    def __init__(
        self,
        parameters: Mapping[str, Parameter | Branch] | Sequence[tuple[str, Parameter | Branch]],
        vector: bool = False,
        constraints: Sequence[Constraint] = (),
        branches: Sequence[ActiveWhen] = (),
    ) -> None:
        self._fill(parameters, vector, constraints, branches)
        self.region  # noqa: B018  # an empty feasible set is an error here

    @staticmethod
    def stored(**fields: Any) -> Space:
        """A space from storage, checked when it was created: functions in its constraints are
        imported only when they are needed.
        """
        space = object.__new__(Space)
        space._fill(**fields)
        return space

    def _fill(
        self, parameters: Any, vector: Any = False, constraints: Any = (), branches: Any = ()
    ) -> None:
        listed = parameters.items() if isinstance(parameters, Mapping) else parameters
        pairs, owned = flatten(list(listed))
        names = [name for name, _ in pairs]
        if not pairs:
            raise SpaceError("a space needs at least one parameter, got none")
        for name, parameter in pairs:
            if not isinstance(name, str) or not name:
                raise SpaceError(f"a parameter's name must be a non-empty string, got {name!r}")
            if not isinstance(parameter, Parameter):
                raise SpaceError(
                    f"parameter {name!r} must be a Float, Int, Choice or Branch, got {parameter!r}:"
                    " use Float(0, 1) for real numbers, Int(1, 8) for whole ones, Choice([…]) for"
                    " options"
                )
        if len(set(names)) < len(names):
            raise SpaceError(f"duplicate parameter names in {names!r}: use each name once")
        if all(parameter.width == 0 for _, parameter in pairs):
            raise SpaceError("every parameter has a single option: there is nothing to optimise")
        if not isinstance(constraints, Sequence) or not all(
            isinstance(each, Constraint) for each in constraints
        ):
            raise SpaceError(
                f"constraints are a list of Linear, Forbidden and Satisfies, got {constraints!r}"
            )
        if (owned or branches) and vector:
            raise SpaceError("a space with branches has points that are dicts, not arrays")
        object.__setattr__(self, "parameters", dict(pairs))
        object.__setattr__(self, "vector", bool(vector))
        object.__setattr__(self, "constraints", tuple(constraints))
        object.__setattr__(self, "branches", (*owned, *branches))
        self._conditions  # noqa: B018  # a wrong branch is an error here

    @staticmethod
    def from_bounds(bounds: Sequence[tuple[float, float]]) -> Space:
        """A space from SciPy's form, a list of ``(low, high)``; its points are arrays."""
        parameters: dict[str, Parameter] = {}
        for index, pair in enumerate(bounds):
            try:
                low, high = pair
                parameters[f"x{index}"] = Float(low, high)
            except SpaceError as error:
                raise SpaceError(f"bounds at position {index}: {error}") from None
            except (TypeError, ValueError):
                raise SpaceError(
                    f"bounds must be (low, high) pairs, got {pair!r} at position {index}"
                ) from None
        return Space(parameters, vector=True)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is computed once: the list of all points may be long."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    # -- computed once --

    @cached_property
    def _conditions(self) -> Conditions:
        return Conditions.of(self.branches, self.parameters, self.slices)

    @cached_property
    def _points(self) -> Region:
        return Region(self.parameters, self.constraints, self._conditions)

    @cached_property
    def region(self) -> Region | None:
        """The part of the box that satisfies the constraints; None: all of it."""
        return self._points if self.constraints else None

    @property
    def branching(self) -> Conditions:
        """Where inputs exist that do not always."""
        return self._points.conditions if self.branches else self._conditions

    @cached_property
    def continuous(self) -> Mask:
        """Which coordinates may take any value; the others jump."""
        free = [parameter.size == math.inf for parameter in self.parameters.values()]
        mask = coordinate_mask(self.parameters, free)
        return mask & ~self.branching.coordinates if self.branches else mask

    @cached_property
    def movable(self) -> Mask:
        """Which coordinates an ascent may move."""
        is_float = [isinstance(parameter, Float) for parameter in self.parameters.values()]
        mask = coordinate_mask(self.parameters, is_float)
        return mask if self.region is None else mask & ~self.region.tied

    def enumeration(self) -> Array | None:
        """All points, encoded, if they are finitely many and few enough to try each; else None."""
        return None if self.continuous.any() else self._points.enumeration()

    # -- points --

    def active(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """A point without the inputs that do not exist for its choices."""
        return self.branching.active(params)

    def encode(self, params: Any) -> Array:
        """The coordinates of a point."""
        values = self._values(params)
        encoded: list[float] = []
        for name, parameter in self.parameters.items():
            try:
                encoded += parameter.encode(values[name])
            except SpaceError as error:
                raise SpaceError(f"parameter {name!r}: {error}") from None
        return np.array(encoded)

    def _values(self, params: Any) -> Mapping[str, Any]:
        if isinstance(params, Mapping):
            params = self.branching.filled(params) if self.branches else params
            missing = [name for name in self.parameters if name not in params]
            unknown = [name for name in params if name not in self.parameters]
            if missing or unknown:
                raise SpaceError(
                    f"a point needs exactly the parameters {list(self.parameters)!r}; missing"
                    f" {missing!r}, unknown {unknown!r}"
                )
            return params
        if not self.vector:
            raise SpaceError(
                f"a point is a dict with the keys {list(self.parameters)!r}, got {params!r}"
            )
        row = np.asarray(params, dtype=object).ravel()
        if len(row) != len(self.parameters):
            raise SpaceError(f"a point has {len(self.parameters)} numbers, got {params!r}")
        return dict(zip(self.parameters, row, strict=True))

    def decode(self, u: Array) -> Params:
        """The point at coordinates."""
        u = np.clip(np.asarray(u, dtype=np.float64), 0.0, 1.0)
        values = {name: p.decode(u[self.slices[name]]) for name, p in self.parameters.items()}
        return np.array(list(values.values()), dtype=np.float64) if self.vector else values

    def canonical(self, params: Any) -> Params:
        """The point as a study keeps it: checked, of plain Python types, numbers unrounded.

        Raises:
            SpaceError: It is not a point of the space, or violates a constraint.
        """
        self.encode(params)
        values = self._values(params)
        broken = None if self.region is None else self.region.refused(values)
        if broken is not None:
            shown = {name: values[name] for name in self.parameters}
            raise SpaceError(
                f"{shown!r} {broken}; nothing was recorded. Correct the point, or loosen the"
                " constraint in a derived study"
            )
        if self.vector:
            return np.array([float(values[name]) for name in self.parameters])
        return {name: p.exact(values[name]) for name, p in self.parameters.items()}

    def snap(self, U: Array) -> Array:
        """Each row moved to the encoding of the point it decodes to."""
        if self.region is None and self.continuous.all():
            return np.clip(np.asarray(U, dtype=np.float64), 0.0, 1.0)
        return self._points.repair(U)

    def jumps(self, u: Array) -> Array:
        """The rows next to ``u`` that differ from it in one discrete parameter."""
        return self._points.jumps(u)


class FixedInputs(SearchSpace):
    """The part of a space on which some inputs have given values. Its coordinates are those of the
    whole space, so that a model of the whole space serves; fewer of them move.

    Args:
        whole: The space without fixed inputs.
        values: Values of the fixed inputs by name.
        is_context: Whether they are context, which is given at every ask.

    Raises:
        SpaceError: A name or value is not of the space, or no point has these values.
    """

    def __init__(
        self, whole: SearchSpace, values: Mapping[str, Any], *, is_context: bool = False
    ) -> None:
        if not isinstance(values, Mapping) or not values:
            raise SpaceError(f"fixed is a dict of at least one name and value, got {values!r}")
        check_names("fixed", values, whole.parameters)
        self.parameters, self.constraints = whole.parameters, whole.constraints
        self.branches, self.is_context, self.whole = whole.branches, is_context, whole
        self.fixed, encoded = {}, dict[str, Array]()
        self.at = np.zeros(self.dimension)
        for name, value in values.items():
            parameter = self.parameters[name]
            try:
                encoded[name] = np.array(parameter.encode(value))
            except SpaceError as error:
                noun = "context" if is_context else "fixed parameter"
                raise SpaceError(f"{noun} {name!r}: {error}") from None
            self.fixed[name], self.at[self.slices[name]] = parameter.exact(value), encoded[name]
        self._region: Region | None = None
        self._every: Array | None
        if isinstance(whole, Space):
            self._check_branches(whole.branching)
            self._region = Region(self.parameters, self.constraints, whole.branching, encoded)
            self._every = self._region.enumeration()
            self.region = self._region if self.constraints else None
        else:
            every = whole.enumeration()
            assert every is not None
            self._every = self._matching(every)
            if len(self._every) == 0:
                raise SpaceError(
                    f"none of the {len(every)} candidates has {self.fixed!r}: fix listed values"
                )

    def _check_branches(self, conditions: Conditions) -> None:
        """Checks that the fixed inputs exist."""
        for name in self.fixed:
            for each in conditions.above(name):
                if self.fixed.get(each.choice, each) not in each.options:
                    where = str(each).removeprefix(f"{each.name} ")
                    raise SpaceError(
                        f"fixed names {name!r}, which exists {where}: fix {each.choice!r} as well"
                    )

    def _matching(self, U: Array) -> Array:
        """The rows that have the fixed values."""
        return U[np.all(U[:, self.held] == self.at[self.held], axis=1)]

    @cached_property
    def continuous(self) -> Mask:
        """Which coordinates may take any value; the others jump or are fixed."""
        return self.whole.continuous & ~self.held

    @cached_property
    def movable(self) -> Mask:
        """Which coordinates an ascent may move."""
        return self.whole.movable & ~self.held

    def encode(self, params: Any) -> Array:
        """The coordinates of a point of the whole space."""
        return self.whole.encode(params)

    def decode(self, u: Array) -> Params:
        """The point at coordinates, with the fixed values exactly as given."""
        params = self.whole.decode(u)
        if self._region is None:
            return params  # a listed design has its own values: 20, not 20.0
        if isinstance(params, dict):
            return params | self.fixed
        for index, name in enumerate(self.parameters):
            params[index] = self.fixed.get(name, params[index])
        return params

    def canonical(self, params: Any) -> Params:
        """The point as a study keeps it."""
        return self.whole.canonical(params)

    def snap(self, U: Array) -> Array:
        """Each row moved to the encoding of the point it decodes to."""
        if self._every is not None:
            return self._every[nearest_rows(np.asarray(U, dtype=np.float64), self._every)]
        assert self._region is not None
        return self._region.repair(U)

    def jumps(self, u: Array) -> Array:
        """The rows next to ``u`` that differ from it in one discrete parameter."""
        if self._region is None:
            return self._matching(self.whole.jumps(u))
        return self._region.jumps(u)

    def enumeration(self) -> Array | None:
        """All points, encoded, if they are finitely many and few enough to try each; else None."""
        return self._every


def spread_points(space: SearchSpace, V: Array) -> Array:
    """Points of a space for rows of the cube: rows spread over the cube become points spread over
    the feasible part. theory.md#feasible

    Args:
        space: The space.
        V: Rows of the unit cube, (n, d).

    Returns:
        Coordinates of the points, (n, d).
    """
    return space.snap(V) if space.region is None else space.region.mapped(V)


def slice_points(space: SearchSpace, U: Array, names: Sequence[str]) -> tuple[Array, Mask]:
    """Rows of a slice along the named inputs, the others moved where constraints require it.

    Args:
        space: The space.
        U: Coordinates of the points, (n, d).
        names: The inputs that keep their values.

    Returns:
        The rows, and which of them are feasible.
    """
    if space.region is None:
        return U, np.ones(len(U), dtype=np.bool_)
    return space.region.through(U, names)


def named_params(space: SearchSpace, params: Any) -> dict[str, Any]:
    """A point by name in plain Python values.

    Args:
        space: The space of the point.
        params: A dict or a row of numbers.

    Returns:
        The values in the order of the space's parameters.
    """
    if not isinstance(params, Mapping):
        params = dict(zip(space.parameters, params, strict=True))
    values = {name: params[name] for name in space.parameters}
    return {n: v.item() if isinstance(v, np.generic) else v for n, v in values.items()}


def coordinate_names(space: SearchSpace) -> list[str]:
    """A name for each coordinate of the unit cube.

    Args:
        space: The space.

    Returns:
        The parameter's name; for a choice of several coordinates ``name=option``.
    """
    return [
        f"{name}={parameter.options[index]}"
        if isinstance(parameter, Choice) and parameter.width > 1
        else name
        for name, parameter in space.parameters.items()
        for index in range(parameter.width)
    ]
