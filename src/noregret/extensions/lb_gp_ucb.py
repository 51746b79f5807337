"""LB-GP-UCB: Ziomek, Adachi, Osborne, "Bayesian Optimisation with Unknown Hyperparameters: Regret
Bounds Logarithmically Closer to Optimal", NeurIPS 2024 (arXiv 2410.10384), Algorithm 1;
theory.md#lb-gp-ucb.

Instead of shortening one lengthscale it keeps candidates θ_i = θ_0 e^(−i/d) with norms B(θ_i) =
(θ_0/θ_i)^(d/2) N, plays the one whose suspected regret R^θ(n_θ + 1) is least, and drops those that
do worse than their own bound allows. Data are shared.

Where the paper is silent, or not to be taken by the letter:

- *Elimination.* Line 12 prints −√(ξ/n) on both sides; the proof (Lemma B.2) has + on the left, as
  here. One union bound suffices: with û the longest candidate that holds f, the proof uses Σε ≤
  √(nξ) for every other candidate and Σε ≥ −√(nξ) for û, so one-sided tails of |A| sums, δ/2 in all;
  its two-sided Lemma B.1 would cost twice that. |A| may be the number A_t of candidates introduced
  before step t: candidate i, there from step t_i + 1 on, has its n-th value no earlier than step
  t_i + n, ξ_t does not fall, and Σ_i Σ_n 1/(A_(t_i+n) (t_i+n)²) = Σ_t 1/t² = π²/6. ∎ The band of û
  takes the other δ/2; no other band is needed, so widths are at δ/2 and not divided by |A|.
- *Candidates without a value* are kept and not compared. Line 9 stops all comparison while there is
  one, which the proof does not need (and Lemma B.4 does not allow for), and which one whose every
  evaluation fails would do for ever.
- *Adding.* Line 14 prints q(l+1) ≤ θ_0/g(t), which is true at once and adds one for ever; meant is
  ≥ (as in the authors' code). It starts at l = 1, which skips θ_1; here all candidates are
  used. All that fit θ_0/g(t) are added at once: at decision t those with i ≤ d ln g(t − 1), a
  function of t alone. The default g = √t is that of the paper's experiments: the bound pays only d
  ln g, and with 1 + log(1 + t) there are two candidates until t = 595 in d = 1, which on the bump
  (theory.md#bump) sticks in 2 of 10 starts to T = 150. û is in play for t > g⁻¹(e^(1/d) θ_0/θ*) at
  the latest; the paper prints e^(−1/d).
- *Capacity.* γ_n(θ) is computed, by greedy information over a fixed cloud of the cube: within the
  factor 1 − 1/e of the capacity over it, the same for all θ, where the balance only needs orders.
  The closed form (θ_0/θ)^d (log n)^(d+1) has an unknown constant, is 0 at n = 1, and exceeds the
  trivial (n/2) log(1 + 1/λ) from d = 3 on (35-fold at d = 5, n = 150, λ = .0025). The realised
  information of the data would not do: it is no function of n_θ. What the proof needs of γ holds:
  cutting the cube into ⌈g⌉^d boxes, information being subadditive, γ_n(θ/g) ≤ ⌈g⌉^d γ_n(θ) for
  every stationary kernel, and lengthscales per input may differ. "R(n+1) − R(n) ≤ 2B" is assumed in
  the paper and false for small n, but R(n+1) ≤ 2√2 R(n), since γ_(n+1) ≤ 2γ_n, serves as well.
- *Units.* R^θ(n) = √n (B√γ + (R/√λ) γ): the paper's for λ = R², and for other λ the one that
  does not depend on the values' unit.
- Pending and failed decisions count as plays in n_θ of the balance (or a batch would be one
  candidate's, and failures would stop the others), and not in S^θ of the elimination. Noise told
  with a value replaces R² by the mean of R_s² in ξ.
- Not repaired: 2Σβσ ≤ C·R^θ(n_θ) is used in Lemma B.4, but β_t carries the information of all t
  shared points, not of n_θ: the bound proved that way is √n (B√γ_n + √(γ_t γ_n)), larger by at most
  √(γ_T/γ_n).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from noregret.errors import ConfigurationError, check_one_of
from noregret.gp import Kernel, SquaredExponential, greedy_information
from noregret.rkhs import WIDTHS, Growth, NoWidening, PowerGrowth, Scaling, WidthName, merge
from noregret.search import low_discrepancy
from noregret.space import Array, SearchSpace
from noregret.strategies.adaptive_gp_ucb import AdaptiveGPUCB, ClassRecord, Step
from noregret.strategies.base import Belief, Design, initial_proposal, shared_settings, with_payload
from noregret.strategies.data import FARTHEST, unit_for
from noregret.strategies.validation import needs, settle_lengthscales
from noregret.trials import Decision, Explanation, History, Proposal, payload_as

CLOUD = 512  # points of the cube whose information capacity is taken for γ
ROUNDING = 1e-9  # of d ln g, so that g = e^(i/d) admits candidate i


@dataclass(frozen=True, slots=True)
class Plays:
    """One candidate's plays: the number of decisions, and of those with a value the values, noise
    variances and 2β^½σ.
    """

    decisions: int
    values: Array
    noise_var: Array
    regret_bounds: Array


@dataclass(frozen=True, slots=True)
class Balance:
    """The candidates before a decision: which are active, and their plays."""

    introduced: int
    eliminated: frozenset[int]
    plays: Mapping[int, Plays]

    @property
    def active(self) -> list[int]:
        return [index for index in range(self.introduced) if index not in self.eliminated]


@dataclass(frozen=True, slots=True)
class LBGPUCB:
    """GP-UCB with several lengthscales in competition.

    Args:
        noise_std: R, in the values' units.
        norm_bound: N, the norm bound at θ_0, in the values' units.
        lengthscales: θ_0 on the unit cube; None: √d, its diameter.
        delta: the probability with which the guarantee may fail.
        kernel: of the class, without lengthscales.
        width: a theorem's name. The authors' own is "chowdhury_gopalan" with regulariser 1 + 2/T;
            "paper" is the one printed by Berkenkamp et al.
        regulariser: λ; None: noise_std².
        growth: g; the shortest candidate at step t is about θ_0/g(t).
        offset: a fixed prior mean, in the values' units.
        initial_points: number of points before the model; None: as ``initial_design`` has it.
        initial_design: "uniform" (2^d up to four inputs, then 4d) or "spread" (2d, from 3 to 12).

    Raises:
        ConfigurationError: a setting outside its range, or no noise_std.
    """

    proved: ClassVar[bool] = False

    noise_std: float
    norm_bound: float = 1.0
    lengthscales: float | tuple[float, ...] | None = None
    delta: float = 0.1
    kernel: Kernel = SquaredExponential()
    width: WidthName = "mixture"
    regulariser: float | None = None
    growth: Growth = PowerGrowth(1.0, 0.5)
    offset: float = 0.0
    initial_points: int | None = None
    initial_design: Design = "uniform"

    def __post_init__(self) -> None:
        if self.noise_std is None:
            raise ConfigurationError(
                "LB-GP-UCB needs noise_std, got None: candidates are dropped where they fall behind"
                " by more than the noise explains"
            )
        check_one_of("width", self.width, tuple(WIDTHS))
        if not isinstance(self.growth, Growth):
            raise ConfigurationError(
                "growth is ConstantGrowth(), LogGrowth(rate) or PowerGrowth(scale, exponent) of"
                f" noregret.rkhs.widening, got {self.growth!r}"
            )
        settle_lengthscales(self)
        self._base()  # checks the other settings

    def _base(self) -> AdaptiveGPUCB:
        """The GP-UCB that every candidate runs, at its own (θ, B); half of delta is for its band,
        the other for the elimination.
        """
        settings = shared_settings(self, AdaptiveGPUCB)
        settings["delta"] = self.delta / 2 if 0 < self.delta < 1 else self.delta
        settings |= {"widening": NoWidening(), "norm_power": "tight", "charge_estimate": True}
        return AdaptiveGPUCB(**settings, estimation=None)

    @property
    def theorem(self) -> str:
        if self.width == "paper":
            return (
                "none claimed: Ziomek et al. 2024 with the width printed in Berkenkamp et al. 2019,"
                " a confidence bound only for noise_std ≥ 0.354"
            )
        if not getattr(self.kernel, "decreasing_spectrum", False):
            return (
                "none: the norm of f may grow faster than (θ_0/θ)^(d/2), since this kernel does not"
                " declare a decreasing spectral density"
            )
        return (
            "Theorem 4.1 of Ziomek et al. 2024: with probability at least 1 − delta the longest"
            " candidate whose class holds f is never dropped once it is in play (proved in the"
            " module's text), and the regret is that of GP-UCB with the best lengthscale times"
            " d·log g(T), up to the logarithms named there. Needs noise that is"
            " noise_std-sub-Gaussian, f − offset of norm at most norm_bound·(θ_0/θ)^(d/2) at some"
            " lengthscales θ ≤ θ_0, growth without bound, one evaluation at a time, and an argmax"
            " of UCB found to precision."
        )

    # -- candidates --

    def introduced(self, t: int, dimension: int) -> int:
        """The number of candidates at decision t, eliminated ones included: those with θ_i ≥
        θ_0/g(t − 1).
        """
        fitting = dimension * math.log(self.growth(t - 1))  # theory.md#lb-gp-ucb
        return 1 + math.floor(fitting + ROUNDING)

    def suspected_regret(self, index: int, plays: int, dimension: int) -> float:
        """R^θ(n) of candidate ``index`` after n = plays decisions."""
        base = self._base()
        # B(θ) = (θ_0/θ)^(d/2) N, theory.md#lb-gp-ucb
        held = base.initial_class(dimension).widened(_scaling(index, dimension).g, 1.0)
        cloud = low_discrepancy(CLOUD, dimension, np.random.default_rng(0))
        gains = greedy_information(
            self.kernel, held.lengthscales, cloud, plays, base.settled_regulariser
        )
        capacity = float(gains[-1])
        per_play = held.norm_bound * math.sqrt(capacity) + base.noise_ratio * capacity
        return math.sqrt(plays) * per_play  # theory.md#lb-gp-ucb

    def balance(self, history: History, dimension: int) -> Balance:
        """The candidates before the next decision, from the history alone. Elimination is final."""
        decisions = history.model_decisions
        t = len(decisions)
        plays = _plays(history, self.noise_std, self.introduced(t + 1, dimension))
        eliminated = frozenset(
            int(index) for each in history.decisions for index in each.payload.get("eliminated", ())
        )
        if t:
            before = self.introduced(t, dimension)
            playing = {
                index: record
                for index, record in plays.items()
                if index < before and index not in eliminated
            }
            eliminated |= eliminated_candidates(playing, t, before, self.delta)
        return Balance(self.introduced(t + 1, dimension), eliminated, plays)

    # -- Strategy --

    def propose(self, space: SearchSpace, history: History, rng: np.random.Generator) -> Proposal:
        start = initial_proposal(space, history, rng, self.initial_points, self.initial_design)
        if start is not None:
            return start
        d = space.dimension
        balance = self.balance(history, d)
        regrets = [
            self.suspected_regret(index, balance.plays[index].decisions + 1, d)
            for index in balance.active
        ]
        # Algorithm 1, line 3; the longest of equals
        index = balance.active[int(np.argmin(regrets))]
        scaling = _scaling(index, d)
        step = Step(self._base(), space, history, rng)
        notes = {
            "proved": False,
            "candidate": index,
            "introduced": balance.introduced,
            "eliminated": sorted(balance.eliminated),
            "suspected_regret": min(regrets),
        }
        return with_payload(step.proposal(scaling, step.choice(scaling.g, scaling.b)), notes)

    def explain(self, decision: Decision) -> Explanation:
        return self._base().explain(decision)

    def belief(
        self, space: SearchSpace, history: History, delta: float | None = None
    ) -> Belief | None:
        """The shortest candidate in play, conditioned on everything told: its class contains those
        of the longer ones.
        """
        if len(history.X) == 0:
            return None
        chosen = self if delta is None else replace(self, delta=delta)
        scaling = _scaling(self.balance(history, space.dimension).active[-1], space.dimension)
        step = Step(chosen._base(), space, history.observed, np.random.default_rng(0))
        known = f"{needs(self.noise_std, history)} Shorter candidates may follow, so the bound"
        known = f"{known} need not fall for good."
        if self.width == "radius":  # of whatever class the data choose: theory.md#radius
            return step.belief(scaling, f". {known}", step.proved)
        more = (
            ", and if that candidate had not been chosen by the data, which no union bound pays"
            f" for. {known}"
        )
        return replace(step.belief(scaling, more, False), kernel=None, norm_bound=None)


def eliminated_candidates(
    plays: Mapping[int, Plays], t: int, introduced: int, delta: float
) -> frozenset[int]:
    """The candidates that fall behind another's lower bound by more than their own band and the
    noise allow, after t decisions.
    """
    # ξ_t = 2σ² log(|A|π²t²/(3δ)), theory.md#lb-gp-ucb
    log_term = math.log(introduced * math.pi**2 * t**2 / (3 * delta))
    lower, upper = {}, {}
    for index, record in plays.items():
        n = len(record.values)
        if n == 0:
            continue
        mean = float(np.mean(record.values))
        # √(ξ_t/n), with σ² the mean of R_s²
        spread = math.sqrt(2 * log_term * float(np.mean(record.noise_var)) / n)
        lower[index] = mean - spread
        width = float(np.mean(record.regret_bounds))  # (2/n) Σ β^½ σ, theory.md#lb-gp-ucb
        upper[index] = mean + spread + width
    return frozenset(index for index in upper if upper[index] < max(lower.values()))


def _scaling(index: int, dimension: int) -> Scaling:
    g = math.exp(index / dimension)  # θ_i = θ_0 e^(−i/d), theory.md#lb-gp-ucb
    return Scaling(merge(g, 1.0, dimension), g, 1.0)


def _plays(history: History, noise_std: float, introduced: int) -> dict[int, Plays]:
    unit = unit_for(history.y, 1.0)
    given = np.where(np.isnan(history.noise_std), noise_std, history.noise_std)
    noise_var = np.minimum(given / unit, FARTHEST) ** 2
    record = {}
    for index in range(introduced):
        mine = [
            (payload_as(ClassRecord, decision), row)
            for decision, row in zip(history.decisions, history.rows, strict=True)
            if decision.payload.get("candidate") == index
        ]
        told = [(model, row) for model, row in mine if row is not None]
        at = np.array([row for _, row in told], dtype=np.intp)
        bounds = np.array(
            [each.instant_regret_bound * each.scale if each else 0.0 for each, _ in told],
            dtype=np.float64,
        )
        record[index] = Plays(len(mine), history.y[at] / unit, noise_var[at], bounds / unit)
    return record
