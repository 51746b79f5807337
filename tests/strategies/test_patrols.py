"""The sequence of the patrols, and the leash: what it allows and what it must not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.space import Array, Inputs, Space
from noregret.strategies.exploration import MEAN, Leash, patrol_point


def points(space: nr.Space | nr.Candidates, count: int, seed: int = 0, first: int = 0) -> Array:
    shift = np.random.default_rng(seed).random(space.dimension)
    inputs = Inputs(space)
    return np.array([patrol_point(space, inputs, first + i, shift) for i in range(count)])


def decode(space: Space, x: Array) -> Any:
    return space.decode(x)


def box(d: int) -> Space:
    return Space.from_bounds([(0, 1)] * d)


# -- the sequence --


def emptiest(X: Array, per_side: int) -> float:
    """Of m^d cells the fewest points in one, over the mean."""
    d = X.shape[1]
    count = Counter(map(tuple, np.minimum(X * per_side, per_side - 1).astype(int).tolist()))
    return min(count[cell] for cell in product(range(per_side), repeat=d)) * per_side**d / len(X)


@pytest.mark.parametrize(("d", "per_side"), [(1, 20), (2, 8), (3, 4), (5, 2)])
def test_every_cell_gets_its_share(d: int, per_side: int) -> None:
    """At least half of it with 16 points per cell, from every start. Random points are the control:
    some cell of theirs gets less.
    """
    n = 16 * per_side**d
    sequence = [emptiest(points(box(d), n, seed), per_side) for seed in range(3)]
    random = [emptiest(np.random.default_rng(s).random((n, d)), per_side) for s in range(3)]
    assert min(sequence) >= 0.5
    assert np.mean(random) < np.mean(sequence) - 0.1


def discrepancy(X: Array, boxes: Array) -> float:
    """Largest difference of share and volume of boxes with a corner at 0."""
    inside = (X[None, :, :] < boxes[:, None, :]).all(axis=2).mean(axis=1)
    return float(np.abs(inside - boxes.prod(axis=1)).max())


@pytest.mark.parametrize("d", [1, 2, 4])
def test_the_sequence_fills_the_box_better_than_chance(d: int) -> None:
    boxes = np.random.default_rng(9).random((400, d))
    for n in (100, 300):
        ours = np.mean([discrepancy(points(box(d), n, s), boxes) for s in range(3)])
        random = [discrepancy(np.random.default_rng(s).random((n, d)), boxes) for s in range(9)]
        assert ours < 0.75 * np.mean(random)


def test_the_sequence_is_the_shifted_lattice_of_the_generalised_golden_ratio() -> None:
    """φ by bisection, not by the iteration of the source."""
    for d in (1, 2, 7):
        low, high = 1.0, 2.0
        for _ in range(60):
            phi = (low + high) / 2
            low, high = (phi, high) if phi ** (d + 1) < phi + 1 else (low, phi)
        shift = np.random.default_rng(0).random(d)
        wanted = [[(s + i * phi ** -(k + 1)) % 1 for k, s in enumerate(shift)] for i in range(40)]
        np.testing.assert_allclose(points(box(d), 40), wanted, atol=1e-9)
    np.testing.assert_array_equal(points(box(3), 5, first=20), points(box(3), 25)[20:])


def test_options_come_in_turn_and_numbers_are_spread_under_each() -> None:
    space = Space({"a": nr.Float(0, 1), "c": nr.Choice(list("uvw")), "n": nr.Int(1, 4)})
    X = points(space, 240)
    np.testing.assert_array_equal(X, space.snap(X))
    decoded = [decode(space, x) for x in X]
    count = Counter(p["c"] for p in decoded)
    assert min(count.values()) >= 0.9 * 80
    pairs = Counter((p["c"], p["n"]) for p in decoded)
    assert len(pairs) == 12
    assert min(pairs.values()) >= 10
    for option in "uvw":
        under = np.sort([p["a"] for p in decoded if p["c"] == option])
        assert np.diff(under, prepend=0.0, append=1.0).max() < 0.1
    first = [p["c"] for p in decoded[:9]]
    assert set(first) == set("uvw")


def test_a_list_is_permuted_without_repeats_and_walked_again() -> None:
    listed = nr.Candidates([{"a": a, "b": b} for a in range(9) for b in "xyz"])
    X = points(listed, 54)
    assert len(np.unique(X[:27], axis=0)) == 27
    np.testing.assert_array_equal(X[:27], X[27:])
    every = listed.enumeration()
    assert every is not None
    assert not np.array_equal(X[:27], every)
    assert not np.array_equal(X[:27], points(listed, 27, seed=1))  # each study has its own order


# -- the leash --

Function = Callable[[Array], Array]


def smooth(X: Array) -> Array:
    return np.asarray(np.cos(3 * X).sum(axis=1))


def kinked(X: Array) -> Array:
    return np.asarray(-np.abs(X - 0.37).sum(axis=1))


def needle(X: Array) -> Array:
    """A needle at .2 that holds the maximum, beside a plateau of nearly its height."""
    bump = np.maximum(1 - np.abs(X[:, 0] - 0.2) / 0.04, 0.0)
    plateau = 0.9 * np.clip((X[:, 0] - 0.5) / 0.1, 0, 1)
    return np.asarray(np.maximum(bump, plateau))


FUNCTIONS: dict[str, tuple[Function, int, float]] = {  # f, inputs, its largest slope (1-norm of x)
    "smooth 1": (smooth, 1, 3.0),
    "smooth 2": (smooth, 2, 3.0),
    "kinked 1": (kinked, 1, 1.0),
    "kinked 2": (kinked, 2, 1.0),
    "needle": (needle, 1, 25.0),
}
NOISE = 0.1


def leash_of(f: Function, d: int, n: int, seed: int = 0) -> Leash:
    X = points(box(d), n, seed)
    y = f(X) + NOISE * np.random.default_rng([seed, n]).standard_normal(n)
    return Leash.of(X, y, np.ones(d, dtype=np.bool_), 1)


def naive_allows(X: Array, y: Array, A: Array) -> list[bool]:
    """theory.md#leash typed out, for a box: m = ⌊N^(1/(d+2))⌋ cells per side, slack the spread of
    the cells' means times (100/N)^(1/(d+2)).
    """
    n, d = X.shape
    m = 1
    while (m + 1) ** (d + 2) <= n:
        m += 1

    def cell(x: Array) -> tuple[int, ...]:
        return tuple(min(int(v * m), m - 1) for v in x)

    found: dict[tuple[int, ...], list[float]] = {}
    for x, value in zip(X, y, strict=True):
        found.setdefault(cell(x), []).append(value)
    means = {c: sum(values) / len(values) for c, values in found.items()}
    if n < 128 or len(means) < m**d:
        return [True] * len(A)
    best, worst = max(means.values()), min(means.values())
    slack = (best - worst) * (128 / n) ** (1 / (d + 2))
    return [means[cell(x)] >= best - slack - 1e-12 for x in A]


@pytest.mark.parametrize("n", [127, 129, 257, 1000])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_leash_is_the_naive_one(name: str, n: int) -> None:
    f, d, _ = FUNCTIONS[name]
    X = points(box(d), n)
    y = f(X) + NOISE * np.random.default_rng(n).standard_normal(n)
    A = np.vstack([np.random.default_rng(1).random((300, d)), np.zeros((1, d)), np.ones((1, d))])
    leash = Leash.of(X, y, np.ones(d, dtype=np.bool_), 1)
    assert leash.allows(A).tolist() == naive_allows(X, y, A)


def grid(d: int) -> Array:
    line = (np.arange(1200 if d == 1 else 60) + 0.5) / (1200 if d == 1 else 60)
    return np.array(list(product(line, repeat=d)))


def excess(leash: Leash, f: Function, d: int, slope: float, n: int, seed: int) -> float:
    """By how much some allowed point is worse than proved: regret at most slack + 2·oscillation of
    f in a cell + 2·(error of a cell's mean by noise), the latter with probability 1 − 1e-4.
    """
    A = grid(d)
    allowed = leash.allows(A)
    assert allowed.any()
    m = leash.cells_per_side
    count = Counter(leash.cells(points(box(d), n, seed)))
    cells = m**d
    error = NOISE * math.sqrt(2 * math.log(2 * cells / 1e-4) / min(count.values()))
    regret = float(f(A).max() - f(A[allowed]).min())
    return regret - (leash.slack + 2 * slope * d / m + 2 * error)


def flipped(leash: Leash) -> Leash:
    """A broken leash: it keeps the promises near the worst patrols."""
    mean = {cell: -value for cell, value in leash.mean.items()}
    return Leash(leash.cells_per_side, leash.is_free, mean, leash.slack, leash.is_complete)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_is_allowed_has_little_regret_and_the_slack_falls(name: str) -> None:
    f, d, slope = FUNCTIONS[name]
    slacks, excluded = [], []
    for n in (300, 1000, 3000):
        for seed in range(2):
            leash = leash_of(f, d, n, seed)
            assert leash.is_complete
            assert excess(leash, f, d, slope, n, seed) <= 0
        slacks.append(leash.slack / (max(leash.mean.values()) - min(leash.mean.values())))
        excluded.append(1 - float(leash.allows(grid(d)).mean()))
    np.testing.assert_allclose(slacks, [(128 / n) ** (1 / (d + 2)) for n in (300, 1000, 3000)])
    assert excluded[-1] > 0.1  # it acts
    if name != "needle":  # whose slope makes the bound empty
        assert excess(flipped(leash), f, d, slope, n, 1) > 0  # the control


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "needle"])
def test_the_optimum_is_allowed(name: str) -> None:
    f, d, _ = FUNCTIONS[name]
    A = grid(d)
    top = A[[int(np.argmax(f(A)))]]
    assert all(leash_of(f, d, n).allows(top)[0] for n in (129, 300, 1000, 3000))


def test_beside_a_plateau_a_needle_may_be_excluded_while_cells_are_wider_than_it() -> None:
    """The mean of a cell says nothing of a narrow maximum: what is promised is the regret of what
    is allowed, here that of the plateau. Once cells are as narrow as the needle it is allowed.
    """
    top = np.array([[0.2]])
    coarse = leash_of(needle, 1, 3000)
    assert not coarse.allows(top)[0]
    A = grid(1)
    assert needle(A[coarse.allows(A)]).max() >= 0.9
    X = (np.arange(250_000)[:, None] + 0.5) / 250_000  # 63 cells
    fine = Leash.of(X, needle(X), np.ones(1, dtype=np.bool_), 1)
    assert fine.allows(top)[0]
    assert needle(A[fine.allows(A)]).min() > 0.7


def test_without_slack_or_with_wrong_means_the_optimum_is_excluded() -> None:
    """Negative control: noise makes another cell look best."""
    f, d, n = FUNCTIONS["smooth 1"][0], 1, 300
    top = np.array([[0.0]])
    leash = leash_of(f, d, n)
    tight, lost = 0, flipped(leash)
    for seed in range(6):
        made = leash_of(lambda X: 0.01 * smooth(X), d, n, seed)  # noise decides
        bare = Leash(made.cells_per_side, made.is_free, made.mean, 0.0, made.is_complete)
        tight += not bare.allows(top)[0]
    assert tight >= 2
    assert not lost.allows(top)[0]
    assert leash.allows(top)[0]


def test_the_leash_is_off_with_few_patrols_and_while_a_cell_is_empty() -> None:
    A = grid(1)
    assert not leash_of(smooth, 1, MEAN - 1).is_complete
    assert leash_of(smooth, 1, MEAN - 1).allows(A).all()
    assert not leash_of(smooth, 1, 1000).allows(A).all()
    X = points(box(1), 1000)
    X = X[X[:, 0] < 0.89]  # the last of nine cells, [8/9, 1), is empty
    made = Leash.of(X, smooth(X), np.ones(1, dtype=np.bool_), 1)
    assert made.cells_per_side == 9
    assert not made.is_complete
    assert made.allows(A).all()
    nothing = Leash.of(np.empty((0, 2)), np.empty(0), np.ones(2, dtype=np.bool_), 1)
    assert nothing.allows(np.random.default_rng(0).random((5, 2))).all()


def test_options_have_cells_of_their_own() -> None:
    """f depends on the option alone: only the best is allowed, once each has its patrols."""
    space = Space({"a": nr.Float(0, 1), "c": nr.Choice(list("uvw"))})
    inputs, X = Inputs(space), points(space, 600)
    worth = {"u": 0.0, "v": 1.0, "w": 0.1}
    y = np.array([worth[decode(space, x)["c"]] for x in X])
    leash = Leash.of(X, y, ~inputs.of_choices, 3)
    assert leash.is_complete
    options = [decode(space, x)["c"] for x in X[leash.allows(X)]]
    assert set(options) == {"v"}
    two = X[[decode(space, x)["c"] != "w" for x in X]]  # an option without patrols: off
    few = Leash.of(two, np.zeros(len(two)), ~inputs.of_choices, 3)
    assert not few.is_complete
    assert few.allows(X).all()
