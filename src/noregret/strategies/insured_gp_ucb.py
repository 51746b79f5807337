"""The default: GP-UCB on a fitted class, insured against a fit that is too smooth.

Everything is estimated. Where the search stagnates, a limited share of the decisions looks around
in a widened class (``surveys``), so that what a smooth fit cannot see is found all the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noregret.gp import MAP, Fit, LogNormal, Matern, Posterior
from noregret.search import remembering, ucb, unlike
from noregret.space import Array, SearchSpace
from noregret.strategies import surveys
from noregret.strategies.estimation import estimate
from noregret.strategies.guarantee import check_positive
from noregret.strategies.step import Choice, fitted_mean, maximise, recommended_bound
from noregret.strategies.strategy import (
    Belief,
    check_initial_points,
    initial_proposal,
)
from noregret.strategies.units import Frame, frame
from noregret.trials import Decision, History, ModelDecision, Proposal

KERNEL = Matern(2.5)
WIDTH = 1.5  # β^½ of the fitted class
GREEDY_ABOVE = 3  # inputs: in more, σ is large nearly everywhere, and exploring it all is hopeless
COMPRESSED = 2  # times: values below the average, before they are modelled
ESTIMATION = MAP(
    prior=LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True),
    noise_prior=LogNormal(-6.0, 2.0),
    combine="scale",
    ceiling=3.0,
    patience=1.1,
    refresh=1.05,
)


@dataclass(frozen=True, slots=True)
class InsuredGPUCB:
    """UCB on a fitted class, surveys of a widened one where the search stagnates.

    noise_std: the noise of a value, in the values' units; None estimates it. initial_points: how
    many spread points come first; None: two per coordinate, from 3 to 12.
    """

    noise_std: float | None = None
    initial_points: int | None = None

    def __post_init__(self) -> None:
        check_positive("noise_std", self.noise_std)
        check_initial_points(self.initial_points)

    @property
    def theorem(self) -> str:
        return (
            "none: constant width, standardised values and estimated noise are outside every"
            " theorem; the widening is the paper's, the promise is not. Surveys are at most of the"
            " order t^0.9 of t decisions, and while the search stagnates they never end."
        )

    @property
    def proved(self) -> bool:
        return False

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        start = initial_proposal(space, history, rng, self.initial_points, "spread")
        if start is not None:
            return start
        fit_rng, argmax_rng = rng.spawn(2)
        framed, fit = self._fit(space, history, fit_rng, COMPRESSED)
        return Insured(space, history, framed, fit, int(argmax_rng.integers(2**63))).propose()

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """The fitted class in the values' own units, conditioned on everything told."""
        if len(history.X) == 0:
            return None
        observed = history.observed
        framed, fit = self._fit(space, observed, np.random.default_rng(0).spawn(2)[0], 0)
        posterior = framed.condition(KERNEL, fit.lengthscales, fit.noise_var)
        condition = "none: a constant width is a rule of thumb, not a confidence bound"
        return Belief(
            posterior,
            WIDTH,
            posterior.lengthscales,
            framed.offset,
            framed.scale,
            condition,
            proved=False,
        )

    def _fit(
        self, space: SearchSpace, history: History, rng: np.random.Generator, compress: int
    ) -> tuple[Frame, Fit]:
        framed = frame(
            history,
            standardise=True,
            offset=0.0,
            noise_std=self.noise_std,
            regulariser=None,
            compress=compress,
        )
        widest = np.full(space.dimension, math.sqrt(space.dimension))  # the cube's diameter
        fit = estimate(framed, KERNEL, ESTIMATION, widest, history.model_decisions, rng)
        assert fit is not None  # lengthscales are always estimated here
        return framed, fit


class Insured:
    """One decision. It lives for one ask; nothing in it outlives the call."""

    def __init__(
        self, space: SearchSpace, history: History, framed: Frame, fit: Fit, seed: int
    ) -> None:
        self.space, self.history, self.framed, self.fit = space, history, framed, fit
        self.seed = seed
        earlier = history.model_decisions
        self.t = len(earlier) + 1
        self.surveys = [each for each in earlier if each.survey]
        self.noise_var = framed.known_noise(fit.noise_var)[1]
        # a list is surveyed point by point
        self.hiding_dimension = 1 if space.enumeration() is not None else space.dimension
        self.exploration = min(1.0, GREEDY_ABOVE / self.hiding_dimension)
        self._posteriors: dict[float, Posterior] = {}
        self._fitted: dict[float, Array] = {}

    def posterior(self, g: float = 1.0) -> Posterior:
        """The fitted class with lengthscales divided by g, and the data."""
        if g not in self._posteriors:
            self._posteriors[g] = self.framed.condition(
                KERNEL, self.fit.lengthscales / g, self.fit.noise_var
            )
        return self._posteriors[g]

    def fitted(self, g: float = 1.0) -> Array:
        """μ of that class at the evaluated points."""
        if g not in self._fitted:
            self._fitted[g] = fitted_mean(self.framed, self.posterior(g))
        return self._fitted[g]

    def propose(self) -> Proposal:
        choice = self._ucb()
        level = surveys.stagnation_level(self.t, math.sqrt(self.noise_var))
        expected, g, survey = choice.std, 1.0, False
        if expected < level:
            survey = self._survey_is_due()
            if survey:
                cloud = surveys.cloud_of(self.space, self.seed)
                g = self._widening(cloud)
                choice = self._survey(g, cloud)
            else:
                choice = self._unmeasured() or choice
        reasons = self._reasons(choice, g, survey, level, expected)
        return Proposal(choice.x, Decision("model", reasons))

    def _ucb(self) -> Choice:
        posterior = self.posterior()
        self._acquisition = remembering(ucb(posterior, WIDTH * self.exploration))
        rng = np.random.default_rng(self.seed)
        x = maximise(self._acquisition, self.space, self.history, posterior, self.fitted(), rng)
        return Choice.at(x, posterior)

    # -- surveys --

    def _survey_is_due(self) -> bool:
        lengthscale = math.exp(float(np.mean(np.log(self.fit.lengthscales))))
        fine = lengthscale < surveys.FINE * self.space.dimension
        allowed = surveys.allowance(self.t, self.hiding_dimension)
        return len(self.surveys) + 1 <= (surveys.FINE_SHARE if fine else 1.0) * allowed

    def _widening(self, cloud: Array) -> float:
        def mean_std(g: float) -> float:
            return float(np.mean(self.posterior(g).predict(cloud[: surveys.MEAN])[1]))

        return surveys.widening_scale(mean_std, self.surveys[-1].g if self.surveys else 1.0)

    def _survey(self, g: float, cloud: Array) -> Choice:
        fitted, widened, failed = self.posterior(), self.posterior(g), self.history.failed
        center = surveys.surprise(fitted, widened)
        if center is not None:
            points = surveys.around(center, self.space, widened.lengthscales, self.seed)
            mean, std = widened.predict(points)
            return Choice.at(surveys.best_of(points, mean + WIDTH * std, failed), widened)
        best_mean = float(self.fitted(g).max())
        gain = surveys.most_taught(widened, cloud, best_mean, self.noise_var)
        return Choice.at(surveys.best_of(cloud, gain, failed), widened)

    def _unmeasured(self) -> Choice | None:
        """The argmax among the designs of a list that were neither measured nor asked nor failed:
        another look at a known one would tell next to nothing. None where the space is no list, or
        all of it is known.
        """
        every = self.space.enumeration()
        if every is None:
            return None
        posterior = self.posterior()
        fresh = unlike(self.space, every, np.vstack([posterior.X, self.history.failed]))
        if not fresh.any():
            return None
        values = np.where(fresh, self._acquisition.values(every), -np.inf)
        return Choice.at(every[int(np.argmax(values))], posterior)

    # -- what is recorded --

    def _reasons(
        self, choice: Choice, g: float, survey: bool, level: float, estimate: float
    ) -> ModelDecision:
        framed, posterior = self.framed, self.posterior(g)
        mean, std = framed.in_values(choice.mean, choice.std)
        return ModelDecision(
            t=self.t,
            h=g**self.space.dimension,
            g=g,
            lengthscales=tuple(posterior.lengthscales.tolist()),
            beta_sqrt=WIDTH,
            exploration=self.exploration,
            information_gain=posterior.information_gain,
            noise_var=self.noise_var,
            noise_std=framed.noise_in_values(self.noise_var),
            fitted_lengthscales=tuple(self.fit.lengthscales.tolist()),
            searched=self.fit.searched,
            improved=self.fit.improved,
            active="fit" if g == 1 else "both",
            instant_regret_bound=2 * WIDTH * choice.std,
            survey=survey,
            mean=mean,
            std=std,
            offset=framed.offset,
            scale=framed.scale,
            compression=tuple((float(m), float(s)) for m, s in framed.compression.passes),
            recommended_bound=recommended_bound(
                framed, posterior, self.fitted(g)[: len(self.history.X)], WIDTH
            ),
            reference=level,
            estimate=estimate,
        )
