"""The largest ball without an evaluation: closed forms, brute force and Voronoi vertices."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial import Voronoi, cKDTree

import noregret as nr
from noregret.errors import ConfigurationError, TrialError
from noregret.search.resolution import TOLERANCE, Resolution, largest_empty_ball, resolution_of
from noregret.space import Array


def brute(X: Array, count: int = 60_000) -> float:
    d = X.shape[1]
    points = np.random.default_rng(1).random((count, d))
    corners = np.stack(np.meshgrid(*[[0.0, 1.0]] * d), -1).reshape(-1, d)
    return float(cKDTree(X).query(np.vstack([points, corners]))[0].max())


def test_on_a_line_it_is_half_the_largest_gap_or_a_whole_one_at_an_end() -> None:
    X = np.array([[0.2], [0.5], [0.9]])
    assert largest_empty_ball(X).radius == pytest.approx(0.2, abs=2 * TOLERANCE)
    for pair, radius in (([[0.3], [0.9]], 0.3), ([[0.0], [1.0]], 0.5)):
        found = largest_empty_ball(np.array(pair))
        assert found.radius == pytest.approx(radius, abs=2 * TOLERANCE)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_one_point_in_the_middle_and_one_in_a_corner(d: int) -> None:
    middle, corner = largest_empty_ball(np.full((1, d), 0.5)), largest_empty_ball(np.zeros((1, d)))
    assert middle.radius == pytest.approx(np.sqrt(d) / 2, abs=2 * TOLERANCE)
    assert corner.radius == pytest.approx(np.sqrt(d), abs=2 * TOLERANCE)
    np.testing.assert_allclose(corner.centre, 1.0, atol=1e-3)


@pytest.mark.parametrize("n", [3, 20, 200])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_never_below_the_largest_distance_of_any_point_and_attained(d: int, n: int) -> None:
    X = np.random.default_rng(n).random((n, d))
    found = largest_empty_ball(X)
    assert found.exact
    assert found.radius >= brute(X) - 1e-12
    attained = float(cKDTree(X).query(found.centre)[0])
    assert attained <= found.radius <= attained + 3 * TOLERANCE


def test_in_the_plane_it_is_the_largest_of_voronoi_vertices_edges_and_corners() -> None:
    X = np.random.default_rng(3).random((30, 2))
    mirrored = [X]
    for axis in range(2):
        for side in (0.0, 1.0):
            image = X.copy()
            image[:, axis] = 2 * side - image[:, axis]
            mirrored.append(image)
    vertices = Voronoi(np.vstack(mirrored)).vertices  # mirrored: cells end at the border
    inside = vertices[np.all((vertices >= -1e-9) & (vertices <= 1 + 1e-9), axis=1)]
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    naive = float(cKDTree(X).query(np.vstack([inside, corners]))[0].max())
    assert largest_empty_ball(X).radius == pytest.approx(naive, abs=2 * TOLERANCE)


def test_a_regular_grid_has_many_equal_holes() -> None:
    axis = (np.arange(8) + 0.5) / 8
    X = np.stack(np.meshgrid(axis, axis, axis), -1).reshape(-1, 3)
    found = largest_empty_ball(X)
    assert found.exact
    assert found.radius == pytest.approx(np.sqrt(3) / 16, abs=2 * TOLERANCE)


def test_above_three_inputs_it_is_sampled_and_says_so() -> None:
    X = np.random.default_rng(0).random((50, 5))
    found = largest_empty_ball(X)
    assert not found.exact
    assert brute(X, 20_000) <= found.radius + 0.02
    assert float(cKDTree(X).query(found.centre)[0]) == pytest.approx(found.radius)
    assert "may be a larger one" in str(found)
    assert "next to nothing" in str(Resolution(0.9, np.zeros(7), False))
    assert "as wide as every range" in str(Resolution(1.3, np.zeros(2), True))
    assert "cannot have been missed" in str(largest_empty_ball(X[:, :2]))


def test_it_needs_an_evaluation() -> None:
    with pytest.raises(ConfigurationError, match="at least one evaluation"):
        largest_empty_ball(np.empty((0, 2)))


# -- choices, lists, branches, constraints --


def found_at(space: Any, points: list[dict[str, Any]]) -> Resolution:
    return resolution_of(space, np.array([space.encode(point) for point in points]))


MIXED = nr.Space(
    {
        "x": nr.Float(0, 1),
        "y": nr.Float(0, 10),
        "s": nr.Choice(["a", "b", "c"]),
        "n": nr.Choice(["u", "v"]),
    }
)


def test_each_combination_of_options_has_its_own_ball() -> None:
    rng = np.random.default_rng(0)
    points: list[dict[str, Any]] = [
        {"x": rng.random(), "y": 10 * rng.random(), "s": "abc"[i % 3], "n": "uv"[i % 2]}
        for i in range(40)
    ]
    naive = 0.0
    for s in "abc":
        for n in "uv":
            mine = [[p["x"], p["y"] / 10] for p in points if (p["s"], p["n"]) == (s, n)]
            naive = max(naive, largest_empty_ball(np.array(mine)).radius)
    found = found_at(MIXED, points)
    assert found.radius == pytest.approx(naive)
    assert (found.exact, found.combinations, found.unseen) == (True, 6, 0)
    at: Any = MIXED.decode(found.centre)  # a design of the space, with its distance
    same = [p for p in points if (p["s"], p["n"]) == (at["s"], at["n"])]
    near = min(np.hypot(p["x"] - at["x"], (p["y"] - at["y"]) / 10) for p in same)
    assert near == pytest.approx(found.radius, abs=3 * TOLERANCE)
    assert str(found).startswith("For each of the 6 combinations of s and n: a bump that reaches")
    # the negative control: of the cube of all coordinates, whose centres are no designs
    cube = largest_empty_ball(np.array([MIXED.encode(p) for p in points]))
    assert cube.radius > naive + 0.1


def test_combinations_without_a_value_are_named() -> None:
    found = found_at(MIXED, [{"x": 0.5, "y": 5.0, "s": "a", "n": "u"}])
    assert (found.combinations, found.unseen) == (6, 5)
    assert found.radius == pytest.approx(np.sqrt(0.5), abs=2 * TOLERANCE)
    text = str(found)
    assert text.startswith("5 of 6 combinations of s and n have no value: anything may be there.")
    assert "inputs" not in text
    only = nr.Space({"s": nr.Choice(["a", "b", "c"])})
    assert str(found_at(only, [{"s": "a"}])) == "1 of 3 options of s have a value."
    many = nr.Space({f"x{i}": nr.Float(0, 1) for i in range(7)} | {"s": nr.Choice(["a", "b", "c"])})
    assert "in 7 numbers" in str(resolution_of(many, np.full((1, 10), 0.5)))


def test_designs_of_a_list_are_the_centres() -> None:
    rows = [{"t": t, "s": s} for t in (0, 10, 100) for s in ("a", "b")]
    space = nr.Candidates(rows)
    found = found_at(space, [{"t": 0, "s": "a"}, {"t": 100, "s": "b"}])
    assert found.radius == pytest.approx(1.0)
    assert (found.combinations, found.unseen, found.exact) == (2, 0, True)
    assert found_at(space, rows).radius == 0.0
    assert found_at(nr.Candidates([{"t": t} for t in (0, 1, 4)]), [{"t": 1}]).radius == 0.75


def test_inputs_that_do_not_exist_and_constraints_count_as_they_are() -> None:
    space = nr.Space(
        {"m": nr.Branch({"svm": {"C": nr.Float(0, 1)}, "none": {}}), "z": nr.Float(0, 1)}
    )
    points = [{"m": "svm", "C": 0.5, "z": 0.5}, {"m": "none", "z": 0.5}]
    assert found_at(space, points).radius == pytest.approx(np.sqrt(0.5), abs=2 * TOLERANCE)
    assert found_at(space, points[1:]).radius == pytest.approx(0.5, abs=2 * TOLERANCE)  # z alone
    inner = nr.Branch({"svm": {"k": nr.Choice(["rbf", "poly"])}, "none": {}})
    nested = found_at(nr.Space({"m": inner, "z": nr.Float(0, 1)}), [{"m": "none", "z": 0.5}])
    assert (nested.combinations, nested.unseen) == (3, 2)
    bound = nr.Space(
        {"s": nr.Choice(["a", "b"]), "x": nr.Float(0, 1), "y": nr.Float(0, 1)},
        constraints=[nr.Linear({"x": 1, "y": 1}, at_most=1.0)],
    )
    corner = found_at(bound, [{"s": "a", "x": 0.0, "y": 0.0}])
    assert corner.radius == pytest.approx(1.0, abs=2 * TOLERANCE)  # not √2, beyond the constraint
    assert corner.unseen == 1


def test_only_trials_with_a_value_count() -> None:
    study = nr.Study({"x": nr.Float(0, 1)}, "minimize", outcomes={"t": nr.AtMost(1.0)})
    study.tell(study.ask(), outcomes={"t": 5.0})
    with pytest.raises(TrialError, match="at least one value"):
        study.resolution()
    study.add({"x": 0.25}, 1.0, outcomes={"t": 0.5})
    study.tell(study.ask(), state="failed")
    assert study.resolution().radius == pytest.approx(0.75, abs=2 * TOLERANCE)
