"""A-GP-UCB: Berkenkamp, Schoellig, Krause, "No-Regret Bayesian Optimization with Unknown
Hyperparameters", JMLR 2019.

Algorithm 1 with the adaptive scaling of section 4.1 and the online estimation of section 4.2. Three
presets: ``paper`` (formulas as printed), ``rigorous`` (repaired, and refusing whatever breaks its
theorem), ``practical``.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from noregret.classes import (
    AnchoredReference,
    Estimator,
    FunctionClass,
    LogGrowth,
    NormPower,
    PowerReference,
    ReferenceRegret,
    Stagnation,
    Widening,
    confidence,
)
from noregret.errors import ConfigurationError, GuaranteeWarning
from noregret.gp import MAP, Kernel, LogNormal, Matern, SquaredExponential
from noregret.space import SearchSpace
from noregret.strategies.guarantee import check_growth, check_guarantee, check_settings
from noregret.strategies.step import Step
from noregret.strategies.strategy import Belief, Design, initial_proposal
from noregret.strategies.units import estimate, frame
from noregret.trials import History, Proposal

WidthName = Literal["paper", "abbasi_yadkori", "chowdhury_gopalan", "mixture"]
GRID_RATIO = 1.1  # ρ of the quantised scaling, SPEC §3


@dataclass(frozen=True, slots=True)
class AdaptiveGPUCB:
    """GP-UCB on a function class that widens slowly.

    lengthscales is θ_0 on the unit cube (None: √d, its diameter). norm_bound is B_0 and noise_std
    is R, both in the values' units; noise_std=None estimates the noise. regulariser is λ (None:
    noise_std²). width is a theorem's name or a constant β^½; with more than greedy_above inputs UCB
    explores with width·greedy_above/d only, unless the space is a list. standardise rescales the
    values online to mean 0 and std 1, which no theorem allows, and compress > 0 compresses those
    below the average logarithmically, as often as it says; offset is a fixed prior mean instead.
    guarantee=True checks every setting against the theorem and raises GuaranteeError.
    """

    kernel: Kernel = SquaredExponential()
    lengthscales: float | tuple[float, ...] | None = None
    norm_bound: float = 1.0
    noise_std: float | None = None
    regulariser: float | None = None
    width: WidthName | float = 2.0
    greedy_above: int | None = None
    delta: float = 0.1
    widening: Widening = ReferenceRegret(
        "regret_bound", AnchoredReference(), weight=0.0, maximum=1e4
    )
    estimation: MAP | None = None
    norm_power: NormPower = "tight"
    charge_estimate: bool = True
    quantisation: float | None = None
    monotone: bool = False
    standardise: bool = True
    compress: int = 0
    offset: float = 0.0
    initial_points: int | None = None
    initial_design: Design = "uniform"
    acquisition: Literal["ucb", "log_ei"] = "ucb"
    guarantee: bool = False

    def __post_init__(self) -> None:
        if self.lengthscales is not None and np.ndim(self.lengthscales) > 0:
            object.__setattr__(
                self, "lengthscales", tuple(float(v) for v in np.ravel(self.lengthscales))
            )
        if self.guarantee:
            check_guarantee(self)
        check_settings(self)
        if self.width == "paper" and self.noise_std is not None:
            regulariser = self.noise_std**2 if self.regulariser is None else self.regulariser
            if not confidence.paper_is_valid(self.noise_std, regulariser):
                warnings.warn(
                    "the paper's printed width is not a confidence bound at"
                    f" noise_std={self.noise_std}, λ={regulariser:.3g} (it needs λ ≥ 1/8): its band"
                    " may miss f. It is used as printed; for a band that holds take"
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
    ) -> AdaptiveGPUCB:
        """The formulas as printed and the settings of the paper's experiments (L454): SE, θ_0=1,
        B_0=2, λ_w=0.1, p=t^0.9, MAP.

        anchored replaces p(t) = t^0.9 by one in the estimator's own units, without which
        estimator="regret_bound" hardly ever starts (SPEC §0.4). estimation=None keeps θ_0/g.
        """
        reference = AnchoredReference(0.9) if anchored else PowerReference(1.0, 0.9)
        return AdaptiveGPUCB(
            lengthscales=lengthscales,
            norm_bound=norm_bound,
            noise_std=noise_std,
            width="paper",
            delta=0.1,
            widening=ReferenceRegret(estimator, reference, weight=0.1),
            estimation=estimation,
            norm_power="paper",
            charge_estimate=False,
            standardise=False,
            initial_points=initial_points,
        )

    @staticmethod
    def rigorous(
        noise_bound: float,
        delta: float = 0.1,
        *,
        norm_bound: float = 1.0,
        lengthscales: float | tuple[float, ...] | None = None,
        kernel: Kernel = SquaredExponential(),
        regulariser: float | None = None,
        offset: float = 0.0,
        estimation: MAP | None = None,
        widening: Widening | None = None,
        initial_points: int | None = None,
    ) -> AdaptiveGPUCB:
        """The repaired theorem: for R-sub-Gaussian noise with R = noise_bound the band holds with
        probability 1 − delta once the class contains f, and the regret is sublinear. noise_bound
        and norm_bound are in the values' units.

        widening=None: reference regret (bound estimator, anchored) between a cap and a floor that
        are logarithmic, so that h is unbounded and slow enough in every dimension the theorem
        covers.
        """
        rule = widening or ReferenceRegret(
            "regret_bound",
            AnchoredReference(0.9),
            weight=0.1,
            cap=LogGrowth(2.0),
            floor=LogGrowth(0.1),
        )
        return AdaptiveGPUCB(
            kernel=kernel,
            lengthscales=lengthscales,
            norm_bound=norm_bound,
            noise_std=noise_bound,
            regulariser=regulariser,
            width="mixture",
            delta=delta,
            widening=rule,
            estimation=estimation,
            norm_power="tight",
            quantisation=GRID_RATIO,
            monotone=True,
            standardise=False,
            offset=offset,
            initial_points=initial_points,
            guarantee=True,
        )

    @staticmethod
    def practical(
        noise_std: float | None = None, *, initial_points: int | None = None
    ) -> AdaptiveGPUCB:
        """The default: values standardised and bad ones compressed, noise and lengthscales
        estimated, the class widened on stagnation.

        No theorem covers it; what can be said, and how it was chosen, is in docs/decisions/0013.
        """
        return AdaptiveGPUCB(
            kernel=Matern(2.5),
            lengthscales=None,
            noise_std=noise_std,
            width=1.5,
            greedy_above=3,
            widening=Stagnation(),
            estimation=MAP(
                prior=LogNormal(math.sqrt(2), math.sqrt(3), dimension_scaled=True),
                noise_prior=LogNormal(-6.0, 2.0),
                combine="scale",
                ceiling=3.0,
                patience=1.1,
                refresh=1.05,
            ),
            compress=2,
            initial_points=initial_points,
            initial_design="spread",
        )

    @property
    def theorem(self) -> str:
        if self.guarantee:
            return (
                "Theorem 1 of Berkenkamp et al. 2019 as repaired in docs/theory.md: with"
                " probability at least 1 − delta the band contains f from the first step at which"
                " ‖f‖ ≤ B_t at lengthscales θ_t, and the cumulative regret is sublinear. Needs"
                " noise that is noise_std-sub-Gaussian, a finite RKHS norm of f − offset for some"
                " lengthscales ≤ θ_0, and an argmax of UCB found to precision."
            )
        if self.width == "paper":
            return (
                "Theorem 1 of Berkenkamp et al. 2019 as printed. Its width is a confidence bound"
                " only for noise_std ≥ 0.354 and its proof leaves gaps (docs/theory.md): no"
                " guarantee is claimed."
            )
        return (
            "none: constant width, standardised values or estimated noise are outside every"
            " theorem; the widening is the paper's, the promise is not."
        )

    def initial_class(self, dimension: int) -> FunctionClass:
        """(θ_0, B_0)."""
        theta = math.sqrt(dimension) if self.lengthscales is None else self.lengthscales
        if isinstance(theta, tuple) and len(theta) != dimension:
            raise ConfigurationError(
                f"lengthscales has {len(theta)} entries, but the space has {dimension} coordinates"
                f" on the unit cube: give one number or {dimension}"
            )
        return FunctionClass(
            np.broadcast_to(np.asarray(theta, dtype=np.float64), (dimension,)).copy(),
            self.norm_bound,
        )

    def beta_sqrt(self, norm_bound: float, information_gain: float, delta: float) -> float:
        """The width of the chosen theorem."""
        if not isinstance(self.width, str):
            return float(self.width)
        noise = self.noise_std
        if noise is None:
            raise ConfigurationError(f"the width {self.width!r} needs noise_std")
        information_gain = max(information_gain, 0.0)  # log det of one point may round to −1e-17
        if self.width == "paper":
            return confidence.paper(norm_bound, information_gain, noise_std=noise, delta=delta)
        if self.width == "chowdhury_gopalan":
            return confidence.chowdhury_gopalan(
                norm_bound, information_gain, noise_bound=noise, delta=delta
            )
        width = confidence.mixture if self.width == "mixture" else confidence.abbasi_yadkori
        return width(
            norm_bound,
            information_gain,
            noise_bound=noise,
            regulariser=self._regulariser,
            delta=delta,
        )

    def exploration(self, dimension: int) -> float:
        """The part of the width that UCB uses where something may hide in so many inputs: in many σ
        is large nearly everywhere, and exploring it all is hopeless.
        """
        return 1.0 if self.greedy_above is None else min(1.0, self.greedy_above / dimension)

    @property
    def _regulariser(self) -> float:
        return (
            self.regulariser if self.regulariser is not None else (self.noise_std or math.nan) ** 2
        )

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        if self.guarantee:
            check_growth(self, space.dimension)
        start = initial_proposal(space, history, rng, self.initial_points, self.initial_design)
        return start or self._step(space, history, rng).propose()

    def _step(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Step:
        fit_rng, argmax_rng = rng.spawn(2)
        framed = frame(
            history,
            standardise=self.standardise,
            offset=self.offset,
            noise_std=self.noise_std,
            regulariser=self.regulariser,
            compress=self.compress,
        )
        initial = self.initial_class(space.dimension).lengthscales
        fit = estimate(
            framed, self.kernel, self.estimation, initial, history.scaled_decisions, fit_rng
        )
        return Step(self, space, history, framed, fit, int(argmax_rng.integers(2**63)))

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """The class of the last decision, conditioned on everything told since."""
        if len(history.X) == 0:
            return None
        chosen = replace(
            self, delta=self.delta if delta is None else delta, compress=0
        )  # in the values' own units
        step = chosen._step(space, history, np.random.default_rng(0))
        # a class widened for one decision only is not what the strategy goes on believing
        g, b = (
            (1.0, 1.0)
            if isinstance(self.widening, Stagnation)
            else (step.previous.g, step.previous.b)
        )
        model = step.model(g, b, exact=True)
        theta = ", ".join(f"{v:.3g}" for v in model.function_class.lengthscales)
        condition = "none: a constant width is a rule of thumb, not a confidence bound"
        if isinstance(self.width, str):
            condition = (
                f"with probability at least {1 - chosen.delta:g} if f − {self.offset:g} has RKHS"
                f" norm at most {model.function_class.norm_bound:.3g} at lengthscales [{theta}] and"
                f" the noise is {self.noise_std:g}-sub-Gaussian. The class grows with the study, so"
                " the bound need not fall for good."
            )
            if not self.guarantee:
                condition = "as printed in the paper, not proved (see .theorem): " + condition
        return Belief(
            model.posterior,
            model.beta_sqrt,
            model.function_class.lengthscales,
            step.framed.offset,
            step.framed.scale,
            condition,
        )
