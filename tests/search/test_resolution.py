"""The largest ball without an evaluation: closed forms, brute force and Voronoi vertices."""

import numpy as np
import pytest
from scipy.spatial import Voronoi, cKDTree

from noregret.errors import ConfigurationError
from noregret.search.resolution import TOLERANCE, Resolution, largest_empty_ball
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
    assert "cannot have been missed" in str(largest_empty_ball(X[:, :2]))


def test_it_needs_an_evaluation() -> None:
    with pytest.raises(ConfigurationError, match="at least one evaluation"):
        largest_empty_ball(np.empty((0, 2)))
