"""One decision of GP-UCB on a widening function class. theory.md#algorithm

``Step`` answers the questions a widening rule may ask (``widening.Probe``) and then makes the
proposal. It lives for one ask; nothing in it outlives the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noregret.gp import Fit, Posterior
from noregret.rkhs import FunctionClass, Information, Scaling
from noregret.search import Acquisition, argmax, ucb
from noregret.space import Array, SearchSpace
from noregret.strategies.units import LARGEST, Frame
from noregret.trials import Decision, History, ModelDecision, Proposal

if TYPE_CHECKING:
    from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB

LARGEST_GAIN = 1e150  # nats, of an extrapolated information gain in hundreds of inputs


@dataclass(frozen=True, slots=True)
class Model:
    """A function class with the data: posterior, width, and the class's share of delta.

    fitted: μ at the evaluated points.
    """

    function_class: FunctionClass
    posterior: Posterior
    delta: float
    beta_sqrt: float
    fitted: Array


@dataclass(frozen=True, slots=True)
class Choice:
    """A point chosen in a model, with what was predicted there."""

    x: Array
    mean: float
    std: float

    @staticmethod
    def at(x: Array, posterior: Posterior) -> Choice:
        mean, std = posterior.predict(x[None, :])
        return Choice(x, float(mean[0]), float(std[0]))


class Step:
    """Implements ``widening.Probe``."""

    def __init__(
        self,
        strategy: AdaptiveGPUCB,
        space: SearchSpace,
        history: History,
        start: FunctionClass,
        framed: Frame,
        fit: Fit | None,
        seed: int,
    ) -> None:
        self.strategy, self.space, self.history = strategy, space, history
        self.framed, self.fit, self.seed = framed, fit, seed
        decisions = history.model_decisions
        self.t = len(decisions) + 1
        self.initial = len(history.decisions) - len(decisions)
        self.dimension = space.dimension
        self.previous = _widest(decisions)
        self.start = start
        self._frozen_regret = sum(each.instant_regret_bound or 0.0 for each in decisions)
        self._models: dict[tuple[float, float], Model] = {}
        self._choices: dict[tuple[float, float], Choice] = {}

    @property
    def proved(self) -> bool:
        """Whether the band is a theorem's now: points under way narrow it, which none allows."""
        in_units = self.framed.scale == 1.0  # not so where values are beyond what floats reach
        return self.strategy.proved and in_units and len(self.framed.pending) == 0

    # -- the class, the model, the choice at a scaling (g, b) --

    def function_class(self, g: float, b: float) -> FunctionClass:
        """(θ_t, B_t)."""
        s = self.strategy
        if s.estimation is None or self.fit is None:
            lengthscales = self.start.lengthscales / g
        else:
            lengthscales = s.estimation.combined(self.fit.lengthscales, self.start.lengthscales, g)
        if s.charge_estimate:
            return self.start.at(lengthscales, b, s.norm_power)
        bound = self.start.widened(g, b, s.norm_power).norm_bound
        return FunctionClass(lengthscales, bound)  # as in JMLR Alg. 1

    def model(self, g: float, b: float) -> Model:
        if (g, b) not in self._models:
            function_class = self.function_class(g, b)
            posterior = self.framed.condition(
                self.strategy.kernel, function_class.lengthscales, self._noise_var
            )
            delta = self.strategy.delta
            width = self.strategy.beta_sqrt(
                function_class.norm_bound, posterior.information_gain, delta
            )
            fitted = fitted_mean(self.framed, posterior)
            self._models[g, b] = Model(function_class, posterior, delta, width, fitted)
        return self._models[g, b]

    @property
    def _noise_var(self) -> float:
        return math.nan if self.fit is None else self.fit.noise_var

    def choice(self, g: float, b: float) -> Choice:
        """x_{t+1} for this scaling; every scaling sees the same random candidates."""
        if (g, b) not in self._choices:
            model = self.model(g, b)
            x = maximise(
                ucb(model.posterior, model.beta_sqrt),
                self.space,
                self.history,
                model.posterior,
                model.fitted,
                np.random.default_rng(self.seed),
            )
            self._choices[g, b] = Choice.at(x, model.posterior)
        return self._choices[g, b]

    # -- widening.Probe --

    def regret_bound(self, g: float, b: float, information: Information) -> float:
        """√(C_1 t β_t Î), theory.md#bound-estimator."""
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
        per_point, common = self.framed.known_noise(self._noise_var)
        c_1 = 8 / math.log1p(1 / max(float(per_point.max()), common))
        return math.sqrt(c_1 * self.t * gain) * self.strategy.beta_sqrt(
            function_class.norm_bound, gain, self.strategy.delta
        )

    def one_step_regret(self, g: float, b: float) -> float:
        """Σ_{j<t} 2β_j^½σ_j(x_{j+1}), frozen, plus this step's, theory.md#one-step."""
        return self._frozen_regret + self._instant(g, b)

    def std_at_argmax(self, g: float, b: float) -> float:
        return self.choice(g, b).std

    def _instant(self, g: float, b: float) -> float:
        return (
            2 * self.model(g, b).beta_sqrt * self.choice(g, b).std
        )  # JMLR eq. (16), theory.md#one-step

    # -- the proposal --

    def propose(self) -> Proposal:
        scaling = self.strategy.widening.scaling(self)
        choice = self.choice(scaling.g, scaling.b)
        return Proposal(choice.x, Decision("model", self.reasons(scaling, choice)))

    def decided(
        self, acquisition: Callable[[Model], Acquisition], rng: np.random.Generator
    ) -> Proposal:
        """The argmax of what ``acquisition`` makes of the class in force."""
        scaling = self.strategy.widening.scaling(self)
        model = self.model(scaling.g, scaling.b)
        x = maximise(
            acquisition(model), self.space, self.history, model.posterior, model.fitted, rng
        )
        reasons = self.reasons(scaling, Choice.at(x, model.posterior))
        return Proposal(x, Decision("model", reasons))

    def reasons(self, scaling: Scaling, choice: Choice) -> ModelDecision:
        s, framed, fit = self.strategy, self.framed, self.fit
        model = self.model(scaling.g, scaling.b)
        noise_var = framed.known_noise(self._noise_var)[1]
        mean, std = framed.in_values(choice.mean, choice.std)
        in_values = framed.noise_in_values(noise_var) if s.regulariser is None else s.noise_std
        return ModelDecision(
            t=self.t,
            h=scaling.h,
            g=scaling.g,
            b=scaling.b,
            lengthscales=tuple(model.function_class.lengthscales.tolist()),
            norm_bound=model.function_class.norm_bound,
            delta=model.delta,
            beta_sqrt=model.beta_sqrt,
            proved=self.proved and not model.function_class.is_full,
            information_gain=model.posterior.information_gain,
            noise_var=noise_var,
            noise_std=in_values,
            fitted_lengthscales=None if fit is None else tuple(fit.lengthscales.tolist()),
            searched=0 if fit is None else fit.searched,
            improved=0 if fit is None else fit.improved,
            active=self._active(scaling.g),
            instant_regret_bound=2 * model.beta_sqrt * choice.std,
            mean=mean,
            std=std,
            offset=framed.offset,
            scale=framed.scale,
            recommended_bound=recommended_bound(
                framed, model.posterior, model.fitted[: len(self.history.X)], model.beta_sqrt
            ),
            reference=scaling.reference,
            reference_scale=scaling.reference_scale,
            estimate=scaling.estimate,
        )

    def _active(self, g: float) -> str:
        """Which of fit and schedule set the lengthscales."""
        rule = self.strategy.estimation
        if rule is None or self.fit is None:
            return "schedule"
        if rule.combine == "scale":
            return "fit" if g == 1 else "both"
        by_fit = self.fit.lengthscales <= self.start.lengthscales / g
        return "fit" if by_fit.all() else ("both" if by_fit.any() else "schedule")


def _widest(decisions: tuple[ModelDecision, ...]) -> Scaling:
    """The widest scaling decided so far, whichever worker decided it, and the first decision's
    reference scale.
    """
    if not decisions:
        return Scaling(1.0, 1.0, 1.0)
    widest = max(decisions, key=lambda each: each.h)
    return Scaling(widest.h, widest.g, widest.b, None, decisions[0].reference_scale, None)


def fitted_mean(framed: Frame, posterior: Posterior) -> Array:
    """μ at the evaluated points: K w = y − Λ w."""
    n = posterior.observed
    return np.asarray(framed.y - posterior.noise_var[:n] * posterior.weights[:n])


def maximise(
    acquisition: Acquisition,
    space: SearchSpace,
    history: History,
    posterior: Posterior,
    fitted: Array,
    rng: np.random.Generator,
) -> Array:
    """The acquisition's argmax, searched around the three evaluated points with the best mean."""
    incumbents = posterior.X[np.argsort(-fitted, kind="stable")[:3]]
    return argmax(acquisition, space, posterior.lengthscales, rng, incumbents, history.failed)


def recommended_bound(
    framed: Frame, posterior: Posterior, fitted: Array, beta_sqrt: float
) -> float | None:
    """The lower bound at the evaluated point with the best mean, in the values' units: the lower
    end of the certificate at this step.
    """
    mean, std = posterior.predict(framed.X[[int(np.argmax(fitted))]])
    lower = framed.in_values(float(mean[0] - beta_sqrt * std[0]), 0.0)[0]
    return lower if abs(lower) < LARGEST else None  # a compressed scale has no −∞
