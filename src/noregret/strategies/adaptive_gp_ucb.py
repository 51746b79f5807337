"""A-GP-UCB: Berkenkamp, Schoellig, Krause, "No-Regret Bayesian Optimization with Unknown
Hyperparameters", JMLR 2019.

Alg. 1 with the adaptive scaling of sec. 4.1 and the online estimation of sec. 4.2. ``paper`` has
the formulas as printed; ``rigorous`` is the repaired theorem, a separate strategy. ``Step`` is one
decision: it answers what a widening rule asks (``widening.Probe``) and then makes the proposal.
Equation numbers are those of JMLR. theory.md#algorithm
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property
from typing import ClassVar

import numpy as np

from noregret.errors import GuaranteeWarning, check_one_of
from noregret.gp import MAP, Kernel, Posterior, SquaredExponential
from noregret.rkhs import (
    AnchoredReference,
    Estimator,
    FunctionClass,
    Information,
    LogGrowth,
    Mixture,
    NormPower,
    NoWidening,
    PowerReference,
    ReferenceRegret,
    Scaling,
    Values,
    Widening,
    WidthName,
    confidence,
    norm_lower_bound,
)
from noregret.rkhs.evidence_class import FINENESS
from noregret.rkhs.radius import LENGTHS, radius_squared
from noregret.search import Acquisition, argmax, ucb
from noregret.space import Array, SearchSpace
from noregret.strategies.base import (
    UNEXPLAINED,
    Belief,
    Design,
    Record,
    decision_of,
    initial_proposal,
    records_of,
)
from noregret.strategies.data import LEAST_NOISE, standardise
from noregret.strategies.rigorous import RadiusGPUCB
from noregret.strategies.surrogate import estimate
from noregret.strategies.validation import (
    check_adaptive,
    fixed_class_theorem,
    needs,
    norm_condition,
    radius_theorem,
    start_lengthscales,
)
from noregret.trials import Decision, Explanation, History, Proposal, payload_as

LARGEST_GAIN = 1e150  # nats, of an extrapolated information gain in hundreds of inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassRecord(Record):
    """The payload of a decision."""

    h: float = 1.0  #: growth of the class as the rule computed it: g^d·b but for rounding
    g: float = 1.0  #: the lengthscales' share of it
    b: float = 1.0  #: the norm ball's share of it
    norm_bound: float  #: B_t
    reference: float | None = None  #: what a widening rule compared with
    reference_scale: float | None = None  #: its unit, fixed at the first decision
    estimate: float | None = None  #: what it compared

    @property
    def instant_regret_bound(self) -> float:
        return 2 * (self.beta_sqrt or 0.0) * (self.latent_std or 0.0)  # JMLR eq. (16)


@dataclass(frozen=True, slots=True)
class Model:
    """A function class with the data: posterior, width, and μ at the evaluated points."""

    function_class: FunctionClass
    posterior: Posterior
    beta_sqrt: float
    fitted: Array


class Step:
    """Implements ``widening.Probe``."""

    def __init__(
        self,
        strategy: AdaptiveGPUCB,
        space: SearchSpace,
        history: History,
        rng: np.random.Generator,
    ) -> None:
        fit_rng, argmax_rng = rng.spawn(2)
        self.strategy, self.space, self.history = strategy, space, history
        self.data = standardise(
            history,
            rescale=strategy.standardise,
            offset=strategy.offset,
            noise_std=strategy.noise_std,
            regulariser=strategy.regulariser,
        )
        self.start, kernel = strategy.initial_class(space.dimension), strategy.kernel
        theta = self.start.lengthscales
        self.fit = estimate(self.data, kernel, strategy.estimation, theta, history, fit_rng)
        self.seed = int(argmax_rng.integers(2**63))
        decided = len(history.model_decisions)
        self.t = decided + 1
        self.initial = len(history.decisions) - decided
        self.dimension = space.dimension
        records = list(records_of(ClassRecord, history))[::-1]
        self.previous = _widest(records)
        self._frozen_regret = sum(each.instant_regret_bound for each in records)
        self.model, self.choice = cache(self._model), cache(self._choice)
        self._radius_squared = cache(self._mixture_radius)

    @property
    def proved(self) -> bool:
        """Whether a theorem covers the band now; none does while pending points narrow it."""
        in_units = self.data.scale == 1.0  # not so where values are beyond what floats reach
        return self.strategy.proved and in_units and len(self.data.pending) == 0

    # -- the class, the model, the choice at a scaling (g, b) --

    def function_class(self, g: float, b: float) -> FunctionClass:
        """(θ_t, B_t)."""
        s = self.strategy
        if s.estimation is None or self.fit is None:
            lengthscales = self.start.lengthscales / g
        else:
            lengthscales = s.estimation.combined(self.fit.lengthscales, self.start.lengthscales, g)
        if s.width == "radius":  # down to θ_0·2^(−k/8): theory.md#proved-rule
            steps = FINENESS * np.log2(self.start.lengthscales / lengthscales)
            lengthscales = self.start.lengthscales * 2.0 ** (-np.ceil(steps - 1e-9) / FINENESS)
        if s.width == "srinivas":
            b *= confidence.srinivas_growth(self.t)
        if s.charge_estimate:
            return self.start.at(lengthscales, b, s.norm_power)
        bound = self.start.widened(g, b, s.norm_power).norm_bound
        return FunctionClass(lengthscales, bound)  # as in JMLR Alg. 1

    def _model(self, g: float, b: float) -> Model:
        function_class, s = self.function_class(g, b), self.strategy
        posterior = self.data.condition(s.kernel, function_class.lengthscales, self._noise_var)
        information = posterior.information_gain
        if s.width == "radius":
            explained = float(posterior.z @ posterior.z) / s.noise_ratio**2  # (λ/R²)·yᵀ(K + λ)⁻¹y
            radius_sq = self.radius_squared(function_class.lengthscales)
            information = (radius_sq - explained) / 2 - math.log(1 / s.delta)
        width = s.beta_sqrt(function_class.norm_bound, information)
        return Model(function_class, posterior, width, self.data.fitted_mean(posterior))

    @cached_property
    def values(self) -> Values:
        """What was observed; λ_i = λ·(R_i/R)², see ``standardise``."""
        data = self.data
        return Values(data.X, data.y, self.strategy.noise_ratio * np.sqrt(data.told))

    def radius_squared(self, lengthscales: Array) -> float:
        """ρ², of a mixture whose shortest members are at least as short as these lengthscales; it
        bounds the residual of f whatever class is asked. theory.md#radius
        """
        steps = 2 * math.log2(float(np.max(self.start.lengthscales / lengthscales)))
        return self._radius_squared(max(math.ceil(steps - 1e-9), LENGTHS - 1))

    def _mixture_radius(self, steps: int) -> float:
        kernel, delta = self.strategy.kernel, self.strategy.delta
        mixture, ratios = Mixture.fitted(kernel, self.start, self.values, 2.0 ** (steps / 2))
        return radius_squared(ratios, mixture.weights, delta)

    def refutes(self, held: FunctionClass) -> bool:
        """Whether no f of the class lies within the radius of the forecasters: those of its own
        kernel where the width is that of one fixed kernel.
        """
        s, values = self.strategy, self.values
        if s.width == "radius":
            radius_sq = self.radius_squared(held.lengthscales)
        else:
            own = held.lengthscales[None, :], np.array([s.noise_ratio]), np.ones(1)
            radius_sq = Mixture(s.kernel, *own).radius_squared(values, s.delta)
        least = norm_lower_bound(s.kernel, held.lengthscales, values, radius_sq)
        return least > held.norm_bound  # theory.md#refuted

    @property
    def _noise_var(self) -> float:
        return math.nan if self.fit is None else self.fit.noise_var

    def _choice(self, g: float, b: float) -> Array:
        """x_{t+1} for this scaling; every scaling sees the same random candidates."""
        model = self.model(g, b)
        acquisition = ucb(model.posterior, model.beta_sqrt)
        return self.maximise(acquisition, model, np.random.default_rng(self.seed))

    def maximise(self, acquisition: Acquisition, model: Model, rng: np.random.Generator) -> Array:
        """The argmax, searched around the three evaluated points with the best mean."""
        posterior = model.posterior
        incumbents = posterior.X[np.argsort(-model.fitted, kind="stable")[:3]]
        failed = self.history.failed
        return argmax(acquisition, self.space, posterior.lengthscales, rng, incumbents, failed)

    # -- widening.Probe --

    def regret_bound(self, g: float, b: float, information: Information) -> float:
        """√(C_1 t β_t Î), theory.md#bound-estimator. A radius has its own β_t, without Î."""
        kernel, d = self.strategy.kernel, self.dimension
        function_class = self.function_class(g, b)
        if information == "exact":
            gain = self.model(g, b).posterior.information_gain
        else:
            base = self.model(self.previous.g, self.previous.b)
            gain = base.posterior.information_gain
            with np.errstate(over="ignore"):  # in hundreds of inputs
                if information == "printed":
                    growth = float(np.float64(g) ** kernel.capacity_exponent(d, printed=True))
                else:
                    theta = function_class.lengthscales
                    volume = np.prod(base.function_class.lengthscales / theta)
                    # (g/g_{t−1})^e, e = d for SE
                    growth = float(volume ** (kernel.capacity_exponent(d) / d))
            gain = min(gain * growth, LARGEST_GAIN)
        per_point, common = self.data.known_noise(self._noise_var)
        c_1 = 8 / math.log1p(1 / max(float(per_point.max()), common))
        if self.strategy.width == "radius":
            width = self.model(g, b).beta_sqrt
        else:
            width = self.strategy.beta_sqrt(function_class.norm_bound, gain)
        return math.sqrt(c_1 * self.t * gain) * width

    def one_step_regret(self, g: float, b: float) -> float:
        """Σ_{j<t} 2β_j^½σ_j(x_{j+1}), frozen, plus this step's, theory.md#one-step."""
        instant = 2 * self.model(g, b).beta_sqrt * self.std_at_argmax(g, b)  # JMLR eq. (16)
        return self._frozen_regret + instant

    def std_at_argmax(self, g: float, b: float) -> float:
        return float(self.model(g, b).posterior.predict(self.choice(g, b)[None, :])[1][0])

    # -- the proposal --

    def proposal(self, scaling: Scaling, x: Array, exploration: float | None = 1.0) -> Proposal:
        """x with the decision to record."""
        s, data, model = self.strategy, self.data, self.model(scaling.g, scaling.b)
        mean, std = (float(part[0]) for part in model.posterior.predict(x[None, :]))
        held, of_scaling = model.function_class, asdict(scaling)
        if s.regulariser is not None:
            of_scaling["noise_std"] = float(s.noise_std or 0.0)
        fitted = model.fitted[: len(self.history.X)]
        decision = decision_of(
            ClassRecord,
            data,
            self.t,
            mean,
            std,
            self.fit,
            **of_scaling,
            lengthscales=tuple(held.lengthscales.tolist()),
            norm_bound=held.norm_bound,
            beta_sqrt=model.beta_sqrt,
            exploration=exploration,
            proved=self.proved and not held.is_full,
            information_gain=model.posterior.information_gain,
            recommended_bound=data.recommended_bound(model.posterior, fitted, model.beta_sqrt),
        )
        return Proposal(x, decision)

    def belief(self, scaling: Scaling, more: str, proved: bool) -> Belief:
        """The class at a scaling given the data; ``more`` ends the condition of its band."""
        s, data, model = self.strategy, self.data, self.model(scaling.g, scaling.b)
        held, norm_bound, refuted = model.function_class, None, False
        condition = "none: a constant width is a rule of thumb, not a confidence bound"
        if isinstance(s.width, str):
            norm_bound, refuted = held.norm_bound, self.refutes(held)
            bound, what = data.scale * norm_bound, f"f − {s.offset:g}"
            condition = norm_condition(s.delta, what, bound, held.lengthscales) + more
            condition = f"refuted by the data: {condition}" if refuted else condition
            condition = condition if proved else f"not proved (see .theorem): {condition}"
        return Belief(
            model.posterior,
            model.beta_sqrt,
            held.lengthscales,
            data.offset,
            data.scale,
            condition,
            proved=proved,
            kernel=s.kernel,
            norm_bound=norm_bound,
            refuted=refuted,
        )


def _widest(records: Sequence[ClassRecord]) -> Scaling:
    """The widest scaling decided so far, whichever worker decided it, and the first decision's
    reference scale.
    """
    if not records:
        return Scaling(1.0, 1.0, 1.0)
    widest = max(records, key=lambda each: each.h)
    return Scaling(widest.h, widest.g, widest.b, None, records[0].reference_scale, None)


@dataclass(frozen=True, slots=True)
class AdaptiveGPUCB:
    """A-GP-UCB: GP-UCB on a function class that widens slowly. JMLR Alg. 1, line by line:

    1. **Input**: the space D on the unit cube, the kernel k of GP(0, k), and g(t), b(t) ≥ 1 that
       never fall. ``widening`` gives them: a ``Schedule``, or h(t) = g(t)^d·b(t) as large as keeps
       the regret estimate R̄_t(h), eq. (15) or (16), at the reference p(t), eq. (14).
    2. **Set** B_0 = ``norm_bound`` and θ_0 = ``lengthscales``; printed are 1 and diam(D).
    3. **For all** t = 0, 1, 2, …, counted from the first point after the initial ones:
    4. lengthscales θ_t = θ_0/g(t), eq. (9). With an ``estimation`` θ_t = min(θ^MAP, θ_0/g(t)),
       eq. (17), or θ^MAP/g(t), eq. (18).
    5. B_t = b(t)·g(t)^d·B_0, eq. (9), and β_t^½ = B_t + 4σ√(I_θt(y_t; f) + 1 + ln 1/δ), with the
       information I_θt of eq. (6).
    6. x_{t+1} = argmax over D of μ_t(x) + β_t^½·σ_t(x), eq. (7).
    7. The study **evaluates** y_{t+1} = f(x_{t+1}) + ε_{t+1}.
    8. The **update** to μ_{t+1} and σ_{t+1}, eqs. (3) and (5), is made at the next decision, from
       the history.

    ``AdaptiveGPUCB()`` is ``AdaptiveGPUCB.paper()``, with the settings of the experiments.

    Args:
        kernel: of the class, without lengthscales.
        lengthscales: θ_0 on the unit cube; None: √d, its diameter.
        norm_bound: B_0, in the values' units.
        noise_std: R, in the values' units; None estimates the noise.
        regulariser: λ; None: noise_std².
        width: a theorem's name, or a constant β^½. "radius" is proved for every class chosen by the
            data: theory.md#proved-rule. "srinivas" is "mixture" with B_t·√(1 + ln t²).
        delta: the probability with which the band may fail.
        widening: the rule by which the class grows.
        estimation: how lengthscales are estimated online; None keeps θ_0/g.
        norm_power: how the norm ball grows with g: "paper" g^d as printed, "tight" g^(d/2) as
            proved.
        charge_estimate: whether the ball grows for estimated lengthscales too; Alg. 1 does not.
        standardise: rescale the values online to mean 0 and std 1, which no theorem allows.
        offset: a fixed prior mean, in the values' units.
        initial_points: number of points before the model; None: as ``initial_design`` has it.
        initial_design: "uniform" (2^d up to four inputs, then 4d) or "spread" (2d, from 3 to 12).

    Raises:
        ConfigurationError: a setting outside its range, or settings that exclude each other.
    """

    kernel: Kernel = SquaredExponential()
    lengthscales: float | tuple[float, ...] | None = 1.0
    norm_bound: float = 2.0
    noise_std: float | None = 0.05
    regulariser: float | None = None
    width: WidthName | float = "paper"
    delta: float = 0.1
    widening: Widening = ReferenceRegret("one_step", PowerReference(1.0, 0.9), weight=0.1)
    estimation: MAP | None = MAP()
    norm_power: NormPower = "paper"
    charge_estimate: bool = False
    standardise: bool = False
    offset: float = 0.0
    initial_points: int | None = None
    initial_design: Design = "uniform"
    rigorous: ClassVar = RadiusGPUCB  #: the repaired theorem, a strategy of its own

    def __post_init__(self) -> None:
        check_adaptive(self)
        if self.width == "paper" and not self._width_is_proved:
            warnings.warn(
                "the paper's printed width is not a confidence bound at"
                f" noise_std={self.noise_std}, λ={self.settled_regulariser:.3g} (it needs"
                " λ ≥ 1/8): its band may miss f. It is used as printed; for a band that holds take"
                ' width="mixture" or the rigorous preset.',
                GuaranteeWarning,
                stacklevel=4,
            )

    @staticmethod
    def paper(
        noise_std: float = 0.05,
        estimator: Estimator = "one_step",
        *,
        anchored: bool = False,
        lengthscales: float | tuple[float, ...] = 1.0,
        norm_bound: float = 2.0,
        estimation: MAP | None = MAP(),
        initial_points: int | None = None,
        width: WidthName = "paper",
    ) -> AdaptiveGPUCB:
        """The formulas as printed and the settings of the paper's experiments (JMLR sec. 5): SE,
        θ_0 = 1, B_0 = 2, λ_w = 0.1, p = t^0.9, MAP.

        anchored replaces p(t) = t^0.9 by one in the estimator's own units, without which
        estimator="regret_bound" hardly ever starts (theory.md#anchored). estimation=None keeps
        θ_0/g. width="radius" is the rule with its proof: the width of one radius for all classes,
        the norm bound of the norm lemma, and h between a floor and a cap (theory.md#proved-rule).
        On figures 4 and 5 its regret is 0.8 and 1.05 times that of the printed width, in two and
        three inputs twice (theory.md#measured).
        """
        check_one_of("width", width, ("paper", "radius"))
        proved = width == "radius"
        reference = AnchoredReference(0.9) if anchored else PowerReference(1.0, 0.9)
        return AdaptiveGPUCB(
            lengthscales=lengthscales,
            norm_bound=norm_bound,
            noise_std=noise_std,
            width=width,
            widening=ReferenceRegret(
                estimator,
                reference,
                weight=0.1,
                floor=LogGrowth(1.0) if proved else None,
                cap=LogGrowth(200.0) if proved else None,
            ),
            estimation=estimation,
            norm_power="tight" if proved else "paper",
            charge_estimate=proved,
            initial_points=initial_points,
        )

    @property
    def theorem(self) -> str:
        if self.proved and self.width == "radius":
            return radius_theorem(self)
        if self.proved:
            return fixed_class_theorem(str(self.width), self.kernel, self.lengthscales)
        if isinstance(self.width, str) and isinstance(self.widening, NoWidening):
            if self.estimation is not None:
                return (
                    "none: with estimated lengthscales the band may miss f, and the search may"
                    " stick for ever (Bull 2011)"
                )
            if self.width == "chowdhury_gopalan":
                return (
                    f"none: the {self.width} width is proved for a regulariser of at least 1 only"
                )
        if self.width == "paper":
            return (
                "Theorem 1 of Berkenkamp et al. 2019 as printed. Its width is a confidence bound"
                " only for noise_std ≥ 0.354 and its proof leaves gaps (docs/theory.md): no"
                " guarantee is claimed."
            )
        return (
            "none: a constant width, standardised values, estimated noise or a class that follows"
            " the data without a union bound are outside every theorem."
        )

    @property
    def proved(self) -> bool:
        """Whether its band is a theorem's: a width proved for one kernel on a class that does not
        follow the data, or a radius.
        """
        fixed = isinstance(self.widening, NoWidening) and self.estimation is None
        return self._width_is_proved and (fixed or self.width == "radius")

    @property
    def _width_is_proved(self) -> bool:
        if not isinstance(self.width, str) or self.noise_std is None:
            return False
        if self.width == "paper":
            return confidence.paper_is_valid(self.noise_std, self.settled_regulariser)
        return self.width != "chowdhury_gopalan" or self.settled_regulariser >= 1

    def initial_class(self, dimension: int) -> FunctionClass:
        """(θ_0, B_0)."""
        theta = start_lengthscales(self.lengthscales, dimension)
        return FunctionClass(theta, self.norm_bound)

    def beta_sqrt(self, norm_bound: float, information_gain: float) -> float:
        """The width of the chosen theorem."""
        if not isinstance(self.width, str):
            return float(self.width)
        width = confidence.WIDTHS[self.width]
        gain = information_gain
        if self.width != "radius":
            gain = max(gain, 0.0)  # log det of one point may round to −1e-17
        return width(norm_bound, gain, self._noise_bound, self.settled_regulariser, self.delta)

    @property
    def settled_regulariser(self) -> float:
        """λ: the one given, or R²."""
        return self._noise_bound**2 if self.regulariser is None else self.regulariser

    @property
    def noise_ratio(self) -> float:
        """R/√λ."""
        return self._noise_bound / math.sqrt(self.settled_regulariser)

    @property
    def _noise_bound(self) -> float:
        """R, raised where λ = R²: a matrix needs that λ, and with a λ of its own R may be as small
        as the values' unit makes it. theory.md#units
        """
        if self.noise_std is None:
            return math.nan
        return max(self.noise_std, LEAST_NOISE) if self.regulariser is None else self.noise_std

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        return self.propose_with(space, history, rng)

    def propose_with(
        self,
        space: SearchSpace,
        history: History,
        rng: np.random.Generator,
        acquisition: Callable[[Model], Acquisition] | None = None,
        argmax_rng: np.random.Generator | None = None,
        exploration: float | None = 1.0,
    ) -> Proposal:
        """The next initial point, or the argmax of what ``acquisition`` makes of the class in
        force; None: its upper confidence bound. exploration: by how much it multiplies the width,
        None if it is no upper confidence bound.
        """
        start = initial_proposal(space, history, rng, self.initial_points, self.initial_design)
        if start is not None:
            return start
        step = Step(self, space, history, rng)
        scaling = self.widening.scaling(step)
        if acquisition is None:
            return step.proposal(scaling, step.choice(scaling.g, scaling.b))
        model = step.model(scaling.g, scaling.b)
        x = step.maximise(acquisition(model), model, argmax_rng or rng)
        return step.proposal(scaling, x, exploration)

    def explain(self, decision: Decision) -> Explanation:
        record = payload_as(ClassRecord, decision)
        if record is None:
            return UNEXPLAINED
        return record.explanation(decision, "ucb", self._active(record))

    def _active(self, record: ClassRecord) -> str:
        """Whether the fit or the schedule set the lengthscales."""
        if self.estimation is None or record.fitted_lengthscales is None:
            return "schedule"
        if self.estimation.combine == "scale":
            return "fit" if record.g == 1 else "both"
        start = self.initial_class(len(record.lengthscales)).lengthscales
        by_fit = np.array(record.fitted_lengthscales) <= start / record.g
        return "fit" if by_fit.all() else ("both" if by_fit.any() else "schedule")

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """The class of the last decision given all values; pending points do not narrow it."""
        if len(history.X) == 0:
            return None
        chosen = self if delta is None else replace(self, delta=delta)
        step = Step(chosen, space, history.observed, np.random.default_rng(0))
        more = f". {needs(self.noise_std, history)}"
        if not isinstance(self.widening, NoWidening):
            more += " The class grows with the study, so the bound need not fall for good."
        return step.belief(step.previous, more, step.proved)
