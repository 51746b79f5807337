"""GP-UCB on a class chosen by the data, with the band of one radius for all classes.

No grid of lengthscales shares δ, so the class may depend on the data. A norm bound that the data
refute is raised. Pending points narrow the next acquisition and never the band. Model units are
those of B_0: a value is offset + B_0·z. theory.md#radius, theory.md#refuted
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from noregret.errors import DELTA_HINT, ConfigurationError, check_range
from noregret.gp import Kernel, SquaredExponential, stationary
from noregret.rkhs import (
    EvidenceClass,
    FunctionClass,
    Ladder,
    NoiseFromReplicates,
    RadiusBand,
    Values,
    first_pairs,
    merge,
    noise_refuted,
    on_noise_grid,
    pairs_at,
    radius_band,
    unpaired,
)
from noregret.search import Acquisition, argmax, ucb
from noregret.space import Array, SearchSpace
from noregret.strategies.base import (
    ACTIVE,
    UNEXPLAINED,
    Belief,
    OutcomeBelief,
    Record,
    check_initial_points,
    decision_of,
    initial_proposal,
    random_point,
    with_payload,
)
from noregret.strategies.data import LEAST_NOISE, ModelData, number, scaled, unit_for
from noregret.strategies.rigorous_outcomes import (
    ClassBand,
    OutcomeAssumptions,
    OutcomeBand,
    best_case_margin,
    margin_bands,
    margin_history,
    may_be_feasible,
    of_outcome,
    optimistic,
    outcome_beliefs,
    search,
)
from noregret.strategies.validation import (
    check_class,
    check_following,
    check_proved_kernel,
    needs,
    norm_condition,
    start_lengthscales,
)
from noregret.trials import Decision, Explanation, History, Limit, Proposal, payload_as

LEAST = 1e-4  # times B_0, the smallest R: replicates that agree exactly would bound it by 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RadiusRecord(Record):
    """The payload of a decision."""

    rule: str  #: "ucb"; with outcome constraints "optimistic" or "infeasible"
    g: float = 1.0  #: the lengthscales' share of the growth
    b: float = 1.0  #: the norm ball's share of it
    norm_bound: float | None = None  #: B_t
    norm_lower_bound: float | None = None  #: what the data require of ‖f‖ at θ_t

    @property
    def h(self) -> float:
        return merge(self.g, self.b, len(self.lengthscales))

    @property
    def active(self) -> str:
        """What set the class, and the data's lower bound on the norm."""
        if self.norm_lower_bound is None or self.norm_bound is None:
            return ACTIVE["both"]
        least, most = self.scale * self.norm_lower_bound, self.scale * self.norm_bound
        return (
            f"{ACTIVE['both']} The data require a norm of {least:.3g} at least; the class allows"
            f" {most:.3g}."
        )


@dataclass(frozen=True, slots=True)
class RadiusGPUCB:
    """GP-UCB with a confidence band that holds for unknown lengthscales; everything is in the
    values' units and fixed before the data.

    Args:
        noise_bound: R; the noise is R-sub-Gaussian. A larger one told with a value counts for that
            value. NoiseFromReplicates(pairs, law): R is not known, and points are measured twice
            first.
        delta: The probability with which the band may fail.
        norm_bound: B_0, where the norm ball starts.
        lengthscales: θ_0 on the unit cube; None: √d, its diameter.
        kernel: SquaredExponential or Matern, or a Ladder of them that is descended over time.
        offset: A fixed prior mean.
        following: How the class follows the data.
        initial_points: How many points come before the model; None: 2^d up to four inputs, then 4d.
        outcomes: For a study with limits, what is assumed of each outcome, by its name; all bands
            share delta.
        check_pairs: How many initial points are measured twice, to refute a noise_bound that is
            too small: 14 find one of half the true size in nine of ten studies, 6 one of a third, 2
            one of a tenth.

    Raises:
        ConfigurationError: A setting is impossible.
        GuaranteeError: The theorem does not hold for a setting.
    """

    noise_bound: float | NoiseFromReplicates = NoiseFromReplicates()
    delta: float = 0.1
    norm_bound: float = 1.0
    lengthscales: float | tuple[float, ...] | None = None
    kernel: Kernel | Ladder = SquaredExponential()
    offset: float = 0.0
    following: EvidenceClass = EvidenceClass()
    initial_points: int | None = None
    outcomes: tuple[tuple[str, OutcomeAssumptions], ...] | Mapping[str, OutcomeAssumptions] = ()
    check_pairs: int = 0
    proved: ClassVar[bool] = True
    # 0 was another rule of the same name, AdaptiveGPUCB's; 1 scaled all inputs by one number
    algorithm: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_range("delta", self.delta, "(0, 1)", DELTA_HINT)
        if self.noise_bound is None:
            raise ConfigurationError(
                "noise_bound must be a positive number, got None: leave it out where R is unknown,"
                " and it is found from replicates"
            )
        if isinstance(self.noise_bound, NoiseFromReplicates):
            check_class(self, ("norm_bound",))
            self.noise_bound.check(self.delta / 2)
        else:
            check_class(self, ("noise_bound", "norm_bound"))
        check_initial_points(self.initial_points)
        hint = "how many points are measured twice, to test the noise bound"
        check_range("check_pairs", self.check_pairs, "[0, ∞)", hint, whole=True)
        if self.check_pairs and isinstance(self.noise_bound, NoiseFromReplicates):
            raise ConfigurationError(
                "check_pairs tests a noise_bound that is given; without one it is found from"
                " repeats: leave out check_pairs, or give noise_bound"
            )
        for kernel in self._kernels:
            check_proved_kernel(kernel)
        check_following(self.following)
        given = self.outcomes.items() if isinstance(self.outcomes, Mapping) else self.outcomes or ()
        object.__setattr__(self, "outcomes", tuple((name, each) for name, each in given))
        if not all(isinstance(each, OutcomeAssumptions) for each in self.assumed.values()):
            raise ConfigurationError(
                "outcomes says what is assumed of each outcome, such as"
                f' {{"toxicity": OutcomeAssumptions(noise_bound=0.02)}}, got {self.assumed!r}'
            )

    @property
    def theorem(self) -> str:
        return (
            "docs/theory.md, one radius for all classes: with probability at least 1 − delta the"
            " band contains f at all times at which the class does, and from some time on it does;"
            " the cumulative regret is sublinear (Matérn: if 2ν > d for the last kernel; below, the"
            f" band holds all the same). Needs noise that is {self._noise_words}, a finite RKHS"
            " norm of f − offset for some lengthscales ≤ θ_0, trials that neither fail nor are told"
            " late because of their noise, a bounded number of them under way at a time, and an"
            " argmax of UCB found to precision."
        )

    @property
    def _noise_words(self) -> str:
        if not isinstance(self.noise_bound, NoiseFromReplicates):
            return "noise_bound-sub-Gaussian"
        kind = "Gaussian" if self.noise_bound.law == "gaussian" else "strictly sub-Gaussian"
        return f"{kind} and the same everywhere (docs/theory.md#unknown-noise)"

    @property
    def assumed(self) -> dict[str, OutcomeAssumptions]:
        """What is assumed of each outcome."""
        return dict(self.outcomes)

    @property
    def share(self) -> float:
        """The failure probability of one band: δ is shared by the value and all outcomes."""
        return self.delta / (1 + len(self.outcomes))

    def check_outcomes(self, limits: Mapping[str, Limit]) -> None:
        """Checks that every outcome has assumptions, and nothing else has."""
        for name, limit in limits.items():
            of_outcome(self, name, limit)
        strange = [name for name in self.assumed if name not in limits]
        if strange:
            raise ConfigurationError(
                f"the strategy assumes something of {strange!r}, which are no outcomes of the"
                f" study: those are {list(limits)!r}"
            )

    @property
    def _kernels(self) -> tuple[Kernel, ...]:
        return self.kernel.rungs if isinstance(self.kernel, Ladder) else (self.kernel,)

    def initial_class(self, dimension: int) -> FunctionClass:
        """(θ_0, 1): norms are in units of B_0."""
        return FunctionClass(start_lengthscales(self.lengthscales, dimension), 1.0)

    def with_known_noise(self, history: History, of: str = "") -> RadiusGPUCB | None:
        """The strategy with a numeric noise bound in a safe range; None while there are too few
        replicates. of: the name of the outcome whose history it is.

        R found from repeats takes half of delta, and where noise is told a share of the other half:
        theory.md#unknown-noise. R is raised to ``LEAST_NOISE``·B_0, which keeps it a bound. B_0 is
        raised where the values are far beyond it: the band is then no theorem's.
        """
        rule, told = self.noise_bound, history.noise_std[~np.isnan(history.noise_std)]
        if not isinstance(rule, NoiseFromReplicates):
            unit = unit_for(np.append(history.y, told), self.norm_bound)
            bound = max(rule, LEAST_NOISE * unit)
            return replace(self, noise_bound=bound, norm_bound=unit)
        rows = replicate_pairs(history, rule.pairs, of)
        if len(rows) < rule.pairs:
            return None
        unit = unit_for(np.append(history.y, told), self.norm_bound)
        raised = unit / self.norm_bound
        differences = np.array([history.y[i] / raised - history.y[j] / raised for i, j in rows])
        bound = number(max(raised * rule.bound(differences, self.delta / 2), LEAST * unit))
        share = 0.5
        if len(told):
            bound, weight = on_noise_grid(bound, unit)
            share *= weight
        return replace(self, noise_bound=bound, norm_bound=unit, delta=share * self.delta)

    @property
    def _bound(self) -> float:
        assert not isinstance(self.noise_bound, NoiseFromReplicates)  # see ``with_known_noise``
        return self.noise_bound

    def values(self, history: History) -> Values:
        """What was observed, less the offset, in units of B_0. A told noise may only raise R."""
        told = np.where(np.isnan(history.noise_std), self._bound, history.noise_std)
        y = scaled(history.y, history.sign * self.offset, self.norm_bound)
        return Values(history.X, y, np.maximum(told, self._bound) / self.norm_bound)

    def estimated_class(
        self, space: SearchSpace, history: History, least: float = 0.0, pending: Array | None = None
    ) -> ClassBand:
        """The class estimated from the data, with a norm bound of at least ``least``, and its band.
        t counts decisions with values: pending points do not move it.
        """
        start, values = self.initial_class(space.dimension), self.values(history)
        pairs = zip(history.decisions, history.rows, strict=True)
        t = 1 + sum(each.model is not None and row is not None for each, row in pairs)
        kernel, chosen = self.following.estimate(self.kernel, t, start, values, self.delta)
        held = chosen.function_class
        if held.norm_bound < least:
            lifted, b = FunctionClass(held.lengthscales, least), least / chosen.implied
            chosen = replace(chosen, function_class=lifted, b=b)
        band = radius_band(kernel, chosen.function_class, values, chosen.radius_squared)
        return ClassBand(
            self, chosen, band, band if pending is None else band.with_pending(pending)
        )

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        return self.propose_with(space, history, rng, lambda shown: ucb(shown, 1.0), 1.0)

    def propose_with(
        self,
        space: SearchSpace,
        history: History,
        rng: np.random.Generator,
        acquisition: Callable[[RadiusBand], Acquisition],
        exploration: float | None = None,
    ) -> Proposal:
        """The next initial point, or the argmax of what ``acquisition`` makes of the band.
        exploration: by how much it multiplies the width, if it is an upper confidence bound.
        """
        self.initial_class(space.dimension)  # what does not fit the space is refused at once
        repeated = self.noise_from_replicates(history)
        for of, part, count in repeated:
            if len(replicate_pairs(part, count, of)) < count:
                again = unpaired(part.X, part.pending)
                x = random_point(space, rng, history.failed) if again is None else again
                return Proposal(x, Decision("initial"))
        me = self.with_known_noise(history)
        assert me is not None
        planned = planned_points(history)
        if len(planned) < 2 * self.check_pairs and not space.fixed:
            twice = len(planned) % 2 == 1
            x = planned[-1] if twice else random_point(space, rng, history.failed)
            return Proposal(x, Decision("initial", payload={PLANNED: x.tolist()}))
        first = initial_proposal(space, history, rng, self.initial_points, "uniform")
        if first is not None:
            return first
        if history.outcomes:
            proposal = self._propose_within_limits(space, history, rng)
        else:
            value = me.estimated_class(space, history, pending=history.under_way)
            theta, top = value.lengthscales, value.incumbents(history.X)
            avoided = history.failed, history.given_up
            x = argmax(acquisition(value.pending_band), space, theta, rng, top, *avoided)
            proposal = me._proposal(history, x, theta, "ucb", value, exploration=exploration)
        if me.norm_bound != self.norm_bound:
            proposal = with_payload(proposal, {"proved": False})
        return pin_replicates(proposal, history, repeated)

    def noise_from_replicates(self, history: History) -> list[tuple[str, History, int]]:
        """Name ("" for the value), history and number of pairs of each unknown noise bound."""
        parts = [("", self.noise_bound, history)]
        for margins in history.outcomes:
            rule = self.assumed[margins.name].noise_bound
            parts.append((margins.name, rule, margin_history(history, margins)))
        return [
            (of, part, rule.pairs)
            for of, rule, part in parts
            if isinstance(rule, NoiseFromReplicates)
        ]

    def _propose_within_limits(
        self, space: SearchSpace, history: History, rng: np.random.Generator
    ) -> Proposal:
        """By the classes of the decisions; where these leave nothing feasible, by those of the
        beliefs; where these leave nothing either, what comes closest. While no value is known its
        upper end is the same everywhere: any point of the optimistic set is then an argmax, and the
        one with the best hope is taken. theory.md#limits
        """
        me, seed = (
            replace(self, delta=self.share).with_known_noise(history),
            int(rng.integers(2**31)),
        )
        assert me is not None
        value, top = None, history.without_value[:3]
        for least in (0.0, 1.0):
            limits = margin_bands(self, space, history, least)
            theta = shortest = np.min([each.lengthscales for each in limits], axis=0)
            acquisition = best_case_margin(limits)
            if len(history.X):
                value = me.estimated_class(space, history, least, history.under_way)
                theta, top = value.lengthscales, value.incumbents(history.X)
                acquisition = optimistic(value.pending_band, limits, space, seed)
            x = search(acquisition, space, theta, rng, top, history)
            if may_be_feasible(limits, x[None, :])[0]:
                return me._proposal(history, x, theta, "optimistic", value, limits)
        if len(history.X):
            x = search(best_case_margin(limits), space, shortest, rng, top, history)
        return me._proposal(history, x, theta, "infeasible", value, limits)

    def _proposal(
        self,
        history: History,
        x: Array,
        theta: Array,
        rule: str,
        value: ClassBand | None,
        limits: tuple[OutcomeBand, ...] = (),
        exploration: float | None = None,
    ) -> Proposal:
        """x with what is recorded of it. The forecast is that of the Gaussian process at c = 1,
        before any value that of the class; the width makes its upper end the band's.
        """
        outcomes = tuple(each.decision(x) for each in limits)
        record: dict[str, Any] = {"rule": rule, "exploration": exploration, "outcomes": outcomes}
        if outcomes:
            record["chance_feasible"] = math.prod(each.chance for each in outcomes)
        offset, unit = history.sign * self.offset, self.norm_bound
        mean, std = 0.0, 1.0
        if value is not None:
            chosen, band = value.estimate, value.band
            mean, std = value.forecast(x)
            above = float(value.pending_band.upper(x[None, :])[0])
            record |= {
                "g": chosen.g,
                "b": chosen.b,
                "norm_bound": chosen.function_class.norm_bound,
                "norm_lower_bound": chosen.norm_lower_bound,
                "beta_sqrt": (above - mean) / std,
                "proved": True,  # with points under way too: the width pays for them
                "information_gain": band.posteriors[band.reference].information_gain,
                "recommended_bound": number(offset + unit * float(band.bounds(history.X)[0].max())),
            }
        bound = self._bound / unit
        data = ModelData(history.X, history.y, history.y, bound**2, history.X[:0], offset, unit, 0)
        t = len(history.model_decisions) + 1
        own = {"lengthscales": tuple(theta.tolist()), **record}
        return Proposal(x, decision_of(RadiusRecord, data, t, mean, std, None, **own))

    def explain(self, decision: Decision) -> Explanation:
        record = payload_as(RadiusRecord, decision)
        if record is None:
            return UNEXPLAINED
        return record.explanation(decision, record.rule, record.active, h=record.h)

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """From observed values only: points under way do not narrow it. Decisions start with an
        eighth of what B_0 implies, which costs less regret where f is smaller than its norm; what
        is stated about f has at least B_0, and says so if that is not implied. theory.md#refuted
        """
        return self.belief_about(f"f − {self.offset:g}", space, history, delta)

    def about_outcomes(self, space: SearchSpace, history: History) -> tuple[OutcomeBelief, ...]:
        """What is held of the limits; needs no value."""
        return outcome_beliefs(self, space, history)

    def belief_about(
        self,
        what: str,
        space: SearchSpace,
        history: History,
        delta: float | None = None,
        of: str = "",
    ) -> Belief | None:
        """what: in its condition, what has the norm; of: the outcome's name."""
        if len(history.X) == 0:
            return None
        stated = self if delta is None else replace(self, delta=delta)
        me = replace(stated, delta=stated.share).with_known_noise(history, of)
        if me is None:
            return None
        wrong = stated.refutes_noise(history)
        value = me.estimated_class(space, history, least=1.0)
        band, held = value.band, value.estimate.function_class
        index = band.reference
        return Belief(
            band.posteriors[index],
            band.widths[index],
            held.lengthscales,
            history.sign * self.offset,
            me.norm_bound,
            stated._condition(what, value, history, wrong),
            proved=me.norm_bound == self.norm_bound,
            kernel=stationary(band.posteriors[0].kernel),
            norm_bound=held.norm_bound,
            radius=band,
            refuted=band.refuted or wrong,
            outcomes=outcome_beliefs(stated, space, history),
        )

    def refutes_noise(self, history: History) -> bool:
        """Whether values at one point differ by more than noise_bound allows. If it is right, that
        happens with probability at most delta. theory.md#noise-refuted
        """
        if isinstance(self.noise_bound, NoiseFromReplicates):
            return False
        bounds = np.fmax(history.noise_std, self._bound)
        rows = [
            row
            for each, row in zip(history.decisions, history.rows, strict=True)
            if PLANNED in each.payload and row is not None
        ]
        planned = [(rows[i], rows[j]) for i, j in first_pairs(history.X[rows], len(rows))]
        return noise_refuted(history.X, history.y, bounds, planned, self.delta)

    def _condition(
        self, what: str, value: ClassBand, history: History, noise_is_wrong: bool
    ) -> str:
        known, chosen, band = value.strategy, value.estimate, value.band
        unit = known.norm_bound
        under = f" under {band.posteriors[0].kernel!r}" if isinstance(self.kernel, Ladder) else ""
        held = chosen.function_class
        condition = norm_condition(self.delta, what, held.norm_bound * unit, held.lengthscales)
        least, implied = chosen.norm_lower_bound * unit, chosen.implied * unit
        given = "" if chosen.b >= 1 else f"; the bound that was given implies only {implied:.3g}"
        text = (
            f"{condition}{under}; the data require {least:.3g}{given}."
            f" {needs(known._bound, history, at_least=True)} The class follows the data, so the"
            " bound need not fall for good."
        )
        if isinstance(self.noise_bound, NoiseFromReplicates):
            text = f"{text} {self.noise_bound.words}"
        if unit != self.norm_bound:
            text = f"not proved (values are far beyond norm_bound {self.norm_bound:g}): {text}"
        if noise_is_wrong:
            text = f"values at one point differ by more than the noise bound allows; {text}"
        return f"refuted by the data: {text}" if band.refuted or noise_is_wrong else text


PLANNED = "planned pair"  # in the payload of a decision: a point that is measured twice


def planned_points(history: History) -> list[Array]:
    """The points of planned pairs that were asked for, each as often as it was."""
    asked = (each.payload.get(PLANNED) for each in history.decisions)
    return [np.array(point, dtype=np.float64) for point in asked if point is not None]


REPEATED = "repeated"  # in the payload of a decision: the points of the pairs


def pinned_points(history: History, count: int, of: str) -> Array | None:
    """(count, d): the points of the pairs recorded by the model's first decision, if any."""
    for each in history.decisions:
        places = np.array(each.payload.get(REPEATED, {}).get(of, ()), dtype=np.float64)
        if places.shape == (count, history.X.shape[1]):
            return places
    return None


def replicate_pairs(history: History, count: int, of: str) -> list[tuple[int, int]]:
    """The rows of the replicates that bound the noise; fewer than ``count`` if too few."""
    places = pinned_points(history, count, of)
    rows = [] if places is None else pairs_at(history.X, places)
    return rows if len(rows) == count else first_pairs(history.X, count)


def pin_replicates(
    proposal: Proposal, history: History, repeated: list[tuple[str, History, int]]
) -> Proposal:
    """The proposal with the points of the pairs recorded, if it is the model's first."""
    first = next(iter(repeated), None)
    if proposal.decision.model is None or first is None:
        return proposal
    if pinned_points(history, first[2], first[0]) is not None:
        return proposal
    places = {
        of: part.X[[row for row, _ in replicate_pairs(part, count, of)]].tolist()
        for of, part, count in repeated
    }
    return with_payload(proposal, {REPEATED: places})
