"""What every strategy and every kernel must do. Subclass a contract in your tests, define its
``make_`` method, and pytest runs it:

    class TestMyStrategy(StrategyContract):
        def make_strategy(self):
            return MyStrategy()
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from noregret.gp import Kernel, condition, covariance
from noregret.space import Candidates, Choice, Float, Forbidden, Int, Linear, Space
from noregret.storage import codec
from noregret.strategies import Strategy
from noregret.study import Study
from noregret.trials import History, Trial

TRIALS = 14


def spaces() -> dict[str, Space | Candidates]:
    """One search space of each kind."""
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
    """An objective to maximise in any space."""
    values = params.values() if isinstance(params, dict) else list(params)
    numbers = [float(len(v)) if isinstance(v, str) else float(v) for v in values]
    return float(-sum((v / 10 - 0.3) ** 2 for v in numbers))


def played(strategy: Strategy, space: Space | Candidates, trials: int = TRIALS) -> Study:
    """A study with running trials, failures, known noise and a point measured elsewhere."""
    study = Study(space, "minimize", strategy, seed=3)
    running: list[Trial] = []
    for number in range(trials):
        trial = study.ask()
        running.append(trial)
        if number % 6 == 4:
            study.tell(running.pop(0), state="failed")
        if len(running) > 1 or number < 2:
            oldest = running.pop(0)
            noise_std = 0.05 if oldest.number % 3 == 1 else None
            study.tell(oldest, -height(oldest.params), noise_std)
        if number == 3:
            study.add(trial.params, -height(trial.params))
    return study


class StrategyContract(ABC):
    """A strategy is a frozen value, and its proposals depend on its arguments alone."""

    @abstractmethod
    def make_strategy(self) -> Strategy:
        """A strategy with settings for values between −1 and 1, in any of ``spaces()``."""

    def test_it_is_a_frozen_value_with_a_theorem_or_without(self) -> None:
        strategy = self.make_strategy()
        assert isinstance(strategy, Strategy)
        assert strategy == self.make_strategy()
        assert isinstance(strategy.proved, bool)
        assert strategy.theorem.strip(), "name the theorem, or say that there is none"
        settings = getattr(strategy, "__dataclass_params__", None)
        assert settings is not None, "a strategy is a dataclass: its fields are stored"
        assert settings.frozen, "a strategy must be frozen: its memory is the history"

    def test_it_works_in_every_space_and_the_study_can_be_derived_again(self) -> None:
        """Its belief is finite in every space, and states its condition."""
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
                space.canonical(trial.params)  # raises for a point that violates a constraint
            belief = study.belief()
            if belief is not None:
                points = np.random.default_rng(1).random((50, space.dimension))
                lower, upper = belief.band(space.snap(points))
                assert np.all(np.isfinite(lower)), name
                assert np.all(lower <= upper), name
                assert belief.condition
                assert belief.proved <= strategy.proved, "no more is proved than it says"

    def test_equal_arguments_give_equal_proposals(self) -> None:
        strategy, space = self.make_strategy(), spaces()["mixed"]
        study = played(strategy, space)
        history = study._history(study.trials)
        one, two = (strategy.propose(space, history, np.random.default_rng(5)) for _ in range(2))
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

    def test_it_is_stored_and_comes_back(self) -> None:
        strategy = self.make_strategy()
        assert codec.from_json(codec.to_json(strategy)) == strategy


class KernelContract(ABC):
    """A stationary kernel of unit variance as a function of the squared scaled distance."""

    @abstractmethod
    def make_kernel(self) -> Kernel:
        """The kernel."""

    def test_it_has_unit_variance_and_falls(self) -> None:
        kernel = self.make_kernel()
        assert isinstance(kernel, Kernel)
        s = np.linspace(0.0, 25.0, 400)
        value = kernel.value(s.copy())
        assert np.isclose(value[0], 1.0)
        assert np.all(np.isfinite(value))
        assert np.all(np.abs(value) <= 1 + 1e-12)

    def test_its_slope_is_the_derivative(self) -> None:
        kernel = self.make_kernel()
        s = np.linspace(0.05, 16.0, 200)
        step = 1e-6
        difference = (kernel.value(s + step) - kernel.value(s - step)) / (2 * step)
        np.testing.assert_allclose(kernel.slope(s.copy()), difference, rtol=1e-4, atol=1e-7)

    def test_it_is_positive_definite(self) -> None:
        kernel, rng = self.make_kernel(), np.random.default_rng(0)
        for d in (1, 2, 5):
            X = rng.random((40, d))
            K = covariance(kernel, np.full(d, 0.3), X, X)
            np.testing.assert_allclose(K, K.T, atol=1e-12)
            assert np.linalg.eigvalsh(K).min() > -1e-8

    def test_a_posterior_can_be_conditioned(self) -> None:
        kernel, rng = self.make_kernel(), np.random.default_rng(1)
        X = rng.random((12, 2))
        y = np.sin(5 * X[:, 0])
        nothing = np.empty((0, 2))
        posterior = condition(kernel, np.full(2, 0.4), X, y, np.full(12, 1e-4), nothing, 1e-4)
        mean, std = posterior.predict(X)
        np.testing.assert_allclose(mean, y, atol=0.1)
        assert np.all((std >= 0) & (std <= 1))

    def test_its_capacity_exponent_is_a_number(self) -> None:
        kernel = self.make_kernel()
        assert isinstance(kernel.decreasing_spectrum, bool)
        for d in (1, 3):
            assert kernel.capacity_exponent(d) > 0

    def test_it_is_stored_and_comes_back(self) -> None:
        kernel = self.make_kernel()
        assert codec.from_json(codec.to_json(kernel)) == kernel
