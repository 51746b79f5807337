"""SciPy's manners: arguments, result, callback, and what is refused."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, OptimizeResult

import noregret as nr
from noregret.errors import ConfigurationError, SpaceError
from noregret.integrations.scipy import minimize_noisy


def bowl(x: Any, center: float = 0.3) -> float:
    return float(((x - center) ** 2).sum())


def test_the_result_is_scipys() -> None:
    result = minimize_noisy(bowl, [(0, 1), (-1, 1)], maxfun=25, rng=0)
    assert isinstance(result, OptimizeResult)
    assert result.success
    assert (result.status, result.nfev, result.nit) == (0, 25, 25)
    assert result.x_iters.shape == (25, 2)
    assert result.func_vals.tolist() == [bowl(x) for x in result.x_iters]
    assert result.fun_observed == result.func_vals.min()
    assert bowl(result.x_observed) == result.fun_observed
    assert np.allclose(result.x, 0.3, atol=0.05)
    assert abs(result.fun - bowl(result.x)) < 1e-2
    assert result.fun_std >= 0
    assert len(result.study.trials) == 25
    assert "maxfun=25" in result.message


def test_it_proposes_what_the_plain_study_proposes() -> None:
    result = minimize_noisy(bowl, [(0, 1), (-1, 1)], maxfun=12, rng=5)
    plain = nr.minimize(
        bowl, [(0, 1), (-1, 1)], 12, seed=int(np.random.default_rng(5).integers(2**31))
    )
    assert np.array_equal(result.x_iters, [trial.params for trial in plain.trials])


def test_under_noise_the_recommended_point_is_not_the_luckiest() -> None:
    rng = np.random.default_rng(1)
    result = minimize_noisy(
        lambda x: bowl(x) + 0.3 * rng.standard_normal(), [(0, 1)], maxfun=40, noise_std=0.3, rng=0
    )
    assert result.fun_observed < bowl(result.x_observed) - 0.3  # luck
    assert abs(result.fun - bowl(result.x)) < 0.5 * abs(
        result.fun_observed - bowl(result.x_observed)
    )


def test_fun_is_the_value_at_x() -> None:
    result = minimize_noisy(lambda x: 5 + bowl(x), [(0, 1)], maxfun=12, rng=0)
    assert abs(result.fun - 5 - bowl(result.x)) < 0.01


def test_bounds_args_and_integrality() -> None:
    box = Bounds([0, -3, 2], [1, 3.5, 2])
    result = minimize_noisy(
        lambda x, center, power: float((abs(x - center) ** power).sum()),
        box,
        (0.3, 2),
        maxfun=15,
        integrality=[0, 1, 0],
        rng=0,
    )
    assert np.all(result.x_iters[:, 1] == np.round(result.x_iters[:, 1]))
    assert result.x_iters[:, 1].max() <= 3
    assert np.all(result.x_iters[:, 2] == 2)
    assert result.x[1] == 0


def test_points_to_begin_with() -> None:
    result = minimize_noisy(bowl, [(0, 1)], maxfun=6, x0=[0.3], rng=0)
    assert (result.x_iters[0, 0], result.nfev, result.nit) == (0.3, 6, 5)
    result = minimize_noisy(
        bowl,
        [(0, 1)],
        maxfun=6,
        x0=[[0.1], [0.9]],
        y0=[bowl(0.1 + np.zeros(1)), bowl(0.9 + np.zeros(1))],
        rng=0,
    )
    assert (result.nfev, result.nit, len(result.study.trials)) == (6, 6, 8)
    assert minimize_noisy(bowl, [(0, 1)], maxfun=1, x0=[[0.1], [0.9]], rng=0).nit == 0


def test_callback() -> None:
    seen: list[Any] = []

    def modern(intermediate_result: OptimizeResult) -> None:
        seen.append(intermediate_result.fun)
        if intermediate_result.nfev == 4:
            raise StopIteration

    stopped = minimize_noisy(bowl, [(0, 1)], maxfun=20, rng=0, callback=modern)
    assert (stopped.nfev, stopped.success, stopped.status) == (4, False, 99)
    assert seen == stopped.func_vals.tolist()
    minimize_noisy(bowl, [(0, 1)], maxfun=3, rng=0, callback=lambda xk: seen.append(xk.shape))
    assert seen[4:] == [(1,)] * 3


def test_values_that_are_not_finite_are_failures() -> None:
    result = minimize_noisy(
        lambda x: np.nan if x[0] > 0.5 else bowl(x), [(0, 1)], maxfun=15, x0=[0.9], rng=0
    )
    assert result.success
    assert np.isnan(result.func_vals[0])
    assert any(trial.state == "failed" for trial in result.study.trials)
    assert abs(result.x[0] - 0.3) < 0.05
    none = minimize_noisy(lambda x: np.inf, [(0, 1)], maxfun=4, rng=0)
    assert (none.success, none.status, none.nfev) == (False, 1, 4)
    assert np.isnan(none.fun)


def test_rng() -> None:
    runs = [
        minimize_noisy(bowl, [(0, 1)], maxfun=4, rng=rng).x_iters.tolist()
        for rng in (1, 1, np.random.default_rng(1), 2, None)
    ]
    assert runs[0] == runs[1] == runs[2]
    assert runs[0] != runs[3]
    assert runs[0] != runs[4]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"bounds": [(0, np.inf)]}, "finite"),
        ({"bounds": [(1, 0)]}, "low ≤ high"),
        ({"bounds": [0, 1]}, "pairs"),
        ({"bounds": []}, "finite"),
        ({"bounds": [(2, 2)]}, "nothing to optimise"),
        ({"integrality": [1, 0]}, "one flag"),
        ({"bounds": [(0.2, 0.8)], "integrality": 1}, "position 0"),
        ({"x0": [0.5, 0.5]}, "x0 must be"),
        ({"x0": [2.0]}, "outside"),
        ({"bounds": [(0, 1), (2, 2)], "x0": [0.5, 1.0]}, "differs from the bounds"),
    ],
)
def test_spaces_that_are_refused(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(SpaceError, match=match):
        minimize_noisy(bowl, **{"bounds": [(0, 1)], **settings})


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"maxfun": 0}, "maxfun"),
        ({"maxfun": 2.5}, "maxfun"),
        ({"y0": [1.0]}, "give x0 too"),
        ({"x0": [0.5], "y0": [1.0, 2.0]}, "one value per point"),
        ({"noise_std": 0.1, "strategy": nr.LogEI()}, "not both"),
        ({"fun": lambda x: x + np.zeros(2)}, "one real number"),
        ({"fun": lambda x: "low"}, "one real number"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], match: str) -> None:
    with pytest.raises(ConfigurationError, match=match):
        minimize_noisy(**{"fun": bowl, "bounds": [(0, 1)], **settings})
