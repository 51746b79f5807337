"""What constraints leave: against brute force, and uniform with a negative control."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

import noregret as nr
from noregret.errors import SpaceError
from noregret.space import Array, FixedInputs, Region
from noregret.space.blocks import LinearSystem, PolytopeBlock


def region(space: nr.Space) -> Region:
    found = space.region
    assert found is not None
    return found


def uniform(region: Region, count: int, rng: np.random.Generator) -> Array:
    """Independent uniform feasible points."""
    return region.mapped(rng.random((count, region.dimension)))


def floats(names: str, **more: Any) -> dict[str, nr.Float]:
    return {name: nr.Float(0, 1, **more) for name in names}


def total(names: str, **bound: float) -> nr.Linear:
    return nr.Linear(dict.fromkeys(names, 1.0), **bound)


SPACES: dict[str, Callable[[], nr.Space]] = {
    "mixture": lambda: nr.Space(
        {**floats("abc"), "t": nr.Float(20, 90), "s": nr.Choice(["x", "y", "z"])},
        constraints=[total("abc", equals=1.0)],
    ),
    "cut": lambda: nr.Space(
        floats("ab"),
        constraints=[total("ab", at_most=1.2), nr.Linear({"a": 1, "b": -2}, at_least=-1)],
    ),
    "bounded mixture": lambda: nr.Space(
        {"a": nr.Float(0.1, 0.6), "b": nr.Float(0, 0.5), "c": nr.Float(0.2, 1)},
        constraints=[total("abc", equals=1.0), nr.Linear({"a": 1, "b": -1}, at_least=-0.2)],
    ),
    "large": lambda: nr.Space(
        floats("abcdef"),
        constraints=[total("abcdef", equals=1.0), total("ab", at_most=0.3)],
    ),
    "steps": lambda: nr.Space(floats("abc", step=0.1), constraints=[total("abc", equals=1.0)]),
    "whole": lambda: nr.Space(
        {name: nr.Int(0, 40) for name in "abcdef"}, constraints=[total("abcdef", equals=60)]
    ),
    "mixed": lambda: nr.Space(
        {"n": nr.Int(1, 6), "x": nr.Float(1e-2, 1, log=True), "y": nr.Float(0, 5)},
        constraints=[nr.Linear({"n": 1, "x": 3, "y": 1}, equals=6)],
    ),
    "logs": lambda: nr.Space(
        {"x": nr.Float(1e-3, 1, log=True), "y": nr.Float(1e-3, 1, log=True)},
        constraints=[total("xy", at_most=0.5)],
    ),
    "pairs": lambda: nr.Space(
        {"s": nr.Choice(["w", "d", "e"]), "b": nr.Choice(["NaH", "K"]), "t": nr.Float(0, 1)},
        constraints=[nr.Forbidden({"s": "w", "b": "NaH"})],
    ),
    "tangle": lambda: nr.Space(
        {
            "s": nr.Choice(["w", "d", "e"]),
            "one": nr.Choice(["only"]),
            "n": nr.Int(1, 3),
            "t": nr.Float(0, 5),
        },
        constraints=[nr.Forbidden({"s": "w", "n": 2}), nr.Linear({"n": 1, "t": 1}, at_least=5)],
    ),
    "disc": lambda: nr.Space(
        floats("xy"), constraints=[nr.Satisfies(lambda p: p["x"] ** 2 + p["y"] ** 2 <= 0.25)]
    ),
}


def holds(space: nr.Space, params: Any) -> bool:
    """A naive check, from the constraints as they are written."""
    for each in space.constraints:
        if isinstance(each, nr.Linear):
            value = sum(c * params[name] for name, c in each.coefficients.items())
            ranges: Any = space.parameters
            scale = sum(abs(c) * ranges[n].high for n, c in each.coefficients.items())
            low, high = each.bounds
            if not low - 1e-7 * scale <= value <= high + 1e-7 * scale:
                return False
        elif isinstance(each, nr.Forbidden):
            if all(params[name] == value for name, value in each.values.items()):
                return False
        elif each.broken(params, {}) is not None:
            return False
    return True


@pytest.mark.parametrize("name", SPACES)
def test_all_that_is_drawn_moved_or_jumped_to_is_feasible(name: str) -> None:
    space, rng = SPACES[name](), np.random.default_rng(1)
    inside = region(space)
    drawn = uniform(inside, 300, rng)
    wild = rng.uniform(-0.3, 1.3, (300, space.dimension))
    repaired = space.snap(wild)
    jumped = [space.jumps(u) for u in drawn[:10]]
    for U in (drawn, repaired, *jumped):
        assert inside.feasible(U).all()
        assert np.all((U >= 0) & (U <= 1))
        for u in U[:100]:
            params = space.decode(u)
            assert holds(space, params), params
            np.testing.assert_allclose(space.encode(params), u, atol=1e-9)
            space.canonical(params)  # what is proposed is accepted
    assert len(np.unique(drawn, axis=0)) > 20
    np.testing.assert_allclose(space.snap(drawn), drawn, atol=1e-9)  # a feasible point stays
    np.testing.assert_array_equal(inside.mapped(wild % 1), inside.mapped(wild % 1))
    moved = np.abs(repaired - np.clip(wild, 0, 1)).max(axis=1)
    # negative control: the box's own points are mostly not feasible, so something was to be done
    assert np.mean(moved > 1e-6) > 0.1


def spacing(X: Array) -> Array:
    """The cumulative distribution of the first of three shares of 1: 1 − (1 − x)²."""
    return np.asarray(1 - (1 - X) ** 2)


def test_mixtures_are_uniform_on_the_simplex() -> None:
    U = uniform(region(SPACES["mixture"]()), 4000, np.random.default_rng(0))[:, :3]
    for column in U.T:
        assert kstest(column, spacing).pvalue > 1e-3
    np.testing.assert_allclose(U.sum(axis=1), 1.0, atol=1e-12)
    # negative control: shares made by dividing by their sum are not uniform
    R = np.random.default_rng(0).random((4000, 3))
    assert kstest((R / R.sum(axis=1, keepdims=True))[:, 0], spacing).pvalue < 1e-6


@pytest.mark.parametrize("name", ["cut", "bounded mixture", "logs", "large"])
def test_samples_are_those_of_rejection(name: str) -> None:
    """Against points of the cube of which only the feasible are kept: counts in cells agree."""
    space = SPACES[name]()
    inside, rng = region(space), np.random.default_rng(2)
    if name == "large":
        naive = rng.dirichlet(np.ones(6), 60_000)
        naive = naive[naive[:, 0] + naive[:, 1] <= 0.3]
    elif name == "bounded mixture":  # u of c follows: w_c = (1 − a − b − 0.2)/0.8
        a, b = rng.uniform(0.1, 0.6, 60_000), rng.uniform(0, 0.5, 60_000)
        kept = (1 - a - b >= 0.2) & (a - b >= -0.2)
        naive = np.stack([(a - 0.1) / 0.5, b / 0.5, (0.8 - a - b) / 0.8], axis=1)[kept]
    else:
        naive = rng.random((60_000, space.dimension))
        naive = naive[[holds(space, space.decode(u)) for u in naive]]
    ours = uniform(inside, 6000, rng)
    assert chi_squared(ours, naive) < 4.0
    # negative control: rows of the cube that are moved to the feasible set are not uniform
    assert chi_squared(space.snap(rng.random((6000, space.dimension))), naive) > 8.0


def chi_squared(one: Array, other: Array) -> float:
    """The largest standardised difference of two samples' χ² over halves and quarters of inputs,
    in standard deviations."""
    worst = 0.0
    for j, k in itertools.combinations(range(one.shape[1]), 2):
        edges = [np.quantile(other[:, i], [0.25, 0.5, 0.75]) for i in (j, k)]
        cells = [4 * np.searchsorted(edges[0], X[:, j]) + np.searchsorted(edges[1], X[:, k])
                 for X in (one, other)]  # fmt: skip
        counts = [np.bincount(each, minlength=16) for each in cells]
        share = (counts[0] + counts[1]) / (len(one) + len(other))
        used = share > 0
        found = sum(
            float((((c - n * share) ** 2)[used] / (n * share)[used]).sum())
            for c, n in zip(counts, (len(one), len(other)), strict=True)
        )
        free = int(used.sum()) - 1
        worst = max(worst, (found - free) / math.sqrt(2 * free))
    return worst


def test_a_lattice_is_enumerated_completely() -> None:
    space = SPACES["steps"]()
    every = space.enumeration()
    assert every is not None
    naive = {(i, j, k) for i in range(11) for j in range(11) for k in range(11) if i + j + k == 10}
    assert {tuple(np.rint(10 * row).astype(int)) for row in every} == naive


def test_a_long_lattice_is_walked_uniformly() -> None:
    space = nr.Space(
        {name: nr.Int(0, 500) for name in "abc"}, constraints=[total("abc", equals=500)]
    )
    assert space.enumeration() is None  # 125,751 of them
    U = uniform(region(space), 4000, np.random.default_rng(0))
    assert kstest(U[:, 0] + np.random.default_rng(1).random(4000) / 500, spacing).pvalue > 1e-3


@pytest.mark.parametrize(
    ("constraints", "allowed"),
    [
        ([total("abc", at_most=70, at_least=3)], lambda p: 3 <= p["a"] + p["b"] + p["c"] <= 70),
        ([nr.Linear({"a": 3, "b": -2}, equals=1)], lambda p: 3 * p["a"] - 2 * p["b"] == 1),
        ([nr.Forbidden({"s": "w", "a": 2})], lambda p: (p["s"], p["a"]) != ("w", 2)),
        ([nr.Satisfies(lambda p: p["a"] < p["b"])], lambda p: p["a"] < p["b"]),
        (
            [total("ab", at_most=30), nr.Satisfies(lambda p: p["c"] % 3 > 0 or p["s"] == "w")],
            lambda p: p["a"] + p["b"] <= 30 and (p["c"] % 3 > 0 or p["s"] == "w"),
        ),
    ],
)
def test_up_to_100_000_designs_under_constraints_are_listed_once(
    constraints: list[Any], allowed: Callable[[dict[str, Any]], bool]
) -> None:
    space = nr.Space(
        {
            "a": nr.Int(1, 36),
            "b": nr.Int(1, 36),
            "c": nr.Int(1, 36),
            "s": nr.Choice(["w", "d"]),
        },
        constraints=constraints,
    )
    every = space.enumeration()
    assert every is not None
    assert space.enumeration() is every
    numbers = np.rint(every[:, :3] * 35 + 1).astype(int)
    found = {(*row, "wd"[int(s)]) for row, s in zip(numbers.tolist(), every[:, 3], strict=True)}
    product = itertools.product(range(1, 37), range(1, 37), range(1, 37), "wd")
    assert found == {row for row in product if allowed(dict(zip("abcs", row, strict=True)))}
    assert len(found) == len(every)


def test_a_long_equality_is_listed_without_looking_through_all_combinations() -> None:
    space = nr.Space(
        {name: nr.Int(0, 440) for name in "abc"}, constraints=[total("abc", equals=440)]
    )
    every = space.enumeration()
    assert every is not None
    assert len(every) == 441 * 442 // 2
    assert np.all(np.rint(every * 440).sum(axis=1) == 440)


def test_combinations_beside_free_inputs() -> None:
    space = nr.Space(
        {"n": nr.Int(1, 3), "s": nr.Choice(["w", "d", "e"]), "k": nr.Choice(["p", "q"])},
        constraints=[nr.Forbidden({"s": "w", "n": 2}), nr.Satisfies(lambda p: p["n"] < 3)],
    )
    every = space.enumeration()
    assert every is not None
    found = {tuple(space.decode(u).values()) for u in every}  # type: ignore[union-attr]
    wanted = itertools.product((1, 2), ("w", "d", "e"), ("p", "q"))
    assert found == {row for row in wanted if row[:2] != (2, "w")}
    assert len(every) == len(found)


@pytest.mark.parametrize(
    ("parameters", "constraints", "named"),
    [
        (floats("ab"), [total("ab", at_least=2.5)], ["a + b >= 2.5"]),
        (
            floats("abc"),
            [total("ab", at_least=1.5), total("ab", at_most=1), total("c", at_most=0.5)],
            ["a + b >= 1.5", "a + b <= 1"],
        ),
        (floats("ab"), [total("ab", equals=1), total("ab", equals=0.5)], ["a + b = 0.5"]),
        ({n: nr.Int(0, 9) for n in "ab"}, [nr.Linear({"a": 2, "b": 2}, equals=5)], ["= 5"]),
        (
            {"a": nr.Int(0, 10**6), "b": nr.Int(0, 10**6)},
            [nr.Linear({"a": 2, "b": 2}, equals=5)],
            ["= 5"],
        ),
        (
            {"s": nr.Choice(["x", "y"]), "n": nr.Int(1, 2)},
            [nr.Forbidden({"s": s, "n": n}) for s in "xy" for n in (1, 2)],
            ["not s=x, n=1", "not s=y, n=2"],
        ),
        ({"a": nr.Int(0, 3)}, [nr.Satisfies(lambda p: p["a"] > 3)], ["no point of the space"]),
        (floats("ab"), [nr.Satisfies(lambda p: p["a"] > 2)], ["none of 20,000"]),
    ],
)
def test_an_empty_set_is_found_and_said(
    parameters: Any, constraints: list[Any], named: list[str]
) -> None:
    with pytest.raises(SpaceError) as caught:
        nr.Space(parameters, constraints=constraints)
    assert "empty" in str(caught.value)
    for each in named:
        assert each in str(caught.value)
    assert "c <= 0.5" not in str(caught.value)  # what is not needed for it is not named


def polytope(names: str, system: LinearSystem) -> PolytopeBlock:
    block = PolytopeBlock(floats(names), np.arange(len(names)))
    assert block.solve(system)
    return block


def test_flat_sets_are_solved() -> None:
    """Two inequalities that leave a line, two equalities that leave a point."""
    line = nr.Space(floats("ab"), constraints=[total("ab", at_most=1), total("ab", at_least=1)])
    U = uniform(region(line), 500, np.random.default_rng(0))
    np.testing.assert_allclose(U.sum(axis=1), 1.0, atol=1e-9)
    assert kstest(U[:, 0], "uniform").pvalue > 1e-3
    C, ends = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 0.5])
    point = polytope("ab", LinearSystem(C, ends, ends))
    np.testing.assert_allclose(
        point.mapped(np.random.default_rng(0).random((3, 2))), [[0.75, 0.25]] * 3
    )
    np.testing.assert_allclose(point.repair(np.zeros((1, 2))), [[0.75, 0.25]])


def test_simplices_and_walks_agree() -> None:
    rng = np.random.default_rng(3)
    C = np.array([[0.5, 1.0, 0.0], [1.0, 1.0, 1.0]])
    made = polytope("abc", LinearSystem(C, np.array([-np.inf, 1.0]), np.array([0.75, 1.0])))
    exact = made.mapped(rng.random((4000, 3)))
    made.__dict__["simplices"] = None
    assert chi_squared(made.mapped(rng.random((4000, 3))), exact) < 4.0


def test_low_discrepancy_stays_low() -> None:
    """A grid of the cube maps to cells of equal area: every quarter of the triangle gets its
    share, to a few points."""
    space = nr.Space(floats("abc"), constraints=[total("abc", equals=1.0)])
    side = (np.arange(64) + 0.5) / 64
    V = np.stack(np.meshgrid(side, side, [0.5], indexing="ij"), axis=-1).reshape(-1, 3)
    U = region(space).mapped(V)
    shares = [np.mean(U[:, j] > 0.5) for j in range(3)]
    np.testing.assert_allclose(shares, 0.25, atol=0.01)


def test_held_inputs_leave_less() -> None:
    space: Any = SPACES["mixture"]()
    part = FixedInputs(space, {"a": 0.7, "s": "y"})
    assert part.region is not None
    U = uniform(part.region, 200, np.random.default_rng(0))
    assert np.all(U[:, 0] == 0.7)
    np.testing.assert_allclose(U[:, :3].sum(axis=1), 1.0, atol=1e-12)
    assert {space.decode(u)["s"] for u in U} == {"y"}
    assert U[:, 1].max() > 0.25
    cut = SPACES["cut"]()
    with pytest.raises(SpaceError, match="with b fixed"):
        FixedInputs(nr.Space(cut.parameters, constraints=[total("ab", at_least=1.5)]), {"b": 0.1})
    pairs: Any = SPACES["pairs"]()
    water = FixedInputs(pairs, {"s": "w"})
    assert water.region is not None
    drawn = uniform(water.region, 50, np.random.default_rng(0))
    assert {pairs.decode(u)["b"] for u in drawn} == {"K"}
    with pytest.raises(SpaceError, match="not s=w, b=NaH"):
        FixedInputs(pairs, {"s": "w", "b": "NaH"})


def test_a_slice_keeps_its_inputs_and_the_others_give_way() -> None:
    space = SPACES["mixture"]()
    inside = region(space)
    base = space.encode({"a": 0.2, "b": 0.3, "c": 0.5, "t": 40, "s": "x"})
    U = np.repeat(base[None, :], 11, axis=0)
    U[:, 0] = np.linspace(0, 1, 11)
    shown, good = inside.through(U, ["a"])
    assert good.all()
    np.testing.assert_allclose(shown[:, 0], np.linspace(0, 1, 11))
    np.testing.assert_allclose(shown[:, :3].sum(axis=1), 1.0, atol=1e-6)
    U[:, 1] = 0.6
    shown, good = inside.through(U, ["a", "b"])
    np.testing.assert_array_equal(good, U[:, 0] <= 0.4 + 1e-9)
    steps = SPACES["steps"]()
    table = uniform(region(steps), 1, np.random.default_rng(0)).repeat(11, axis=0)
    table[:, 0] = np.arange(11) / 10
    shown, good = region(steps).through(table, ["a"])
    assert good.all()
    mixed = SPACES["mixed"]()
    row = uniform(region(mixed), 1, np.random.default_rng(0)).repeat(6, axis=0)
    row[:, 0] = np.linspace(0, 1, 6)
    shown, good = region(mixed).through(row, ["n"])
    np.testing.assert_allclose(shown[:, 0], np.linspace(0, 1, 6))
    assert good[:4].all()
