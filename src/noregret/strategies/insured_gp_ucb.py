"""The default: GP-UCB on a fitted class, insured against a fit that is too smooth.

Every decision is either *promised*, the argmax of UCB on the fitted class, or *insured*: a look
where nothing is promised. ``insurance`` bounds the share of the latter. The formulas, what was
tried and the figures behind the constants: docs/decisions/0024. What is proved:
docs/theory.md#plausible.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import MAP, LogNormal, Matern, Posterior
from noregret.search import Acquisition, argmax, log_h, remembering, ucb
from noregret.space import Array, RowIndex, SearchSpace
from noregret.strategies import surveys
from noregret.strategies.branched import Branched
from noregret.strategies.estimation import previous_fit
from noregret.strategies.failing import Failing, expected, succeeding
from noregret.strategies.guarantee import check_positive
from noregret.strategies.inputs import Inputs
from noregret.strategies.limited import Limited, margin_beliefs
from noregret.strategies.modelling import PLAIN, Modelling, Question, last_memory
from noregret.strategies.plausible import Plausible, patrol_point
from noregret.strategies.robust import robust_frame
from noregret.strategies.step import fitted_mean, recommended_bound
from noregret.strategies.strategy import (
    Belief,
    check_initial_points,
    default_initial_points,
    initial_proposal,
)
from noregret.strategies.suggested import REQUIRED, suggested_band
from noregret.strategies.without_value import decisions_made, propose_without_value
from noregret.trials import Decision, History, Kind, Limit, ModelDecision, Proposal

KERNEL = Matern(2.5)
ESTIMATION = MAP(
    prior=LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True),
    noise_prior=LogNormal(-6.0, 2.0),
    ceiling=3.0,
    patience=1.1,
    refresh=1.05,
)
BRANCHED = Branched()
COMPRESS = 1  # passes: very bad values do not set the scale on which good ones differ
WIDTH = 2.0  # β^½
GREEDY_ABOVE = 3  # numbers: in more of them, and nothing else, σ is large nearly everywhere
IN_CONTEXT = 0.25  # of the width and of patrols: contexts that change look around by themselves
LITTLE = 0.03  # prior stds, over √t: a value that would tell less is not worth an evaluation
LITTLE_GAIN = math.log(1e-6)  # the same with limits, of the expected gain: digits are worth one
NOISE_SHARE = 0.5  # of the noise std: nor is one that would tell next to nothing but the noise
SHARE_UNTIL = 100  # decisions up to which the insured share is the one that was asked for
DECAY = 0.9  # the power of t with which it grows beyond: sublinear
PATROL = 0.25  # of the insurance, over t^(1/3): patrols, as far as the budget goes
FINE = 0.14  # times the numbers, up to three: a fitted class this fine is wide by itself,
KNOWN = 0.35  # and where its mean std is below this, known: half as unknown as surveys like it
OWN = 0.5  # largest lengthscale between options in a survey: each option is looked at as such
LOOKS = 3  # at one design: more tell the noise, not the design
DELTA = 0.1  # the failure probability of that condition's band
FORBIDDEN = -1e9  # of an acquisition, where a design is left out


@dataclass(frozen=True, slots=True)
class InsuredGPUCB:
    """GP-UCB that may spend up to ``insurance`` of its decisions where nothing is promised.

    insurance: in [0, 1); 0: none, a plain fitted optimizer that may stick.
    noise_std: of a value, in the values' units; None estimates it.
    initial_points: how many spread points come first; None: two per input, from 3 to 12.
    model: how f is modelled, such as Warping() or Additive(); None: Matérn 5/2, one lengthscale per
    input.
    """

    insurance: float = 0.4
    noise_std: float | None = None
    initial_points: int | None = None
    model: Modelling | None = None
    algorithm: ClassVar[int] = 1  # raise it with every change of what is proposed

    def __post_init__(self) -> None:
        number = isinstance(self.insurance, (int, float)) and not isinstance(self.insurance, bool)
        if not (number and 0 <= self.insurance < 1):
            raise ConfigurationError(
                "insurance is the share of decisions that may go where nothing is promised, in"
                f" [0, 1), got {self.insurance!r}: 0 never looks there, 0.4 is the default"
            )
        check_positive("noise_std", self.noise_std)
        check_initial_points(self.initial_points)
        if isinstance(self.model, type) or not isinstance(self.model, Modelling | None):
            raise ConfigurationError(
                "model says how f is modelled, a value such as Warping(), Additive() or"
                f" Smoothness(), got {self.model!r}"
            )

    @property
    def theorem(self) -> str:
        if self.insurance == 0:
            return (
                "none: without insurance a fitted class that is too smooth may keep the search in a"
                " local optimum for ever (Bull 2011)."
            )
        return (
            "docs/theory.md#plausible: the cumulative regret is sublinear, almost surely, for every"
            " f of finite norm under a Matérn 5/2 kernel and every sub-Gaussian noise, both"
            " unknown, as long as patrols do not fail for reasons of their noise. It says nothing"
            " at a finite time: there, the study's resolution says what cannot have been missed."
        )

    @property
    def proved(self) -> bool:
        return False  # of bands and certificates: theirs is an estimated condition

    def budget(self, t: int, inputs: Inputs, listed: bool, together: int | None = None) -> float:
        """How many of t decisions may be insured. together: the inputs that act together at most.

        Where there are numbers only, each beyond three halves it: a survey sees ever less of the
        space. What hides behind a choice, or in a list, can be looked for in any number of inputs.
        """
        numbers = inputs.numbers if together is None else together
        share = 1.0 if listed or inputs.choices else 2.0 ** min(0, GREEDY_ABOVE - numbers)
        return self.insurance * share * min(t, SHARE_UNTIL ** (1 - DECAY) * t**DECAY)

    def width(self, inputs: Inputs) -> float:
        """β^½ of the promised decisions: full where the space is a list or has choices."""
        if inputs.repeatable or inputs.choices:
            return WIDTH
        full = WIDTH * IN_CONTEXT if inputs.in_context else WIDTH
        return full * min(1.0, GREEDY_ABOVE / inputs.count)

    def patrols(self, t: int, inputs: Inputs, listed: bool) -> float:
        """How many of t decisions are patrols, not rounded; surveys leave room for them.

        They are insured decisions: the budget is theirs too. It binds in seven numbers and more,
        for a time, and grows faster than they do: docs/theory.md#plausible.
        """
        rate = PATROL * (IN_CONTEXT if inputs.in_context else 1.0) * self.insurance
        return min(rate * t ** (2 / 3), self.budget(t, inputs, listed))

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        count = self.initial_points
        if count is None:
            count = default_initial_points(Inputs.of(space).count, "spread")
        start = initial_proposal(space, history, rng, count, "spread")
        if start is None and len(history.X) == 0:  # no limit was kept yet, and there is no value
            return propose_without_value(self, space, history, rng)
        return start or Insured(self, space, history, rng).propose()

    def check_outcomes(self, limits: Mapping[str, Limit]) -> None:
        """Any limits will do: everything about them is estimated."""

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """The fitted class in the values' own units. Repeats that agree make the fitted noise
        vanish, and the recommended point is then the best one. Its band is that of
        docs/theory.md#radius under a condition that the data suggest.
        """
        if len(history.X) == 0:
            return None
        made = Insured(self, space, history.observed, np.random.default_rng(0))
        framed = robust_frame(history.observed, space, self.noise_std, compress=0)
        slope = float(made.framed.compression.slope(np.ones(1))[0])
        noise_var = made.fit.noise_var / slope**2
        posterior = framed.condition(made.kernel, made.fit.lengthscales, noise_var)
        chosen = DELTA if delta is None else delta
        radius = suggested_band(framed, made.kernel, made.fit.lengthscales, noise_var, chosen)
        noise_std = framed.scale * math.sqrt(framed.known_noise(noise_var)[1])
        norm = framed.scale * radius.function_class.norm_bound
        condition = (
            f"a guess by the data, not proved: with probability {1 - chosen:g} if the noise is at"
            f" most {noise_std:.3g} (std) and f has norm at most {norm:.3g},"
            f" {REQUIRED:g} times what the values require, at the fitted lengthscales"
        )
        return Belief(
            posterior,
            WIDTH,
            made.fit.lengthscales,
            framed.offset,
            framed.scale,
            condition,
            radius=radius,
            outcomes=margin_beliefs(made.limited),
        )


class Insured:
    """One decision. It lives for one ask; nothing in it outlives the call."""

    def __init__(
        self,
        strategy: InsuredGPUCB,
        space: SearchSpace,
        history: History,
        rng: np.random.Generator,
    ) -> None:
        fit_rng, argmax_rng = rng.spawn(2)
        self.strategy, self.space, self.history = strategy, space, history
        self.seed = int(argmax_rng.integers(2**63))
        self.inputs, self.every = Inputs.of(space), space.enumeration()
        model = strategy.model or (BRANCHED if self.inputs.branches else PLAIN)
        as_they_are = getattr(model, "as_they_are", False) or self._in_context()
        passes = 0 if as_they_are else COMPRESS
        self.framed = framed = robust_frame(history, space, strategy.noise_std, passes)
        self.earlier = history.model_decisions
        self.t = decisions_made(history.decisions) + 1
        question = Question(
            framed,
            self.inputs,
            ESTIMATION,
            KERNEL,
            previous_fit(self.earlier),
            last_memory(history),
            fit_rng,
        )
        modelled = model.modelled(question)
        self.kernel, self.fit, self.memory = modelled.kernel, modelled.fit, modelled.memory
        self.together = modelled.together
        self.noise_var = framed.known_noise(self.fit.noise_var)[1]
        self.posterior = self._class_at(self.fit.lengthscales)
        self.fitted = fitted_mean(framed, self.posterior)
        self.failing: Failing | None = None
        self._swept: Acquisition | None = None
        if len(history.failed):
            self.failing = Failing.learnt(history.X, history.failed, self.inputs.group)
        self.limited = Limited.learnt(history, self.inputs.group, rng) if history.outcomes else None
        self.loss = float(framed.y.min())  # what a failure is worth: as little as the worst value

    # -- the decision --

    def propose(self) -> Proposal:
        number = math.floor(self._patrols(self.t))
        if number > math.floor(self._patrols(self.t - 1)):
            return self._proposal(patrol_point(self.space, self.every, number), "patrol")
        kind: Kind = "promise"
        x, g, posterior = self._argmax(), 1.0, self.posterior
        if self._is_idle(x):
            if self._survey_is_due():
                kind = "survey"
                x, g, posterior = self._survey()
            elif self.inputs.repeatable:
                x, kind = self._elsewhere()
        return self._proposal(self._plausible(x), kind, g, posterior)

    def _is_idle(self, x: Array) -> bool:
        """Whether a value at x would tell next to nothing; or with limits, where noise is not what
        is left to learn, gain next to nothing.
        """
        little = LITTLE / math.sqrt(self.t)
        if self.limited is not None and not self.inputs.repeatable and self._level <= little:
            return float(self._acquisition(self.posterior).values(x[None, :])[0]) < LITTLE_GAIN
        told = float(self.posterior.predict(x[None, :])[1][0])
        if self.limited is not None:
            told = max(told, self.limited.least_known(x))
        return told < self._level

    @property
    def _level(self) -> float:
        """The std, in model units, below which a value tells next to nothing."""
        return max(LITTLE / math.sqrt(self.t), NOISE_SHARE * math.sqrt(self.noise_var))

    def _in_context(self) -> bool:
        """Whether some inputs are held at every decision. A bad value may then be the best of its
        context, so bad values are not compressed.
        """
        decided = [each.fixed for each in self.history.decisions if each.model is not None]
        return self.inputs.in_context or (bool(decided) and None not in decided)

    def _patrols(self, t: int) -> float:
        return self.strategy.patrols(t, self.inputs, self.every is not None)

    def _plausible(self, x: Array) -> Array:
        """x, or if the patrols rule it out the best by UCB among what they do not."""
        left = Plausible.of(
            self.space, self.history, None if self.every is None else len(self.every)
        )
        if left is None or bool(left.keeps(x[None, :])[0]):
            return x
        cloud = self._cloud()
        return left.best(x, self._acquisition(self.posterior), cloud)

    def _elsewhere(self) -> tuple[Array, Kind]:
        """Of a design never measured and of those measured fewer than LOOKS times the one whose
        value would raise the best mean most in expectation: another look must pay for itself. Where
        every design was measured, the argmax of UCB stands for the new one.
        """
        posterior, n, mean = self.posterior, self.posterior.observed, self.fitted
        designs, first, counts = np.unique(
            posterior.X, axis=0, return_index=True, return_counts=True
        )
        fresh = self._argmax(designs)
        is_new = bool(RowIndex(designs).find(fresh[None, :])[0] < 0)
        if not is_new:
            fresh = self._argmax()
        top = float(mean.max())
        again = [row for row, looks in zip(first, counts, strict=True) if looks < LOOKS and row < n]
        again = sorted(again, key=lambda row: -mean[row])[:LOOKS]
        rows = np.vstack([fresh, posterior.X[again]])
        at, std = posterior.predict(rows)
        second = max((m for m in mean if m < top), default=top)
        against = np.where(at >= top - 1e-12, second, top)  # the best is compared with the next
        moves = std**2 / np.sqrt(std**2 + self.noise_var)  # std of the change of the mean
        gain = log_h(-np.abs(at - against) / moves) + np.log(moves)
        if self.limited is not None:
            gain = gain + self.limited.feasibility.values(rows)
        pick = int(np.argmax(gain))
        return rows[pick], "fresh" if is_new and pick == 0 else "repeat"

    # -- surveys --

    def _survey_is_due(self) -> bool:
        """In a context those of this context count alone: a new one was never stood still in."""
        earlier, t = self.earlier, self.t
        if self.inputs.in_context:
            given = getattr(self.space, "given", None)
            here = [each.model for each in self.history.decisions if each.fixed == given]
            earlier = tuple(each for each in here if each is not None)
            t = len(earlier) + 1
        done = sum(each.survey for each in earlier)
        budget = self.strategy.budget(t, self.inputs, self.every is not None, self.together)
        return done + 1 <= budget - self._patrols(t) and not self._is_over()

    def _is_over(self) -> bool:
        """Whether surveys have done their work: the fitted class is fine, and either something was
        found that was not known when they began, or little is unknown in this class.
        """
        numbers = ~self.inputs.of_choices
        if not numbers.any():
            return False
        mean = math.exp(float(np.mean(np.log(self.fit.lengthscales[numbers]))))
        if mean >= FINE * min(self.together or self.inputs.numbers, GREEDY_ABOVE):
            return False
        return self._has_found() or surveys.mean_std(self.posterior, self._cloud()) < KNOWN

    def _has_found(self) -> bool:
        """Whether what is best now is better than all that was known at the first survey."""
        decided = zip(self.history.decisions, self.history.rows, strict=True)
        surveyed = [
            row for each, row in decided if each.model and each.model.survey and row is not None
        ]
        mean = self.fitted[: len(self.history.X)]
        if not surveyed or min(surveyed) == 0:
            return False
        return float(mean.max() - mean[: min(surveyed)].max()) > WIDTH * self._level

    def _cloud(self) -> Array:
        return surveys.cloud_of(self.space, self.seed)

    def _survey(self) -> tuple[Array, float, Posterior]:
        cloud = self._cloud()
        last = next((each.g for each in reversed(self.earlier) if each.survey), 1.0)
        g = surveys.widening_scale(self._widened, cloud, last)
        widened = self._widened(g)
        center = surveys.surprise(self.posterior, widened, self.inputs.count)
        if center is not None:
            cloud = surveys.around(center, self.space, widened.lengthscales, self.seed)
            gain = expected(ucb(widened, WIDTH), self.failing, self.loss).values(cloud)
        else:
            best = float(fitted_mean(self.framed, widened).max())
            gain = surveys.most_taught(widened, cloud, best, self.noise_var)
            if self.failing is not None:
                gain = gain * (1 - self.failing.at(cloud))
        if self.limited is not None:
            gain = (gain - gain.min()) * self.limited.chance(cloud)
        return cloud[int(np.argmax(np.where(self._allowed(cloud), gain, -np.inf)))], g, widened

    def _widened(self, g: float) -> Posterior:
        theta = self.fit.lengthscales / g
        return self._class_at(np.where(self.inputs.of_choices, np.minimum(theta, OWN), theta))

    # -- parts --

    def _class_at(self, lengthscales: Array) -> Posterior:
        return self.framed.condition(self.kernel, lengthscales, self.fit.noise_var)

    def _acquisition(self, posterior: Posterior) -> Acquisition:
        """UCB, what may fail taken into account. With limits: see ``Limited.acquisition``."""
        if self.limited is not None:
            limited = self.limited.acquisition(posterior, self.fitted[: len(self.history.X)])
            return limited if self.failing is None else succeeding(limited, self.failing)
        width = self.strategy.width(self.inputs)
        return expected(ucb(posterior, width), self.failing, self.loss)

    def _allowed(self, points: Array) -> Array:
        """In a list a design that failed is not tried again; elsewhere only where it may fail."""
        if not self.inputs.repeatable:
            return np.ones(len(points), dtype=np.bool_)
        return np.asarray(RowIndex(np.unique(self.history.failed, axis=0)).find(points) < 0)

    def _argmax(self, known: Array | None = None) -> Array:
        """``known``: designs left out, where there are others."""
        if self._swept is None:  # a list is swept once in an ask
            self._swept = remembering(self._acquisition(self.posterior))
        posterior, acquisition = self.posterior, self._swept
        left_out = np.empty((0, self.space.dimension)) if known is None else known
        if self.inputs.repeatable:
            left_out = np.vstack([left_out, self.history.failed])
        if len(left_out):
            inner, index = acquisition, RowIndex(np.unique(left_out, axis=0))

            def values(A: Array) -> Array:
                return np.where(index.find(A) < 0, inner.values(A), FORBIDDEN)

            acquisition = replace(inner, values=values, leading=None)
        worth = self.fitted
        if self.limited is not None:
            worth = self.limited.worth(posterior.X, worth)
        incumbents = posterior.X[np.argsort(-worth, kind="stable")[:3]]
        rng, nowhere = np.random.default_rng(self.seed), np.empty((0, self.space.dimension))
        return argmax(acquisition, self.space, posterior.lengthscales, rng, incumbents, nowhere)

    # -- what is recorded --

    def _proposal(
        self, x: Array, kind: Kind, g: float = 1.0, posterior: Posterior | None = None
    ) -> Proposal:
        used, framed = posterior or self.posterior, self.framed
        mean, std = (float(v[0]) for v in used.predict(x[None, :]))
        value, spread = framed.in_values(mean, std)
        fitted = self.fitted if used is self.posterior else fitted_mean(framed, used)
        chance = None if self.failing is None else float(self.failing.at(x[None, :])[0])
        reasons = ModelDecision(
            t=self.t,
            kind=kind,
            survey=kind == "survey",
            h=g**self.space.dimension if math.log(g) * self.space.dimension < 700 else 1e300,
            g=g,
            lengthscales=tuple(used.lengthscales.tolist()),
            fitted_lengthscales=tuple(self.fit.lengthscales.tolist()),
            searched=self.fit.searched,
            improved=self.fit.improved,
            active="fit" if g == 1 else "both",
            beta_sqrt=WIDTH,
            exploration=self.strategy.width(self.inputs) / WIDTH,
            information_gain=used.information_gain,
            noise_var=self.noise_var,
            noise_std=framed.noise_in_values(self.noise_var),
            instant_regret_bound=2 * WIDTH * std,
            mean=value,
            std=spread,
            chance_of_failing=chance,
            offset=framed.offset,
            scale=framed.scale,
            compression=tuple((float(m), float(s)) for m, s in framed.compression.passes),
            recommended_bound=recommended_bound(framed, used, fitted[: len(self.history.X)], WIDTH),
            **self._of_outcomes(x),
        )
        return Proposal(x, Decision("model", reasons, memory=self.memory))

    def _of_outcomes(self, x: Array) -> dict[str, Any]:
        """What is recorded where there are limits."""
        return {} if self.limited is None else self.limited.recorded(x)
