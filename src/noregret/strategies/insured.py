"""The default: GP-UCB on a fitted class, insured against a fit that is too smooth.

    start     the first points of one low-discrepancy sequence, shifted at random
    units     values far below the rest are fenced, bad values compressed (``data``)
    fit       Matérn 5/2 with an unknown constant mean, one lengthscale per input, MAP; noise
              estimated, or given
    promise   in turn the argmax of UCB and of log expected improvement, times the chance to succeed
    idle      its value would teach next to nothing → a survey, a look in a widened class, if the
              regret budget p(t) = insurance·t^0.9 pays for it
    patrol    at rate t^(2/3) the next point of the sequence; the leash keeps promises near what
              the patrols found (``patrols``): the theorem
    record    kind, t, prediction

Constants and what each is worth: docs/default.md. What is proved: docs/theory.md#leash.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import MAP, Covariance, Fit, LogNormal, Masked, Matern, Posterior
from noregret.rkhs import merge
from noregret.search import Acquisition, argmax, log_ei, ucb
from noregret.space import Array, SearchSpace
from noregret.strategies.base import (
    UNEXPLAINED,
    Belief,
    Record,
    check_initial_points,
    check_noise_std,
    decision_of,
    default_initial_points,
    with_payload,
)
from noregret.strategies.data import cloud_of, standardise_robustly
from noregret.strategies.exploration import (
    WIDEST,
    Leash,
    information,
    patrol_point,
    patrolled,
    widening_scale,
)
from noregret.strategies.feasibility import SuccessModel, log_above, product_of
from noregret.strategies.surrogate import (
    PLAIN,
    Branched,
    FitRequest,
    SurrogateModel,
    check_surrogate,
    heuristic_belief,
    last_memory,
    previous_fit,
)
from noregret.trials import Decision, Explanation, History, Kind, Limit, Proposal, payload_as

KERNEL = Matern(2.5)
ESTIMATION = MAP(
    prior=LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True),
    noise_prior=LogNormal(-6.0, 2.0),
    ceiling=3.0,
    patience=1.1,
    refresh=1.05,
)
WIDTH = 2.0  # β^½ of UCB, in posterior stds; larger explores more
FULL_WIDTH_INPUTS = 3  # inputs up to which UCB takes all of WIDTH; beyond, WIDTH·3/inputs
CONTEXT_WIDTH = 0.25  # share of WIDTH in a context: changing contexts explore by themselves
# Posterior std, in prior stds over √t, below which an evaluation is uninformative, as it is below
# the noise std. Larger: surveys begin earlier.
MIN_INFORMATIVE_STD = 0.01
# Of t^(2/3): the number of patrols in t decisions, and the least cost of a survey in stds of f, so
# that the number of surveys is sublinear too. Larger: more patrols, fewer surveys.
SHARE = 0.05
BUDGET_GROWTH = 0.9  # exponent of the surveys' budget p(t); 1 would make regret linear
DELTA = 0.1  # failure probability of the band that is shown
Promise = Literal["in turn", "ucb", "log_ei"]
SHIFT = "shift"  # in a decision's payload: where the sequence of this study starts


@dataclass(frozen=True, slots=True, kw_only=True)
class InsuredRecord(Record):
    """The payload of a decision."""

    g: float = 1.0  #: by which the fitted lengthscales were divided, in a survey
    chance_of_failing: float | None = None  #: learnt from failures; None: there were none
    memory: Mapping[str, Any]  #: the surrogate's


@dataclass(frozen=True, slots=True)
class InsuredGPUCB:
    """GP-UCB that may spend a regret budget where nothing is promised.

    Args:
        insurance: c in the budget c·t^0.9 of the regret that surveys may cost in t decisions,
            in standard deviations of f over the space. 0: none, a plain fitted optimizer that may
            stick. Twice as much looks around about twice as often.
        noise_std: Standard deviation of a value's noise, in the values' units; None estimates it,
            0: values are exact, as those of a simulation, and the best of them is recommended.
        initial_points: How many spread points come first; None: two per input, from 3 to 12.
        acquisition: What a promise maximises: "in turn" UCB and log expected improvement, or one of
            the two, "ucb" or "log_ei", always.
        surrogate: How f is modelled, such as ``Warping()`` or ``Additive()``; None: Matérn 5/2
            with one lengthscale per input.

    Raises:
        ConfigurationError: A setting is out of its range.
    """

    algorithm: ClassVar[int] = 5  # raise it with every change of what is proposed

    insurance: float = 0.5
    noise_std: float | None = None
    initial_points: int | None = None
    surrogate: SurrogateModel | None = None
    acquisition: Promise = "in turn"

    def __post_init__(self) -> None:
        number = isinstance(self.insurance, (int, float)) and not isinstance(self.insurance, bool)
        if not (number and 0 <= self.insurance < math.inf):
            raise ConfigurationError(
                "insurance is the regret that surveys may cost, in standard deviations over"
                f" t^0.9, at least 0, got {self.insurance!r}: 0 never looks around, 0.5 is the"
                " default"
            )
        check_noise_std(self.noise_std)
        check_initial_points(self.initial_points)
        if self.acquisition not in get_args(Promise):
            raise ConfigurationError(
                f'acquisition is "in turn", "ucb" or "log_ei", got {self.acquisition!r}'
            )
        check_surrogate(self.surrogate)

    @property
    def theorem(self) -> str:
        if self.insurance == 0:
            return (
                "none: without insurance a fitted class that is too smooth may keep the search in a"
                " local optimum for ever (Bull 2011)."
            )
        return (
            "docs/theory.md#leash: on a box of numbers and choices, and on a short list, the"
            " cumulative regret is sublinear, almost surely, for every continuous f and every"
            " sub-Gaussian noise, as long as patrols do not fail; not with context, limits,"
            " constraints or branches. It says nothing at a finite time: there, the study's"
            " resolution says what cannot have been missed."
        )

    @property
    def proved(self) -> bool:
        return False  # of bands and certificates: theirs is an estimated condition

    def patrols(self, t: int) -> int:
        """How many of the first t decisions are patrols."""
        return math.floor(SHARE * t ** (2 / 3)) if self.insurance else 0

    def budget(self, t: int) -> float:
        """p(t): what surveys may have cost by decision t, in stds of f over the space."""
        return self.insurance * t**BUDGET_GROWTH

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        inputs = space.inputs
        shifts = [each.payload[SHIFT] for each in history.decisions if SHIFT in each.payload]
        shift = np.array(shifts[0]) if shifts else rng.random(space.dimension)
        memory = {} if shifts else {SHIFT: shift.tolist()}
        spread = default_initial_points(inputs.count, "spread")
        count = spread if self.initial_points is None else self.initial_points
        known = len(history.X) + len(history.without_value)
        if known == 0 or known + len(history.pending) < count:
            number = patrolled(history)
            return Proposal(
                patrol_point(space, inputs, number, shift), Decision("initial", payload=memory)
            )
        if len(history.X) == 0:  # no limit was kept yet, and there is no value
            x = SuccessModel.fit(history, inputs.group, rng).search(space, rng)
            return Proposal(x, Decision("feasibility", payload=memory))
        return Asked(self, space, history, rng).propose(shift, memory)

    def explain(self, decision: Decision) -> Explanation:
        record = payload_as(InsuredRecord, decision)
        if record is None or decision.model is None:
            return UNEXPLAINED
        promise = "limited" if record.outcomes else "ucb" if record.exploration else "log_ei"
        rule = promise if decision.model.kind == "promise" else decision.model.kind
        h = merge(record.g, 1.0, len(record.lengthscales))
        return record.explanation(decision, rule, "fit" if record.g == 1 else "both", h=h, b=1.0)

    def check_outcomes(self, limits: Mapping[str, Limit]) -> None:
        """Any limits will do: everything about them is estimated."""

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """The fitted class in the values' own units. Its band is that of docs/theory.md#radius
        under a condition that the data suggest.
        """
        if len(history.X) == 0:
            return None
        asked = Asked(self, space, history.observed, np.random.default_rng(0))
        data = standardise_robustly(history.observed, space, self.noise_std, compress=False)
        slope = float(asked.data.compression.slope(np.ones(1))[0])
        fit = Fit(asked.fit.lengthscales, asked.fit.noise_var / slope**2)
        outcomes = tuple(model.belief() for model in asked.feasibility.outcomes)
        delta = DELTA if delta is None else delta
        belief = heuristic_belief(data, asked.kernel, fit, WIDTH, delta, outcomes)
        told = np.isfinite(history.observed.noise_std).any()
        return replace(belief, exact=self.noise_std == 0 and not told)


class Asked:
    """One decision. It lives for one ask; nothing in it outlives the call."""

    def __init__(
        self, strategy: InsuredGPUCB, space: SearchSpace, history: History, rng: np.random.Generator
    ) -> None:
        fit_rng, argmax_rng = rng.spawn(2)
        self.strategy, self.space, self.history = strategy, space, history
        self.inputs = inputs = space.inputs
        self.seed = int(argmax_rng.integers(2**63))
        self.t = len(history.model_decisions) + 1
        model = strategy.surrogate or (Branched() if inputs.branches else PLAIN)
        skip_compression = getattr(model, "skip_compression", False) or self.in_context
        self.data = standardise_robustly(
            history, space, strategy.noise_std, compress=not skip_compression
        )
        previous, noted = previous_fit(history), last_memory(history)
        surrogate = model.fit(
            FitRequest(self.data, inputs, ESTIMATION, KERNEL, previous, noted, fit_rng)
        )
        self.kernel, self.fit, self.memory = surrogate.kernel, surrogate.fit, surrogate.memory
        self.noise_var = self.data.known_noise(self.fit.noise_var)[1]
        self.posterior = self.condition(self.fit.lengthscales, self.kernel)
        self.fitted = self.data.fitted_mean(self.posterior)
        self.feasibility = SuccessModel.fit(history, inputs.group, rng)
        is_met = self.feasibility.met(history.X)
        self.is_met = bool(is_met.any())
        self.best = float(self.fitted[is_met if self.is_met else slice(None)].max())

    @property
    def in_context(self) -> bool:
        """Whether some inputs are given at every decision: a bad value may then be the best of its
        context.
        """
        decided = [each.fixed for each in self.history.decisions if each.model is not None]
        return self.inputs.in_context or (bool(decided) and None not in decided)

    def condition(self, lengthscales: Array, kernel: Covariance) -> Posterior:
        return self.data.condition(kernel, lengthscales, self.fit.noise_var, kriging=True)

    # -- the decision --

    def propose(self, shift: Array, memory: Mapping[str, Any]) -> Proposal:
        self.start = memory
        strategy, t = self.strategy, self.t
        if strategy.patrols(t) > strategy.patrols(t - 1) and not self.inputs.in_context:
            number = patrolled(self.history)
            return self.proposal(patrol_point(self.space, self.inputs, number, shift), "patrol")
        acquisition = self.acquisition()
        x = self.leashed(self.argmax(acquisition), acquisition)
        if self.is_idle(x) and not self.inputs.in_context:
            survey = self.survey()
            if survey is not None:
                return survey
        return self.proposal(x, "promise")

    @property
    def takes_ucb(self) -> bool:
        """Never with outcome constraints; always in context, where the best mean of other contexts
        says nothing.
        """
        if self.feasibility.outcomes or self.inputs.in_context:
            return not self.feasibility.outcomes
        rule = self.strategy.acquisition
        return self.t % 2 == 0 if rule == "in turn" else rule == "ucb"

    def acquisition(self) -> Acquisition:
        """UCB or log expected improvement times the probability to succeed; that alone while
        nothing feasible is known.
        """
        feasibility = self.feasibility
        if not self.is_met:
            return feasibility.log
        if not self.takes_ucb:
            gain = log_ei(self.posterior, self.best)
        else:
            gain = ucb(self.posterior, self.width)
            if not feasibility.is_certain:
                gain = log_above(gain, float(self.data.y.min()))
        return gain if feasibility.is_certain else product_of(gain, feasibility.log)

    @property
    def width(self) -> float:
        """β^½ of UCB: full in few inputs, in a list and where there are choices."""
        if self.inputs.repeatable or self.inputs.choices:
            return WIDTH
        share = CONTEXT_WIDTH if self.inputs.in_context else 1.0
        return share * WIDTH * min(1.0, FULL_WIDTH_INPUTS / self.inputs.count)

    def argmax(self, acquisition: Acquisition) -> Array:
        """Where every design can be measured again, known and failed ones are left out while there
        are others.
        """
        X = self.posterior.X[: len(self.fitted)]
        merit = self.feasibility.merit(X, self.fitted)
        incumbents = X[np.argsort(-merit, kind="stable")[:3]]
        nowhere = known = np.empty((0, self.space.dimension))
        if self.inputs.repeatable:
            points, std = self.posterior.X, self.posterior.predict(self.posterior.X)[1]
            known = np.vstack([points[std < self.least_std], self.history.failed])
            known = np.unique(known, axis=0)
            every = self.space.enumeration()
            if every is not None and len(known) >= len(every):
                known = nowhere
        rng = np.random.default_rng(self.seed)
        theta = self.posterior.lengthscales
        return argmax(acquisition, self.space, theta, rng, incumbents, nowhere, known)

    @property
    def least_std(self) -> float:
        """The std, in model units, below which a value is known."""
        return MIN_INFORMATIVE_STD / math.sqrt(self.t)

    def is_idle(self, x: Array) -> bool:
        """Whether a value at x would teach next to nothing, of f and of every outcome."""
        std = float(self.posterior.predict(x[None, :])[1][0])
        std = max(std, self.feasibility.least_known(x))
        return std < max(self.least_std, math.sqrt(self.noise_var))

    def leashed(self, x: Array, acquisition: Acquisition) -> Array:
        """x, or if the patrols found its cell too bad the best point of other cells."""
        if self.strategy.insurance == 0 or self.feasibility.outcomes:
            return x
        leash = Leash.from_patrols(self.space, self.inputs, self.history)
        if leash is None or leash.allows(x[None, :])[0]:
            return x
        points = self.space.snap(np.vstack([cloud_of(self.space, self.seed), self.data.X]))
        points = points[leash.allows(points)]
        return points[int(np.argmax(acquisition.values(points)))] if len(points) else x

    # -- surveys --

    def survey(self) -> Proposal | None:
        """A look in a widened class, if the budget pays for it. A survey costs the best mean less
        the mean there, by today's model.
        """
        decided = zip(self.history.decisions, self.history.rows, strict=True)
        surveys = [pair for pair in decided if pair[0].model and pair[0].model.kind == "survey"]
        done = [row for _, row in surveys]
        told = [row for row in done if row is not None]
        best = float(self.fitted.max())
        cost = np.maximum(best - self.fitted[told], SHARE).sum()
        left = self.strategy.budget(self.t) - cost - (len(done) - len(told))
        if left < SHARE:
            return None
        cloud = cloud_of(self.space, self.seed)
        last = payload_as(InsuredRecord, surveys[-1][0]) if surveys else None
        g = widening_scale(self.widened, cloud, 1.0 if last is None else last.g)
        if g == WIDEST:
            return None  # every design is known: no class leaves much open
        widened = self.widened(g)
        gain = information(widened, cloud, self.noise_var)
        x = cloud[int(np.argmax(gain * self.feasibility.chance(cloud)))]
        if best - float(self.posterior.predict(x[None, :])[0][0]) > left:
            return None
        return self.proposal(x, "survey", g, widened)

    def widened(self, g: float) -> Posterior:
        """With all inputs alive: a few equal values are no proof that an option is flat."""
        kernel = self.kernel.kernel if isinstance(self.kernel, Masked) else self.kernel
        return self.condition(self.fit.lengthscales / g, kernel)

    def proposal(
        self, x: Array, kind: Kind, g: float = 1.0, posterior: Posterior | None = None
    ) -> Proposal:
        used, data = posterior or self.posterior, self.data
        mean, std = (float(v[0]) for v in used.predict(x[None, :]))
        fitted = self.fitted if used is self.posterior else data.fitted_mean(used)
        decision = decision_of(
            InsuredRecord,
            data,
            self.t,
            mean,
            std,
            self.fit,
            kind,
            lengthscales=tuple(used.lengthscales.tolist()),
            information_gain=used.information_gain,
            beta_sqrt=WIDTH,
            exploration=self.width / WIDTH if kind == "promise" and self.takes_ucb else None,
            recommended_bound=data.recommended_bound(used, fitted[: len(self.history.X)], WIDTH),
            g=g,
            memory=self.memory,
            **self.feasibility.recorded(x),
        )
        return with_payload(Proposal(x, decision), self.start)
