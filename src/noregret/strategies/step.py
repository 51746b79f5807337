"""One decision of a UCB strategy on a widening function class: SPEC §4–§6, every quantity computed
once.

``Step`` answers the questions a widening rule may ask (``widening.Probe``) and then makes the
proposal. It lives for one ask; nothing in it outlives the call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noregret.classes import FunctionClass, Information, Scaling, confidence
from noregret.gp import VARIANCE_FLOOR, Fit, Posterior, linalg, squared_distances
from noregret.search import Acquisition, allowed, argmax, best, log_ei, log_h, low_discrepancy, ucb
from noregret.space import Array, SearchSpace
from noregret.strategies.units import Frame
from noregret.trials import History, Info, Proposal

if TYPE_CHECKING:
    from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB

CLOUD = 512  # points that stand for the whole space in a survey
# power of the expected improvement that weighs them: something may hide where little is expected,
# too
FLAT = 0.25
MEAN = 128  # as many of them for the mean std
SURPRISE = 2.5  # leave-one-out standard deviations above the prediction
CROWD = 3  # points per input within a widened lengthscale: looked at
AROUND = 128  # candidates next to a surprise


@dataclass(frozen=True, slots=True)
class Model:
    """A function class with the data: posterior, width, and the class's share of delta."""

    function_class: FunctionClass
    posterior: Posterior
    delta: float
    beta_sqrt: float


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
        framed: Frame,
        fit: Fit | None,
        seed: int,
    ) -> None:
        self.strategy, self.space, self.history, self.framed, self.fit, self.seed = (
            strategy,
            space,
            history,
            framed,
            fit,
            seed,
        )
        decisions = history.scaled_decisions
        self.t = len(decisions) + 1
        self.initial = len(history.decisions) - len(decisions)
        self.dimension = space.dimension
        self.hiding_dimension = (
            1 if space.enumeration() is not None else space.dimension
        )  # a list is surveyed point by point
        self.previous = _widest(decisions)
        self.surveys = tuple(t for t, info in enumerate(decisions, 1) if info.get("survey"))
        self.survey_g = float(decisions[self.surveys[-1] - 1]["g"]) if self.surveys else 1.0
        self.noise_std = math.sqrt(framed.known_noise(self._noise_var)[1])
        self.start = strategy.initial_class(space.dimension)
        fitted = self.start.lengthscales if fit is None else fit.lengthscales
        self.lengthscale = math.exp(float(np.mean(np.log(fitted))))
        self._recorded = np.array(decisions[-1]["lengthscales"]) if decisions else None
        self._frozen_regret = sum(info["instant_regret_bound"] for info in decisions)
        self._models: dict[tuple[float, float, bool], Model] = {}
        self._choices: dict[tuple[float, float], Choice] = {}
        self._cloud: Array | None = None

    # -- the class, the model, the choice at a scaling (g, b) --

    def function_class(self, g: float, b: float, *, exact: bool) -> tuple[FunctionClass, float]:
        """(θ_t, B_t) and the share of δ spent on this θ. exact=False leaves g unrounded, for smooth
        estimates.
        """
        s = self.strategy
        if s.estimation is None or self.fit is None:
            lengthscales = self.start.lengthscales / g
        else:
            lengthscales = s.estimation.combined(self.fit.lengthscales, self.start.lengthscales, g)
        if s.monotone and self._recorded is not None:
            lengthscales = np.minimum(lengthscales, self._recorded)
        share = 1.0
        if s.quantisation is not None:
            index = np.log(self.start.lengthscales / lengthscales) / math.log(s.quantisation)
            if exact:
                index = np.ceil(index - 1e-9)  # g rounded up to ρ^j, SPEC §3
                lengthscales = self.start.lengthscales / s.quantisation**index
            # without estimation all inputs share one index: a one-parameter family of kernels
            share = math.prod(
                confidence.grid_weight(float(j))
                for j in (index if s.estimation is not None else index[:1])
            )
        if s.charge_estimate:
            return self.start.at(lengthscales, b, s.norm_power), s.delta * share
        return (
            FunctionClass(lengthscales, self.start.widened(g, b, s.norm_power).norm_bound),
            s.delta * share,
        )  # as in Algorithm 1

    def model(self, g: float, b: float, *, exact: bool = False) -> Model:
        key = (g, b, exact and self.strategy.quantisation is not None)
        if key not in self._models:
            function_class, delta = self.function_class(g, b, exact=exact)
            posterior = self.framed.condition(
                self.strategy.kernel, function_class.lengthscales, self._noise_var
            )
            width = self.strategy.beta_sqrt(
                function_class.norm_bound, posterior.information_gain, delta
            )
            if self.strategy.guarantee:
                width *= math.exp(
                    posterior.pending_information
                )  # σ_observed ≤ e^I(pending) σ: GP-BUCB, docs/decisions/0006
            self._models[key] = Model(function_class, posterior, delta, width)
        return self._models[key]

    @property
    def _noise_var(self) -> float:
        return math.nan if self.fit is None else self.fit.noise_var

    def choice(self, g: float, b: float) -> Choice:
        """x_{t+1} for this scaling; every scaling sees the same random candidates."""
        if (g, b) not in self._choices:
            model = self.model(g, b, exact=True)
            posterior = model.posterior
            fitted_mean = self._fitted_mean(posterior)
            incumbents = posterior.X[np.argsort(-fitted_mean, kind="stable")[:3]]
            x = argmax(
                self._acquisition(model),
                self.space,
                model.function_class.lengthscales,
                np.random.default_rng(self.seed),
                incumbents,
                self.history.failed,
            )
            self._choices[g, b] = Choice.at(x, posterior)
        return self._choices[g, b]

    def _acquisition(self, model: Model) -> Acquisition:
        if self.strategy.acquisition == "ucb":
            return ucb(
                model.posterior, model.beta_sqrt * self.strategy.exploration(self.hiding_dimension)
            )
        return log_ei(model.posterior, float(self._fitted_mean(model.posterior).max()))

    def _fitted_mean(self, posterior: Posterior) -> Array:
        n = posterior.observed
        return np.asarray(
            self.framed.y - posterior.noise_var[:n] * posterior.weights[:n]
        )  # K w = y − Λ w

    def survey(self, g: float, b: float) -> Choice:
        """The point that lowers the variance of f most, averaged over the space with flattened
        expected improvement as weight: Σ_j EI(x_j)^¼ cov(x, x_j)²/(σ²(x) + λ), the weighted form of
        Cohn 1996. Unlike the largest variance it prefers no corners.
        """
        posterior, cloud = self.model(g, b, exact=True).posterior, self.cloud
        found = self._surprise(posterior)
        if found is not None:
            return found
        mean, covariance = posterior.joint(cloud)
        var = np.maximum(np.diag(covariance), VARIANCE_FLOOR)
        std = np.sqrt(var)
        weight = log_h((mean - self._fitted_mean(posterior).max()) / std) + np.log(std)
        gain = (
            np.square(covariance, out=covariance)
            @ np.exp(FLAT * (weight - weight.max()))
            / (var + self.noise_std**2)
        )
        return self._best_of(cloud, gain, posterior)

    def _surprise(self, widened: Posterior) -> Choice | None:
        """Next to the point that the fitted class, knowing all others, would have put lowest below
        its value: the widened class's UCB argmax around it. None if no point stands out, or if its
        surroundings were looked at already.
        """
        fitted = self.model(1.0, 1.0, exact=True).posterior
        n = fitted.observed
        residual = fitted.weights[:n] / np.sqrt(
            linalg.inverse_diagonal(fitted.L)[:n]
        )  # leave-one-out, in its own std
        crowd = (squared_distances(widened.X[:n], widened.X, widened.lengthscales) < 1).sum(axis=1)
        residual = np.where(crowd <= CROWD * self.dimension, residual, -np.inf)
        center = int(np.argmax(residual))
        if residual[center] < SURPRISE:
            return None
        steps = (
            np.random.default_rng(self.seed).standard_normal((AROUND, self.dimension))
            * widened.lengthscales
        )
        around = self.space.snap(np.clip(widened.X[center] + steps, 0.0, 1.0))
        mean, std = widened.predict(around)
        return self._best_of(around, mean + self.model(1.0, 1.0).beta_sqrt * std, widened)

    def _best_of(self, points: Array, values: Array, posterior: Posterior) -> Choice:
        """The best of some points, failed ones and their surroundings left out."""
        x = best(
            points,
            np.where(allowed(points, self.history.failed), values, -np.inf),
            self.history.failed,
        )
        return Choice.at(x, posterior)

    def _unmeasured(self, model: Model) -> Choice | None:
        """The argmax among the designs of a list that were neither measured nor asked nor failed:
        another look at a known one would tell next to nothing. None where the space is no list, or
        all of it is known.
        """
        every = self.space.enumeration()
        if every is None:
            return None
        known = {x.tobytes() for x in (*model.posterior.X, *self.history.failed)}
        fresh = every[[x.tobytes() not in known for x in every]]
        if len(fresh) == 0:
            return None
        x = fresh[int(np.argmax(self._acquisition(model).values(fresh)))]
        return Choice.at(x, model.posterior)

    @property
    def cloud(self) -> Array:
        """Points that stand for the whole space; every scaling sees the same."""
        if self._cloud is None:
            rng = np.random.default_rng(self.seed)
            every = self.space.enumeration()
            if every is None:
                self._cloud = self.space.snap(low_discrepancy(CLOUD, self.dimension, rng))
            else:
                self._cloud = (
                    every if len(every) <= CLOUD else every[rng.permutation(len(every))[:CLOUD]]
                )
        return self._cloud

    # -- widening.Probe --

    def mean_std(self, g: float, b: float) -> float:
        return float(np.mean(self.model(g, b).posterior.predict(self.cloud[:MEAN])[1]))

    def regret_bound(self, g: float, b: float, information: Information) -> float:
        """√(C_1 t β_t Î), SPEC §5, estimator A."""
        kernel, d = self.strategy.kernel, self.dimension
        function_class, delta = self.function_class(g, b, exact=False)
        if information == "exact":
            gain = self.model(g, b).posterior.information_gain
        else:
            base = self.model(self.previous.g, self.previous.b)
            gain = base.posterior.information_gain
            if information == "printed":
                gain *= g ** kernel.capacity_exponent(d, printed=True)
            else:
                volume = float(
                    np.prod(base.function_class.lengthscales / function_class.lengthscales)
                )
                gain *= volume ** (kernel.capacity_exponent(d) / d)  # (g/g_{t−1})^e, e = d for SE
        per_point, common = self.framed.known_noise(self._noise_var)
        c_1 = 8 / math.log1p(1 / max(float(per_point.max()), common))
        return math.sqrt(c_1 * self.t * gain) * self.strategy.beta_sqrt(
            function_class.norm_bound, gain, delta
        )

    def one_step_regret(self, g: float, b: float) -> float:
        """Σ_{j<t} 2β_j^½σ_j(x_{j+1}), frozen, plus this step's, SPEC §5, estimator B."""
        return self._frozen_regret + self._instant(g, b)

    def std_at_argmax(self, g: float, b: float) -> float:
        return self.choice(g, b).std

    def _instant(self, g: float, b: float) -> float:
        return (
            2 * self.model(g, b, exact=True).beta_sqrt * self.choice(g, b).std
        )  # paper L406, with β^½

    # -- the proposal --

    def propose(self) -> Proposal:
        scaling = self.strategy.widening.scaling(self)
        model = self.model(scaling.g, scaling.b, exact=True)
        choice = (
            self.survey(scaling.g, scaling.b)
            if scaling.survey
            else self.choice(scaling.g, scaling.b)
        )
        if scaling.stagnant and not scaling.survey:
            choice = self._unmeasured(model) or choice
        return Proposal(choice.x, self._info(scaling, model, choice))

    def _info(self, scaling: Scaling, model: Model, choice: Choice) -> Info:
        f, posterior = self.framed, model.posterior
        noise_var = f.known_noise(self._noise_var)[1]
        mean, std = f.in_values(choice.mean, choice.std)
        return {
            "source": "model",
            "t": self.t,
            "h": scaling.h,
            "g": scaling.g,
            "b": scaling.b,
            "lengthscales": model.function_class.lengthscales.tolist(),
            "norm_bound": model.function_class.norm_bound,
            "delta": model.delta,
            "beta_sqrt": model.beta_sqrt,
            "exploration": self.strategy.exploration(self.hiding_dimension),
            "information_gain": posterior.information_gain,
            "noise_var": noise_var,
            "noise_std": (
                f.noise_in_values(noise_var)
                if self.strategy.regulariser is None
                else self.strategy.noise_std
            ),
            "fitted_lengthscales": None if self.fit is None else self.fit.lengthscales.tolist(),
            "searched": 0 if self.fit is None else self.fit.searched,
            "improved": 0 if self.fit is None else self.fit.improved,
            "active": self._active(scaling.g),
            "instant_regret_bound": 2 * model.beta_sqrt * choice.std,
            "survey": scaling.survey,
            "mean": mean,
            "std": std,
            "offset": f.offset,
            "scale": f.scale,
            "compression": [list(each) for each in f.compression.passes],
            "recommended_lower": self._recommended_lower(model),
            "reference": scaling.reference,
            "reference_scale": scaling.reference_scale,
            "estimate": scaling.estimate,
        }

    def _recommended_lower(self, model: Model) -> float | None:
        """The lower bound at the evaluated point with the best mean, in the values' units: the
        lower end of the certificate at this step.
        """
        fitted = self._fitted_mean(model.posterior)[: len(self.history.X)]
        mean, std = model.posterior.predict(self.history.X[[int(np.argmax(fitted))]])
        lower = self.framed.in_values(float(mean[0] - model.beta_sqrt * std[0]), 0.0)[0]
        return lower if math.isfinite(lower) else None  # a compressed scale has no −∞

    def _active(self, g: float) -> str:
        """Which of fit and schedule set the lengthscales."""
        rule = self.strategy.estimation
        if rule is None or self.fit is None:
            return "schedule"
        if rule.combine == "scale":
            return "fit" if g == 1 else "both"
        by_fit = self.fit.lengthscales <= self.start.lengthscales / g
        return "fit" if by_fit.all() else ("both" if by_fit.any() else "schedule")


def _widest(decisions: tuple[Info, ...]) -> Scaling:
    """The widest scaling decided so far, whichever worker decided it, and the first decision's
    reference scale.
    """
    if not decisions:
        return Scaling(1.0, 1.0, 1.0)
    widest = max(decisions, key=lambda info: float(info["h"]))
    return Scaling(
        widest["h"], widest["g"], widest["b"], None, decisions[0]["reference_scale"], None
    )
