"""What every strategy must do. Subclass it in your tests, give ``make_strategy``, and pytest runs
it:

    class TestMyStrategy(StrategyContract):
        def make_strategy(self):
            return MyStrategy()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from noregret.space import Candidates, Choice, Float, Forbidden, Int, Linear, Space
from noregret.storage import codec
from noregret.strategies import Strategy
from noregret.study import Study
from noregret.trials import History

TRIALS = 14


def spaces() -> dict[str, Space | Candidates]:
    """One of each kind."""
    rows = [{"t": t, "s": s} for t in (20, 40, 60, 80) for s in ("water", "dmf")]
    return {
        "line": Space.from_bounds([(0.0, 1.0)]),
        "box": Space({"a": Float(-5, 5), "b": Float(1e-3, 10, log=True)}),
        "mixed": Space({"a": Float(0, 1), "n": Int(1, 9), "c": Choice(["x", "y", "z"])}),
        "list": Candidates(rows),
        "mixture": Space(
            {"a": Float(0, 1), "b": Float(0, 1), "c": Float(0, 0.7), "k": Choice(["x", "y"])},
            constraints=[
                Linear({"a": 1, "b": 1, "c": 1}, equals=1.0),
                Linear({"a": 1, "b": -1}, at_most=0.5),
            ],
        ),
        "forbidden": Space(
            {"n": Int(1, 5), "k": Choice(["x", "y", "z"]), "t": Float(0, 1)},
            constraints=[Forbidden({"k": "x", "n": 2}), Linear({"n": 1, "t": 4}, at_most=6)],
        ),
    }


def height(params: Any) -> float:
    """Something to maximise, whatever the space."""
    values = params.values() if isinstance(params, dict) else list(params)
    numbers = [float(len(v)) if isinstance(v, str) else float(v) for v in values]
    return float(-sum((v / 10 - 0.3) ** 2 for v in numbers))


def played(strategy: Strategy, space: Space | Candidates, trials: int = TRIALS) -> Study:
    """A study with points under way, failures, told noise and a point of one's own."""
    study = Study(space, "minimize", strategy, seed=3)
    under_way = []
    for number in range(trials):
        trial = study.ask()
        under_way.append(trial)
        if number % 6 == 4:
            study.tell(under_way.pop(0), state="failed")
        if len(under_way) > 1 or number < 2:
            told = under_way.pop(0)
            noise_std = 0.05 if told.number % 3 == 1 else None
            study.tell(told, -height(told.params), noise_std)
        if number == 3:
            study.add(trial.params, -height(trial.params))
    return study


class StrategyContract(ABC):
    """A strategy is a frozen value, and what it proposes follows from its arguments alone."""

    @abstractmethod
    def make_strategy(self) -> Strategy:
        """One with settings that suit values between −1 and 1, in any of ``spaces()``."""

    def test_it_is_a_frozen_value_with_a_theorem_or_without(self) -> None:
        strategy = self.make_strategy()
        assert isinstance(strategy, Strategy)
        assert strategy == self.make_strategy()
        assert isinstance(strategy.proved, bool)
        assert strategy.theorem.strip(), "name the theorem, or say that there is none"
        frozen: Any = strategy
        settings = getattr(frozen, "__dataclass_params__", None)
        assert settings is not None, "a strategy is a dataclass: its fields are stored"
        assert settings.frozen, "a strategy must be frozen: its memory is the history"

    def test_it_works_in_every_space_and_the_study_can_be_derived_again(self) -> None:
        strategy = self.make_strategy()
        for name, space in spaces().items():
            study = played(strategy, space)
            replayed = study.replay(tolerance=0.0)
            assert replayed.number is None, f"{name}: proposal {replayed.number} came out otherwise"
            assert replayed.agreed > 0
            for trial in study.trials:
                u = space.encode(trial.params)
                assert np.all((u >= 0) & (u <= 1)), f"{name}: {trial.params} is outside"
                np.testing.assert_allclose(space.snap(u[None, :])[0], u, rtol=0, atol=1e-12)
                space.canonical(trial.params)  # what is proposed satisfies the constraints

    def test_equal_arguments_give_equal_proposals(self) -> None:
        strategy, space = self.make_strategy(), spaces()["mixed"]
        rng = np.random.default_rng
        history = played(strategy, space)._history(played(strategy, space).trials)
        one = strategy.propose(space, history, rng(5))
        two = strategy.propose(space, history, rng(5))
        np.testing.assert_array_equal(one.x, two.x)
        assert one.decision == two.decision

    def test_it_starts_from_nothing(self) -> None:
        strategy = self.make_strategy()
        for space in spaces().values():
            nothing = History.empty(space.dimension)
            x = strategy.propose(space, nothing, np.random.default_rng(0)).x
            assert x.shape == (space.dimension,)
            assert strategy.belief(space, nothing) is None

    def test_a_failed_design_of_a_list_is_not_proposed_again(self) -> None:
        strategy, space = self.make_strategy(), spaces()["list"]
        study = Study(space, "maximize", strategy)
        failed = []
        for number in range(8):
            trial = study.ask()
            assert trial.params not in failed
            if number % 2:
                failed.append(trial.params)
                study.tell(trial, state="failed")
            else:
                study.tell(trial, height(trial.params))

    def test_its_belief_is_finite_and_says_under_what_it_holds(self) -> None:
        strategy = self.make_strategy()
        for space in spaces().values():
            belief = played(strategy, space).belief()
            if belief is None:
                continue
            points = np.random.default_rng(1).random((50, space.dimension))
            lower, upper = belief.band(space.snap(points))
            assert np.all(np.isfinite(lower))
            assert np.all(lower <= upper)
            assert belief.condition
            assert belief.proved <= strategy.proved  # no more is proved than it says

    def test_it_is_stored_and_comes_back(self) -> None:
        strategy = self.make_strategy()
        assert codec.from_json(codec.to_json(strategy)) == strategy
