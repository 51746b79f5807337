import sys

import numpy as np
import pytest

from noregret.gp.kernels import Kernel, Matern, SquaredExponential
from noregret.gp.posterior import condition
from noregret.search.acquisition import Acquisition, log_ei, ucb
from noregret.search.optimizer import argmax, low_discrepancy, refine
from noregret.space import Array, Candidates, Choice, Float, Int, SearchSpace, Space


def cube(d: int) -> Space:
    return Space.from_bounds([(0.0, 1.0)] * d)


def search(
    acquisition: Acquisition,
    space: SearchSpace,
    theta: Array,
    seed: int = 0,
    failed: Array | None = None,
) -> Array:
    none = np.empty((0, space.dimension))
    return argmax(
        acquisition,
        space,
        theta,
        np.random.default_rng(seed),
        none,
        none if failed is None else failed,
    )


@pytest.mark.parametrize("theta", [1.0, 0.1, 0.03, 0.01])
@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("kernel", [SquaredExponential(), Matern(2.5)], ids=str)
def test_d_1_and_2_match_a_ten_thousand_point_grid(theta: float, d: int, kernel: Kernel) -> None:
    """theory.md#argmax: to 1e-6 even at θ = 0.01."""
    grid = (
        np.linspace(0, 1, 10_000)[:, None]
        if d == 1
        else np.stack(np.meshgrid(*[np.linspace(0, 1, 100)] * 2), axis=-1).reshape(-1, 2)
    )
    for seed in range(4):
        rng = np.random.default_rng([seed, d])
        n = 10 + 20 * seed
        posterior = condition(
            kernel, np.full(d, theta), rng.random((n, d)), rng.standard_normal(n), 1e-3
        )
        acquisition = ucb(posterior, 2.0 + seed)
        x = search(acquisition, cube(d), np.full(d, theta), seed)
        assert acquisition.values(x[None])[0] >= acquisition.values(grid).max() - 1e-6


def test_higher_dimensions_match_a_much_larger_random_search() -> None:
    for d in (3, 6):
        rng = np.random.default_rng(d)
        posterior = condition(
            SquaredExponential(),
            np.full(d, 0.3),
            rng.random((20, d)),
            rng.standard_normal(20),
            1e-3,
        )
        for acquisition in (ucb(posterior, 2.0), log_ei(posterior, 1.0)):
            x = search(acquisition, cube(d), np.full(d, 0.3))
            assert (
                acquisition.values(x[None])[0]
                >= acquisition.values(rng.random((200_000, d))).max() - 1e-6
            )


def test_refine_reaches_stationary_points_inside_and_on_the_boundary() -> None:
    centre = np.array([0.3, 1.4, -0.2])  # projected maximum at (0.3, 1, 0)
    quadratic = Acquisition(
        lambda A: -((A - centre) ** 2).sum(axis=1),
        lambda A: (-((A - centre) ** 2).sum(axis=1), -2 * (A - centre)),
    )
    starts = np.random.default_rng(0).random((5, 3))
    for start in starts:
        np.testing.assert_allclose(
            refine(quadratic, start[None], np.ones(3), np.ones(3, dtype=np.bool_)),
            [[0.3, 1.0, 0.0]],
            atol=1e-6,
        )
    together = refine(
        quadratic, starts, np.ones(3), np.ones(3, dtype=np.bool_)
    )  # who meets a better one may stop
    np.testing.assert_allclose(
        together[np.argmax(quadratic.values(together))], [0.3, 1.0, 0.0], atol=1e-6
    )
    np.testing.assert_allclose(together, np.tile([0.3, 1.0, 0.0], (5, 1)), atol=0.1)


@pytest.mark.parametrize("seed", range(8))
def test_giving_up_starts_loses_no_maximum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a rough posterior: the best end of all starts is the same whether those behind are given
    up or followed to the end.
    """
    rng = np.random.default_rng(seed)
    lengthscales = np.full(3, 0.2)
    acquisition = ucb(
        condition(Matern(2.5), lengthscales, rng.random((40, 3)), rng.standard_normal(40), 1e-2),
        1.0,
    )
    starts, free = rng.random((24, 3)), np.ones(3, dtype=np.bool_)
    best = acquisition.values(refine(acquisition, starts, lengthscales, free)).max()
    monkeypatch.setattr(sys.modules["noregret.search.optimizer"], "PRUNE_AFTER", 10**6)
    assert best == pytest.approx(
        acquisition.values(refine(acquisition, starts, lengthscales, free)).max(), rel=1e-8
    )


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e12])
def test_refine_does_not_mind_the_units_of_the_values(scale: float) -> None:
    def gradients(A: Array) -> tuple[Array, Array]:
        return -scale * ((A - 0.37) ** 2).sum(axis=1), -2 * scale * (A - 0.37)

    found = refine(
        Acquisition(lambda A: gradients(A)[0], gradients),
        np.array([[0.1, 0.9]]),
        np.ones(2),
        np.ones(2, dtype=np.bool_),
    )
    np.testing.assert_allclose(found, [[0.37, 0.37]], atol=1e-5)


def test_refine_never_ends_below_its_start_and_leaves_fixed_coordinates() -> None:
    rng = np.random.default_rng(2)
    posterior = condition(
        Matern(1.5), np.array([0.1, 0.2]), rng.random((30, 2)), rng.standard_normal(30), 1e-2
    )
    acquisition, starts = ucb(posterior, 2.0), rng.random((40, 2))
    found = refine(acquisition, starts, np.array([0.1, 0.2]), np.array([True, False]))
    assert np.all(acquisition.values(found) >= acquisition.values(starts) - 1e-12)
    assert np.all(found[:, 1] == starts[:, 1])
    assert np.any(found[:, 0] != starts[:, 0])


def brute(space: Space, acquisition: Acquisition, seed: int) -> float:
    return float(
        acquisition.values(
            space.snap(np.random.default_rng(seed).random((100_000, space.dimension)))
        ).max()
    )


def test_mixed_spaces_are_searched_on_valid_points() -> None:
    space = Space(
        {"x": Float(0, 1), "n": Int(1, 200), "c": Choice(["a", "b", "c"]), "k": Int(0, 3)}
    )
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = space.snap(rng.random((25, space.dimension)))
        posterior = condition(
            Matern(2.5), np.full(space.dimension, 0.4), X, rng.standard_normal(25), 1e-2
        )
        acquisition = ucb(posterior, 2.0)
        x = search(acquisition, space, np.full(space.dimension, 0.4))
        np.testing.assert_array_equal(space.snap(x[None])[0], x)
        assert acquisition.values(x[None])[0] >= brute(space, acquisition, seed) - 1e-3


def test_finite_spaces_are_searched_exhaustively() -> None:
    rng = np.random.default_rng(0)
    rows = rng.random((300, 2))
    space = Candidates(rows)
    posterior = condition(
        SquaredExponential(), np.full(2, 0.05), rng.random((5, 2)), rng.standard_normal(5), 1e-2
    )
    every = space.enumeration()
    assert every is not None
    values = ucb(posterior, 2.0).values(every)
    np.testing.assert_array_equal(
        search(ucb(posterior, 2.0), space, np.full(2, 0.05)), every[np.argmax(values)]
    )


def test_failed_points_are_not_proposed_again() -> None:
    peak = Acquisition(
        lambda A: -((A - 0.5) ** 2).sum(axis=1),
        lambda A: (-((A - 0.5) ** 2).sum(axis=1), -2 * (A - 0.5)),
    )
    first = search(peak, cube(2), np.full(2, 0.3))
    np.testing.assert_allclose(first, [0.5, 0.5], atol=1e-6)
    second = search(peak, cube(2), np.full(2, 0.3), failed=first[None])
    assert np.linalg.norm(second - first) >= 0.01
    finite = Candidates([[0.0], [0.5], [1.0]])
    every = finite.enumeration()
    assert every is not None
    tried = search(peak, finite, np.ones(1), failed=np.array([[0.5]]))
    assert tried[0] != 0.5
    search(peak, finite, np.ones(1), failed=every)  # all failed: still an answer


def test_low_discrepancy_beats_random_coverage() -> None:
    for d in (2, 4, 8):
        points = low_discrepancy(512, d, np.random.default_rng(0))
        uniform = np.random.default_rng(0).random((512, d))
        assert points.shape == (512, d)
        assert np.all((points >= 0) & (points < 1))
        error = [np.abs((p < 0.5).mean(axis=0) - 0.5).max() for p in (points, uniform)]
        assert error[0] < error[1]


def test_a_logarithm_is_climbed_with_fewer_evaluations_and_as_high() -> None:
    """log EI, steep where σ is small: steps back follow a parabola, and the last digits of a
    logarithm are left out."""
    rng = np.random.default_rng(4)
    X, theta = rng.random((25, 3)), np.array([0.4, 0.6, 0.5])
    posterior = condition(Matern(2.5), theta, X, np.sin(5 * X[:, 0]) + X[:, 1] - X[:, 2], 1e-4)
    plain, counts = log_ei(posterior, 1.5), {True: 0, False: 0}
    tops = {}
    for is_log in (True, False):

        def counted(A: Array, is_log: bool = is_log) -> tuple[Array, Array]:
            counts[is_log] += 1
            return plain.gradients(A)

        acquisition = Acquisition(plain.values, counted, is_log=is_log)
        tops[is_log] = [
            plain.values(search(acquisition, cube(3), theta, seed)[None, :])[0] for seed in range(6)
        ]
    assert tops[True] == pytest.approx(tops[False], abs=1e-2)
    assert counts[True] < 0.9 * counts[False]
