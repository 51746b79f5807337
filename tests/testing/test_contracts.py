"""The contracts for others, run on everything that is built in; and each of them can fail."""

import itertools
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import noregret as nr
from noregret.gp import Kernel, Matern, SquaredExponential
from noregret.space import Array, SearchSpace
from noregret.storage import MemoryStorage, SQLStorage, Storage
from noregret.strategies import Belief, Strategy
from noregret.testing import KernelContract, StorageContract, StrategyContract
from noregret.trials import Decision, Ending, Explanation, History, Proposal, Trial
from tests.databases import KINDS, make_storage

STRATEGIES: dict[str, Strategy] = {
    "insured": nr.InsuredGPUCB(),
    "rigorous": nr.AdaptiveGPUCB.rigorous(0.1),
    "gp-ucb": nr.GPUCB(),
    "gp-ucb mixture": nr.GPUCB(lengthscales=0.3, noise_std=0.1, width="mixture"),
    "lb-gp-ucb": nr.LBGPUCB(noise_std=0.1),
    "minimum-uncertainty": nr.MinimumUncertainty(),
    "log-ei": nr.LogEI(),
    "random": nr.RandomSearch(),
}


@pytest.mark.parametrize("chosen", STRATEGIES.values(), ids=STRATEGIES)
class TestStrategies(StrategyContract):
    @pytest.fixture(autouse=True)
    def _choose(self, chosen: Strategy) -> None:
        self.chosen = chosen

    def make_strategy(self) -> Strategy:
        return self.chosen


@pytest.mark.parametrize(
    "chosen", [SquaredExponential(), Matern(0.5), Matern(1.5), Matern(2.5), Matern(3.2)], ids=str
)
class TestKernels(KernelContract):
    @pytest.fixture(autouse=True)
    def _choose(self, chosen: Kernel) -> None:
        self.chosen = chosen

    def make_kernel(self) -> Kernel:
        return self.chosen


@pytest.mark.parametrize("kind", KINDS)
class TestStorages(StorageContract):
    @pytest.fixture(autouse=True)
    def _open(self, kind: str, request: pytest.FixtureRequest) -> Iterator[None]:
        self.opened: list[Storage] = []
        self.kind, self.request = kind, request
        yield
        for storage in self.opened:
            if isinstance(storage, SQLStorage):
                storage.close()

    def make_storage(self) -> Storage:
        self.opened.append(make_storage(self.kind, self.request))
        return self.opened[-1]

    # Races of our own storages, beyond what every storage must show.

    def test_of_many_that_look_first_only_one_appends_the_same(self) -> None:
        storage = self.filled()

        def add(index: int) -> bool:
            def is_there(others: Sequence[Trial]) -> bool:
                return any(other.params == {"x": 0.5} for other in others)

            return storage.append("s", [Trial(0, {"x": 0.5})], unless=is_there) is not None

        with ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(add, range(8))) == 1
        assert len(storage.trials("s")) == 1

    def test_many_threads_share_one_study(self) -> None:
        storage = self.filled()

        def insert(value: int) -> None:
            made = None
            while made is None:
                number = len(storage.trials("s"))
                trial = Trial(number, {"x": value / 100}, "complete", float(value))
                made = storage.append("s", [trial], unless=bool)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(insert, range(100)))
        trials = storage.trials("s")
        assert [t.number for t in trials] == list(range(100))
        assert sorted(float(t.value or 0.0) for t in trials) == [float(v) for v in range(100)]


# -- each contract can fail --

CALLS = itertools.count()


@dataclass(frozen=True, slots=True)
class Forgetful:
    """Its proposals depend on how often it was called."""

    @property
    def theorem(self) -> str:
        return "none"

    @property
    def proved(self) -> bool:
        return False

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        x = np.random.default_rng(next(CALLS)).random((1, space.dimension))
        return Proposal(space.snap(x)[0], Decision("random"))

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        return None

    def explain(self, decision: Decision) -> Explanation:
        return Explanation("a random point")


class OfForgetful(StrategyContract):
    def make_strategy(self) -> Strategy:
        return Forgetful()


@pytest.mark.parametrize(
    "broken",
    [
        OfForgetful().test_equal_arguments_give_equal_proposals,
        OfForgetful().test_it_works_in_every_space_and_the_study_can_be_derived_again,
    ],
)
def test_a_strategy_with_a_memory_of_its_own_fails(broken: pytest.Function) -> None:
    with pytest.raises(AssertionError):
        broken()  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class Steep:
    decreasing_spectrum: ClassVar[bool] = True

    def value(self, sq: Array) -> Array:
        return np.exp(-0.5 * sq)

    def slope(self, sq: Array) -> Array:
        return -np.exp(-0.5 * sq)  # twice too steep

    def capacity_exponent(self, dimension: int, printed: bool = False) -> float:
        return float(dimension)


def test_a_kernel_with_a_wrong_slope_fails() -> None:
    class OfSteep(KernelContract):
        def make_kernel(self) -> Kernel:
            return Steep()

    with pytest.raises(AssertionError):
        OfSteep().test_its_slope_is_the_derivative()


def test_a_storage_that_lets_two_tells_win_fails() -> None:
    class Careless(MemoryStorage):
        def finish(
            self, name: str, number: int, ending: Ending, worker: str | None = None
        ) -> Trial | None:
            trials = self.trials(name)
            done = super().finish(name, number, ending, worker)
            return done or (trials[number] if number < len(trials) else None)

    class OfCareless(StorageContract):
        def make_storage(self) -> Storage:
            return Careless()

    with pytest.raises(AssertionError):
        OfCareless().test_of_two_finishes_one_wins()
