"""Constraints as they are typed."""

import pytest

import noregret as nr
from noregret.errors import SpaceError
from noregret.space import Parameter, read_constraint
from noregret.space.constraints import Constraint

NAMES: dict[str, Parameter] = {
    "a": nr.Float(0, 1),
    "b": nr.Float(0, 1),
    "1-butanol": nr.Float(0, 1),
    "x_1": nr.Int(0, 9),
    "flow rate": nr.Float(0, 5),
    "solvent": nr.Choice(["water", "dmf"]),
    "batch": nr.Choice([1, 2.5, None]),
}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a + b <= 1", nr.Linear({"a": 1, "b": 1}, at_most=1)),
        ("a+b<=1", nr.Linear({"a": 1, "b": 1}, at_most=1)),
        ("2a - 3.5*b >= -.5", nr.Linear({"a": 2, "b": -3.5}, at_least=-0.5)),
        ("a ≤ 2 · b", nr.Linear({"a": 1, "b": -2}, at_most=0)),
        ("a + 1 = b + 1,5", nr.Linear({"a": 1, "b": -1}, equals=0.5)),
        ("0.2 <= a - b <= 1", nr.Linear({"a": 1, "b": -1}, at_least=0.2, at_most=1)),
        ("1 >= a >= 0.2", nr.Linear({"a": 1}, at_least=0.2, at_most=1)),
        ("1-butanol + a = 1", nr.Linear({"1-butanol": 1, "a": 1}, equals=1)),
        ("2 1-butanol <= 1e-3", nr.Linear({"1-butanol": 2}, at_most=1e-3)),
        ("3 x_1 + flow rate < 7", nr.Linear({"x_1": 3, "flow rate": 1}, at_most=7)),
        ("not solvent=water, x_1=3", nr.Forbidden({"solvent": "water", "x_1": 3})),
        ("not batch=2.5, x_1=3", nr.Forbidden({"batch": 2.5, "x_1": 3})),
        ("not batch=None, solvent=dmf", nr.Forbidden({"batch": None, "solvent": "dmf"})),
        ("satisfies lab:safe", nr.Satisfies("lab:safe")),
    ],
)
def test_it_is_read_as_meant_and_comes_back(text: str, meant: Constraint) -> None:
    assert read_constraint(text, NAMES) == meant
    assert read_constraint(str(meant), NAMES) == meant


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a + b", "it needs one"),
        ("a + c <= 1", "'c <= 1' is no input|'c' is no input"),
        ("a + b <= 1 >= 2", "between two relations|same direction"),
        ("a b <= 1", "a + or − is missing"),
        ("a + <= 1", "is no input"),
        ("<= 1", "something is missing"),
        ("1 <= 2", "names no input"),
        ("a - a <= 2", "names no input"),
        ("not solvent", "name=value"),
        ("not mass=3", "names \\['mass'\\]"),
        ("not x_1=many", "needs a number"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, says: str) -> None:
    with pytest.raises(SpaceError, match=says.replace("+", r"\+")):
        read_constraint(text, NAMES)


def test_a_page_names_no_functions() -> None:
    with pytest.raises(SpaceError, match="from Python or the shell"):
        read_constraint("satisfies lab:safe", NAMES, functions=False)
