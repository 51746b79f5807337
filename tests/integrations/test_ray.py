"""The searcher by itself, and Tune on a real local Ray: trials in parallel, its driver dying, the
experiment restored and continued.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import noregret as nr
from noregret.errors import ConfigurationError, SpaceError
from tests.components import needed

tune, searching = needed("ray.tune", "ray"), needed("ray.tune.search", "ray")
adapter = needed("noregret.integrations.ray", "ray")
ConcurrencyLimiter, Searcher = searching.ConcurrencyLimiter, searching.Searcher
NoRegretSearch = adapter.NoRegretSearch

SPACE: dict[str, Any] = {
    "x": tune.uniform(0, 1),
    "inner": {"k": tune.randint(0, 4), "name": "constant"},
}


def loss(config: dict[str, Any]) -> float:
    return float((config["x"] - 0.3) ** 2 + config["inner"]["k"])


def drive(search: Any, count: int, start: int = 0) -> list[dict[str, Any]]:
    """Suggests and completes ``count`` trials one after another."""
    configs = []
    for number in range(start, start + count):
        configs.append(search.suggest(f"trial-{number}"))
        search.on_trial_complete(f"trial-{number}", {"loss": loss(configs[-1])})
    return configs


def test_forty_trials_four_at_once_through_a_crash(tmp_path: Path) -> None:
    here = Path(__file__)
    command = [
        sys.executable,
        str(here.with_name("tune_driver.py")),
        str(tmp_path),
        str(here.parents[2] / "docs" / "integrations.md"),
    ]
    home = {**os.environ, "HOME": str(tmp_path)}  # Ray keeps results there
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=600, check=False, env=home
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcome = json.loads(done.stdout.strip().splitlines()[-1])
    before, after = outcome["before"], outcome["after"]
    assert outcome["died"]
    assert 20 <= len(before) < 40
    assert sum(run["state"] == "running" for run in before.values()) <= 4
    assert (outcome["trials"], outcome["errors"]) == (40, 0)
    assert len(after) == 40
    assert all(run["state"] == "complete" for run in after.values())
    kept = (
        before.keys() & after.keys()
    )  # Tune's own checkpoint is up to a second older than the crash
    assert len(kept) >= 10
    assert all(after[name]["params"] == before[name]["params"] for name in kept)
    decisions = [run["t"] for run in after.values() if run["t"] is not None]
    assert decisions == sorted(decisions)
    assert decisions[-1] > 25  # decisions made before the crash count after it
    assert outcome["best"] < 0.01
    assert outcome["printed"] == 4


def test_it_proposes_what_the_plain_study_proposes() -> None:
    """Nested dicts, constants, steps and exclusive ends lose nothing on the way to the strategy."""
    space = {
        "a": tune.uniform(-1, 1),
        "b": {"c": tune.lograndint(1, 65), "d": tune.choice(["u", "v", "w"])},
        "e": tune.quniform(0, 1, 0.25),
        "f": 7,
    }
    search = NoRegretSearch(space, "score", "max", seed=3)
    ours = {
        "a": nr.Float(-1, 1),
        "e": nr.Float(0, 1, step=0.25),
        "b/c": nr.Int(1, 64, log=True),
        "b/d": nr.Choice(["u", "v", "w"]),
    }
    plain = nr.Study(ours, "maximize", seed=search._seed)
    for number in range(16):
        config, asked = search.suggest(str(number)), plain.ask()
        assert config == {
            "a": asked.params["a"],
            "b": {"c": asked.params["b/c"], "d": asked.params["b/d"]},
            "e": asked.params["e"],
            "f": 7,
        }
        if number % 5 == 4:
            search.on_trial_complete(str(number), error=True)
            plain.tell(asked, state="failed")
        elif number != 7:  # one stays under way
            value = -(config["a"] ** 2) + config["b"]["c"] / 64 + (config["b"]["d"] == "v")
            search.on_trial_complete(str(number), {"score": value})
            plain.tell(asked, value)
    assert search._runs["15"].decision.model is not None


def test_domains() -> None:
    axes = adapter._dict_axes(
        {
            "u": tune.uniform(0, 2),
            "l": tune.loguniform(1e-3, 1),
            "qu": tune.quniform(1, 2, 0.25),
            "ql": tune.qloguniform(1, 100, 0.5),
            "r": tune.randint(2, 9),
            "lr": tune.lograndint(1, 100),
            "qr": tune.qrandint(3, 17, 4),
            "q1": tune.qrandint(0, 5, 1),
            "qlr": tune.qlograndint(4, 64, 4),
            "n": tune.randn(5, 2),
            "qn": tune.qrandn(0, 1, 0.5),
            "c": tune.choice(["a", None, 2]),
            "levels": tune.choice([16, 32, 64]),
            "objects": tune.choice([(1, 2), (3,)]),
            "one": tune.choice(["only"]),
            "constant": {"deep": 5},
            "own": nr.Int(1, 3),
            "list": [1, 2],
        }
    )
    kinds = {name: axis.parameter for name, axis in axes.named.items()}
    assert kinds.pop("n").low == pytest.approx(scipy.stats.norm(5, 2).ppf(1e-3))
    assert kinds == {
        "u": nr.Float(0, 2),
        "l": nr.Float(1e-3, 1, log=True),
        "qu": nr.Float(1, 2, step=0.25),
        "ql": nr.Float(1, 100, log=True, step=0.5),
        "r": nr.Int(2, 8),
        "lr": nr.Int(1, 99, log=True),
        "qr": nr.Int(4, 16, step=4),
        "q1": nr.Int(0, 4),
        "qlr": nr.Int(4, 64, log=True, step=4),
        "qn": nr.Float(-3, 3, step=0.5),
        "c": nr.Choice(["a", None, 2]),
        "levels": nr.Choice([16, 32, 64], ordered=True),
        "objects": nr.Choice(["(1, 2)", "(3,)"]),
        "own": nr.Int(1, 3),
    }
    assert axes.fixed == {"one": "only", "constant/deep": 5, "list": [1, 2]}
    space = axes.space
    rng = np.random.default_rng(0)
    for u in (
        np.zeros(space.dimension),
        np.ones(space.dimension),
        *rng.random((50, space.dimension)),
    ):
        point = space.decode(u)
        assert isinstance(point, dict)
        theirs = axes.theirs(point)
        assert space.encode(axes.ours(theirs)) == pytest.approx(space.encode(point))
        assert theirs["qr"] in (4, 8, 12, 16)
        assert isinstance(theirs["qr"], int)
        assert theirs["qu"] * 4 == round(theirs["qu"] * 4)
    lowest = axes.theirs(space.decode(np.zeros(space.dimension)))
    assert lowest["n"] == pytest.approx(scipy.stats.norm(5, 2).ppf(1e-3))


def branching(trial: Any) -> dict[str, Any]:
    if trial.suggest_categorical("kind", ["tree", "net"]) == "tree":
        trial.suggest_int("depth", 2, 10)
    else:
        trial.suggest_float("lr", 1e-4, 1, log=True)
    trial.suggest_float("share", 0, 1, step=0.25)
    trial.suggest_float("fixed", 2.0, 2.0)
    return {"epochs": 3}


def test_a_function_declares_the_space() -> None:
    search = NoRegretSearch(branching, "loss", "min", seed=1)
    for number in range(25):
        config = search.suggest(str(number))
        assert config is not None
        assert ("depth" in config) == (config["kind"] == "tree") == ("lr" not in config)
        assert (config["epochs"], config["fixed"]) == (3, 2.0)
        assert config["share"] in (0, 0.25, 0.5, 0.75, 1)
        search.on_trial_complete(
            str(number), {"loss": config["share"] + (config["kind"] == "tree")}
        )
    axes, _ = search._axes()
    assert set(axes.named) == {
        "kind",
        "share",
    }  # what every trial has is modelled, the branches are random
    last = list(search._runs.values())[-1]
    assert last.decision.model is not None
    assert len(last.decision.payload["lengthscales"]) == 2
    assert min(run.value for run in search._runs.values() if run.value is not None) == 0
    assert len({run.params["depth"] for run in search._runs.values() if "depth" in run.params}) > 1
    search.add_evaluated_point({"kind": "net", "share": 0.0, "lr": 0.1}, 0.5)
    assert search._history(*search._axes())[-1].value == 0.5


def test_a_space_that_shrinks_starts_with_new_lengthscales() -> None:
    numbers = iter(range(30))

    def shrinking(trial: Any) -> None:
        trial.suggest_float("x", 0, 1)
        if next(numbers) < 14:
            trial.suggest_float("z", 0, 1)

    search = NoRegretSearch(shrinking, "loss", "min", seed=0)
    for number in range(18):
        config = search.suggest(str(number))
        assert config is not None
        search.on_trial_complete(
            str(number), {"loss": (config["x"] - 0.3) ** 2 + config.get("z", 0.0)}
        )
    recorded = [run.decision for run in search._runs.values()]
    early, late = recorded[13], recorded[-1]
    assert early.model is not None
    assert late.model is not None
    assert [len(each.payload["lengthscales"]) for each in (early, late)] == [2, 1]
    assert late.model.t < early.model.t


def test_a_function_is_told_what_is_wrong() -> None:
    for function, match in (
        (lambda trial: None, "suggested no parameter"),
        (lambda trial: trial.suggest_float("x", 0, 1), "returns None or a dict"),
        (lambda trial: trial.suggest_float("x", 2, 1) and None, "'x'.*low < high"),
        (
            lambda trial: trial.suggest_float("x", 1, 2, step=0.5, log=True) and None,
            "log scale and a step",
        ),
    ):
        with pytest.raises(SpaceError, match=match):
            NoRegretSearch(function, "loss", "min").suggest("0")


def test_save_and_restore_continue_where_it_stopped(tmp_path: Path) -> None:
    whole = NoRegretSearch(SPACE, "loss", "min", seed=5)
    expected = drive(whole, 14)
    first = NoRegretSearch(SPACE, "loss", "min", seed=5)
    drive(first, 8)
    first.save(str(tmp_path / "state.pkl"))
    drive(first, 3, start=8)  # what happens after the save is not in it
    second = ConcurrencyLimiter(NoRegretSearch(SPACE, "loss", "min", seed=99), 2)
    second.restore(str(tmp_path / "state.pkl"))
    assert drive(second, 6, start=8) == expected[8:]


def test_concurrency_limiter() -> None:
    search = NoRegretSearch(SPACE, "loss", "min", seed=5)
    limited = ConcurrencyLimiter(search, 2)
    assert limited.suggest("a")
    assert limited.suggest("b")
    assert limited.suggest("c") is None
    limited.on_trial_complete("a", {"loss": 1.0})
    assert limited.suggest("c")
    states = [trial.state for trial in search._history(*search._axes())]
    assert states == ["complete", "running", "running"]


def test_outcomes() -> None:
    search = NoRegretSearch(SPACE, "loss", "min", seed=0)
    outcomes: tuple[tuple[Any, bool], ...] = (
        ({"loss": 1.0}, False),
        ({"loss": 1.0}, True),
        ({"loss": math.nan}, False),
        ({"other": 1.0}, False),
        (None, False),
        ({"loss": "high"}, False),
    )
    for number, (result, error) in enumerate(outcomes):
        search.suggest(str(number))
        search.on_trial_complete(str(number), result, error)
    search.on_trial_complete("0", {"loss": 5.0})  # the first report stands
    search.on_trial_complete("unknown", {"loss": 5.0})
    assert [run.state for run in search._runs.values()] == ["complete", *["failed"] * 5]
    assert search._runs["0"].value == 1.0
    assert search.suggest("0") == search.suggest("0")


def test_points_known_before() -> None:
    first = [{"x": 0.1, "inner": {"k": 2}}, {"x": 0.9, "inner": {"k": 0}}]
    search = NoRegretSearch(SPACE, "loss", "min", seed=0, points_to_evaluate=first)
    assert [search.suggest("0"), search.suggest("1")] == first
    third = search.suggest("2")
    assert third is not None
    assert third not in first
    known = NoRegretSearch(
        metric="loss", mode="min", seed=0, points_to_evaluate=first, evaluated_rewards=[2.0, 0.5]
    )
    assert known.set_search_properties(None, None, SPACE)
    known.add_evaluated_point({"x": 0.5, "inner": {"k": 1}}, 1.0, error=True)
    known.add_evaluated_point(
        {"x": 0.6, "inner": {"k": 1}}, None, pruned=True, intermediate_values=[3.0, 2.5]
    )
    assert [(run.state, run.value) for run in known._runs.values()] == [
        ("complete", 2.0),
        ("complete", 0.5),
        ("failed", None),
        ("complete", 2.5),
    ]
    assert known.suggest("new") not in first


def test_search_properties() -> None:
    search = NoRegretSearch(seed=0)
    with pytest.raises(ConfigurationError, match="no space"):
        search.suggest("0")
    with pytest.raises(ConfigurationError, match="no space yet"):
        search.add_evaluated_point({"x": 1}, 1.0)
    assert search.set_search_properties(None, None, SPACE)
    with pytest.raises(ConfigurationError, match="needs metric and mode"):
        search.suggest("0")
    assert not search.set_search_properties(
        "loss", "min", {"y": tune.uniform(0, 1)}
    )  # it has a space
    assert search.set_search_properties("loss", "min", {"constant": 3})
    assert isinstance(search, Searcher)
    assert (search.metric, search.mode) == ("loss", "min")
    assert search.suggest("0")


def test_what_is_refused() -> None:
    for space, match in (
        ({"x": tune.grid_search([1, 2])}, "'x': a grid search"),
        ({"x": tune.sample_from(lambda config: 1)}, "'x'.*sample_from"),
        ([1, 2], "a space is a dict"),
        ({"x": 3}, "nothing to optimise"),
        ({"x": tune.randint(3, 4)}, "'x'.*low < high"),
    ):
        with pytest.raises(SpaceError, match=match):
            NoRegretSearch(space, "loss", "min")
    with pytest.raises(SpaceError, match="lacks"):
        NoRegretSearch(SPACE, "loss", "min", points_to_evaluate=[{"x": 0.1}])
    with pytest.raises(SpaceError, match="outside"):
        NoRegretSearch(SPACE, "loss", "min").add_evaluated_point({"x": 2.0, "inner": {"k": 0}}, 1.0)
    for metric, mode in ((["a", "b"], ["min", "max"]), ("a", "lowest")):
        with pytest.raises(ConfigurationError, match="one metric"):
            NoRegretSearch(SPACE, metric, mode)
        with pytest.raises(ConfigurationError, match="one metric"):
            NoRegretSearch().set_search_properties(metric, mode, {})
    with pytest.raises(ConfigurationError, match="1 evaluated_rewards for 0"):
        NoRegretSearch(SPACE, "loss", "min", evaluated_rewards=[1.0])
    with pytest.raises(ConfigurationError, match="strategy must be"):
        NoRegretSearch(SPACE, "loss", "min", strategy=nr.LogEI)


@pytest.mark.parametrize("whole", [True, False])
def test_branches_of_a_space_are_kept(whole: bool) -> None:
    options = {"svm": {"C": nr.Float(0.1, 10)}, "tree": {}}
    given: Any = {"model": nr.Branch(options), "x": nr.Float(0, 1)}
    search = NoRegretSearch(
        nr.Space(given) if whole else given,
        metric="loss",
        mode="min",
        strategy=nr.RandomSearch(),
        seed=0,
        points_to_evaluate=[{"model": "tree", "x": 0.5}],
    )
    axes, _ = search._axes()
    assert [str(each) for each in axes.space.branches] == ["C only for model=svm"]
    first = search.suggest("first")
    assert first is not None
    search.on_trial_complete("first", {"loss": 1.0})
    configs = [search.suggest(f"{number}") for number in range(12)]
    told = [config for config in configs if config is not None]
    assert {config["model"] for config in told} == {"svm", "tree"}
    # what does not exist is one value
    assert len({config["C"] for config in told if config["model"] == "tree"}) == 1
    with pytest.raises(SpaceError, match="'C' is given twice"):
        NoRegretSearch({**given, "C": nr.Float(0, 1)}, metric="loss", mode="min")
