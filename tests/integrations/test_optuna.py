"""Optuna's own sampler conformance suite, unchanged, and what it does not ask."""

import math
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import StudyDirection
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)
from optuna.trial import FrozenTrial, TrialState, create_trial

import noregret as nr
from noregret.errors import ConfigurationError, SpaceError
from noregret.integrations import optuna as adapter
from noregret.integrations.axes import Axes
from noregret.integrations.optuna import KEY, NoRegretSampler, NoRegretStopping
from noregret.trials import Decision, ModelDecision
from tests.databases import make_url

optuna.logging.set_verbosity(optuna.logging.ERROR)


class TestConformance(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], optuna.samplers.BaseSampler]:
        return lambda: NoRegretSampler(seed=0)


def bowl(trial: optuna.Trial) -> float:
    return (trial.suggest_float("x", -3, 3) - 1) ** 2 + (
        trial.suggest_float("y", 1e-3, 1, log=True) - 0.1
    ) ** 2


def history(study: optuna.Study, space: dict[str, Any]) -> list[nr.Trial]:
    axes = Axes.of(space, adapter._axis)
    goal = "minimize" if study.direction == StudyDirection.MINIMIZE else "maximize"
    return adapter._history(study.get_trials(), axes, goal, adapter._fingerprint(space))  # type: ignore[arg-type]


LINE: dict[str, Any] = {"x": FloatDistribution(0, 1)}


def test_it_optimises_in_both_directions() -> None:
    for direction, sign in ((StudyDirection.MINIMIZE, 1.0), (StudyDirection.MAXIMIZE, -1.0)):
        study = optuna.create_study(direction=direction, sampler=NoRegretSampler(seed=1))
        study.optimize(lambda trial, sign=sign: sign * bowl(trial), n_trials=25)  # type: ignore[misc]
        assert abs(study.best_value) < 0.02


def test_it_proposes_what_the_plain_study_proposes() -> None:
    """Optuna's trials, steps, categories and direction lose nothing on the way to the strategy."""
    space: dict[str, Any] = {
        "a": FloatDistribution(0, 1),
        "b": IntDistribution(2, 20, step=3),
        "c": CategoricalDistribution(["u", "v", "w"]),
        "d": FloatDistribution(0, 1, step=0.1),
        "e": IntDistribution(1, 64, log=True),
        "f": FloatDistribution(1e-4, 1, log=True),
    }
    ours = {
        "a": nr.Float(0, 1),
        "b": nr.Int(2, 20, step=3),
        "c": nr.Choice([0, 1, 2]),
        "d": nr.Float(0, 1, step=0.1),
        "e": nr.Int(1, 64, log=True),
        "f": nr.Float(1e-4, 1, log=True),
    }

    def plain_point(params: dict[str, Any]) -> dict[str, Any]:
        return {**params, "c": "uvw".index(params["c"])}

    sampler = NoRegretSampler(seed=4)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    recorded: list[nr.Trial] = []
    for number in range(18):
        trial = study.ask(space)
        seed = int(np.random.SeedSequence([sampler._seed, number]).generate_state(1)[0])
        plain = nr.Study(ours, "maximize", seed=seed, trials=recorded)
        point = plain_point(trial.params)
        decision = Decision()
        if number > 0:
            asked = plain.ask()
            assert point == asked.params
            decision = asked.decision
            kept = study.trials[number].system_attrs[KEY]
            assert set(kept) == {"decision", "point", "space"}
            assert (kept["decision"], kept["point"]) == (decision.to_json(), point)
        value = (
            -((trial.params["a"] - 0.3) ** 2) - trial.params["b"] / 10 + (trial.params["c"] == "v")
        )
        study.tell(trial, value)
        recorded.append(nr.Trial(number, point, "complete", value, decision=decision))
    assert recorded[-1].decision.model is not None


def model_of(trial: FrozenTrial) -> dict[str, Any] | None:
    """Forecast and payload recorded with one of Optuna's trials; None if no model chose it."""
    decision = trial.system_attrs.get(KEY, {}).get("decision", {})
    return {**decision["model"], **decision["payload"]} if "model" in decision else None


def test_what_the_strategy_recorded_can_be_plotted() -> None:
    study = optuna.create_study(sampler=NoRegretSampler(seed=0))
    study.optimize(bowl, n_trials=12)
    model = [entry for entry in map(model_of, study.trials) if entry is not None]
    assert len(model) >= 7
    assert [entry["t"] for entry in model] == list(range(1, len(model) + 1))
    assert all(
        entry["g"] >= 1 and len(entry["lengthscales"]) == 2 and entry["beta_sqrt"] > 0
        for entry in model
    )


def test_states() -> None:
    """Complete with a finite value, pruned by the last report but no better than the median,
    failed; waiting is nothing.
    """
    study = optuna.create_study()
    for x, value in ((0.1, 1.0), (0.2, 2.0), (0.3, 9.0), (0.4, math.inf)):
        study.add_trial(create_trial(params={"x": x}, distributions=LINE, value=value))
    for x, reports in ((0.5, {0: 7.0, 3: 5.0}), (0.6, {1: 0.5}), (0.7, {}), (0.75, {0: math.nan})):
        trial = study.ask()
        study._storage.set_trial_param(trial._trial_id, "x", x, LINE["x"])
        for step, report in reports.items():
            trial.report(report, step)
        study.tell(trial, state=TrialState.PRUNED)
    study.add_trial(create_trial(params={"x": 0.8}, distributions=LINE, state=TrialState.FAIL))
    study.enqueue_trial({"x": 0.9})
    study.add_trial(create_trial(params={"x": 0.95}, distributions=LINE, state=TrialState.RUNNING))
    told = [(trial.params["x"], trial.state, trial.value) for trial in history(study, LINE)]
    assert told == [
        (0.1, "complete", 1.0),
        (0.2, "complete", 2.0),
        (0.3, "complete", 9.0),
        (0.4, "failed", None),
        (0.5, "complete", 5.0),
        (0.6, "complete", 2.0),
        (0.7, "failed", None),
        (0.75, "failed", None),
        (0.8, "failed", None),
        (0.95, "running", None),
    ]


def test_failures_that_say_nothing_of_the_point() -> None:
    """Those that Optuna tried again because their worker had died, and those marked by the
    objective.
    """
    study = optuna.create_study()
    failed: dict[str, Any] = {"distributions": LINE, "state": TrialState.FAIL}
    study.add_trial(create_trial(params={"x": 0.1}, **failed))
    study.add_trial(create_trial(params={"x": 0.2}, **failed))
    study.add_trial(
        create_trial(params={"x": 0.3}, user_attrs={"noregret:transient": True}, **failed)
    )
    retried = {"failed_trial": 0, "retry_history": [0]}
    study.add_trial(
        create_trial(params={"x": 0.1}, distributions=LINE, value=1.0, system_attrs=retried)
    )
    assert [trial.transient for trial in history(study, LINE)] == [True, False, True, False]


def test_pruned_counts_the_other_way_round_when_maximising() -> None:
    study = optuna.create_study(direction="maximize")
    for x, value in ((0.1, 1.0), (0.2, 2.0), (0.3, 9.0)):
        study.add_trial(create_trial(params={"x": x}, distributions=LINE, value=value))
    for x, value in ((0.5, 0.5), (0.6, 20.0)):
        study.add_trial(
            create_trial(params={"x": x}, distributions=LINE, state=TrialState.PRUNED, value=value)
        )
    assert [trial.value for trial in history(study, LINE)][3:] == [0.5, 2.0]


def test_points_of_another_space_are_left_out() -> None:
    study = optuna.create_study()
    study.add_trial(create_trial(params={"x": 0.5}, distributions=LINE, value=1.0))
    study.add_trial(
        create_trial(params={"x": 5.0}, distributions={"x": FloatDistribution(0, 10)}, value=2.0)
    )
    study.add_trial(
        create_trial(params={"y": 5.0}, distributions={"y": FloatDistribution(0, 10)}, value=3.0)
    )
    assert [trial.value for trial in history(study, LINE)] == [1.0]
    letters = {"c": CategoricalDistribution(["a", "b"])}
    study.add_trial(
        create_trial(
            params={"c": "z"}, distributions={"c": CategoricalDistribution(["z", "a"])}, value=4.0
        )
    )
    assert history(study, letters) == []


def test_only_what_was_decided_here_and_followed_is_a_decision() -> None:
    def recorded(x: float, space: dict[str, Any]) -> dict[str, Any]:
        decision = Decision("model", ModelDecision(1, 0.0, 1.0)).to_json()
        key = adapter._fingerprint(space)
        return {KEY: {"decision": decision, "point": {"x": x}, "space": key}}

    study = optuna.create_study()
    for attribute in (
        recorded(0.5, LINE),
        recorded(0.4, LINE),
        recorded(0.5, {"x": FloatDistribution(0, 2)}),
    ):
        study.add_trial(
            create_trial(params={"x": 0.5}, distributions=LINE, value=1.0, system_attrs=attribute)
        )
    assert [trial.decision.chosen for trial in history(study, LINE)] == [True, False, False]


def test_running_trials_are_pending_before_they_suggest() -> None:
    """A proposal is seen by other workers as soon as it is made, though Optuna writes a parameter
    only when it is suggested.
    """
    study = optuna.create_study(sampler=NoRegretSampler(seed=0))
    study.optimize(bowl, n_trials=8)
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    open_trials = [study.ask() for _ in range(4)]
    points = [trial.relative_params for trial in open_trials]
    assert all(not trial.params for trial in open_trials)
    pending = [trial.params for trial in history(study, space) if trial.state == "running"]
    assert pending == points


def test_a_worker_that_was_overtaken_thinks_again() -> None:
    """Two workers in step: the slower one sees the point that the other proposed while it was
    thinking.
    """
    seen: list[int] = []

    class Overtaken(nr.RandomSearch):
        def propose(self, space: Any, known: Any, rng: np.random.Generator) -> Any:
            seen.append(len(known.pending))
            if len(seen) == 1:
                assert study.ask().relative_params
            return super().propose(space, known, rng)

    study = optuna.create_study(sampler=NoRegretSampler(Overtaken(), seed=0))
    study.add_trial(create_trial(params={"x": 0.5}, distributions=LINE, value=1.0))
    assert study.ask().relative_params
    assert seen == [0, 0, 1]


def test_enqueued_points() -> None:
    """A whole one is data and no decision; of one in part the rest is chosen best for it; one
    outside the space is left out.
    """
    study = optuna.create_study(sampler=NoRegretSampler(seed=0))
    study.optimize(bowl, n_trials=8)
    for point in ({"x": 1.0, "y": 0.5}, {"x": -2.0}):
        study.enqueue_trial(point)
    study.optimize(bowl, n_trials=2)
    space = study.sampler.infer_relative_search_space(study, study.trials[-1])
    whole, part = history(study, space)[-2:]
    assert (whole.params, whole.decision) == ({"x": 1.0, "y": 0.5}, Decision())
    assert (part.params["x"], part.decision.fixed) == (-2.0, {"x": -2.0})
    assert part.decision.chosen
    study.enqueue_trial({"x": 9.0})
    with pytest.warns(UserWarning, match="out of range"):
        study.optimize(bowl, n_trials=1)
    assert len(history(study, space)) == 10
    study.optimize(bowl, n_trials=1)


def test_a_changed_space_starts_with_new_lengthscales() -> None:
    def objective(trial: optuna.Trial, more: bool) -> float:
        return bowl(trial) + (trial.suggest_float("z", 0, 1) if more else 0.0)

    study = optuna.create_study(sampler=NoRegretSampler(seed=0, warn_independent_sampling=False))
    study.optimize(lambda trial: objective(trial, True), n_trials=12)
    study.optimize(lambda trial: objective(trial, False), n_trials=6)
    first, last = model_of(study.trials[11]), model_of(study.trials[-1])
    assert first is not None
    assert last is not None
    assert len(first["lengthscales"]) == 3
    assert len(last["lengthscales"]) == 2
    assert last["t"] < first["t"]


def regressor(trial: optuna.Trial) -> float:
    """Optuna's first example with its two models replaced by their learning curves."""
    if trial.suggest_categorical("regressor", ["SVR", "RandomForest"]) == "SVR":
        log_c = math.log10(trial.suggest_float("svr_c", 1e-10, 1e10, log=True))
        return 0.95 + 0.45 / (1 + math.exp(log_c + 1))
    return 0.26 + 0.5 * math.exp(-(trial.suggest_int("rf_max_depth", 2, 32) - 2) / 4)


def test_conditional_parameters_are_modelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """No more trials go into the bad branch than with Optuna's own sampler, and nothing warns."""
    said: list[str] = []
    monkeypatch.setattr(adapter.logger, "warning", said.append)
    bad = {"noregret": 0, "TPE": 0}
    for seed in range(10):
        samplers = {
            "noregret": NoRegretSampler(seed=seed),
            "TPE": optuna.samplers.TPESampler(seed=seed),
        }
        for name, sampler in samplers.items():
            study = optuna.create_study(sampler=sampler)
            study.optimize(regressor, n_trials=25)
            bad[name] += sum("svr_c" in trial.params for trial in study.trials)
            assert study.best_value < 0.27
            assert all(len(trial.params) == 2 for trial in study.trials)
    assert bad["noregret"] <= bad["TPE"]
    assert said == []


def learned(*trials: dict[str, Any], **changed: Any) -> tuple[set[str], set[str]]:
    """The modelled parameters and the conditions learned from trials with these parameters."""
    ranges: dict[str, Any] = {
        "model": CategoricalDistribution(["a", "b", "c"]),
        "kernel": CategoricalDistribution(["rbf", "poly"]),
        "x": FloatDistribution(0, 1),
        "degree": IntDistribution(1, 5),
        **changed,
    }
    study = optuna.create_study()
    for params in trials:
        state = TrialState[params.pop("state", "COMPLETE")]
        value = 1.0 if state == TrialState.COMPLETE else None
        named = {name: ranges[name] for name in params}
        study.add_trial(create_trial(params=params, distributions=named, state=state, value=value))
    searched, branches = adapter._searched(study, optuna.search_space.IntersectionSearchSpace())
    return set(searched), set(map(str, branches))


def test_branches_are_learned_from_the_trials_seen() -> None:
    poly = {"model": "a", "kernel": "poly", "degree": 2}
    rbf, plain = {"model": "a", "kernel": "rbf"}, {"model": "b", "x": 0.5}
    names, branches = learned({**poly}, {**rbf}, {**plain}, {**plain, "model": "c"})
    assert names == {"model", "kernel", "degree", "x"}
    assert branches == {
        "kernel only for model=0",
        "degree only for kernel=1",
        "x only for model=1, 2",
    }
    # a failed trial shows where a parameter exists, not where it does not
    failed = {"model": "b", "state": "FAIL"}
    assert learned({**poly}, {**rbf}, {**plain}, failed)[1] >= {"x only for model=1"}
    pruned = {"model": "b", "x": 0.5, "state": "PRUNED"}
    assert learned({"model": "a"}, pruned) == ({"model", "x"}, {"x only for model=1"})
    # two trials with one option, one with the parameter and one without: nothing decides it
    assert learned({"model": "a"}, {"model": "a", "x": 0.1}) == ({"model"}, set())
    one_option = {"kernel": CategoricalDistribution(["poly"])}
    assert learned({"model": "b"}, {**poly}, **one_option)[0] == {"model", "degree"}


def test_a_range_that_changes_is_not_modelled() -> None:
    study = optuna.create_study()
    model = {"model": CategoricalDistribution(["a", "b", "c"])}
    for option, high in (("a", 1), ("b", 2), ("c", None)):
        x = {} if high is None else {"x": FloatDistribution(0, high)}
        study.add_trial(
            create_trial(
                params={"model": option, **dict.fromkeys(x, 0.5)},
                distributions={**model, **x},
                value=1.0,
            )
        )
    searched, branches = adapter._searched(study, optuna.search_space.IntersectionSearchSpace())
    assert (set(searched), branches) == ({"model"}, [])


def test_enqueued_points_of_a_branch() -> None:
    study = optuna.create_study(sampler=NoRegretSampler(seed=0))
    study.optimize(regressor, n_trials=6)
    study.enqueue_trial({"regressor": "RandomForest", "rf_max_depth": 7})  # the whole branch
    study.enqueue_trial({"regressor": "SVR"})
    study.enqueue_trial({"svr_c": 2.0})  # the branch is chosen
    study.optimize(regressor, n_trials=3)
    whole, part, _ = study.trials[-3:]
    assert whole.params == {"regressor": "RandomForest", "rf_max_depth": 7}
    assert KEY not in whole.system_attrs
    assert part.params["regressor"] == "SVR"
    assert KEY in part.system_attrs
    stopping = NoRegretStopping(100.0, heuristic=True, at_least=3)
    study.optimize(regressor, n_trials=40, callbacks=[stopping])
    assert len(study.trials) == 16  # stopped by a model of the branches once it has enough values


def test_what_no_option_decides_comes_from_the_independent_sampler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []
    monkeypatch.setattr(adapter.logger, "warning", said.append)

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        return x + (trial.suggest_float("deep", 0, 1) if x > 0.5 else 0.0)

    for warn in (True, False):
        said.clear()
        study = optuna.create_study(sampler=NoRegretSampler(seed=3, warn_independent_sampling=warn))
        study.enqueue_trial({"x": 0.6})
        study.enqueue_trial({"x": 0.2})
        study.optimize(objective, n_trials=10)
        assert {"x"} == set(study.sampler.infer_relative_search_space(study, study.trials[-1]))
        deep = [trial for trial in study.trials[2:] if "deep" in trial.params]
        assert len(said) == (len(deep) if warn else 0)
        assert all("'deep' is sampled by RandomSampler" in text for text in said)


def test_startup_trials_come_from_the_independent_sampler() -> None:
    class Corner(optuna.samplers.RandomSampler):
        def sample_independent(
            self, study: Any, trial: Any, param_name: str, param_distribution: Any
        ) -> Any:
            return param_distribution.high

    study = optuna.create_study(
        sampler=NoRegretSampler(seed=0, n_startup_trials=4, independent_sampler=Corner())
    )
    study.optimize(bowl, n_trials=6)
    assert [trial.params == {"x": 3.0, "y": 1.0} for trial in study.trials] == [True] * 4 + [
        False
    ] * 2
    decided = [model_of(trial) is not None for trial in study.trials]
    assert decided == [False] * 4 + [True] * 2


def test_seed() -> None:
    def points(seed: int) -> list[dict[str, Any]]:
        study = optuna.create_study(sampler=NoRegretSampler(seed=seed))
        study.optimize(bowl, n_trials=10)
        return [trial.params for trial in study.trials]

    assert points(1) == points(1)
    assert points(1) != points(2)


def test_another_strategy_and_a_pickled_sampler() -> None:
    sampler = pickle.loads(pickle.dumps(NoRegretSampler(nr.LogEI(), seed=0)))
    study = optuna.create_study(sampler=sampler)
    study.optimize(bowl, n_trials=12)
    last = model_of(study.trials[-1])
    assert last is not None
    assert (last["g"], last["exploration"]) == (1.0, None)
    random = optuna.create_study(
        sampler=NoRegretSampler(nr.RandomSearch(), seed=0, n_startup_trials=2)
    )
    random.optimize(bowl, n_trials=4)
    assert random.trials[-1].system_attrs[KEY]["decision"]["source"] == "random"


def test_hyperband_brackets() -> None:
    def objective(trial: optuna.Trial) -> float:
        value = bowl(trial)
        for step in range(4):
            trial.report(value + 1 / (1 + step), step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return value

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study = optuna.create_study(
            sampler=NoRegretSampler(seed=0), pruner=optuna.pruners.HyperbandPruner(1, 4)
        )
        study.optimize(objective, n_trials=25)
    assert any(trial.state == TrialState.PRUNED for trial in study.trials)
    assert any(model_of(trial) is not None for trial in study.trials)


def test_constraints_are_kept() -> None:
    """Feasible is at most 0, as everywhere in Optuna: x + y is largest on the edge of the disk."""

    def objective(trial: optuna.Trial) -> float:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_user_attr("c", x * x + y * y - 0.5)
        return x + y

    sampler = NoRegretSampler(seed=1, constraints_func=lambda trial: (trial.user_attrs["c"],))
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=16)
    told = [trial.system_attrs["constraints"][0] for trial in study.trials]
    assert told == [trial.user_attrs["c"] for trial in study.trials]
    best = max(t.value or 0.0 for t, c in zip(study.trials, told, strict=True) if c <= 0)
    assert best > 0.93  # of 1; the best of all points has 2
    model = model_of(study.trials[-1])
    assert model is not None
    assert [each["name"] for each in model["outcomes"]] == ["constraints[0]"]
    bad = optuna.create_study(
        sampler=NoRegretSampler(seed=0, constraints_func=lambda trial: (float("nan"),))
    )
    with pytest.raises(ConfigurationError, match="must return finite numbers"):
        bad.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)


def test_constraints_as_optuna_4_and_5_write_them() -> None:
    for attribute in ({"constraints": (1.0,)}, {"constraints:c": 1.0}):
        study = optuna.create_study(sampler=NoRegretSampler(seed=0))
        for value in (1.0, 2.0, 3.0):
            study.add_trial(
                create_trial(
                    params={"x": value / 4}, distributions=LINE, value=value, system_attrs=attribute
                )
            )
        assert 0 <= study.ask(LINE).params["x"] <= 1
        (name,) = adapter._limits(study.get_trials())
        assert name in ("constraints[0]", "constraints:c")


def test_what_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="GPUCB reads no outcomes"):
        NoRegretSampler(nr.GPUCB(), constraints_func=lambda trial: (0.0,))
    with pytest.raises(ConfigurationError, match="strategy must be a strategy value"):
        NoRegretSampler(nr.LogEI)  # type: ignore[arg-type]
    for wrong in (-1, 2.5, True):
        with pytest.raises(ConfigurationError, match="n_startup_trials"):
            NoRegretSampler(n_startup_trials=wrong)  # type: ignore[arg-type]
    many = optuna.create_study(directions=["minimize", "minimize"], sampler=NoRegretSampler(seed=0))
    with pytest.raises(ConfigurationError, match="one objective, this study has 2"):
        many.ask(LINE)
    with pytest.raises(SpaceError, match="float, int and categorical"):
        adapter._axis("uniform")  # type: ignore[arg-type]


WORKER = textwrap.dedent("""
    import os, sys, time, optuna
    from noregret.integrations.optuna import NoRegretSampler
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(sys.argv[1])
    sampler = NoRegretSampler(seed=int(sys.argv[2]))
    study = optuna.load_study(study_name="shared", storage=storage, sampler=sampler)
    def objective(trial):
        trial.set_user_attr("worker", sys.argv[2])
        x, y = trial.suggest_float("x", -3, 3), trial.suggest_float("y", 1e-3, 1, log=True)
        c = trial.suggest_categorical("c", ["u", "v"])
        time.sleep(0.05)
        return (x - 1) ** 2 + (y - 0.1) ** 2 + (c == "u")
    study.optimize(objective, n_trials=14)
    """)


def test_two_processes_share_a_study_on_postgresql(request: pytest.FixtureRequest) -> None:
    url = make_url("postgresql", request)
    storage = optuna.storages.RDBStorage(url)
    study = optuna.create_study(study_name="shared", storage=storage, sampler=NoRegretSampler())
    workers = [subprocess.Popen([sys.executable, "-c", WORKER, url, str(seed)]) for seed in (0, 1)]
    assert [worker.wait(timeout=300) for worker in workers] == [0, 0]
    trials = study.trials
    assert len(trials) == 28
    assert all(trial.state == TrialState.COMPLETE for trial in trials)
    assert {trial.user_attrs["worker"] for trial in trials} == {"0", "1"}
    decisions = [model["t"] for model in map(model_of, trials) if model is not None]
    assert max(decisions) > 14  # each worker reads what the other decided
    assert study.best_value < 0.05
    storage.engine.dispose()


def test_it_is_stopped_once_the_best_is_known() -> None:
    def objective(trial: optuna.Trial) -> float:
        assert not trial.should_prune()
        return (trial.suggest_float("x", 0, 1) - 0.3) ** 2

    ended = []
    for regret in (1e-9, 0.2):
        study = optuna.create_study(sampler=NoRegretSampler(seed=0))
        rule = NoRegretStopping(regret, heuristic=True, at_least=5)
        study.optimize(objective, 18, callbacks=[rule])
        ended.append(len(study.trials))
    assert ended[0] == 18  # so close nothing is known
    assert 5 <= ended[1] < 18


def test_stopping_by_a_rule_of_thumb_must_be_meant() -> None:
    with pytest.raises(ConfigurationError, match="heuristic=True"):
        NoRegretStopping(0.1)
    with pytest.raises(ConfigurationError, match="at_least"):
        NoRegretStopping(0.1, heuristic=True, at_least=0)
    NoRegretStopping(0.1, nr.AdaptiveGPUCB.rigorous(0.1))
