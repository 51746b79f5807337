import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noregret as nr
from noregret.space import Space
from noregret.strategies.data import Compression, standardise_robustly
from noregret.trials import History

BOX = Space.from_bounds([(0, 1)])
SKEWED = -np.exp(np.random.default_rng(0).uniform(0, 7, 40))  # a few very bad values


def history(y: np.ndarray) -> History:
    n, none = len(y), np.empty((0, 1))
    return History(np.linspace(0, 1, n)[:, None], y, np.full(n, np.nan), none, none)


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30), st.integers(0, 3))
def test_compression_keeps_the_order_and_can_be_undone(values: list[float], count: int) -> None:
    z = np.array(values)
    compression = Compression.fitted(z, count)
    y = compression.forward(z)
    assert np.all(np.diff(y[np.argsort(z, kind="stable")]) >= 0)
    np.testing.assert_allclose(
        compression.inverse(y), z, rtol=1e-6, atol=1e-6 * (1 + np.abs(z).max())
    )
    if count and np.ptp(z) > 1e-3:
        assert np.mean(y) == pytest.approx(0, abs=1e-6)
        assert np.std(y) == pytest.approx(1, abs=1e-6)


def test_slope_is_the_derivative() -> None:
    z = np.array([-5.0, -1.0, -0.1, 0.2, 1.0])
    compression, step = Compression.fitted(z, 2), 1e-6
    numeric = (compression.forward(z + step) - compression.forward(z - step)) / (2 * step)
    np.testing.assert_allclose(compression.slope(z), numeric, rtol=1e-6)


def test_very_bad_values_do_not_hide_what_tells_good_ones_apart() -> None:
    best = np.argsort(SKEWED)[-10:]
    plain, compressed = (
        standardise_robustly(history(SKEWED), BOX, 0.5, compress=c) for c in (False, True)
    )
    assert np.ptp(compressed.y[best]) > 1.1 * np.ptp(plain.y[best])
    # noise in the values' units comes back, and is larger in the model's units where values were
    # stretched
    assert compressed.noise_in_values(compressed.common) == pytest.approx(0.5)
    assert compressed.common > plain.common
    # a prediction of a value seen comes back as that value; a small spread by the slope
    z = compressed.compression.inverse(compressed.y)
    for i in best[-2:]:
        mean, std = compressed.in_values(float(compressed.y[i]), 1e-6)
        assert mean == pytest.approx(SKEWED[i], rel=1e-9)
        assert std == pytest.approx(
            1e-6 * compressed.scale / compressed.compression.slope(z)[i], rel=1e-4
        )


def test_told_noise_is_rescaled_where_values_are_compressed() -> None:
    told = replace(history(SKEWED), noise_std=np.full(40, 2.0))
    compressed = standardise_robustly(told, BOX, None, compress=True)
    z = compressed.compression.inverse(compressed.y)
    np.testing.assert_allclose(
        np.sqrt(compressed.told), 2.0 / compressed.scale * compressed.compression.slope(z)
    )


@pytest.mark.parametrize(
    "strategy",
    [nr.InsuredGPUCB(), nr.GPUCB(), nr.LogEI(), nr.MinimumUncertainty()],
    ids=lambda s: type(s).__name__,
)
def test_noise_told_with_every_value_is_that_of_points_to_come(
    strategy: nr.strategies.Strategy,
) -> None:
    study = nr.Study({"x": nr.Float(0, 1), "k": nr.Int(1, 5)}, "maximize", strategy)
    for index, trial in enumerate(study.ask() for _ in range(12)):
        if index == 8:
            study.tell(trial, state="failed")  # a stand-in for it has no noise of its own
        elif index != 9:  # and this one stays under way
            study.tell(trial, trial.params["x"] - abs(trial.params["k"] - 3), noise_std=0.1)
    decision = study.ask().decision
    json.dumps(decision.to_json(), allow_nan=False)  # a stored study takes no NaN
    assert 0 < decision.payload["noise_std"] < 1
