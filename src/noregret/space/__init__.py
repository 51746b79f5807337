"""Search spaces and their encoding to the unit cube.

parameters  Float, Int, Choice                box     named parameters, or (low, high) pairs
candidates  a finite list of designs          slice   a space with some parameters held
branch      inputs that do not always exist
columns     its values as arrays, read from   rows    rows of a table, found by content
            arrays, frames and files          naming  points and coordinates by name
constraints what is known to be impossible    region  what constraints leave of a box, made of
polytope    linear ones, solved and sampled           blocks: lists, polytopes and mixed ones
"""

from noregret.space.array import Array, Indices, Mask
from noregret.space.box import Space
from noregret.space.branch import WORDS as ONLY_FOR
from noregret.space.branch import Branch, Only, read_only
from noregret.space.candidates import Candidates, as_space
from noregret.space.choice import Choice
from noregret.space.columns import Column
from noregret.space.constraints import Constraint, Forbidden, Linear, Satisfies
from noregret.space.naming import coordinate_names, named_params
from noregret.space.parameters import Float, Int, Parameter
from noregret.space.points import region_of, slice_points, spread_points
from noregret.space.region import Region
from noregret.space.rows import RowIndex
from noregret.space.search_space import Params, SearchSpace
from noregret.space.slice import Slice, hold
from noregret.space.wording import read_constraint, read_forbidden, read_linear

# what can be stored
SPACES: tuple[type, ...] = (
    Float,
    Int,
    Choice,
    Space,
    Candidates,
    Linear,
    Forbidden,
    Satisfies,
    Only,
)

__all__ = [
    "ONLY_FOR",
    "SPACES",
    "Array",
    "Branch",
    "Candidates",
    "Choice",
    "Column",
    "Constraint",
    "Float",
    "Forbidden",
    "Indices",
    "Int",
    "Linear",
    "Mask",
    "Only",
    "Parameter",
    "Params",
    "Region",
    "RowIndex",
    "Satisfies",
    "SearchSpace",
    "Slice",
    "Space",
    "as_space",
    "coordinate_names",
    "hold",
    "named_params",
    "read_constraint",
    "read_forbidden",
    "read_linear",
    "read_only",
    "region_of",
    "slice_points",
    "spread_points",
]
