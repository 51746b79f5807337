"""Widening by dimension: the search begins in a random subspace of few directions and is enlarged
when it stagnates, until it is the whole space.

Inputs are dealt into bins, each with a sign, and all of a bin move together: x_i = ½ ± (z_bin − ½).
Twice as many bins split the old ones, so every point stays where it is (the nested embeddings of
Papenmeier, Nardi and Poloczek 2022; JMLR sec. 4.2 names subspaces as what its idea can be combined
with). docs/extensions.md#subspaces
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noregret.errors import ConfigurationError, check_range
from noregret.space import Array, Indices, SearchSpace, Space
from noregret.strategies.base import Belief, with_payload
from noregret.strategies.insured import InsuredGPUCB
from noregret.trials import Decision, Explanation, History, Proposal

SAME = 1e-6  # a point so close to the subspace belongs to it
LONGEST = 20  # decisions per bin after which a subspace is enlarged in any case


@dataclass(frozen=True, slots=True)
class Embedding:
    """bins (d,): of each input; signs (d,): ±1."""

    bins: Indices
    signs: Array

    @staticmethod
    def of(dimension: int, count: int, seed: int) -> Embedding:
        """The same deal for every count; count ≥ dimension: each input by itself."""
        rng = np.random.default_rng([seed, dimension])
        order, signs = rng.permutation(dimension), rng.choice([-1.0, 1.0], dimension)
        if count >= dimension:
            return Embedding(np.arange(dimension), np.ones(dimension))
        return Embedding(np.argsort(order) % count, signs)

    @property
    def count(self) -> int:
        return int(self.bins.max()) + 1

    def outwards(self, Z: Array) -> Array:
        """Points of the space from points of the subspace."""
        return 0.5 + self.signs * (Z[:, self.bins] - 0.5)

    def inwards(self, X: Array) -> tuple[Array, Array]:
        """The nearest points of the subspace, and which rows lie in it."""
        member = (self.bins[:, None] == np.arange(self.count)).astype(np.float64)
        Z = (0.5 + self.signs * (X - 0.5)) @ member / member.sum(axis=0)
        return Z, np.abs(self.outwards(Z) - X).max(axis=1, initial=0.0) <= SAME


@dataclass(frozen=True, slots=True)
class Subspace:
    """The inner strategy in a subspace that grows.

    Args:
        inner: the strategy that decides in the subspace.
        start: number of directions at the beginning.
        patience: decisions per direction without a better value after which the number of
            directions is doubled.
        seed: of the assignment of inputs to directions.

    Raises:
        ConfigurationError: a setting outside its range.
    """

    proved: ClassVar[bool] = False

    inner: InsuredGPUCB = InsuredGPUCB()
    start: int = 4
    patience: float = 2.5
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.inner, InsuredGPUCB):
            raise ConfigurationError(f"inner is an InsuredGPUCB, got {self.inner!r}")
        check_range("start", self.start, "[1, ∞)", whole=True)
        check_range("patience", self.patience, f"(0, {LONGEST}]", "decisions per direction")

    @property
    def theorem(self) -> str:
        return (
            "none before the subspace is the whole space, which it is after at most"
            f" {LONGEST} decisions per direction of each; from then on that of its inner strategy:"
            f" {self.inner.theorem}"
        )

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        if not space.continuous.all():
            raise ConfigurationError(
                "a subspace needs inputs that move freely, and this space has integers, choices or"
                " a list: use InsuredGPUCB(surrogate=Sparse()) for many inputs of other kinds"
            )
        embedding = Embedding.of(space.dimension, self.directions(space, history), self.seed)
        inside = self._inside(history, embedding)
        plane = Space.from_bounds([(0.0, 1.0)] * embedding.count)
        found = self.inner.propose(plane, inside, rng)
        x = embedding.outwards(found.x[None, :])[0]
        notes = {"directions": embedding.count, **_of_inputs(found.decision, embedding.bins)}
        return with_payload(replace(found, x=x), notes)

    def explain(self, decision: Decision) -> Explanation:
        return self.inner.explain(decision)

    def directions(self, space: SearchSpace, history: History) -> int:
        """How many there are now: doubled when the last ones brought nothing better."""
        count = min(self.start, space.dimension)
        earlier = list(zip(history.decisions, history.rows, strict=True))
        for decision, _ in earlier:
            count = max(count, int(decision.payload.get("directions", 0)))
        if count >= space.dimension:
            return space.dimension
        here = [row for d, row in earlier if d.payload.get("directions") == count]
        told = [row for row in here if row is not None]
        quiet = len(told)
        if told:
            best = told[int(np.argmax(history.y[told]))]
            before = history.y[: min(told)]
            improved = len(before) == 0 or history.y[best] > before.max()
            quiet = len(told) - 1 - told.index(best) if improved else len(told)
        if quiet >= self.patience * count or len(here) >= LONGEST * count:
            return min(2 * count, space.dimension)
        return count

    def _inside(self, history: History, embedding: Embedding) -> History:
        """What lies in the subspace, in its coordinates; decisions of other subspaces count as
        points only.
        """
        X, kept = embedding.inwards(history.X)
        at = np.cumsum(kept) - 1
        pending, waiting = embedding.inwards(history.pending)
        failed, broken = embedding.inwards(history.failed)
        decisions, rows = [], []
        for decision, row in zip(history.decisions, history.rows, strict=True):
            own = decision.payload.get("directions") == embedding.count
            decisions.append(_gathered(decision, embedding.bins) if own else Decision("added"))
            rows.append(None if row is None or not kept[row] else int(at[row]))
        return replace(
            history,
            X=X[kept],
            y=history.y[kept],
            noise_std=history.noise_std[kept],
            pending=pending[waiting],
            withdrawn=tuple([int(np.sum(waiting[:i])) for i in history.withdrawn if waiting[i]]),
            failed=failed[broken],
            decisions=tuple(decisions),
            rows=tuple(rows),
        )

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """The inner strategy's, of all inputs and from all values."""
        return self.inner.belief(space, history, delta)


def _of_inputs(decision: Decision, bins: Indices) -> dict[str, Any]:
    """What the inner strategy records of each direction, written to the inputs ``bins``."""
    names = ("lengthscales", "fitted_lengthscales")
    recorded = {name: decision.payload.get(name) for name in names}
    return {name: np.array(row)[bins].tolist() for name, row in recorded.items() if row}


def _gathered(decision: Decision, bins: Indices) -> Decision:
    """And back."""
    first = np.unique(bins, return_index=True)[1]
    return replace(decision, payload={**decision.payload, **_of_inputs(decision, first)})
