"""Constraints as values: what they say, what they refuse, and how they are kept."""

import sys
import types
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.errors import SpaceError, StorageError
from noregret.space import constraints, read_constraint
from noregret.space.constraints import Constraint
from noregret.storage import codec

THREE = {name: nr.Float(0, 1) for name in "abc"}


def is_round(params: dict[str, Any]) -> bool:
    return float(params["a"]) ** 2 + float(params["b"]) ** 2 <= 0.5


def mixture(*more: Constraint) -> nr.Space:
    return nr.Space(THREE, constraints=[nr.Linear(dict.fromkeys("abc", 1.0), equals=1.0), *more])


@pytest.mark.parametrize(
    ("constraint", "name"),
    [
        (nr.Linear({"a": 1, "b": 1}, at_most=1), "a + b <= 1"),
        (nr.Linear({"a": -1, "b": 2.5}, at_least=0.5), "-a + 2.5 b >= 0.5"),
        (nr.Linear({"a": 1, "b": -1}, at_least=-1, at_most=2), "-1 <= a - b <= 2"),
        (nr.Linear({"a": 1}, equals=0.25), "a = 0.25"),
        (nr.Forbidden({"s": "water", "base": "NaH"}), "not s=water, base=NaH"),
        (nr.Satisfies(is_round), "satisfies tests.space.test_constraints:is_round"),
        (nr.Satisfies(lambda _: True), "satisfies <lambda>"),
    ],
)
def test_a_constraint_has_a_name(constraint: Constraint, name: str) -> None:
    assert str(constraint) == name


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: nr.Linear({}, at_most=1), "coefficients by name"),
        (lambda: nr.Linear({"a": 0}, at_most=1), "other than 0"),
        (lambda: nr.Linear({"a": float("nan")}, at_most=1), "finite number"),
        (lambda: nr.Linear({"a": 1}), "at_most, at_least or both, or equals"),
        (lambda: nr.Linear({"a": 1}, at_most=1, equals=1), "or equals alone"),
        (lambda: nr.Linear({"a": 1}, at_most=1, at_least=2), "at_least ≤ at_most"),
        (lambda: nr.Linear({"a": 1}, at_most=1, tolerance=-1), "at least 0"),
        (lambda: nr.Forbidden({}), "values by name"),
        (lambda: nr.Satisfies("no path"), "import path"),
        (lambda: nr.Satisfies("os:system"), "Python's own library"),
        (lambda: nr.Satisfies(3), "function of a point"),  # type: ignore[arg-type]
        (lambda: mixture(nr.Linear({"d": 1}, at_most=1)), "names ['d']"),
        (lambda: mixture(nr.Forbidden({"a": 0.5})), "may take any number"),
        (lambda: nr.Space(THREE, constraints="a + b"), "list of Linear"),  # type: ignore[arg-type]
        (lambda: nr.Space(THREE, constraints=["a <= 1"]), "list of Linear"),  # type: ignore[list-item]
        (lambda: mixture(nr.Satisfies("not_there_at_all:f")), "cannot be loaded here"),
        (
            lambda: nr.Space(
                {"s": nr.Choice(["x", "y"]), "t": nr.Float(0, 1)},
                constraints=[nr.Linear({"s": 1}, at_most=1)],
            ),
            "which is a choice",
        ),
        (
            lambda: nr.Space(
                {"s": nr.Choice(["x", "y"]), "t": nr.Float(0, 1)},
                constraints=[nr.Forbidden({"s": "z"})],
            ),
            "not one of the options",
        ),
        (lambda: mixture(nr.Satisfies(lambda p: p["nothing"])), "failed at"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, says: str) -> None:
    with pytest.raises(SpaceError) as caught:
        make()
    assert says in str(caught.value)


def test_an_infeasible_point_is_refused_with_the_constraints_name() -> None:
    space = mixture(nr.Linear({"a": 1, "b": -1}, at_most=0.2))
    with pytest.raises(SpaceError, match=r"'a \+ b \+ c = 1': the sum is 1.1"):
        space.canonical({"a": 0.5, "b": 0.5, "c": 0.1})
    with pytest.raises(SpaceError, match=r"'a - b <= 0\.2'"):
        space.canonical({"a": 0.6, "b": 0.3, "c": 0.1})
    assert space.canonical({"a": 0.4, "b": 0.3, "c": 0.3}) == {"a": 0.4, "b": 0.3, "c": 0.3}


def test_what_was_weighed_may_miss_a_sum_by_its_tolerance() -> None:
    ones = dict.fromkeys("abc", 1.0)
    weighed = {"a": 0.3345, "b": 0.333, "c": 0.3335}
    with pytest.raises(SpaceError, match=r"1\.001"):
        nr.Space(THREE, constraints=[nr.Linear(ones, equals=1)]).canonical(weighed)
    loose = nr.Space(THREE, constraints=[nr.Linear(ones, equals=1, tolerance=0.002)])
    assert loose.canonical(weighed) == weighed
    tiny = {name: nr.Float(0, 1e-9) for name in "ab"}  # a millionth of its own range, not of 1
    limit = nr.Space(tiny, constraints=[nr.Linear({"a": 1, "b": 1}, at_most=1e-9)])
    with pytest.raises(SpaceError, match="breaks the constraint"):
        limit.canonical({"a": 9e-10, "b": 9e-10})


def test_rounded_digits_break_no_sum() -> None:
    ones = dict.fromkeys("abc", 1.0)
    space = nr.Space(THREE, constraints=[nr.Linear(ones, equals=1)])

    def fits(*values: float) -> bool:
        try:
            space.canonical(dict(zip("abc", values, strict=True)))
        except SpaceError:
            return False
        return True

    assert fits(0.3333, 0.3333, 0.3333)
    assert fits(0.334, 0.333, 0.334)  # 1.001: each may be off by half of its last digit
    assert fits(0.3333, 0.3333, 0.3335)
    assert not fits(0.3333, 0.3333, 0.3337)
    assert not fits(0.5, 0.5, 0.1)  # rounding explains half a percent at most
    assert not fits(0.5, 0.5002, 0.0)  # 0.5 was weighed as 0.5000
    percent = {name: nr.Float(0, 100) for name in "abc"}
    space = nr.Space(percent, constraints=[nr.Linear(ones, equals=100)])
    assert fits(33.3, 33.3, 33.3)
    assert not fits(33.0, 33.0, 33.0)
    space = nr.Space({**percent, "c": nr.Int(0, 100)}, constraints=[nr.Linear(ones, at_most=100)])
    assert fits(33.35, 33.66, 33)  # inequalities too
    assert not fits(33.3, 33.3, 34)  # 34 is a count
    steps = {name: nr.Float(0, 1, step=0.1) for name in "abc"}
    space = nr.Space(steps, constraints=[nr.Linear(ones, equals=1)])
    assert not fits(0.3, 0.3, 0.3)


def test_proposals_satisfy_a_sum_exactly() -> None:
    space = mixture()
    study = nr.Study(space, "maximize")
    study.add({"a": 0.3333, "b": 0.3333, "c": 0.3333}, 1.0)
    for _ in range(4):
        trial = study.ask()
        assert abs(sum(trial.params.values()) - 1) < 1e-9
        study.tell(trial, 0.5)


def test_the_message_has_the_scaled_point() -> None:
    with pytest.raises(SpaceError, match=r"Scaled to the sum it is a=0\.5, b=0\.25, c=0\.25"):
        mixture().canonical({"a": 1.0, "b": 0.5, "c": 0.5})
    with pytest.raises(SpaceError) as caught:  # nothing to scale
        mixture().canonical({"a": 0.0, "b": 0.0, "c": 0.0})
    assert "Scaled" not in str(caught.value)


def test_a_tolerance_is_written_behind_the_sum() -> None:
    percent = {name: nr.Float(0, 100) for name in "abc"}
    for text in ("a + b + c = 100 ± 0.5", "a+b+c=100±0,5", "a + b + c = 100 +/- 0.5"):
        constraint = read_constraint(text, percent)
        assert constraint == nr.Linear(dict.fromkeys("abc", 1.0), equals=100, tolerance=0.5)
        assert str(constraint) == "a + b + c = 100 ± 0.5"
    between = nr.Linear({"a": 1, "b": -1}, at_least=1, at_most=9, tolerance=0.1)
    assert str(between) == "1 <= a - b <= 9 ± 0.1"
    for each in (
        between,
        nr.Linear({"a": 1}, at_most=3, tolerance=2),
        nr.Linear({"a": 1}, at_least=3),
    ):
        assert read_constraint(str(each), percent) == each
    with pytest.raises(SpaceError, match="cannot be read"):
        read_constraint("a + b = 100 ± much", percent)


def test_spaces_with_constraints_are_kept() -> None:
    space = nr.Space(
        {**THREE, "s": nr.Choice(["x", "y"]), "n": nr.Int(1, 3)},
        constraints=[
            nr.Linear({"a": 1, "b": 2}, at_least=0.1, at_most=1.5, tolerance=0.01),
            nr.Forbidden({"s": "x", "n": 2}),
            nr.Satisfies("tests.space.test_constraints:is_round"),
        ],
    )
    again = codec.from_json(codec.to_json(space))
    assert again == space
    assert again != nr.Space(space.parameters)
    assert "constraints" not in codec.to_json(nr.Space(THREE))  # as it always was


def test_a_function_without_a_path_serves_in_memory_only(tmp_path: Path) -> None:
    space = mixture(nr.Satisfies(lambda p: p["a"] < 0.9))
    assert nr.Study(space, "maximize").ask().params["a"] < 0.9
    with pytest.raises(StorageError, match=r"no import path .* Satisfies\('module:function'\)"):
        nr.Study.create("s", space, "maximize", storage=tmp_path / "s.db")


def test_a_stored_function_is_looked_up_when_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = types.ModuleType("a_laboratory")
    module.small = lambda params: params["a"] < 0.5
    monkeypatch.setitem(sys.modules, "a_laboratory", module)
    place = tmp_path / "s.db"
    study = nr.Study.create(
        "s", mixture(nr.Satisfies("a_laboratory:small")), "maximize", storage=place
    )
    study.tell(study.ask(), 1.0)
    monkeypatch.delitem(sys.modules, "a_laboratory")
    there = nr.Study.open("s", storage=place)
    assert there.best.value == 1.0  # it can be read
    with pytest.raises(SpaceError, match="cannot be loaded here"):
        there.ask()
    assert len(there.trials) == 1


def test_what_a_file_names_is_not_run_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, path = tmp_path / "s.db", "tests.space.test_constraints:is_round"
    nr.Study.create("s", mixture(nr.Satisfies(path)), "maximize", storage=place)
    monkeypatch.setattr(constraints, "_named_here", set())  # another program
    there = nr.Study.open("s", storage=place)
    with pytest.raises(SpaceError, match="NOREGRET_FUNCTIONS=tests"):
        there.ask()
    assert there.trials == []
    monkeypatch.setenv("NOREGRET_FUNCTIONS", "lab, tests.space.test_constraints")
    there.tell(there.ask(), 1.0)
    monkeypatch.delenv("NOREGRET_FUNCTIONS")
    nr.Satisfies(path)  # or the program names it itself
    nr.Study.open("s", storage=place).ask()
