"""What was predicted at a point before its value was seen, and how often the value was where it was
expected.

A model's own standard deviation is a guess. So the band in which a value is expected is as wide as
the study's own earlier errors require: its half-width is the conformal quantile of the residuals
known when the point was asked for (Vovk et al. 2005). Before there are enough of them, it is the
model's, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, ndtri

from noregret.space import Array, Indices
from noregret.strategies import Compression, Strategy
from noregret.trials import Explanation, Goal, Trial, corrections, latest, sign_of

LEVEL = 0.9  # of the band that values are held against
CHANCE = 0.05  # that an alarm is ever raised where forecasts are right, however often one looks
GAUSSIAN = float(ndtri(0.5 + LEVEL / 2))  # standard deviations of a forecast that is believed
ENOUGH = math.ceil(
    LEVEL / (1 - LEVEL) - 1e-9
)  # residuals from which a quantile of that level follows


@dataclass(frozen=True, slots=True)
class Prediction:
    """A proposal's own forecast, in the values' units and sign. (low, high): where a value was
    expected with probability ``LEVEL``, ``multiple`` of the forecast's standard deviations away;
    calibrated: whether earlier errors of the study say how many, or the model alone. (lower,
    upper): the strategy's band of f, None without a width. residual: in standard deviations of a
    value, None before it is known. explanation: what the strategy says of the decision.
    """

    number: int
    mean: float
    std: float
    low: float
    high: float
    lower: float | None
    upper: float | None
    residual: float | None
    explanation: Explanation
    multiple: float = GAUSSIAN
    calibrated: bool = False

    @property
    def inside(self) -> bool | None:
        return None if self.residual is None else abs(self.residual) <= self.multiple


CORRECTED = ("params", "asked", "state", "value", "noise_std", "error", "transient")


def effective_trials(trials: Sequence[Trial]) -> list[Trial]:
    """The trials with corrections in place of what they correct.

    Args:
        trials: All trials of a study, by number.

    Returns:
        All but the corrections, each with the result that counts now and its own decision.
    """
    replaced_by = corrections(trials)
    effective = []
    for trial in trials:
        last = trials[latest(trial.number, replaced_by)]
        if trial.corrects is None and last is trial:
            effective.append(trial)
        elif trial.corrects is None:
            effective.append(replace(trial, **{name: getattr(last, name) for name in CORRECTED}))
    return effective


def predictions(trials: Sequence[Trial], goal: Goal, strategy: Strategy) -> list[Prediction | None]:
    """What each proposal expected, by the words and numbers of the study's strategy.

    Args:
        trials: The trials as ``effective_trials`` gives them.
        goal: "maximize" or "minimize".
        strategy: The study's strategy.

    Returns:
        One entry per trial; None if its point came from no model: an initial design, a random
        point, or one measured elsewhere.
    """
    explained = {
        row: strategy.explain(trial.decision)
        for row, trial in enumerate(trials)
        if trial.decision.model is not None
    }
    groups: list[tuple[list[int], _Forecasts]] = []
    for passes in {len(each.compression) for each in explained.values()}:
        rows = [row for row, each in explained.items() if len(each.compression) == passes]
        chosen = [trials[row] for row in rows]
        groups.append((rows, _Forecasts.of(chosen, [explained[row] for row in rows], goal)))
    residuals = {
        row: residual
        for rows, group in groups
        for row, residual in zip(rows, group.residual.tolist(), strict=True)
    }
    multiples = _multiples(trials, residuals)
    found: list[Prediction | None] = [None] * len(trials)
    for rows, group in groups:
        made = group.predictions([multiples[row] for row in rows])
        for row, prediction in zip(rows, made, strict=True):
            found[row] = prediction
    return found


def _multiples(trials: Sequence[Trial], residuals: dict[int, float]) -> dict[int, float | None]:
    """How many standard deviations each band reaches, by the residuals known when its point was
    asked for: the ⌈(n + 1)·LEVEL⌉-th smallest of the newer half, n of them and at least ``ENOUGH``,
    since a model of few values errs otherwise than one of many. None: there are not enough.
    """
    known: list[float] = []  # oldest first
    waiting: list[int] = []
    found: dict[int, float | None] = {}
    for row, trial in enumerate(trials):
        if row not in residuals:
            continue
        pending, still = set(trial.decision.pending), []
        for earlier in waiting:
            if trials[earlier].number in pending:
                still.append(earlier)
            elif math.isfinite(residuals[earlier]):
                known.append(abs(residuals[earlier]))
        waiting = [*still, row]
        recent = np.array(known[-max(ENOUGH, len(known) // 2) :])
        rank = math.ceil((len(recent) + 1) * LEVEL - 1e-9)
        enough = rank <= len(recent)
        found[row] = float(np.partition(recent, rank - 1)[rank - 1]) if enough else None
    return found


@dataclass(frozen=True, slots=True)
class _Forecasts:
    """Forecasts of proposals whose values were compressed equally often; all of them at once, since
    a study may have thousands. Model units, to be maximised.
    """

    trials: list[Trial]
    explanations: list[Explanation]
    sign: float
    bend: Compression
    mean: Array
    std: Array  # of f
    spread: Array  # of a value
    residual: Array  # NaN: not known; in the values' sign

    @staticmethod
    def of(trials: list[Trial], explanations: list[Explanation], goal: Goal) -> _Forecasts:
        sign, models = sign_of(goal), [trial.why for trial in trials]
        offset, scale = _column(explanations, "offset"), _column(explanations, "scale")
        passes = np.array([each.compression for each in explanations])  # (n, passes, 2)
        bend = Compression(tuple((row[:, 0], row[:, 1]) for row in np.moveaxis(passes, 1, 0)))
        std = _column(explanations, "latent_std")
        std = np.where(np.isnan(std), _column(models, "std") / scale, std)
        mean = bend.forward((sign * _column(models, "mean") - offset) / scale)
        values = [
            # a value at another point says nothing about the forecast
            np.nan
            if trial.value is None or trial.state != "complete" or trial.asked is not None
            else sign * trial.value
            for trial in trials
        ]
        z = (np.array(values, dtype=np.float64) - offset) / scale
        told = _column(trials, "noise_std")
        known = np.isfinite(told) & np.isfinite(z)
        slope = bend.slope(np.where(known, z, 1.0))
        noise_std = np.where(known, told, _column(explanations, "noise_std"))
        spread = np.hypot(std, noise_std / scale * slope)
        residual = sign * (bend.forward(z) - mean) / spread
        return _Forecasts(trials, explanations, sign, bend, mean, std, spread, residual)

    def predictions(self, multiples: list[float | None]) -> Iterator[Prediction]:
        """With bands of a value that reach so many standard deviations."""
        reach = np.array([each or GAUSSIAN for each in multiples])
        low, high = self._ends(reach * self.spread)
        lower, upper = self._ends(_column(self.explanations, "beta_sqrt") * self.std)
        for row, (trial, explanation) in enumerate(
            zip(self.trials, self.explanations, strict=True)
        ):
            yield Prediction(
                trial.number,
                trial.why.mean,
                trial.why.std,
                float(low[row]),
                float(high[row]),
                _number(lower[row]),
                _number(upper[row]),
                _number(self.residual[row]),
                explanation,
                float(reach[row]),
                multiples[row] is not None,
            )

    def _ends(self, half: Array) -> Array:
        """(2, n): mean ± half in the values' units and sign, NaN where there is no width."""
        offset, scale = _column(self.explanations, "offset"), _column(self.explanations, "scale")
        ends = [self.bend.inverse(self.mean + side * half) for side in (-1.0, 1.0)]
        return np.sort([self.sign * (offset + scale * end) for end in ends], axis=0)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _column(values: Sequence[object], name: str) -> Array:
    """One field of all of them, NaN where there is none."""
    return np.array([getattr(value, name) for value in values], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coverage after each value, and the least that chance allows if the forecasts are right: below
    it at *some* look it falls in at most 5 % of such studies.
    """

    predictions: tuple[Prediction, ...]
    coverage: tuple[float, ...]
    least: tuple[float, ...]

    @property
    def inside(self) -> int:
        return sum(bool(each.inside) for each in self.predictions)

    @property
    def failing(self) -> bool:
        return len(self.predictions) > 0 and self.coverage[-1] < self.least[-1]


def calibration(made: Sequence[Prediction | None]) -> Calibration:
    """Of all calibrated predictions whose value is known, oldest first; none: not enough yet."""
    known = tuple(
        each for each in made if each is not None and each.calibrated and each.residual is not None
    )
    if not known:
        return Calibration((), (), ())
    counts = np.arange(1, len(known) + 1, dtype=np.intp)
    coverage = np.cumsum([bool(each.inside) for each in known]) / counts
    least = _least_inside(counts) / counts
    return Calibration(known, tuple(coverage.tolist()), tuple(least.tolist()))


def _least_inside(counts: Indices) -> Array:
    """The least k of n hits that does not refute coverage of ``LEVEL`` at any look.

    The likelihood ratio of a uniform mixture of hit rates to LEVEL is a martingale if LEVEL is
    right; by Ville's inequality it ever exceeds 1/CHANCE with probability at most CHANCE.
    """
    low, high = np.zeros(len(counts)), np.floor(LEVEL * counts)  # the ratio falls up to there
    while np.any(low < high):
        middle = np.floor((low + high) / 2)
        misses = counts - middle
        ratio = betaln(middle + 1, misses + 1)
        ratio -= middle * math.log(LEVEL) + misses * math.log(1 - LEVEL)
        refuted = ratio > math.log(1 / CHANCE)
        low, high = np.where(refuted, middle + 1, low), np.where(refuted, high, middle)
    return low
