import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import noregret as nr
from noregret.gp import condition, linalg
from noregret.gp.kernels import Matern
from noregret.space.array import Array
from noregret.strategies import surveys

BOX = nr.Space.from_bounds([(0, 1)] * 2)


def test_the_class_is_widened_until_the_space_is_unknown_again() -> None:
    """The mean std is 0.02·g: it reaches the target at 35, found from above within e^0.2."""

    class Flat:
        """A posterior with the same std everywhere."""

        def __init__(self, std: float) -> None:
            self.std = std

        def predict(self, A: Array) -> tuple[Array, Array]:
            return np.zeros(len(A)), np.full(len(A), self.std)

    def scale(slope: float, last: float) -> float:
        rising: Any = lambda g: Flat(min(1.0, slope * g))  # noqa: E731
        return surveys.widening_scale(rising, np.zeros((3, 1)), last)

    crossing = surveys.UNKNOWN / 0.02
    for last in (1.0, 20.0, 36.0, 100.0, 1e6):
        g = scale(0.02, last)
        assert crossing <= g <= crossing * math.exp(0.2) * (1 + 1e-6), last
    assert scale(0.001, 1.0) == surveys.WIDEST
    assert scale(0.9, 1.0) == 1.0  # wide enough already: a survey of the fitted class itself


def test_a_cloud_stands_for_the_space() -> None:
    mixed = nr.Space({"x": nr.Float(0, 1), "n": nr.Int(1, 5)})
    cloud = surveys.cloud_of(mixed, 3)
    assert cloud.shape == (surveys.CLOUD, 2)
    np.testing.assert_array_equal(cloud, mixed.snap(cloud))
    np.testing.assert_array_equal(cloud, surveys.cloud_of(mixed, 3))
    assert not np.array_equal(cloud, surveys.cloud_of(mixed, 4))
    # every tenth of the box has its share, as no random points would
    counts = np.histogram(surveys.cloud_of(BOX, 3)[:, 0], 10, (0, 1))[0]
    assert counts.min() >= 0.9 * surveys.CLOUD / 10
    short = nr.Candidates(np.random.default_rng(0).random((20, 2)).tolist())
    listed = {row.tobytes() for row in short.enumeration()}
    assert {row.tobytes() for row in surveys.cloud_of(short, 3)} == listed
    long = nr.Candidates(np.random.default_rng(0).random((700, 2)).tolist())
    rows = {row.tobytes() for row in surveys.cloud_of(long, 3)}
    every = long.enumeration()
    assert every is not None
    assert len(rows) == surveys.CLOUD
    assert rows <= {row.tobytes() for row in every}


def posterior(lengthscale: float, X: Array, y: Array, noise_std: float = 0.2) -> Any:
    return condition(Matern(2.5), np.full(X.shape[1], lengthscale), X, y, noise_std**2)


def test_a_survey_teaches_most_where_improvement_is_expected() -> None:
    """Against the definition: the mean of EI(x_j)^¼·(σ² before − σ² after) over the cloud, each
    candidate appended in turn.
    """
    rng = np.random.default_rng(3)
    X, y = rng.random((7, 2)), rng.standard_normal(7)
    model, cloud = posterior(0.3, X, y), surveys.cloud_of(BOX, 5)
    mean, std = model.predict(cloud)
    best = model.predict(X)[0].max()
    u = (mean - best) / std
    improvement = std * (norm.pdf(u) + u * norm.cdf(u))
    lowered = np.array(
        [
            np.sum(improvement**0.25 * (std**2 - after**2))
            for x in cloud
            for after in [model.append(x, None, 0.04).predict(cloud)[1]]
        ]
    )
    taught = surveys.most_taught(model, cloud, float(best), 0.04)
    assert int(np.argmax(taught)) == int(np.argmax(lowered))
    np.testing.assert_allclose(taught / taught.max(), lowered / lowered.max(), rtol=1e-5)


def test_what_lies_above_a_smooth_trend_is_a_surprise(monkeypatch: pytest.MonkeyPatch) -> None:
    """One value far above: its point is the surprise, until its surroundings are known."""
    X = np.linspace(0.02, 0.98, 25)[:, None]
    y = X[:, 0] + 0.01 * np.random.default_rng(1).standard_normal(25)
    smooth, bumpy = y.copy(), y.copy()
    bumpy[8] += 0.5
    fitted, widened = (posterior(theta, X, bumpy, 0.01) for theta in (0.6, 0.6 / 8))
    found = surveys.surprise(fitted, widened, 1)
    assert found is not None
    np.testing.assert_array_equal(found, X[8])
    # the residual is what leaving the point out gives
    others = np.delete(np.arange(25), 8)
    mean, std = posterior(0.6, X[others], bumpy[others], 0.01).predict(X[8:9])
    expected = (bumpy[8] - mean[0]) / np.hypot(std[0], 0.01)
    residual = fitted.weights / np.sqrt(linalg.inverse_diagonal(fitted.L))
    assert residual[8] == pytest.approx(expected, rel=1e-6)
    assert int(np.argmax(residual)) == 8
    tame = [posterior(t, X, smooth, 0.01) for t in (0.6, 0.6 / 8)]
    assert surveys.surprise(tame[0], tame[1], 1) is None
    monkeypatch.setattr(surveys, "CROWD", 0)  # its surroundings count as known
    assert surveys.surprise(fitted, widened, 1) is None


def test_candidates_next_to_a_surprise_are_a_lengthscale_away() -> None:
    center, lengthscales = np.array([0.5, 0.02]), np.array([0.05, 0.1])
    points = surveys.around(center, BOX, lengthscales, 3)
    assert points.shape == (surveys.AROUND, 2)
    assert points.min() >= 0
    assert points.max() <= 1
    assert np.std(points[:, 0]) == pytest.approx(0.05, rel=0.3)
    assert np.abs(points - center).max() < 0.5
    grid = nr.Space({"x": nr.Float(0, 1), "n": nr.Int(0, 4)})
    snapped = surveys.around(center, grid, lengthscales, 3)
    np.testing.assert_array_equal(snapped, grid.snap(snapped))
