"""A new strategy, written from docs/extending.md alone: in turn the best mean and the most std."""

from dataclasses import dataclass

import numpy as np

from noregret.gp import Matern, Predictor, condition
from noregret.search import Acquisition, argmax
from noregret.space import Array, SearchSpace
from noregret.strategies import Belief, initial_proposal, register
from noregret.trials import Decision, Explanation, History, ModelDecision, Proposal


def weighted(model: Predictor, of_mean: float, of_std: float) -> Acquisition:
    def values(A: Array) -> Array:
        mean, std = model.predict(A)
        return of_mean * mean + of_std * std

    def gradients(A: Array) -> tuple[Array, Array]:
        mean, std, dmean, dstd = model.predict_gradients(A)
        return of_mean * mean + of_std * std, of_mean * dmean + of_std * dstd

    return Acquisition(values, gradients)


@register
@dataclass(frozen=True)
class InTurn:
    noise_std: float = 0.05
    theorem = "none: whether it looks around often enough is a guess"
    proved = False

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        start = initial_proposal(space, history, rng, None, "spread")
        if start is not None:
            return start
        belief = self.belief(space, history)
        assert belief is not None
        t, best = len(history.model_decisions) + 1, history.X[[int(np.argmax(history.y))]]
        looks = {"looks": t % 2 == 0}
        rule = weighted(belief.predictor, float(t % 2), float(t % 2 == 0))
        x = argmax(rule, space, belief.lengthscales, rng, best, history.failed)
        (mean,), (std,) = belief.predict(x[None, :])
        expected = ModelDecision(t, float(mean), float(std))
        return Proposal(x, Decision("model", expected, payload=looks))

    def explain(self, decision: Decision) -> Explanation:
        looks = decision.payload["looks"]
        return Explanation("Least is known here." if looks else "The mean is best here.")

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        if len(history.X) == 0:
            return None
        theta, noise = np.full(space.dimension, 0.3), np.full(len(history.X), self.noise_std**2)
        pending = history.pending, self.noise_std**2
        model = condition(Matern(2.5), theta, history.X, history.y, noise, *pending)
        return Belief(model, 2.0, theta, 0.0, 1.0, "none: two standard deviations of a guess")
