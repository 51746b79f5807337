import math
from typing import Any

import numpy as np

import noregret as nr
from noregret.gp import condition
from noregret.gp.kernels import Matern
from noregret.space.array import Array
from noregret.strategies import data, exploration

BOX = nr.Space.from_bounds([(0, 1)] * 2)


def test_the_class_is_widened_until_the_space_is_unknown_again() -> None:
    """The mean std is 0.02·g: it reaches the target at 35, found from above within e^0.2."""

    class Flat:
        """A posterior with the same std everywhere."""

        def __init__(self, std: float) -> None:
            self.std = std

        def predict(self, A: Array) -> tuple[Array, Array]:
            return np.zeros(len(A)), np.full(len(A), self.std)

    asked: list[float] = []

    def scale(slope: float, last: float) -> float:
        def rising(g: float) -> Any:
            asked.append(g)
            return Flat(min(1.0, slope * g))

        return exploration.widening_scale(rising, np.zeros((3, 1)), last)

    crossing = exploration.UNKNOWN / 0.02
    for last in (1.0, 20.0, 36.0, 100.0, 1e6):
        g = scale(0.02, last)
        assert crossing <= g <= crossing * math.exp(0.2) * (1 + 1e-6), last
        asked.clear()
        assert scale(0.02, g) == g  # where the last one still holds: two classes
        assert len(asked) == 2
    assert scale(0.001, 1.0) == exploration.WIDEST
    assert scale(0.9, 1.0) == 1.0  # wide enough already: a survey of the fitted class itself


def test_a_cloud_stands_for_the_space() -> None:
    mixed = nr.Space({"x": nr.Float(0, 1), "n": nr.Int(1, 5)})
    cloud = data.cloud_of(mixed, 3)
    assert cloud.shape == (data.CLOUD, 2)
    np.testing.assert_array_equal(cloud, mixed.snap(cloud))
    np.testing.assert_array_equal(cloud, data.cloud_of(mixed, 3))
    assert not np.array_equal(cloud, data.cloud_of(mixed, 4))
    # every tenth of the box has its share, as no random points would
    counts = np.histogram(data.cloud_of(BOX, 3)[:, 0], 10, (0, 1))[0]
    assert counts.min() >= 0.9 * data.CLOUD / 10
    short = nr.Candidates(np.random.default_rng(0).random((20, 2)).tolist())
    listed = {row.tobytes() for row in short.enumeration()}
    assert {row.tobytes() for row in data.cloud_of(short, 3)} == listed
    long = nr.Candidates(np.random.default_rng(0).random((700, 2)).tolist())
    rows = {row.tobytes() for row in data.cloud_of(long, 3)}
    every = long.enumeration()
    assert every is not None
    assert len(rows) == data.CLOUD
    assert rows <= {row.tobytes() for row in every}


def posterior(lengthscale: float, X: Array, y: Array, noise_std: float = 0.2) -> Any:
    return condition(Matern(2.5), np.full(X.shape[1], lengthscale), X, y, noise_std**2)


def test_a_survey_teaches_most_about_the_space() -> None:
    """Against the definition: Σ_j (σ²(x_j) before − after) over the cloud, each candidate appended
    in turn.
    """
    rng = np.random.default_rng(3)
    X, y = rng.random((7, 2)), rng.standard_normal(7)
    model, cloud = posterior(0.3, X, y), data.cloud_of(BOX, 5)
    before = model.predict(cloud)[1] ** 2
    lowered = np.array(
        [np.sum(before - model.append(x, None, 0.04).predict(cloud)[1] ** 2) for x in cloud]
    )
    np.testing.assert_allclose(exploration.information(model, cloud, 0.04), lowered, rtol=1e-5)
