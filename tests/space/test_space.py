import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noregret.errors import SpaceError
from noregret.space import Candidates, Choice, Float, Int, Space, as_space

MIXED = Space(
    {
        "lr": Float(1e-6, 1, log=True),
        "batch": Int(20, 2000),
        "opt": Choice(["sgd", "adam", "lion"]),
        "flag": Choice([True, False]),
    }
)


@given(st.integers(0, 10_000))
def test_decode_then_encode_is_snap(seed: int) -> None:
    u = np.random.default_rng(seed).random(MIXED.dimension)
    params = MIXED.decode(u)
    assert isinstance(params, dict)
    np.testing.assert_allclose(MIXED.encode(params), MIXED.snap(u[None])[0], atol=1e-12)
    again = MIXED.decode(MIXED.encode(params))
    assert isinstance(again, dict)
    assert again.pop("lr") == pytest.approx(params.pop("lr"), rel=1e-12)
    assert again == params
    np.testing.assert_array_equal(MIXED.snap(MIXED.snap(u[None])), MIXED.snap(u[None]))


def test_dimensions_and_continuity() -> None:
    assert MIXED.dimension == 1 + 1 + 3 + 1
    assert MIXED.continuous.tolist() == [True, False, False, False, False, False]


def test_bounds_give_arrays() -> None:
    space = as_space([(0, 1), (-5, 5)])
    point = space.decode(np.array([0.5, 0.25]))
    assert isinstance(point, np.ndarray)
    np.testing.assert_allclose(point, [0.5, -2.5])
    np.testing.assert_allclose(space.encode([0.5, -2.5]), [0.5, 0.25])
    np.testing.assert_allclose(as_space(np.array([[0.0, 2.0]])).encode([1.0]), [0.5])


def test_jumps_change_one_discrete_parameter_each() -> None:
    u = MIXED.snap(np.full((1, 6), 0.4))[0]
    before = MIXED.decode(u)
    assert isinstance(before, dict)
    rows = MIXED.jumps(u)
    changed = []
    for row in rows:
        after = MIXED.decode(row)
        assert isinstance(after, dict)
        different = [name for name in before if before[name] != after[name]]
        assert len(different) == 1
        changed += different
    assert set(changed) == {"batch", "opt", "flag"}


def test_small_finite_spaces_are_enumerated() -> None:
    every = Space({"n": Int(1, 4), "c": Choice(["a", "b", "c"])}).enumeration()
    assert every is not None
    assert every.shape == (12, 4)
    assert len(np.unique(every, axis=0)) == 12
    assert MIXED.enumeration() is None


def test_finite_spaces_of_up_to_100_000_designs_are_listed_once() -> None:
    space = Space({"n": Int(1, 500), "c": Choice([*"abcdefgh"]), "x": Float(0, 1, step=0.04)})
    assert space.enumeration() is None  # 104,000
    space = Space({"n": Int(1, 500), "c": Choice([*"abcdefgh"]), "x": Float(0, 1, digits=1)})
    every = space.enumeration()
    assert every is not None
    assert every.shape == (44_000, 10)
    assert space.enumeration() is every
    naive = itertools.product(range(1, 501), "abcdefgh", [k / 10 for k in range(11)])
    for u, (n, c, x) in itertools.islice(zip(every, naive, strict=True), 0, None, 997):
        assert np.array_equal(u, space.encode({"n": n, "c": c, "x": x}))
    again = pickle.loads(pickle.dumps(space))
    assert again == space
    assert np.array_equal(again.enumeration(), every)
    assert len(pickle.dumps(space)) < 1000
    longest = Space({"n": Int(1, 100_000)}).enumeration()
    assert longest is not None
    assert len(longest) == 100_000
    assert Space({"n": Int(0, 100_000)}).enumeration() is None


def test_candidates_of_dicts_with_strings() -> None:
    space = Candidates(
        [
            {"t": 10.0, "solvent": "water"},
            {"t": 30.0, "solvent": "dmf"},
            {"t": 20.0, "solvent": "water"},
            {"t": 10.0, "solvent": "water"},
        ]
    )
    assert len(space.rows) == 3  # equal rows are one design
    u = space.encode({"t": 20.0, "solvent": "water"})
    assert space.decode(u + 0.01) == {"t": 20.0, "solvent": "water"}
    with pytest.raises(SpaceError, match="not one of the 3 candidates"):
        space.encode({"t": 15.0, "solvent": "dmf"})


def test_candidates_of_numbers() -> None:
    rows = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])  # a constant column takes no coordinate
    space = Candidates(rows)
    assert space.dimension == 1
    np.testing.assert_array_equal(space.decode(np.array([0.4])), [2.0, 5.0])
    np.testing.assert_array_equal(space.snap(np.array([[0.1], [0.9]])), [[0.0], [1.0]])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Space({}), "at least one"),
        (lambda: Space([("a", Float(0, 1)), ("a", Float(0, 2))]), "duplicate"),
        (lambda: Space({"a": (0, 1)}), "Float, Int, Choice or Branch"),  # type: ignore[dict-item]
        (lambda: Space({"": Float(0, 1)}), "non-empty"),
        (lambda: Space({"a": Choice([1])}), "nothing to optimise"),
        (lambda: as_space([(0, 1), (3, 2)]), "position 1.*low < high"),
        (lambda: as_space([1, 2]), "pairs"),
        (lambda: as_space("ab"), "a space is"),
        (lambda: as_space(3), "a space is"),
        (lambda: Candidates([]), "at least one row"),
        (lambda: Candidates([[1.0, 2.0], [1.0]]), "has 1 numbers"),
        (lambda: Candidates([[1.0, "a"]]), "row of numbers"),
        (lambda: Candidates([{"a": 1}, {"b": 1}]), "keys"),
        (lambda: Candidates([{"a": 1.0}, {"a": float("nan")}]), "not finite"),
    ],
)
def test_impossible_spaces(make: Any, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        make()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lr": 0.1}, "missing"),
        ({"lr": 0.1, "batch": 30, "opt": "sgd", "flag": True, "more": 1}, "unknown"),
        ({"lr": 5.0, "batch": 30, "opt": "sgd", "flag": True}, "'lr'.*outside"),
        ([0.1, 30, "sgd", True], "a dict with the keys"),
    ],
)
def test_impossible_points(params: Any, message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        MIXED.encode(params)
    with pytest.raises(SpaceError, match="2 numbers"):
        as_space([(0, 1), (0, 1)]).encode([0.5])
