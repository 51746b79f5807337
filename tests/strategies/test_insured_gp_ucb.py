import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.space.array import Array
from noregret.strategies import insured_gp_ucb, surveys
from noregret.strategies.insured_gp_ucb import ESTIMATION, Insured
from noregret.testing.problems import bump
from noregret.trials import History, ModelDecision

NOTHING = ModelDecision(1, (1.0,), 0.0, 0.0)


def decision(
    X: Array,
    y: Array,
    *,
    space: Any = None,
    noise_std: float | None = None,
    lengthscales: float | None = None,
    compress: int = 0,
) -> Insured:
    """One decision about values at some points, with these lengthscales instead of fitted ones."""
    d = X.shape[1]
    chosen = nr.Space.from_bounds([(0, 1)] * d) if space is None else space
    none = np.empty((0, d))
    history = History(X, y, np.full(len(y), np.nan), none, none)
    rng = np.random.default_rng(0)
    framed, fit = nr.InsuredGPUCB(noise_std)._fit(chosen, history, rng, compress)
    if lengthscales is not None:
        fit = replace(fit, lengthscales=np.full(d, lengthscales))
    return Insured(chosen, history, framed, fit, 5)


def test_it_claims_nothing() -> None:
    assert nr.InsuredGPUCB().theorem.startswith("none")
    assert not nr.InsuredGPUCB().proved
    assert nr.Study([(0, 1)], "maximize").strategy == nr.InsuredGPUCB()


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"noise_std": 0.0}, "noise_std must be positive"),
        ({"noise_std": math.inf}, "noise_std"),
        ({"initial_points": -1}, "initial_points"),
        ({"initial_points": 2.5}, "initial_points"),
    ],
    ids=str,
)
def test_impossible_settings(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        nr.InsuredGPUCB(**bad)


def test_the_first_points_are_spread() -> None:
    for d, count in ((1, 3), (2, 4), (5, 10), (50, 12)):
        study = nr.Study([(0, 1)] * d, "maximize")
        study.run(lambda x: float(x[0]), count)
        assert {trial.decision.source for trial in study.trials} == {"initial"}
        assert study.ask().decision.source == "model"
    few = nr.Study([(0, 1)], "maximize", strategy=nr.InsuredGPUCB(initial_points=1))
    assert [t.decision.source for t in few.run(lambda x: float(x[0]), 3).trials] == [
        "initial",
        "model",
        "model",
    ]


def test_ucb_is_greedier_in_many_inputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The proposal in six inputs is the UCB argmax of half the width, and the band keeps
    the whole.
    """
    space = nr.Space.from_bounds([(0.0, 1.0)] * 6)
    strategy = nr.InsuredGPUCB(initial_points=5)

    def proposal(width: float, greedy_above: int) -> nr.Trial:
        monkeypatch.setattr(insured_gp_ucb, "WIDTH", width)
        monkeypatch.setattr(insured_gp_ucb, "GREEDY_ABOVE", greedy_above)
        study = nr.Study(space, "maximize", strategy=strategy, seed=1)
        study.run(lambda x: -sum((v - 0.3) ** 2 for v in x), 12)
        return study.ask()

    full, same, ours = proposal(1.5, 6), proposal(0.75, 6), proposal(1.5, 3)
    np.testing.assert_array_equal(ours.params, same.params)
    assert not np.array_equal(ours.params, full.params)
    assert (ours.why.beta_sqrt, ours.why.exploration) == (1.5, 0.5)
    designs = nr.Study(
        nr.Candidates(np.random.default_rng(0).random((9, 6)).tolist()),
        "maximize",
        strategy=strategy,
    )
    designs.run(lambda x: x[0], 6)
    assert designs.ask().why.exploration == 1.0  # a list can be explored whole


def test_surveys_come_where_the_search_stagnates_and_only_there() -> None:
    """On the noise-free bump: widened for single decisions, at rest in between, and believing the
    fitted class afterwards.
    """
    f = bump()
    study = nr.maximize(lambda x: float(f(x)), [(0, 1)], 60)
    whys: list[Any] = [trial.why for trial in study.trials[3:]]
    assert sum(why.survey for why in whys) >= 3
    assert sum(not why.survey for why in whys) >= 3
    for index, why in enumerate(whys):
        if why.survey:
            assert why.estimate < why.reference
            made = sum(each.survey for each in whys[: index + 1])
            assert made <= surveys.allowance(why.t, 1) + 1e-9
        else:
            assert (why.h, why.g, why.active) == (1.0, 1.0, "fit")
    assert any(why.h > 1 for why in whys if why.survey)
    belief = study.belief()
    assert belief is not None
    # fitted to the values as they are, where the search sees compressed ones; never widened
    rng, history = np.random.default_rng(0), study._history(study.trials)
    _, fit = nr.InsuredGPUCB()._fit(study.space, history, rng, 0)
    assert belief.lengthscales[0] == pytest.approx(fit.lengthscales[0], rel=0.01)
    assert belief.lengthscales[0] > 2 * min(why.lengthscales[0] for why in whys)
    assert float(f(study.best.params)) > f.maximum - 0.02


@pytest.mark.parametrize(
    ("dimension", "share"),
    [(1, 0.32), (2, 0.64), (3, 1.28), (4, 0.32), (5, 0.08), (6, 0.05)],
)
def test_a_search_that_always_stagnates_surveys_its_allowance(dimension: int, share: float) -> None:
    """⌊share·t^0.9⌋ of t decisions, every one as early as it may come."""
    X = np.random.default_rng(0).random((4, dimension))
    made = decision(X, X[:, 0], lengthscales=10.0)
    for t in range(1, 400):
        made.t = t
        if made._survey_is_due():
            made.surveys.append(NOTHING)
        count = len(made.surveys)
        assert count <= share * t**0.9 + 1e-6
        assert count > min(t, share * t**0.9) - 1.001


def test_fewer_surveys_in_a_class_that_is_wide_already_and_in_a_list() -> None:
    X = np.random.default_rng(0).random((4, 2))

    def most(lengthscale: float, space: Any = None) -> int:
        made = decision(X, X[:, 0], lengthscales=lengthscale, space=space)
        made.t = 100
        while made._survey_is_due():
            made.surveys.append(NOTHING)
        return len(made.surveys)

    edge = surveys.FINE * 2
    assert most(edge * (1 + 1e-9)) == math.floor(0.64 * 100**0.9)
    assert most(0.999 * edge) == math.floor(0.64 * 100**0.9 / 3)
    assert most(1.0, nr.Candidates(X.tolist())) == math.floor(0.32 * 100**0.9)


def test_a_survey_follows_up_what_surprised_the_fitted_class() -> None:
    X = np.linspace(0.02, 0.98, 25)[:, None]
    y = X[:, 0] + 0.01 * np.random.default_rng(1).standard_normal(25)
    bumpy = y.copy()
    bumpy[8] += 0.5
    for values, surprised in ((bumpy, True), (y, False)):
        made = decision(X, values, noise_std=0.01, lengthscales=0.6)  # too smooth for the bump
        cloud = surveys.cloud_of(made.space, made.seed)
        choice, widened = made._survey(8.0, cloud), made.posterior(8.0)
        assert (surveys.surprise(made.posterior(), widened) is not None) == surprised
        in_cloud = any(np.array_equal(choice.x, point) for point in cloud)
        assert in_cloud != surprised
        if surprised:
            assert abs(choice.x[0] - X[8, 0]) < 4 * widened.lengthscales[0]


def test_a_failed_point_is_not_surveyed_again() -> None:
    rng = np.random.default_rng(3)
    made = decision(rng.random((7, 2)), rng.standard_normal(7), noise_std=0.2)
    cloud = surveys.cloud_of(made.space, made.seed)
    first = made._survey(2.0, cloud)
    made.history = replace(made.history, failed=first.x[None, :])
    assert not np.array_equal(made._survey(2.0, cloud).x, first.x)


@pytest.mark.parametrize(
    "space",
    [
        nr.Candidates(np.random.default_rng(0).random((24, 2)).tolist()),
        nr.Space({"x0": nr.Int(0, 3), "x1": nr.Choice(["a", "b", "c"]), "x2": nr.Int(2, 3)}),
    ],
)
def test_a_known_design_is_not_asked_again_while_it_would_tell_nothing(
    space: nr.Candidates | nr.Space,
) -> None:
    """24 designs without noise: each is measured once, then they are repeated rather than
    refused.
    """

    def value(x: Any) -> float:
        return float(np.sin(5 * np.sum(space.encode(x))))

    study = nr.Study(space, "maximize", strategy=nr.InsuredGPUCB(noise_std=1e-3), seed=1)
    study.run(value, 27)
    asked = [space.encode(trial.params).tobytes() for trial in study.trials]
    assert len(set(asked[:24])) == 24
    assert len(set(asked)) == 24


def test_an_input_that_does_nothing_may_drop_out_up_to_the_ceiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = nr.Study([(0, 1)] * 2, "maximize")
    for x in np.random.default_rng(0).random((60, 2)):
        study.add(x, float(np.sin(7 * x[0])))
    at_most = {}
    for ceiling in (1.0, 1.5, 3.0):
        monkeypatch.setattr(insured_gp_ucb, "ESTIMATION", replace(ESTIMATION, ceiling=ceiling))
        fitted = (
            nr.Study([(0, 1)] * 2, "maximize", trials=study.trials).ask().why.fitted_lengthscales
        )
        assert fitted is not None
        at_most[ceiling] = fitted[1] / math.sqrt(2)
        assert fitted[0] < 1
    assert at_most == {1.0: pytest.approx(1.0), 1.5: pytest.approx(1.5), 3.0: pytest.approx(3.0)}


def test_what_is_reported_is_in_the_values_sign_and_units() -> None:
    """The search maximises compressed values; decisions and belief are in the user's units."""
    study = nr.minimize(lambda x: float(np.exp(6 * abs(x[0] - 0.3))), [(0, 1)], 20, seed=1)
    why = study.trials[-1].why
    assert -2 < why.mean < 20  # the least value is 1
    assert why.std < 5
    assert why.compression
    belief = study.belief()
    assert belief is not None
    mean, _ = belief.predict(np.array([[0.3], [1.0]]))  # of −f
    assert mean[0] == pytest.approx(-1, abs=3)
    assert mean[1] < -20
