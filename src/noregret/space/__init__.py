"""Search spaces and their encoding to the unit cube.

parameters  Float, Int, Choice
space       SearchSpace, a box of parameters, and the part of a space with some inputs fixed
candidates  a finite list of designs, its columns
constraints what is known to be impossible
conditions  inputs that do not always exist
region      the points of a space, sampled, searched and shown
blocks      inputs tied by constraints
polytope    linear constraints, sampled
array       array types, rows found by content
"""

from noregret.space.array import Array, Indices, Mask, RowIndex
from noregret.space.candidates import Candidates, Column, as_space
from noregret.space.conditions import ONLY_FOR, ActiveWhen, Branch, read_only
from noregret.space.constraints import Constraint, Forbidden, Linear, Satisfies, read_constraint
from noregret.space.parameters import Choice, Float, Int, Parameter
from noregret.space.region import Region
from noregret.space.space import (
    FixedInputs,
    Inputs,
    Params,
    SearchSpace,
    Space,
    coordinate_names,
    named_params,
    slice_points,
    spread_points,
)

__all__ = [
    "ONLY_FOR",
    "ActiveWhen",
    "Array",
    "Branch",
    "Candidates",
    "Choice",
    "Column",
    "Constraint",
    "FixedInputs",
    "Float",
    "Forbidden",
    "Indices",
    "Inputs",
    "Int",
    "Linear",
    "Mask",
    "Parameter",
    "Params",
    "Region",
    "RowIndex",
    "Satisfies",
    "SearchSpace",
    "Space",
    "as_space",
    "coordinate_names",
    "named_params",
    "read_constraint",
    "read_only",
    "slice_points",
    "spread_points",
]
