"""GP-UCB on a class that follows the data, with the band of one radius for all classes.

No grid of lengthscales shares δ; the class may be chosen from the data; a norm bound that the data
refute is lifted; points under way narrow what is asked next and never the band. Model units are
those of B_0: a value is offset + B_0·z. theory.md#radius, theory.md#refuted
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from noregret.errors import ConfigurationError
from noregret.gp import Kernel, SquaredExponential, stationary
from noregret.rkhs import (
    ClassEstimate,
    EvidenceClass,
    FunctionClass,
    Ladder,
    Mixture,
    NoiseFromReplicates,
    RadiusBand,
    Values,
    first_pairs,
    pairs_at,
    radius_band,
    unpaired,
)
from noregret.search import Acquisition, argmax, ucb
from noregret.space import Array, SearchSpace
from noregret.strategies.base import Belief, OutcomeBelief, initial_proposal, random_point
from noregret.strategies.data import LEAST_NOISE, number, scaled, unit_for
from noregret.strategies.rigorous_outcomes import (
    hope,
    may_be_feasible,
    of_outcome,
    optimistic,
    outcome_bands,
    outcome_beliefs,
    propose_without_value,
    search,
)
from noregret.strategies.validation import (
    Assumed,
    check_common,
    check_following,
    check_proved_kernel,
    needs,
    start_lengthscales,
)
from noregret.trials import Decision, History, Limit, ModelDecision, Proposal

LEAST = 1e-4  # times B_0: repeats that agree exactly bound R by 0, and a radius needs more


@dataclass(frozen=True, slots=True)
class RadiusGPUCB:
    """``AdaptiveGPUCB.rigorous``: everything in the values' units and fixed before the data.

    noise_bound: R; the noise is R-sub-Gaussian. A larger one told with a value counts for it. Or
    NoiseFromReplicates(pairs, law): R is not known, so many points are measured twice first.
    delta: the probability with which the band may fail.
    norm_bound: B_0, where the norm ball starts.
    lengthscales: θ_0 on the unit cube; None: √d, its diameter.
    kernel: SquaredExponential or Matern, or a Ladder of them that is descended over time.
    offset: a fixed prior mean.
    following: how the class follows the data.
    initial_points: how many points come before the model; None: 2^d up to four inputs, then 4d.
    outcomes: of a study with limits, what is assumed of each outcome, by its name; delta is then
    shared by all bands.
    """

    noise_bound: float | NoiseFromReplicates = NoiseFromReplicates()
    delta: float = 0.1
    norm_bound: float = 1.0
    lengthscales: float | tuple[float, ...] | None = None
    kernel: Kernel | Ladder = SquaredExponential()
    offset: float = 0.0
    following: EvidenceClass = EvidenceClass()
    initial_points: int | None = None
    outcomes: tuple[tuple[str, Assumed], ...] | Mapping[str, Assumed] = ()
    algorithm: ClassVar[int] = 1  # 0 was another rule of the same name: AdaptiveGPUCB's

    def __post_init__(self) -> None:
        if self.lengthscales is not None and np.ndim(self.lengthscales) > 0:
            lengthscales = tuple(float(v) for v in np.ravel(self.lengthscales))
            object.__setattr__(self, "lengthscales", lengthscales)
        if isinstance(self.noise_bound, NoiseFromReplicates):
            check_common(self, ("norm_bound",))
            self.noise_bound.check(self.delta / 2)
        else:
            check_common(self, ("noise_bound", "norm_bound"))
        if self.noise_bound is None:
            raise ConfigurationError(
                "noise_bound must be a positive number, got None: where R is not known leave it"
                " out, and it is found from repeats"
            )
        for kernel in self._kernels:
            check_proved_kernel(kernel)
        check_following(self.following)
        given = self.outcomes.items() if isinstance(self.outcomes, Mapping) else self.outcomes
        object.__setattr__(self, "outcomes", tuple((name, each) for name, each in given))
        if not all(isinstance(each, Assumed) for each in self.assumed.values()):
            raise ConfigurationError(
                "outcomes says what is assumed of each outcome, such as"
                f' {{"toxicity": Assumed(noise_bound=0.02)}}, got {self.assumed!r}'
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
    def proved(self) -> bool:
        return True

    @property
    def assumed(self) -> dict[str, Assumed]:
        """What is assumed of each outcome."""
        return dict(self.outcomes)

    @property
    def share(self) -> float:
        """The failure probability of one band: δ is shared by the value and all outcomes."""
        return self.delta / (1 + len(self.outcomes))

    def check_outcomes(self, limits: Mapping[str, Limit]) -> None:
        """Something must be assumed of every outcome, and of nothing else."""
        if limits and isinstance(self.noise_bound, NoiseFromReplicates):
            raise ConfigurationError(
                "with limits on outcomes the noise must be bounded by a number: give noise_bound"
                " for the value, and for each outcome its own"
            )
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

    def known(self, history: History) -> tuple[RadiusGPUCB, History] | None:
        """Itself with numbers that floats can compute with, and the history that it may use; None
        while there are too few repeats.

        R found from repeats takes half of delta, and told noise is not used:
        theory.md#unknown-noise. R is raised to ``LEAST_NOISE``·B_0, which keeps it a bound. B_0 is
        raised where the values are far beyond it: the band is then no theorem's.
        """
        rule, told = self.noise_bound, history.noise_std[~np.isnan(history.noise_std)]
        if not isinstance(rule, NoiseFromReplicates):
            unit = unit_for(np.append(history.y, told), self.norm_bound)
            bound = max(rule, LEAST_NOISE * unit)
            return replace(self, noise_bound=bound, norm_bound=unit), history
        rows = pairs(history, rule.pairs)
        if len(rows) < rule.pairs:
            return None
        unit = unit_for(history.y, self.norm_bound)
        raised = unit / self.norm_bound
        differences = np.array([history.y[i] / raised - history.y[j] / raised for i, j in rows])
        bound = number(max(raised * rule.bound(differences, self.delta / 2), LEAST * unit))
        untold = replace(history, noise_std=np.full(len(history.y), math.nan))
        known = replace(self, noise_bound=bound, norm_bound=unit, delta=self.delta / 2)
        return known, untold

    @property
    def _bound(self) -> float:
        assert not isinstance(self.noise_bound, NoiseFromReplicates)  # see ``known``
        return self.noise_bound

    def values(self, history: History) -> Values:
        """What was observed, less the offset, in units of B_0. A told noise may only raise R."""
        told = np.where(np.isnan(history.noise_std), self._bound, history.noise_std)
        y = scaled(history.y, history.sign * self.offset, self.norm_bound)
        return Values(history.X, y, np.maximum(told, self._bound) / self.norm_bound)

    def followed(
        self, space: SearchSpace, history: History, least: float = 0.0
    ) -> tuple[ClassEstimate, RadiusBand]:
        """The class that the data ask for with a norm bound of at least ``least``, and its band.
        Its clock counts the decisions that were told: points under way move nothing.
        """
        start, values = self.initial_class(space.dimension), self.values(history)
        pairs = zip(history.decisions, history.rows, strict=True)
        t = 1 + sum(each.model is not None and row is not None for each, row in pairs)
        if isinstance(self.kernel, Ladder):
            kernel, chosen = self.kernel.estimate(self.following, t, start, values, self.delta)
        else:
            kernel, shortest = self.kernel, self.following.floor(t) ** (1 / space.dimension)
            mixture = Mixture.around(kernel, start, shortest)
            chosen = self.following.estimate(t, start, mixture, values, self.delta)
        held = chosen.function_class
        if held.norm_bound < least:
            lifted, b = FunctionClass(held.lengthscales, least), least / chosen.implied
            chosen = replace(chosen, function_class=lifted, b=b)
        return chosen, radius_band(kernel, chosen.function_class, values, chosen.radius_squared)

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        return self.decided(space, history, rng, lambda shown: ucb(shown, 1.0))

    def decided(
        self,
        space: SearchSpace,
        history: History,
        rng: np.random.Generator,
        acquisition: Callable[[RadiusBand], Acquisition],
    ) -> Proposal:
        """The next initial point, or the argmax of what ``acquisition`` makes of the band."""
        self.initial_class(space.dimension)  # what does not fit the space is refused at once
        known = self.known(history)
        if known is None:
            again = unpaired(history.X, history.pending)
            x = random_point(space, rng, history.failed) if again is None else again
            return Proposal(x, Decision("initial"))
        if known[0] != self:
            found = known[0].decided(space, known[1], rng, acquisition)
            model = found.decision.model
            if model is not None and known[0].norm_bound != self.norm_bound:
                found = replace(
                    found, decision=replace(found.decision, model=replace(model, proved=False))
                )
            if isinstance(self.noise_bound, NoiseFromReplicates):
                return keeping(found, history, self.noise_bound.pairs)
            return found
        first = initial_proposal(space, history, rng, self.initial_points, "uniform")
        if first is not None:
            return first
        if history.outcomes:
            return self._propose_limited(space, history, rng)
        chosen, band = self.followed(space, history)
        lower, upper = band.bounds(history.X)
        incumbents = history.X[np.argsort(-(lower + upper), kind="stable")[:3]]
        shown = band.with_pending(history.under_way)
        theta = chosen.function_class.lengthscales
        avoided = history.failed, history.given_up
        x = argmax(acquisition(shown), space, theta, rng, incumbents, *avoided)
        return Proposal(
            x, Decision("model", self._reasons(space, history, x, chosen, band, shown, lower))
        )

    def _propose_limited(
        self, space: SearchSpace, history: History, rng: np.random.Generator
    ) -> Proposal:
        """By the classes of the decisions; where these leave nothing feasible, by those of the
        beliefs; where these leave nothing either, what comes closest. theory.md#limits
        """
        me, seed = replace(self, delta=self.share), int(rng.integers(2**31))
        if len(history.X) == 0:  # no limit was kept yet, and there is no value
            return propose_without_value(self, space, history, rng)
        limits = outcome_bands(self, space, history)
        chosen, band = me.followed(space, history)
        rule = "optimistic"
        for least in (0.0, 1.0):
            if least:
                limits = outcome_bands(self, space, history, least)
                chosen, band = me.followed(space, history, least)
            shown = band.with_pending(history.under_way)
            theta = chosen.function_class.lengthscales
            lower, upper = band.bounds(history.X)
            top = history.X[np.argsort(-(lower + upper), kind="stable")[:3]]
            x = search(optimistic(shown, limits, space, seed), space, theta, rng, top, history)
            if may_be_feasible(limits, x[None, :])[0]:
                break
        else:
            rule = "infeasible"
            theta = np.min([each.chosen.function_class.lengthscales for each in limits], axis=0)
            x = search(hope(limits), space, theta, rng, top, history)
        told = tuple(each.decision(x) for each in limits)
        reasons = replace(
            me._reasons(space, history, x, chosen, band, shown, lower),
            acquisition=rule,
            outcomes=told,
            chance_feasible=math.prod(each.chance for each in told),
        )
        return Proposal(x, Decision("model", reasons))

    def _reasons(
        self,
        space: SearchSpace,
        history: History,
        x: Array,
        chosen: ClassEstimate,
        band: RadiusBand,
        shown: RadiusBand,
        lower: Array,
    ) -> ModelDecision:
        """The forecast is that of the Gaussian process at c = 1; the width makes its upper end the
        band's.
        """
        reference = band.posteriors[band.reference]
        mean, std = (float(part[0]) for part in reference.predict(x[None, :]))
        below, above = (float(part[0]) for part in shown.bounds(x[None, :]))
        offset, scale = history.sign * self.offset, self.norm_bound
        return ModelDecision(
            t=len(history.model_decisions) + 1,
            h=chosen.g**space.dimension * chosen.b,
            g=chosen.g,
            b=chosen.b,
            lengthscales=tuple(chosen.function_class.lengthscales.tolist()),
            norm_bound=chosen.function_class.norm_bound,
            norm_lower_bound=chosen.norm_lower_bound,
            delta=self.delta,
            beta_sqrt=(above - mean) / std,
            proved=True,  # with points under way too: the width pays for them
            information_gain=reference.information_gain,
            noise_var=(self._bound / scale) ** 2,
            noise_std=self._bound,
            active="both",
            instant_regret_bound=above - below,
            mean=number(offset + scale * mean),
            std=number(scale * std),
            offset=offset,
            scale=scale,
            recommended_bound=number(offset + scale * float(lower.max())),
        )

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
        self, what: str, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """what: in its condition, what has the norm."""
        if len(history.X) == 0:
            return None
        stated = self if delta is None else replace(self, delta=delta)
        found = replace(stated, delta=stated.share).known(history)
        if found is None:
            return None
        me, history = found
        chosen, band = me.followed(space, history, least=1.0)
        index = band.reference
        held = chosen.function_class
        return Belief(
            band.posteriors[index],
            band.widths[index],
            held.lengthscales,
            history.sign * self.offset,
            me.norm_bound,
            stated._condition(what, me, chosen, history, band),
            proved=me.norm_bound == self.norm_bound,
            kernel=stationary(band.posteriors[0].kernel),
            norm_bound=held.norm_bound,
            radius=band,
            refuted=band.refuted,
            outcomes=outcome_beliefs(stated, space, history),
        )

    def _condition(
        self,
        what: str,
        known: RadiusGPUCB,
        chosen: ClassEstimate,
        history: History,
        band: RadiusBand,
    ) -> str:
        unit = known.norm_bound
        under = f" under {band.posteriors[0].kernel!r}" if isinstance(self.kernel, Ladder) else ""
        theta = ", ".join(f"{v:.3g}" for v in chosen.function_class.lengthscales)
        least, implied = chosen.norm_lower_bound * unit, chosen.implied * unit
        given = "" if chosen.b >= 1 else f"; the bound that was given implies only {implied:.3g}"
        text = (
            f"with probability at least {1 - self.delta:g} if {what} has RKHS norm at"
            f" most {chosen.function_class.norm_bound * unit:.3g} at lengthscales [{theta}]{under};"
            f" the data require {least:.3g}{given}."
            f" {needs(known._bound, history, at_least=True)} The"
            " class follows the data, so the bound need not fall for good."
        )
        if isinstance(self.noise_bound, NoiseFromReplicates):
            text = f"{text} {self.noise_bound.words}"
        if unit != self.norm_bound:
            text = f"not proved (values are far beyond norm_bound {self.norm_bound:g}): {text}"
        return f"refuted by the data: {text}" if band.refuted else text


REPEATED = "repeated"  # in the memory of a decision: the points of the pairs


def kept_places(history: History, count: int) -> Array | None:
    """(count, d): the points of the pairs that the first decision of the model kept, if any did."""
    for each in history.decisions:
        places = np.array(each.memory.get(REPEATED, ()), dtype=np.float64)
        if places.shape == (count, history.X.shape[1]):
            return places
    return None


def pairs(history: History, count: int) -> list[tuple[int, int]]:
    """The rows of the repeats that bound the noise, fewer than ``count`` if there are too few."""
    places = kept_places(history, count)
    rows = [] if places is None else pairs_at(history.X, places)
    return rows if len(rows) == count else first_pairs(history.X, count)


def keeping(proposal: Proposal, history: History, count: int) -> Proposal:
    """With the points of the pairs, if it is the first of a model."""
    decision = proposal.decision
    if decision.model is None or kept_places(history, count) is not None:
        return proposal
    places = history.X[[first for first, _ in pairs(history, count)]]
    memory = {**decision.memory, REPEATED: places.tolist()}
    return replace(proposal, decision=replace(decision, memory=memory))
