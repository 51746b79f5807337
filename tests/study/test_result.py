"""Best, recommended, prediction, certificate and belief: one answer from one fit."""

import math
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, TrialError
from noregret.gp import fit
from noregret.gp.fit import fit_map
from noregret.gp.kernels import SquaredExponential
from noregret.trials import Trial


def loss(x: Any) -> float:
    return float((x[0] - 0.3) ** 2)


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one entry with every search for hyperparameters."""
    made: list[int] = []
    original = fit_map

    def counted(*args: Any, **options: Any) -> Any:
        made.append(1)
        return original(*args, **options)

    monkeypatch.setattr(fit, "fit_map", counted)
    return made


@pytest.mark.parametrize("strategy", [nr.InsuredGPUCB(), nr.GPUCB(), nr.LogEI()], ids=str)
def test_a_result_takes_one_fit(strategy: nr.strategies.Strategy, fits: list[int]) -> None:
    study = nr.Study([(0, 1)], "minimize", strategy)
    for x in np.linspace(0, 1, 7):  # added, so that there is no earlier estimate to be kept
        study.add([x], loss([x]))
    assert fits == []
    result = study.result()
    assert len(fits) == 1
    fits.clear()
    _ = study.recommended
    assert len(fits) == 1
    fits.clear()
    study.certificate()
    assert len(fits) == 1
    fits.clear()
    _ = study.best
    assert fits == []
    # and it says what they say one by one
    assert result.best == study.best
    assert result.recommended == study.recommended
    assert result.certificate == study.certificate()


def test_a_result_is_in_the_values_sign_and_its_parts_agree() -> None:
    study = nr.minimize(lambda x: 5.0 + loss(x), [(0, 1)], 15)
    result = study.result()
    assert result.belief is not None
    assert result.prediction is not None
    assert result.certificate is not None
    mean, std = result.belief.predict_averaged(np.atleast_2d(result.recommended.params))
    assert result.prediction[0] == pytest.approx(-mean[0])
    assert result.prediction[1] == pytest.approx(std[0])
    assert result.prediction[0] == pytest.approx(5.0, abs=0.1)
    np.testing.assert_array_equal(result.certificate.params, result.recommended.params)
    assert result.certificate.condition == result.belief.condition
    assert result.certificate.proved is result.belief.proved is False


def test_delta_reaches_the_certificate() -> None:
    strategy = nr.GPUCB(lengthscales=0.3, noise_std=0.1, width="mixture")
    study = nr.Study([(0, 1)], "minimize", strategy).run(loss, 8)
    usual, careful = study.result().certificate, study.result(delta=1e-4).certificate
    assert usual is not None
    assert careful is not None
    assert careful.regret_bound > usual.regret_bound
    assert careful.proved
    with pytest.raises(ConfigurationError, match="delta"):
        study.result(delta=2.0)


def test_without_a_model_there_is_the_best_and_nothing_else() -> None:
    study = nr.Study([(0, 1)], "minimize", nr.RandomSearch()).run(loss, 4)
    result = study.result()
    assert result.recommended == result.best == study.best
    assert (result.prediction, result.certificate, result.belief) == (None, None, None)
    with pytest.raises(TrialError, match="no trial is complete yet"):
        nr.Study([(0, 1)], "maximize").result()


def test_what_was_corrected_is_neither_best_nor_recommended() -> None:
    strategy = nr.GPUCB(lengthscales=0.3, noise_std=0.1, width="mixture")
    study = nr.Study([(0, 1)], "minimize", strategy).run(loss, 6)
    typo: Trial = study.add([0.9], -50.0)
    assert study.result().best.number == typo.number
    study.correct(typo, 0.36)
    result = study.result()
    assert typo.number not in (result.best.number, result.recommended.number)


def test_the_recommended_point_has_the_best_mean_not_the_luckiest_value() -> None:
    study = nr.Study(
        [(0, 1)], "maximize", strategy=nr.GPUCB(lengthscales=0.2, noise_std=1.0, width="mixture")
    )
    for _ in range(10):
        study.add([0.2], 1.0)
    study.add([0.8], 1.3)
    result = study.result()
    assert result.best.params[0] == 0.8
    assert result.recommended.params[0] == 0.2
    # recomputed densely: ten equal readings against one
    x, y = np.array([0.2] * 10 + [0.8]), np.array([1.0] * 10 + [1.3])
    kernel = SquaredExponential()
    K = kernel.value(((x[:, None] - x) / 0.2) ** 2)
    weights = np.linalg.solve(K + np.eye(11), y)
    assert result.prediction is not None
    assert result.prediction[0] == pytest.approx(float(K[0] @ weights))


def test_what_is_expected_at_the_recommended_point_is_true_from_few_values_on() -> None:
    """The fitted class alone, the control, is too sure of itself."""
    held, repeats, fitted, noise = [], [], [], 2.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        centre, width = rng.random(3), rng.uniform(0.3, 0.8)
        study = nr.Study([(0, 1)] * 3, "maximize")
        for x in rng.random((5 + seed % 12, 3)):
            study.add(x, _bump(x, centre, width) + noise * rng.standard_normal())
        result = study.result()
        assert result.prediction is not None
        assert result.repeat_std is not None
        assert result.belief is not None
        (mean, std), point = result.prediction, np.atleast_2d(result.recommended.params)
        truth = _bump(point[0], centre, width)
        held.append(abs(truth - mean) < 2 * std)
        again = truth + noise * rng.standard_normal()
        repeats.append(abs(again - mean) < 1.645 * result.repeat_std)
        (old,), (sure,) = result.belief.predict(point)
        fitted.append(abs(truth - old) < 2 * sure)
    assert np.mean(held) >= 0.85
    assert np.mean(repeats) >= 0.8
    assert np.mean(fitted) < 0.6


def _bump(x: np.ndarray, centre: np.ndarray, width: float) -> float:
    return 60 * float(np.exp(-np.sum((x - centre) ** 2) / (2 * width**2)))


def test_very_few_values_do_not_say_how_far_they_scatter() -> None:
    study = nr.Study([(0, 1)], "maximize")
    study.add([0.2], 41.5)
    assert study.result().too_few
    study.add([0.2], 41.1)  # a replicate says it
    assert not study.result().too_few
    told = nr.Study([(0, 1)], "maximize")
    told.add([0.2], 41.5, 0.3)
    assert not told.result().too_few
    assert told.result().repeat_std == pytest.approx(math.hypot(0.3, told.result().prediction[1]))  # type: ignore[index]
