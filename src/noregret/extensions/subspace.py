"""Widening by dimension: the search begins in a subspace of few directions and is enlarged when it
stagnates, until it is the whole space. JMLR sec. 4.2 names subspaces as what its idea can be
combined with.

*Random directions*: inputs are dealt into bins, each with a sign, and all of a bin move together:
x_i = ½ ± (z_bin − ½). Twice as many bins split the old ones, so every point stays where it is (the
nested embeddings of Papenmeier, Nardi and Poloczek 2022).

*Learnt directions* (Djolonga, Krause and Cevher 2013): of f(x) = g(Aᵀx) all gradients lie in the
span of A, so the matrix G of gradients at some points has the rank of A. Differences along random
signs φ measure φᵀG; G is the matrix of least nuclear norm that explains them, and its left singular
vectors span the subspace. docs/extensions.md#subspaces
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from noregret.errors import ConfigurationError, check_range
from noregret.space import Array, Indices, SearchSpace, Space
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB
from noregret.strategies.base import Belief, with_payload
from noregret.strategies.insured import InsuredGPUCB
from noregret.trials import Decision, Explanation, History, Proposal

SAME = 1e-6  # a point so close to the subspace belongs to it
STEP = 0.05  # of a difference, in every input
PENALTY = 0.02  # weight of the nuclear norm, of the one above which all is zero
LEAST = 0.15  # a direction with less of the largest singular value is not kept
NAMES = "lengthscales", "fitted_lengthscales"  # what a decision records of each direction
LEARNING = "difference"  # in the payload: the number of the point among those of the differences
LONGEST = 20  # decisions per bin after which a subspace is enlarged in any case


@dataclass(frozen=True, slots=True)
class Embedding:
    """x = ½ + basis·(z − ½), cut off at the cube. basis (d, k)."""

    basis: Array
    is_learnt: bool = False  #: f is taken to depend on the directions alone, at every point

    @staticmethod
    def of(dimension: int, count: int, seed: int) -> Embedding:
        """The same deal for every count; count ≥ dimension: each input by itself."""
        rng = np.random.default_rng([seed, dimension])
        order, signs = rng.permutation(dimension), rng.choice([-1.0, 1.0], dimension)
        if count >= dimension:
            return Embedding(np.eye(dimension))
        bins = np.argsort(order) % count
        return Embedding(signs[:, None] * (bins[:, None] == np.arange(count)))

    @staticmethod
    def along(directions: Array, count: int) -> Embedding:
        """The first of these orthonormal columns, each as long as it can be within the cube."""
        if count >= len(directions):
            return Embedding(np.eye(len(directions)))
        basis = directions[:, :count]
        return Embedding(basis * np.abs(basis).sum(axis=0), is_learnt=True)

    @property
    def count(self) -> int:
        return self.basis.shape[1]

    def outwards(self, Z: Array) -> Array:
        """Points of the space from points of the subspace."""
        return np.asarray(np.clip(0.5 + (Z - 0.5) @ self.basis.T, 0.0, 1.0))

    def inwards(self, X: Array) -> tuple[Array, Array]:
        """The nearest points of the subspace, and which rows count as lying in it."""
        Z = np.clip(0.5 + (X - 0.5) @ np.linalg.pinv(self.basis).T, 0.0, 1.0)
        near = np.abs(self.outwards(Z) - X).max(axis=1, initial=0.0) <= SAME
        return Z, near | self.is_learnt

    def of_inputs(self, row: Array) -> list[float]:
        """Lengthscales of the inputs for those of the directions: an input's is that of the nearest
        direction, over its share in it.
        """
        share = np.abs(self.basis)
        return np.asarray(np.min(row / np.maximum(share, SAME), axis=1)).tolist()


def learnt_directions(signs: Array, points: Indices, slopes: Array) -> tuple[Array, int]:
    """Orthonormal columns (d, d), most important first, and how many of them matter.

    Args:
        signs: (n, d), φ of each difference.
        points: (n,), the point at which it was taken.
        slopes: (n,), φᵀ∇f there.
    """
    d, every = signs.shape[1], np.unique(points, return_inverse=True)[1]
    share = np.zeros((len(slopes), int(every.max()) + 1))
    share[np.arange(len(slopes)), every] = 1.0
    step = 1 / np.linalg.norm((signs @ signs.T) * (share @ share.T), 2)
    weight = PENALTY * float(np.linalg.norm(signs.T @ (slopes[:, None] * share), 2))
    G = ahead = np.zeros((d, share.shape[1]))
    for i in range(500):  # FISTA for ½Σ(φᵀG − slope)² + weight·‖G‖_*
        residual = np.sum((signs @ ahead) * share, axis=1) - slopes
        U, s, V = np.linalg.svd(ahead - step * signs.T @ (residual[:, None] * share))
        s = np.maximum(s - step * weight, 0.0)
        following = (U[:, : len(s)] * s) @ V[: len(s)]
        ahead, G = following + i / (i + 3) * (following - G), following
    U, s, _ = np.linalg.svd(G)
    return U, max(int(np.sum(s > LEAST * s[0])), 1)


@dataclass(frozen=True, slots=True)
class Subspace:
    """The inner strategy in a subspace that grows.

    Args:
        inner: the strategy that decides in the subspace, the default or A-GP-UCB.
        start: number of directions at the beginning.
        patience: decisions per direction without a better value after which the number of
            directions is doubled.
        seed: of the assignment of inputs to directions, or of the differences.
        learn: at how many points directions are learnt first, each from half as many differences as
            there are inputs; 0: random directions.

    Raises:
        ConfigurationError: a setting outside its range.
    """

    proved: ClassVar[bool] = False

    inner: InsuredGPUCB | AdaptiveGPUCB = InsuredGPUCB()
    start: int = 4
    patience: float = 2.5
    seed: int = 0
    learn: int = 0
    algorithm: ClassVar[int] = 1  # 0 had random directions only

    def __post_init__(self) -> None:
        if not isinstance(self.inner, (InsuredGPUCB, AdaptiveGPUCB)):
            raise ConfigurationError(
                f"inner is an InsuredGPUCB or an AdaptiveGPUCB, got {self.inner!r}"
            )
        check_range("start", self.start, "[1, ∞)", whole=True)
        check_range("learn", self.learn, "[0, ∞)", "points with differences", whole=True)
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
        known: tuple[Array, int] | None = None
        if self.learn:
            path, told = self._differences(space.dimension), self._told(history)
            asked = sum(LEARNING in each.payload for each in history.decisions)
            if asked < len(path):
                return Proposal(path[asked], Decision("initial", payload={LEARNING: asked}))
            known = self._learnt(space.dimension, told)
        count = self.directions(space, history, self.start if known is None else known[1])
        if known is None:
            embedding = Embedding.of(space.dimension, count, self.seed)
        else:
            embedding = Embedding.along(known[0], count)
        inside = self._inside(history, embedding)
        plane = Space.from_bounds([(0.0, 1.0)] * embedding.count)
        found = self.inner.propose(plane, inside, rng)
        x = embedding.outwards(found.x[None, :])[0]
        own = {
            name: found.decision.payload[name] for name in NAMES if name in found.decision.payload
        }
        of_inputs = {name: embedding.of_inputs(np.array(row)) for name, row in own.items() if row}
        notes = {"directions": embedding.count, "inner": own, **of_inputs}
        return with_payload(replace(found, x=x), notes)

    def _differences(self, dimension: int) -> Array:
        """Each point followed by its neighbours along random signs."""
        rng, count = np.random.default_rng([self.seed, dimension]), -(-dimension // 2)
        points = rng.uniform(STEP, 1 - STEP, (self.learn, 1, dimension))
        signs = rng.choice([-1.0, 1.0], (self.learn, 1 + count, dimension))
        signs[:, 0] = 0.0
        return np.asarray((points + STEP * signs).reshape(-1, dimension))

    def _told(self, history: History) -> dict[int, float]:
        """The values of the differences by their number."""
        pairs = zip(history.decisions, history.rows, strict=True)
        return {
            int(each.payload[LEARNING]): float(history.y[row])
            for each, row in pairs
            if LEARNING in each.payload and row is not None
        }

    def _learnt(self, dimension: int, told: dict[int, float]) -> tuple[Array, int] | None:
        """Directions from the differences whose values are both known; None without any."""
        path = self._differences(dimension)
        size = len(path) // self.learn
        rows = [n for n in told if n % size and n - n % size in told]
        starts = [n - n % size for n in rows]
        slopes = np.array([told[n] - told[at] for n, at in zip(rows, starts, strict=True)]) / STEP
        if not slopes.any():
            return None
        signs = (path[rows] - path[starts]) / STEP
        return learnt_directions(signs, np.array(starts), slopes)

    def explain(self, decision: Decision) -> Explanation:
        return self.inner.explain(decision)

    def directions(self, space: SearchSpace, history: History, start: int) -> int:
        """How many there are now: doubled when the last ones brought nothing better."""
        count = min(start, space.dimension)
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
            inner = {**decision.payload, **decision.payload.get("inner", {})}
            own = own and "inner" in decision.payload  # algorithm 0 had none
            decisions.append(replace(decision, payload=inner) if own else Decision("added"))
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
