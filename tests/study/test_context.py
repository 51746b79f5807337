"""Inputs that nobody chooses: asked for in each context, recommended and certified for any."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, SpaceError
from noregret.study import policy_of
from noregret.testing.problems import rkhs_sample
from tests.recorded import recorded

SPACE = {"set": nr.Float(20, 60), "weather": nr.Float(-10, 30)}


def cost(p: dict[str, float]) -> float:
    """Best at 45 − weather/2."""
    return (p["set"] - 45 + p["weather"] / 2) ** 2 / 100


def played(trials: int = 24, **settings: Any) -> nr.Study:
    study, rng = nr.Study(SPACE, "minimize", context=("weather",), **settings), _weather()
    for _ in range(trials):
        trial = study.ask(context={"weather": next(rng)})
        study.tell(trial, cost(trial.params))
    return study


def _weather() -> Any:
    rng = np.random.default_rng(5)
    while True:
        yield float(rng.uniform(-10, 30))


@pytest.fixture(scope="module")
def study() -> nr.Study:
    return played()


def test_the_context_is_kept_as_given(study: nr.Study) -> None:
    given = _weather()
    for trial in study.trials:
        assert trial.params["weather"] == next(given)
        assert trial.decision.fixed == {"weather": trial.params["weather"]}
    assert study.replay().number is None


def test_the_best_action_for_contexts_never_seen(study: nr.Study) -> None:
    for weather in (-7.0, 3.3, 15.0, 28.0):
        found = study.recommend(context={"weather": weather})
        assert found.params["weather"] == weather
        assert found.params["set"] == pytest.approx(45 - weather / 2, abs=3.0)
        assert found.lower <= found.mean <= found.upper
        grid = np.linspace(20, 60, 401)
        belief = study.belief()
        assert belief is not None
        points = [study.space.encode({"set": s, "weather": weather}) for s in grid]
        mean = -belief.predict(np.array(points))[0]
        there = -belief.predict(study.space.encode(found.params)[None, :])[0][0]
        assert there <= mean.min() + 1e-6  # naive: every action


def test_the_policy_is_the_best_action_along_the_context(study: nr.Study) -> None:
    policy = policy_of(study)
    assert policy.name == "weather"
    assert (policy.values[0], policy.values[-1]) == (-10, 30)
    actions = [each.params["set"] for each in policy.recommended]
    assert np.corrcoef(policy.values, actions)[0, 1] < -0.95
    with pytest.raises(ConfigurationError, match="is no context of this study"):
        policy_of(study, "set")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "weather is context here: say what it is now"),
        ({}, r"missing \['weather'\]"),
        ({"wind": 3, "weather": 3}, r"unknown \['wind'\]"),
        ({"weather": 31}, "31"),
        ({"weather": "warm"}, "warm"),
        (15, "say what it is now"),
    ],
)
def test_a_bad_context_is_an_error_and_nothing_is_lost(given: Any, said: str) -> None:
    study = played(3)
    for call in (lambda c: study.recommend(context=c), lambda c: study.ask(context=c)):
        with pytest.raises((ConfigurationError, SpaceError), match=said):
            call(given)
    assert len(study.trials) == 3


def test_what_depends_on_the_context_says_so(study: nr.Study) -> None:
    with pytest.raises(ConfigurationError, match="recommend"):
        _ = study.recommended
    with pytest.raises(ConfigurationError, match=r"certificate\(context="):
        study.certificate()
    with pytest.raises(ConfigurationError, match="not in fixed="):
        study.ask(context={"weather": 3.0}, fixed={"weather": 3.0})
    plain = nr.Study(SPACE, "minimize")
    with pytest.raises(ConfigurationError, match="this study has no context"):
        plain.ask(context={"weather": 3.0})
    with pytest.raises(ConfigurationError, match="this study has no context"):
        plain.recommend(context={"weather": 3.0})


@pytest.mark.parametrize(
    ("context", "said"), [(("wind",), "does not have"), (("set", "weather"), "nothing left")]
)
def test_contexts_that_make_no_sense(context: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        nr.Study(SPACE, "minimize", context=context)


def test_fixed_inputs_and_context_together() -> None:
    space = {**SPACE, "pump": nr.Choice(["a", "b"])}
    study = nr.Study(space, "minimize", context="weather")
    trial = study.ask(context={"weather": 7.0}, fixed={"pump": "b"})
    assert (trial.params["weather"], trial.params["pump"]) == (7.0, "b")


def test_waiting_trials_are_given_out_in_their_context() -> None:
    study = played(4)
    queued = study.enqueue({"set": 33.0, "weather": 5.0})
    assert study.ask(context={"weather": 6.0}).number != queued.number
    assert study.ask(context={"weather": 5.0}).number == queued.number


def test_stored_run_and_derived(tmp_path: Path) -> None:
    made = nr.Study.create(
        "pump", SPACE, "minimize", storage=tmp_path / "s.db", context=["weather"]
    )
    weather = _weather()
    made.run(cost, 6, context=lambda: {"weather": next(weather)})
    made.run(cost, 2, context={"weather": 1.0}, workers=2)
    again = nr.Study.open("pump", storage=tmp_path / "s.db")
    assert again.context == ("weather",)
    assert [t.params["weather"] for t in again.trials[-2:]] == [1.0, 1.0]
    assert again.replay().number is None
    with pytest.raises(ConfigurationError, match="say what it is now"):
        again.run(cost, 1)
    free = again.derived("free", context=())
    assert free.context == ()
    assert len(free.trials) == 8
    assert free.ask().decision.fixed is None


def test_outcomes_and_context_together() -> None:
    """The action is the best that keeps the limit in that context."""
    study = nr.Study(
        {"u": nr.Float(0, 1), "z": nr.Float(0, 1)},
        "maximize",
        context=("z",),
        outcomes={"load": nr.AtMost(0.8)},
    )
    rng = np.random.default_rng(3)
    for _ in range(26):
        trial = study.ask(context={"z": float(rng.random())})
        u, z = trial.params["u"], trial.params["z"]
        study.tell(trial, u, outcomes={"load": u + 0.5 * z})
    for z in (0.2, 0.9):
        found = study.recommend(context={"z": z})
        assert found.feasible
        assert found.chance is not None
        assert found.chance >= 0.9
        assert found.params["u"] == pytest.approx(0.8 - 0.5 * z, abs=0.06)
        surer = study.recommend(chance=0.999, context={"z": z})
        assert surer.params["u"] <= found.params["u"]


# -- the theorem --


def test_the_regret_against_the_best_action_of_each_context_is_sublinear() -> None:
    """Contexts in any order; the last third costs clearly less than the first."""
    noise, actions, weather = 0.02, np.linspace(0, 1, 11), np.linspace(0, 1, 4)
    listed = nr.Candidates([{"a": float(a), "z": float(z)} for a in actions for z in weather])
    known: dict[str, Any] = {"norm_bound": 1.5, "lengthscales": 0.4, "initial_points": 1}
    cost = np.zeros(3)
    for seed in range(2):
        f = rkhs_sample(seed, dimension=2, lengthscale=0.4, norm=1.5)
        rng = np.random.default_rng([seed, 3])
        strategy = nr.AdaptiveGPUCB.rigorous(noise, **known)
        study = nr.Study(listed, "maximize", strategy, seed, context=("z",))
        best = {
            z: float(np.asarray(f(np.column_stack([actions, np.full(11, z)]))).max())
            for z in weather.tolist()
        }
        for number in range(60):
            z = float(rng.choice(weather))
            trial = study.ask(context={"z": z})
            value = float(f(np.array([trial.params["a"], z])))
            study.tell(trial, value + noise * rng.uniform(-1, 1))
            cost[number // 20] += best[z] - value
        for z in weather.tolist():
            certificate = study.certificate(context={"z": z})
            assert certificate.proved
            assert certificate.params["z"] == z
            reached = float(f(np.array([certificate.params["a"], z])))
            assert best[z] - reached <= certificate.regret_bound
    assert cost[2] < 0.6 * cost[0]


def test_the_certificate_of_a_continuous_context_covers_its_actions() -> None:
    f = rkhs_sample(3, dimension=2, lengthscale=0.4, norm=1.5)
    strategy = nr.AdaptiveGPUCB.rigorous(0.02, norm_bound=1.5, lengthscales=0.4)
    study = nr.Study([(0, 1), (0, 1)], "maximize", strategy, context=("x1",))
    rng = np.random.default_rng(4)
    for _ in range(8):
        trial = study.ask(context={"x1": float(rng.random())})
        study.tell(trial, float(f(trial.params)))
    certificate = study.certificate(context={"x1": 0.3})
    line = np.column_stack([np.linspace(0, 1, 201), np.full(201, 0.3)])
    belief = study.belief()
    assert belief is not None
    lower, upper = belief.band(line)
    assert belief.norm_bound is not None
    largest = min(upper.max(), belief.norm_bound * belief.scale)  # |f| ≤ ‖f‖
    naive = largest - lower.max()
    assert certificate.proved
    assert naive - 1e-3 <= certificate.regret_bound <= naive + certificate.slack + 1e-3


def test_in_context_the_default_is_greedier_and_replay_knows_it() -> None:
    """Held for one ask is not context: there the width is the usual one."""
    usual = nr.Study(SPACE, "maximize", seed=1)
    given = nr.Study(SPACE, "maximize", seed=1, context=("weather",))
    for k in range(8):
        weather = -10 + 5.0 * k
        for study, how in ((usual, "fixed"), (given, "context")):
            ask: Any = {how: {"weather": weather}}
            trial = study.ask(**ask)
            study.tell(trial, -cost(trial.params))
    widths = [
        {recorded(trial).exploration for trial in study.trials if trial.decision.model} - {None}
        for study in (usual, given)
    ]
    assert widths == [{1.0}, {0.25}]
    assert given.replay().number is None
    assert usual.replay().number is None
