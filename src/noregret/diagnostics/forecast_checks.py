"""What was predicted at a point before its value was seen, and how often the value was where it was
expected.

A model's own standard deviation is a guess. So the band in which a value is expected is as wide as
the study's own earlier errors require: its half-width is the conformal quantile of the residuals
known when the point was asked for (Vovk et al. 2005). Before there are enough of them, it is the
model's, and says so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
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
    forecasts: dict[int, _Forecasts] = {}
    place: dict[int, tuple[int, int]] = {}
    explained = {
        row: strategy.explain(trial.decision)
        for row, trial in enumerate(trials)
        if trial.decision.model is not None
    }
    by_passes: dict[int, list[int]] = {}
    for row, explanation in explained.items():
        by_passes.setdefault(len(explanation.compression), []).append(row)
    for passes, rows in by_passes.items():
        chosen = [trials[row] for row in rows]
        forecasts[passes] = _Forecasts.of(chosen, [explained[row] for row in rows], goal, passes)
        place |= {row: (passes, at) for at, row in enumerate(rows)}
    residuals = {row: float(forecasts[passes].residual[at]) for row, (passes, at) in place.items()}
    multiples = _multiples(trials, residuals)
    for passes, each in forecasts.items():
        rows = [row for row, (other, _) in place.items() if other == passes]
        each.finish(np.array([multiples[row] or GAUSSIAN for row in rows]))
    return [
        None
        if row not in place
        else forecasts[place[row][0]].prediction(trial, place[row][1], multiples[row] is not None)
        for row, trial in enumerate(trials)
    ]


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


@dataclass(slots=True)
class _Forecasts:
    """Forecasts of proposals whose values were compressed equally often; all of them at once, since
    a study may have thousands. Model units, to be maximised.
    """

    sign: float
    offset: Array
    scale: Array
    bend: Compression
    mean: Array
    std: Array  # of f
    spread: Array  # of a value
    residual: Array  # NaN: not known; in the values' sign
    explanations: list[Explanation]
    columns: list[list[float | None]]

    @staticmethod
    def of(
        trials: list[Trial], explanations: list[Explanation], goal: Goal, passes: int
    ) -> _Forecasts:
        sign, models = sign_of(goal), [trial.why for trial in trials]
        offset, scale = _column(explanations, "offset"), _column(explanations, "scale")
        bend = Compression(
            tuple(
                (
                    np.array([each.compression[k][0] for each in explanations]),
                    np.array([each.compression[k][1] for each in explanations]),
                )
                for k in range(passes)
            )
        )
        width = _column(explanations, "beta_sqrt")
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
        told = np.array([trial.noise_std for trial in trials], dtype=np.float64)
        known = np.isfinite(told) & np.isfinite(z)
        slope = bend.slope(np.where(known, z, 1.0))
        noise_std = np.where(known, told, _column(explanations, "noise_std"))
        spread = np.hypot(std, noise_std / scale * slope)
        residual = sign * (bend.forward(z) - mean) / spread
        made = _Forecasts(sign, offset, scale, bend, mean, std, spread, residual, explanations, [])
        made.columns = [*made._ends(width, std), _listed(residual)]
        return made

    def finish(self, multiple: Array) -> None:
        """With bands that reach so far."""
        self.columns = [*self._ends(multiple, self.spread), *self.columns, _listed(multiple)]

    def _ends(self, multiple: Array, std: Array) -> list[list[float | None]]:
        """(low, high) in the values' units and sign, None where there is no width."""
        ends = [
            self.sign * (self.offset + self.scale * self.bend.inverse(self.mean + side * std))
            for side in (-multiple, multiple)
        ]
        return [_listed(end) for end in np.sort(ends, axis=0)]

    def prediction(self, trial: Trial, at: int, calibrated: bool) -> Prediction:
        low, high, lower, upper, residual, multiple = (column[at] for column in self.columns)
        assert low is not None
        assert high is not None
        assert multiple is not None
        made = trial.why
        return Prediction(
            trial.number,
            made.mean,
            made.std,
            low,
            high,
            lower,
            upper,
            residual,
            self.explanations[at],
            multiple,
            calibrated,
        )


def _listed(numbers: Array) -> list[float | None]:
    return [None if np.isnan(number) else float(number) for number in numbers]


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
