"""The default: what it decides in turn, what surveys and patrols cost, what it records."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.gp import Evidence, LogNormal, Masked, Matern
from noregret.search import log_ei, ucb
from noregret.space import Array, FixedInputs, Inputs, Space
from noregret.strategies import insured
from noregret.strategies.base import Strategy
from noregret.strategies.exploration import patrol_point
from noregret.strategies.insured import (
    ESTIMATION,
    SHARE,
    WIDTH,
    Asked,
    InsuredGPUCB,
)
from noregret.testing.problems import rkhs_sample
from tests.recorded import recorded

MIXED = Space({"a": nr.Float(0, 1), "c": nr.Choice(list("vwxyz")), "n": nr.Int(1, 6)})


def run(
    space: Any, f: Any, trials: int, strategy: Strategy | None = None, seed: int = 0
) -> nr.Study:
    study = nr.Study(space, "maximize", strategy, seed)
    for _ in range(trials):
        trial = study.ask()
        study.tell(trial, f(trial.params))
    return study


def smooth(x: Array) -> float:
    return float(-((x[0] - 0.3) ** 2) - (x[-1] - 0.6) ** 2)


def decided(study: nr.Study) -> list[nr.Trial]:
    return [trial for trial in study.trials if trial.decision.model is not None]


def kinds(study: nr.Study) -> Counter[str]:
    return Counter(trial.why.kind for trial in decided(study))


def asked(study: nr.Study, trials: int | None = None) -> Asked:
    """The decision that follows so many trials."""
    assert isinstance(study.strategy, InsuredGPUCB)
    history = study._history(study.trials[:trials])
    rng = np.random.default_rng(0)
    return Asked(study.strategy, study.space, history, rng)


# -- settings --


@pytest.mark.parametrize("insurance", [-0.1, math.inf, math.nan, True, "much", None])
def test_insurance_is_a_number_from_zero_on(insurance: Any) -> None:
    with pytest.raises(ConfigurationError, match="insurance"):
        InsuredGPUCB(insurance)


def test_other_settings() -> None:
    for wrong in (-1.0, math.nan, False):
        with pytest.raises(ConfigurationError, match="noise_std"):
            InsuredGPUCB(noise_std=wrong)
    with pytest.raises(ConfigurationError, match="initial_points"):
        InsuredGPUCB(initial_points=-1)


def test_without_insurance_there_is_no_theorem() -> None:
    assert InsuredGPUCB(0.0).theorem.startswith("none")
    assert "sublinear" in InsuredGPUCB().theorem
    assert "#leash" in InsuredGPUCB().theorem
    assert not InsuredGPUCB().proved  # of bands: they hold under an estimated condition


def test_a_choice_counts_as_one_input() -> None:
    inputs = Inputs(MIXED)
    assert (MIXED.dimension, inputs.count, inputs.choices) == (7, 3, 1)
    np.testing.assert_array_equal(inputs.group, [0, 1, 1, 1, 1, 1, 2])
    assert not inputs.repeatable
    held = Inputs(FixedInputs(MIXED, {"c": "w"}))
    assert (held.count, held.choices) == (2, 0)


def test_lengthscales_of_inputs_have_the_right_gradient() -> None:
    rng = np.random.default_rng(0)
    evidence = Evidence(
        Matern(2.5),
        MIXED.snap(rng.random((12, 7))),
        rng.standard_normal(12),
        np.full(12, np.nan),
        LogNormal(0.3, 1.0, dimension_scaled=True),
        LogNormal(-4, 1),
        kriging=True,
        group=Inputs(MIXED).group,
    )
    phi = np.array([0.1, -0.3, 0.4, -3.0])
    for jacobian in (False, True):
        _, gradient = evidence.log_posterior(phi, jacobian=jacobian)
        for i in range(4):
            step = 1e-6 * np.eye(4)[i]
            up, down = (
                evidence.log_posterior(phi + s, jacobian=jacobian)[0] for s in (step, -step)
            )
            assert gradient[i] == pytest.approx((up - down) / 2e-6, rel=1e-4, abs=1e-5)


# -- the start and the patrols --


def test_the_start_is_the_first_patrols_and_one_shift_is_stored() -> None:
    study = run([(0, 1), (0, 1)], smooth, 95, InsuredGPUCB(), seed=4)
    shifts = [
        t.decision.payload[insured.SHIFT] for t in study.trials if t.decision.payload.get("shift")
    ]
    assert len(shifts) == 1
    assert study.trials[0].decision.payload[insured.SHIFT] == shifts[0]
    inputs, shift = Inputs(study.space), np.array(shifts[0])
    sequence = [t for t in study.trials if t.decision.source == "initial" or t.decision.is_patrol]
    assert any(t.decision.is_patrol for t in sequence)
    for number, trial in enumerate(sequence):
        point = patrol_point(study.space, inputs, number, shift)
        np.testing.assert_allclose(study.space.encode(trial.params), point, atol=1e-12)
    other = run([(0, 1), (0, 1)], smooth, 1, InsuredGPUCB(), seed=5)
    assert not np.allclose(other.trials[0].params, study.trials[0].params)


def test_nothing_observed_influences_the_patrols() -> None:
    points = []
    for slope in (1.0, -3.0):
        study = run([(0, 1), (0, 1)], lambda x, a=slope: a * float(x[0]), 95)
        points.append([t.params for t in study.trials if t.decision.is_patrol])
    assert len(points[0]) >= 1
    np.testing.assert_array_equal(points[0], points[1])


def test_patrols_come_at_the_rate_of_t_to_two_thirds() -> None:
    strategy = InsuredGPUCB()
    for t in (*range(400), 10**4, 10**6):
        assert strategy.patrols(t) == math.floor(SHARE * t ** (2 / 3))
        assert InsuredGPUCB(0.0).patrols(t) == 0
    study = run([(0, 1)], lambda x: float(-abs(x[0] - 0.4)), 100)
    made = [t.why.kind == "patrol" for t in decided(study)]
    assert [sum(made[:t]) for t in range(1, len(made) + 1)] == [
        math.floor(t ** (2 / 3) / 20) for t in range(1, len(made) + 1)
    ]
    assert [t.why.t for t in decided(study)] == list(range(1, len(made) + 1))


def test_initial_points_are_as_many_as_asked_for() -> None:
    for given, wanted in ((None, 4), (7, 7)):
        study = run([(0, 1), (0, 1)], smooth, 8, InsuredGPUCB(initial_points=given))
        assert sum(t.decision.source == "initial" for t in study.trials) == wanted
    told = nr.Study([(0, 1), (0, 1)], "maximize")
    for x in np.random.default_rng(0).random((5, 2)):  # what is known already needs no start
        told.add(x, smooth(x))
    assert told.ask().decision.model is not None


# -- promises --


def test_promises_are_the_argmax_of_ucb_and_of_log_ei_in_turn() -> None:
    """Each promised point beats a dense grid in its own acquisition, and not in the other."""
    study = run([(0, 1)], lambda x: math.sin(9 * x[0]) + x[0], 16, InsuredGPUCB(0.0), seed=1)
    grid = np.linspace(0, 1, 2001)[:, None]
    turns = []
    for trial in decided(study):
        made = asked(study, trial.number)
        assert made.t == trial.why.t
        x = study.space.encode(trial.params)[None, :]
        rules = {0: ucb(made.posterior, WIDTH), 1: log_ei(made.posterior, made.best)}
        best = {turn: rule.values(grid).max() - rule.values(x)[0] for turn, rule in rules.items()}
        assert best[made.t % 2] <= 1e-2
        turns.append(best[1 - made.t % 2] > 1e-2)
    assert any(turns)  # the rules differ


def test_the_width_is_full_in_few_inputs_and_where_there_are_choices() -> None:
    def width(space: Any) -> float:
        return asked(run(space, lambda p: float(np.sum(list(_numbers(p)))), 13)).width

    assert width([(0, 1)] * 3) == WIDTH
    assert width([(0, 1)] * 6) == pytest.approx(WIDTH / 2)
    assert width(MIXED) == WIDTH


def _numbers(p: Any) -> Any:
    values = p.values() if isinstance(p, dict) else p
    return [v for v in values if not isinstance(v, str)]


@pytest.mark.parametrize(("noise_std", "distinct"), [(1e-6, 30), (None, 27)])
def test_known_designs_of_an_exact_list_are_not_repeated_until_exhausted(
    noise_std: float | None, distinct: int
) -> None:
    """Where the noise is estimated a few repeats show that there is none."""
    listed = nr.Candidates(np.random.default_rng(3).random((30, 2)).round(3).tolist())
    strategy = InsuredGPUCB(0.0, noise_std=noise_std)
    study = run(listed, lambda x: smooth(np.asarray(x)), 30, strategy)
    assert len({tuple(trial.params) for trial in study.trials}) >= distinct
    study.tell(study.ask(), 0.0)  # and then it goes on


def test_designs_of_choices_are_not_repeated_either() -> None:
    bits = Space({f"b{i}": nr.Choice([False, True]) for i in range(4)})
    study = run(bits, lambda p: float(sum(p.values())), 14, InsuredGPUCB(0.0, 1e-6))
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 14


def test_under_noise_the_best_design_of_a_list_is_measured_again() -> None:
    rng = np.random.default_rng(2)
    study = run(
        {"c": nr.Choice(list("abcde"))},
        lambda p: "abcde".index(p["c"]) / 4 + 0.3 * float(rng.standard_normal()),
        60,
    )
    count = Counter(trial.params["c"] for trial in study.trials[20:])
    assert count.most_common(1)[0][0] == "e"
    assert count["a"] < 8


# -- surveys --


def test_surveys_are_made_when_idle_and_within_the_budget() -> None:
    """Costs typed out: of each survey that has a value the best mean less the mean there by the
    model of the decision, at least SHARE.
    """
    strategy = InsuredGPUCB()
    study = run([(0, 1), (0, 1)], smooth, 45, strategy)
    assert kinds(study)["survey"] >= 2
    assert study.best.value == pytest.approx(0.0, abs=1e-4)
    surveyed: list[int] = []
    for trial in decided(study):
        made = asked(study, trial.number)
        X = np.array([study.space.encode(t.params) for t in study.trials[: trial.number]])
        mean = made.posterior.predict(X)[0]
        if trial.why.kind == "survey":
            spent = sum(max(float(mean.max() - mean[i]), SHARE) for i in surveyed)
            assert spent + SHARE <= 0.5 * trial.why.t**0.9 + 1e-6
            x = study.space.encode(trial.params)[None, :]
            cost = float(mean.max() - made.posterior.predict(x)[0][0])
            assert spent + cost <= strategy.budget(trial.why.t) + 0.02
            assert trial.why.kind == "survey"
            assert trial.decision.payload["g"] > 1
            promise = made.argmax(made.acquisition())
            assert made.is_idle(promise)
            surveyed.append(trial.number)
        elif trial.why.kind == "promise":
            assert trial.decision.payload["g"] == 1


def test_their_number_is_sublinear() -> None:
    """p(t) over the least cost of one: a falling part of the decisions."""
    strategy = InsuredGPUCB(0.5)
    shares = [strategy.budget(t) / SHARE / t for t in (10**3, 10**8, 10**13)]
    assert shares[0] > 3 * shares[1] > 9 * shares[2]


def test_where_every_design_is_known_nothing_is_surveyed() -> None:
    """A bandit: with surveys until the budget is spent its regret was linear."""
    rng = np.random.default_rng(0)
    study = run(
        {"arm": nr.Choice(list("abc"))},
        lambda p: float(rng.random() < {"a": 0.2, "b": 0.5, "c": 0.7}[p["arm"]]),
        60,
    )
    assert kinds(study)["survey"] == 0


def test_an_idle_promise_is_followed_by_surveys_in_a_rough_class_too() -> None:
    """On this noisy list 51 of 60 trials repeated one design while the class was wide by itself."""
    rng = np.random.default_rng(3)
    X = rng.random((150, 3)).round(4)
    f = np.sin(9 * X[:, 0]) * np.cos(11 * X[:, 1]) + np.sin(12 * X[:, 2])
    table = {tuple(x): value for x, value in zip(X.tolist(), f, strict=True)}
    study = run(
        nr.Candidates(X.tolist()),
        lambda x: table[tuple(np.asarray(x).tolist())] + 0.2 * float(rng.standard_normal()),
        60,
        seed=3,
    )
    repeats = Counter(tuple(np.asarray(trial.params).tolist()) for trial in study.trials)
    assert kinds(study)["survey"] > 0
    assert repeats.most_common(1)[0][1] < 40


@pytest.mark.parametrize(("insurance", "surveys"), [(0.0, (0, 0)), (0.1, (0, 8)), (3.0, (4, 40))])
def test_insurance_says_how_much_is_looked_around(
    insurance: float, surveys: tuple[int, int]
) -> None:
    count = kinds(run([(0, 1), (0, 1)], smooth, 44, InsuredGPUCB(insurance)))
    assert surveys[0] <= count["survey"] <= surveys[1]
    assert InsuredGPUCB(insurance).patrols(10**4) == (23 if insurance else 0)


def narrow(x: Array) -> float:
    """A slope to the right, and a bump of width 0.02 on its low side that holds the maximum."""
    return float(x[0] + 1.5 * np.exp(-0.5 * ((x[0] - 0.19) / 0.02) ** 2))


def test_a_needle_is_found_with_insurance_only() -> None:
    start = np.linspace(0, 1, 9)  # nothing measured within three widths of the bump
    best = {}
    for insurance in (0.0, 1.0):
        study = nr.Study([(0, 1)], "maximize", InsuredGPUCB(insurance))
        for x in start:
            study.add([x], narrow(np.array([x])))
        for _ in range(45):
            trial = study.ask()
            study.tell(trial, narrow(trial.params))
        best[insurance] = study.best.value
    assert best[0.0] == pytest.approx(1.0, abs=0.01)  # stuck on the slope
    assert best[1.0] > 1.6  # type: ignore[operator]


# -- failures and limits --


def test_one_crash_neither_bans_the_optimum_nor_invents_a_value() -> None:
    study = nr.Study([(0.0, 1.0)], "maximize", InsuredGPUCB(insurance=0.0))
    for x in np.linspace(0, 1, 24):
        study.add([x], 1.0 - 4 * (x - 0.52) ** 2)
    study.tell(study.ask(), state="failed")
    trial = study.ask()
    assert trial.why.mean > 0.9  # a forecast in the range of the values
    assert trial.decision.payload["chance_of_failing"] is not None
    assert trial.decision.payload["chance_of_failing"] < 0.5
    assert abs(trial.params[0] - 0.52) < 0.1
    for _ in range(4):
        study.tell(trial, 1.0 - 4 * float(trial.params[0] - 0.52) ** 2)
        trial = study.ask()
    assert study.best.value == pytest.approx(1.0, abs=1e-3)


def test_a_study_starts_where_everything_fails() -> None:
    study = nr.Study([(0.0, 1.0)] * 2, "maximize", seed=1)
    for _ in range(9):
        study.tell(study.ask(), state="failed")
    points = np.array([trial.params for trial in study.trials])
    assert len(np.unique(points, axis=0)) == 9


def broken(x: float) -> float:
    """Almost kept around .15, kept only around .5."""
    return (
        1 - 0.7 * math.exp(-(((x - 0.15) / 0.1) ** 2)) - 1.6 * math.exp(-(((x - 0.5) / 0.03) ** 2))
    )


@pytest.mark.parametrize("valued", [True, False])
def test_a_study_goes_on_while_no_limit_was_kept(valued: bool) -> None:
    study = nr.Study([(0.0, 1.0)], "maximize", seed=3, outcomes={"g": nr.AtMost(0.0)})
    for _ in range(25):
        trial = study.ask()
        x, g = float(trial.params[0]), broken(float(trial.params[0]))
        study.tell(trial, x if valued or g <= 0 else None, outcomes={"g": g})
    assert any(t.feasible for t in study.trials)
    assert study.replay().number is None


# -- context --


def in_context(contexts: list[float], trials: int | None = None) -> nr.Study:
    """A parabola in a; the days differ more than the actions do."""
    space = {"a": nr.Float(0, 1), "z": nr.Float(0, 1)}
    study = nr.Study(space, "minimize", seed=1, context=("z",))
    for z in contexts:
        trial = study.ask(context={"z": z})
        a = trial.params["a"]
        study.tell(trial, (a - 0.3 - 0.4 * z) ** 2 + 5 * z**2)
    return study


def test_in_context_there_are_promises_alone_and_values_stay_as_they_are() -> None:
    study = in_context(np.random.default_rng(0).random(30).tolist())
    assert set(kinds(study)) == {"promise"}
    assert all(trial.decision.payload["compression"] == [] for trial in decided(study))
    regret = [t.value - 5 * t.params["z"] ** 2 for t in study.trials[18:] if t.value is not None]
    assert float(np.mean(regret)) < 0.005
    plain = nr.minimize(lambda x: float(x[0] - 0.3) ** 2 + x[1], [(0, 1)] * 2, trials=10, seed=1)
    assert plain.trials[-1].decision.payload["compression"] != []


def test_in_context_the_width_is_a_quarter_and_the_rule_is_ucb() -> None:
    study = in_context(np.random.default_rng(0).random(12).tolist())
    held = FixedInputs(study.space, {"z": 0.4}, is_context=True)
    history = study._history(study.trials)
    made = Asked(InsuredGPUCB(), held, history, np.random.default_rng(0))
    assert made.in_context
    assert made.width == pytest.approx(WIDTH / 4)
    A = held.snap(np.random.default_rng(1).random((50, 2)))
    np.testing.assert_allclose(
        made.acquisition().values(A), ucb(made.posterior, WIDTH / 4).values(A)
    )


# -- what is recorded and shown --


def models(p: Any, dead: tuple[str, ...] = ("none",)) -> float:
    return -0.15 if p["m"] in dead else float(-((p["x"] - 0.3) ** 2) - (p["y"] - 0.7) ** 2)


@pytest.mark.parametrize(
    ("f", "dead"),
    [
        (models, 1),
        (lambda p: models(p, ("none", "tree")), 2),
        (lambda p: models(p, ()), 0),
        (lambda p: p["x"] + p["y"], 0),
        (lambda p: models(p, ()) + np.random.default_rng(int(1e9 * p["x"])).normal(0, 0.1), 0),
    ],
)
def test_options_under_which_other_inputs_do_nothing_are_found(f: Any, dead: int) -> None:
    space = {"m": nr.Choice(["none", "net", "tree"]), "x": nr.Float(0, 1), "y": nr.Float(0, 1)}
    study, rng = nr.Study(space, "maximize"), np.random.default_rng(0)
    for option in 5 * ["none", "net", "tree"]:
        params = {"m": option, **dict(zip("xy", rng.random(2).tolist(), strict=True))}
        study.add(params, f(params))
    kernel = asked(study).kernel
    assert (len(kernel.dead) if isinstance(kernel, Masked) else 0) == dead
    if dead:  # no promise goes there, and a survey does not believe it
        for _ in range(6):
            trial = study.ask()
            study.tell(trial, f(trial.params))
            assert trial.why.kind != "promise" or f(trial.params) != -0.15
        assert not isinstance(asked(study).widened(2.0).kernel, Masked)


def test_equal_arguments_give_equal_proposals() -> None:
    study = run(MIXED, lambda p: p["a"] - (p["c"] == "w") + p["n"] / 6, 14, InsuredGPUCB(), seed=2)
    assert study.replay().number is None
    assert study.ask(fixed={"c": "x"}).params["c"] == "x"
    waiting = study.ask(3)
    assert len({tuple(trial.params.values()) for trial in waiting}) == 3  # points under way


def test_told_noise_and_few_values() -> None:
    study = nr.Study([(0, 1)], "minimize", InsuredGPUCB(initial_points=1))
    for value in (1.0, 1.0, 1.0, 1.0):  # all equal: no scale
        study.tell(study.ask(), value, noise_std=0.1)
    assert study.recommended.value == 1.0
    known = nr.Study([(0, 1)], "minimize", InsuredGPUCB(noise_std=0.1, initial_points=2))
    for _ in range(6):
        trial = known.ask()
        known.tell(trial, float(trial.params[0]))
    assert known.ask().decision.payload["noise_std"] == pytest.approx(0.1)


@pytest.mark.parametrize("noisy", [False, True])
def test_recommended_is_the_best_where_repeats_show_no_noise(noisy: bool) -> None:
    rng = np.random.default_rng(5)
    X = np.linspace(0, 1, 40)
    y = -8 * (X - 0.6) ** 2 + 0.3 * rng.standard_normal(40)
    study = nr.Study([(0, 1)], "maximize", InsuredGPUCB())
    for x, value in zip(X, y, strict=True):
        study.add([x], value)
    for x, value in zip(X[::10], y[::10], strict=True):
        study.add([x], value + noisy * 0.3 * float(rng.standard_normal()))
    assert (study.recommended.value == study.best.value) == (not noisy)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_what_may_be_left_is_said_under_its_condition(noise: float) -> None:
    """On functions of the class it holds at every look; it is labelled as a guess."""
    held = looks = 0
    for seed in range(3):
        f = rkhs_sample(seed, lengthscale=0.2, norm=2.0)
        rng = np.random.default_rng(seed)
        study = nr.Study([(0, 1)], "maximize", seed=seed)
        for n in range(24):
            trial = study.ask()
            study.tell(trial, float(f(trial.params)) + noise * float(rng.standard_normal()))
            if n >= 9 and n % 3 == 0:
                found = study.certificate()
                assert not found.proved
                assert "guess" in found.condition
                looks += 1
                held += f.maximum - float(f(np.asarray(found.params))) <= found.regret_bound + 1e-9
    assert held >= 0.9 * looks


def test_an_input_that_does_nothing_may_drop_out_up_to_the_ceiling(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = nr.Study([(0, 1)] * 2, "maximize")
    for x in np.random.default_rng(0).random((60, 2)):
        study.add(x, float(np.sin(7 * x[0])))
    for ceiling in (1.0, 1.5, 3.0):
        monkeypatch.setattr(insured, "ESTIMATION", replace(ESTIMATION, ceiling=ceiling))
        fitted = (
            nr.Study([(0, 1)] * 2, "maximize", trials=study.trials)
            .ask()
            .decision.payload["fitted_lengthscales"]
        )
        assert fitted is not None
        assert fitted[1] / math.sqrt(2) == pytest.approx(ceiling)
        assert fitted[0] < 1


def test_what_is_reported_is_in_the_values_sign_and_units() -> None:
    """The search maximises compressed values; decisions and belief are in the user's units."""
    study = nr.minimize(lambda x: float(np.exp(6 * abs(x[0] - 0.3))), [(0, 1)], 20, seed=1)
    why = recorded(decided(study)[-1])
    assert -2 < why.mean < 20  # the least value is 1
    assert why.std < 20
    assert why.compression
    belief = study.belief()
    assert belief is not None
    mean, _ = belief.predict(np.array([[0.3], [1.0]]))  # of −f
    assert mean[0] == pytest.approx(-1, abs=3)
    assert mean[1] < -5  # 66 there: beyond the fence, where bad values are just bad


def test_a_search_that_arrived_does_not_look_at_what_it_knows_is_bad() -> None:
    """Its own success must not shrink the units until nothing but the best place seems known."""
    rng = np.random.default_rng(0)

    def f(x: Array) -> float:
        return float(np.cos(5 * x[0]) - 0.5 * x[0])

    study = nr.Study([(0, 1)], "maximize", InsuredGPUCB(0.0), 0)
    regrets = []
    for _ in range(45):
        trial = study.ask()
        regrets.append(1.0 - f(trial.params))
        study.tell(trial, f(trial.params) + 0.05 * float(rng.standard_normal()))
    assert max(regrets[15:]) < 0.1


def test_exact_values_are_interpolated_and_the_best_is_recommended() -> None:
    def simulation(x: Any) -> float:
        return float(np.sum((x - 0.3) ** 2) + 0.1 * np.sin(9 * x[0]))

    study = nr.minimize(simulation, [(0, 1)] * 2, 25, noise_std=0)
    assert study.strategy == InsuredGPUCB(noise_std=0)
    result, belief = study.result(), study.belief()
    assert result.recommended == study.best == study.recommended
    assert result.prediction == (study.best.value, 0.0)
    assert (result.repeat_std, result.too_few) == (0.0, False)
    assert belief is not None
    X = np.array([trial.params for trial in study.trials])
    told = np.array([trial.value for trial in study.trials])
    good = told < np.median(told) + 0.3  # beyond the fence values count as bad, whatever they are
    error = np.abs(-belief.predict(X[good])[0] - told[good])
    assert error.max() < 1e-4 * np.ptp(told)
    assert study.best.value == pytest.approx(min(told))
    with pytest.raises(ConfigurationError, match="has no noise_std"):
        nr.minimize(simulation, [(0, 1)] * 2, 5, nr.RandomSearch(), noise_std=0)
    at_most = nr.Study([(0, 1)], "maximize", InsuredGPUCB(noise_std=0))
    at_most.add([0.5], 1e300)  # the model may be blind beside it, the recommendation is not
    at_most.add([0.1], 1.0)
    assert at_most.recommended.number == 0
