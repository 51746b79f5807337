"""Limits in the default: the models of outcomes, the chance to keep them, what is sought."""

import math
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

import noregret as nr
from noregret.gp import condition
from noregret.search import log_ei
from noregret.space import Inputs
from noregret.space.array import Array
from noregret.strategies.feasibility import (
    KERNEL,
    MarginScale,
    SuccessModel,
    consecutive_violations,
    product_of,
)
from noregret.trials import Limit
from tests.recorded import recorded

PLANE = {"x": nr.Float(0, 1), "y": nr.Float(0, 1)}


def objective(p: dict[str, float]) -> tuple[float, dict[str, float]]:
    x, y = p["x"], p["y"]
    return x + y, {"ring": (x - 0.3) ** 2 + (y - 0.4) ** 2, "wall": math.sin(5 * x) + y}


LIMITS: dict[str, Limit] = {"ring": nr.AtMost(0.1), "wall": nr.AtLeast(0.6)}


def studied(trials: int = 14, seed: int = 0) -> nr.Study:
    study = nr.Study(PLANE, "maximize", outcomes=LIMITS, seed=seed)
    return study.run(objective, trials)


def learnt(study: nr.Study) -> SuccessModel:
    history = study._history(study.trials)
    made = SuccessModel.fit(history, Inputs(study.space).group, np.random.default_rng(0))
    assert made is not None
    return made


def test_the_scale_is_fine_around_the_limit() -> None:
    y = np.array([-100.0, -1.0, 0.0, 0.5, 3.0])
    naive = [math.copysign(math.log(abs(v) + math.sqrt(1 + v**2)), v) for v in y]
    scale = MarginScale.of(y)
    assert scale.offset + scale.spread * scale.forward(y) == pytest.approx(naive)
    assert scale.unit == 1.0  # the median of |y|
    assert scale.inverse(scale.forward(y)) == pytest.approx(y)
    assert scale.forward(np.zeros(1))[0] == pytest.approx(scale.limit)
    step = 1e-6
    rise = (scale.forward(y + step) - scale.forward(y - step)) / (2 * step)
    assert scale.slope(y) == pytest.approx(rise, rel=1e-4)


def test_the_chance_is_that_of_independent_gaussians() -> None:
    """Naive: each model conditioned by plain linear algebra, Φ from the standard library."""
    study = studied()
    limited, points = learnt(study), np.random.default_rng(1).random((7, 2))
    chance = np.ones(7)
    for model, (name, limit) in zip(limited.outcomes, LIMITS.items(), strict=True):
        told = np.array([trial.outcomes[name] for trial in study.trials])
        y = limit.sign * (told - limit.limit)
        unit = float(np.median(np.abs(y)))
        u = np.array([math.asinh(each / unit) for each in y])
        z, at_limit = (u - u.mean()) / u.std(), -u.mean() / u.std()
        X = np.array([study.space.encode(trial.params) for trial in study.trials])
        theta = model.fitted.lengthscales

        def k(A: Array, B: Array, theta: Array = theta) -> Array:
            square = (((A[:, None] - B[None]) / theta) ** 2).sum(axis=2)
            return np.asarray(KERNEL.value(square))

        K = k(X, X) + model.noise_var * np.eye(len(X))
        cross = k(points, X)
        mean = cross @ np.linalg.solve(K, z)
        var = 1 - np.einsum("ij,ji->i", cross, np.linalg.solve(K, cross.T))
        chance *= [
            NormalDist().cdf(float((m - at_limit) / math.sqrt(v)))
            for m, v in zip(mean, var, strict=True)
        ]
    assert limited.chance(points) == pytest.approx(chance, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("feasible", [True, False])
def test_gradients_are_those_of_the_values(feasible: bool) -> None:
    study = studied()
    limited, history = learnt(study), study._history(study.trials)
    posterior = condition(KERNEL, np.array([0.4, 0.6]), history.X, history.y, 1e-3)
    acquisition = product_of(log_ei(posterior, 0.5), limited.log) if feasible else limited.log
    points, step = np.random.default_rng(2).random((5, 2)) * 0.8 + 0.1, 1e-6
    values, slopes = acquisition.gradients(points)
    assert values == pytest.approx(acquisition.values(points), rel=1e-9)
    for j in range(2):
        aside = np.eye(2)[j] * step
        rise = (acquisition.values(points + aside) - acquisition.values(points - aside)) / (
            2 * step
        )
        assert slopes[:, j] == pytest.approx(rise, rel=1e-3, abs=1e-4)


def test_as_long_as_nothing_is_feasible_feasibility_is_sought() -> None:
    """All told points are beyond the limit; the next ones go where the chance is largest."""
    study = nr.Study(PLANE, "maximize", outcomes={"c": nr.AtMost(-0.9)}, seed=3)

    def c(p: dict[str, float]) -> float:
        return -math.exp(-((p["x"] - 0.2) ** 2 + (p["y"] - 0.8) ** 2) / 0.1)

    while not any(trial.feasible for trial in study.trials):
        trial = study.ask()
        # values far from the optimum of the constraint would be better
        study.tell(trial, 10 * trial.params["x"], outcomes={"c": c(trial.params)})
        assert len(study.trials) < 25
    assert study.feasibility().state == "feasible"


def test_a_study_goes_on_where_no_value_exists_yet() -> None:
    study = nr.Study(PLANE, "maximize", outcomes={"c": nr.AtMost(-0.9)}, seed=3)
    for _ in range(30):
        trial = study.ask()
        x, y = trial.params["x"], trial.params["y"]
        c = -math.exp(-((x - 0.2) ** 2 + (y - 0.8) ** 2) / 0.1)
        study.tell(trial, x if c <= -0.9 else None, outcomes={"c": c})
    assert str(study.feasibility()).endswith("within all limits")
    assert study.best.feasible
    assert study.replay().number is None
    assert study.recommended.value is not None


def test_the_optimum_at_a_limit_is_found() -> None:
    study = studied(30)
    within = [trial for trial in study.trials if trial.feasible]
    grid = np.linspace(0, 1, 201)
    best = max(
        x + y
        for x in grid
        for y in grid
        if (x - 0.3) ** 2 + (y - 0.4) ** 2 <= 0.1 and math.sin(5 * x) + y >= 0.6
    )
    assert study.best in within
    assert study.best.value == pytest.approx(best, abs=0.01)
    naive = max(within, key=lambda trial: float(trial.value or 0.0))
    assert study.best.number == naive.number


def test_what_was_believed_is_recorded() -> None:
    study = studied(16)
    why = recorded(study.trials[-1])
    assert [each["name"] for each in why.outcomes] == ["ring", "wall"]
    assert why.chance_feasible == pytest.approx(np.prod([o["chance"] for o in why.outcomes]))
    assert why.exploration is None  # log-EI chose the point
    told = np.array([[t.outcomes["ring"] for t in study.trials[-8:]]])
    forecast = np.array([[t.decision.payload["outcomes"][0]["mean"] for t in study.trials[-8:]]])
    assert np.abs(told - forecast).mean() < 0.1  # in the outcome's own units


def test_strategies_that_read_no_outcomes_refuse() -> None:
    for strategy in (nr.MarginalGPUCB(), nr.GPUCB(lengthscales=0.3, noise_std=0.1)):
        with pytest.raises(nr.NoRegretError, match="reads no outcomes"):
            nr.Study(PLANE, "maximize", strategy, outcomes=LIMITS)
    study = nr.Study(PLANE, "maximize", nr.RandomSearch(), outcomes=LIMITS)
    assert study.run(objective, 12).best.decision.source == "random"


def test_points_that_keep_the_limits_come_first_whatever_the_others_promise() -> None:
    """The search starts around the best of these: broken limits come with better values."""
    study = studied()
    limited, history = learnt(study), study._history(study.trials)
    order = np.argsort(-limited.merit(history.X, history.y), kind="stable")
    kept = limited.met(history.X)
    assert 0 < kept.sum() < len(kept)
    assert history.y[~kept].max() > history.y[kept].max()
    assert kept[order[: kept.sum()]].all()
    assert list(history.y[order[: kept.sum()]]) == sorted(history.y[kept], reverse=True)
    rest = order[kept.sum() :]
    chances = limited.chance(history.X)
    assert list(chances[rest]) == sorted(chances[~kept], reverse=True)


def test_misses_in_a_row_make_it_careful() -> None:
    study = studied()
    limited, history = learnt(study), study._history(study.trials)
    kept = [trial.feasible for trial in study.trials]
    naive = len(kept) - 1 - max(row for row, each in enumerate(kept) if each)
    assert consecutive_violations(history.outcomes) == naive == limited.consecutive_violations
    short = replace(history.outcomes[1], y=history.outcomes[1].y[-3:])  # a limit that came later
    assert consecutive_violations((history.outcomes[0], short)) <= 3
    none = replace(history.outcomes[0], y=-np.abs(history.outcomes[0].y) - 1)
    assert consecutive_violations((none,)) == 0
    points = np.random.default_rng(2).random((5, 2))
    usual = replace(limited, consecutive_violations=0).log.values(points)
    careful = replace(limited, consecutive_violations=4).log.values(points)
    assert careful - usual == pytest.approx(2.0 * np.log(limited.chance(points)))


def edge(p: dict[str, float], noise: float = 0.0) -> tuple[float, dict[str, float]]:
    """The optimum is where a circle touches a slope: digits are to be had for long."""
    return p["x"] + p["y"] + noise, {"ring": p["x"] ** 2 + p["y"] ** 2 - 0.5 + noise}


def surveyed(study: nr.Study) -> int:
    return sum(t.why.kind == "survey" for t in study.trials if t.decision.model is not None)


def test_a_survey_waits_until_neither_value_nor_outcomes_are_to_be_learnt() -> None:
    study = nr.Study(PLANE, "maximize", outcomes={"ring": nr.AtMost(0)}, seed=1)
    study.run(edge, 24)
    assert 1.0 - float(study.best.value or 0) < 1e-4
    values = [float(t.value or 0) if t.feasible else 0.0 for t in study.trials]
    first = next(
        (t.number for t in study.trials if t.decision.model and t.why.kind == "survey"), 24
    )
    assert 1.0 - max(values[:first]) < 1e-2


def test_where_noise_is_left_a_survey_does_not_wait_for_digits() -> None:
    rng = np.random.default_rng(3)
    study = nr.Study(PLANE, "maximize", outcomes={"ring": nr.AtMost(0)}, seed=1)
    study.run(lambda p: edge(p, 0.1 * rng.standard_normal()), 40)
    assert surveyed(study) > 0


def test_the_noise_of_an_outcome_vanishes_where_there_is_none() -> None:
    rng = np.random.default_rng(0)

    def fitted(noise: float, trials: int) -> float:
        study = nr.Study(PLANE, "maximize", outcomes={"ring": nr.AtMost(0)}, seed=1)
        study.run(lambda p: edge(p, noise * rng.standard_normal()), trials)
        return learnt(study).outcomes[0].noise_var

    assert fitted(0.0, 14) < 1e-6
    assert fitted(0.1, 30) > 1e-2
