"""Forecasts that were recorded before their values were seen, and their coverage.

The model's standard deviation may be wrong. So the half-width q of a predictive band, in standard
deviations, follows the values by quantile tracking (Gibbs and Candès 2021): from that of a Gaussian
it goes down a little after each value inside its band, and up nine times as far after each outside,

    log q ← log q + RATE·(1[outside] − (1 − LEVEL)).

Guarantee, without any assumption on model or values: let the distances from the mean, in standard
deviations, lie in [a, b] with a ≤ q_1 ≤ b and a·exp(−m·RATE) ≥ NARROWEST, and let at most m points
be under way at a time, each new one included. Then of n values the share outside differs from
1 − LEVEL by at most (log(b/a) + m·RATE)/(n·RATE). Proof: the updates add up to log q − log q_1.
When q > b, only values whose band was made before may still raise it, m at most; when q < a, as
many may lower it. Smaller distances leave the upper bound on the share as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import betaln, ndtri

from noregret.space import Array, Indices
from noregret.strategies import Compression, Strategy
from noregret.trials import (
    Explanation,
    Goal,
    OutcomeDecision,
    Trial,
    corrections,
    latest,
    sign_of,
)

LEVEL = 0.9  # nominal coverage of the predictive band
CHANCE = 0.01  # probability of ever raising an alarm if the forecasts are right
GAUSSIAN = float(ndtri(0.5 + LEVEL / 2))  # half-width of a Gaussian's band, in standard deviations
RATE = 0.15  # step of log half-widths; larger ones follow sooner and scatter more
OUTCOME_START = 3.5  # first half-width of outcomes, whose models are too sure; larger errs less
NARROWEST = 0.1  # least half-width: values that agree exactly would make the band a point
ENOUGH = 15  # values after which bands count as calibrated: q has had time to move


@dataclass(frozen=True, slots=True)
class Prediction:
    """A proposal's own forecast, in the values' units and sign.

    Args:
        number: The trial.
        mean: The expected value.
        std: Posterior standard deviation of f.
        low: Lower end of the band that contains a value with probability ``LEVEL``.
        high: Upper end of that band.
        lower: Lower end of the strategy's band of f; None without a width.
        upper: Upper end of the strategy's band of f.
        residual: Value minus mean, in standard deviations of a value; None before it is known.
        explanation: What the strategy says of the decision.
        inside: Whether the value lies in (low, high); None before it is known.
        multiple: Half-width of (low, high), in standard deviations of a value.
        calibrated: Whether there were ``ENOUGH`` earlier residuals to set ``multiple``.
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
    inside: bool | None = None
    multiple: float = GAUSSIAN
    calibrated: bool = False


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
        if trial.corrects is None:
            last = trials[latest(trial.number, replaced_by)]
            result = {name: getattr(last, name) for name in CORRECTED}
            effective.append(trial if last is trial else replace(trial, **result))
    return effective


def predictions(trials: Sequence[Trial], goal: Goal, strategy: Strategy) -> list[Prediction | None]:
    """What each proposal predicted, according to the study's strategy.

    Args:
        trials: The trials as ``effective_trials`` gives them.
        goal: "maximize" or "minimize".
        strategy: The study's strategy.

    Returns:
        One entry per trial; None if its point came from no model: an initial design, a random
        point, or one measured elsewhere.
    """
    chosen = [trial for trial in trials if trial.decision.model is not None]
    explanations = [strategy.explain(trial.decision) for trial in chosen]
    sign, models = sign_of(goal), [trial.why for trial in chosen]
    offset, scale = _column(explanations, "offset"), _column(explanations, "scale")
    bend = partial(_by_compression, [each.compression for each in explanations])
    std = _column(explanations, "latent_std")
    std = np.where(np.isnan(std), _column(models, "std") / scale, std)
    mean = bend(Compression.forward, (sign * _column(models, "mean") - offset) / scale)
    z = (sign * _column(chosen, "value") - offset) / scale
    # a value at another point says nothing about the forecast
    z[[trial.state != "complete" or trial.asked is not None for trial in chosen]] = np.nan
    noise_std = _column(chosen, "noise_std")
    told = np.isfinite(noise_std) & np.isfinite(z)
    noise_std = np.where(told, noise_std, _column(explanations, "noise_std"))
    slope = bend(Compression.slope, np.where(told, z, 1.0))
    value_std = np.hypot(std, noise_std / scale * slope)

    def ends(half: Array) -> Array:
        """(2, n): mean ± half in the values' units and sign, NaN where there is no width."""
        pair = [bend(Compression.inverse, mean + side * half) for side in (-1.0, 1.0)]
        return np.sort([sign * (offset + scale * end) for end in pair], axis=0)

    residual = sign * (bend(Compression.forward, z) - mean) / value_std
    # Sizes in units of the Gaussian band, on each side and in the values' units: a compressed scale
    # would stretch wide bands without measure.
    middle, value = _column(models, "mean"), sign * (offset + scale * z)
    apart = np.abs(ends(GAUSSIAN * value_std) - middle)
    below, above = np.maximum(apart, np.spacing(np.abs(middle))) / GAUSSIAN  # never 0 by rounding
    size = np.abs(value - middle) / np.where(value > middle, above, below)
    multiple, known = _tracked(chosen, size)
    low, high = middle - multiple * below, middle + multiple * above
    lower, upper = ends(_column(explanations, "beta_sqrt") * std)
    made = iter(
        Prediction(
            trial.number,
            trial.why.mean,
            trial.why.std,
            float(low[row]),
            float(high[row]),
            _known(lower[row]),
            _known(upper[row]),
            _known(residual[row]),
            explanations[row],
            None if math.isnan(size[row]) else bool(size[row] <= multiple[row]),
            float(multiple[row]),
            bool(known[row] >= ENOUGH),
        )
        for row, trial in enumerate(chosen)
    )
    return [None if trial.decision.model is None else next(made) for trial in trials]


def _by_compression(
    passes: Sequence[Sequence[tuple[float, float]]],
    transform: Callable[[Compression, Array], Array],
    z: Array,
) -> Array:
    """One model value per proposal, transformed by the compression of that proposal. Those with
    equally many passes are done at once, since a study may have thousands.
    """
    result = np.empty_like(z)
    for count in {len(each) for each in passes}:
        rows = [row for row, each in enumerate(passes) if len(each) == count]
        pairs = np.moveaxis(np.array([passes[row] for row in rows]), 0, -1)
        compression = Compression(tuple((mean, std) for mean, std in pairs))
        result[rows] = transform(compression, z[rows])
    return result


def _known(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _column(values: Sequence[object], name: str) -> Array:
    """One field of all of them, NaN where there is none."""
    return np.array([getattr(value, name) for value in values], dtype=np.float64)


def _tracked(
    trials: Sequence[Trial], sizes: Array, start: float = GAUSSIAN
) -> tuple[Array, Indices]:
    """How many standard deviations each band reaches, and how many values set it: those known
    when its point was asked for.
    """
    log_q, count = math.log(start), 0
    multiples, counts = np.empty(len(trials)), np.zeros(len(trials), dtype=np.intp)
    waiting: list[int] = []
    for row, trial in enumerate(trials):
        pending = set(trial.decision.pending)
        for earlier in waiting:
            if trials[earlier].number not in pending and math.isfinite(sizes[earlier]):
                outside = sizes[earlier] > multiples[earlier]
                log_q = max(log_q + RATE * (outside - (1 - LEVEL)), math.log(NARROWEST))
                count += 1
        waiting = [earlier for earlier in waiting if trials[earlier].number in pending] + [row]
        multiples[row], counts[row] = math.exp(log_q), count
    return multiples, counts


def outcome_forecasts(
    trials: Sequence[Trial], strategy: Strategy
) -> dict[tuple[int, str], tuple[float, float]]:
    """Where the measured outcomes of each proposal were expected: bands by quantile tracking, as
    those of the values, or the band that decided.

    Args:
        trials: The trials as ``effective_trials`` gives them.
        strategy: The study's strategy.

    Returns:
        Lower and upper end by the trial's number and the outcome's name.
    """
    bands: dict[tuple[int, str], tuple[float, float]] = {}
    rows: dict[str, list[tuple[Trial, OutcomeDecision]]] = {}
    for trial in trials:
        for each in strategy.explain(trial.decision).outcomes if trial.decision.model else ():
            rows.setdefault(each.name, []).append((trial, each))
    for name, pairs in rows.items():
        told = [trial for trial, _ in pairs]
        value = np.array([np.nan if t.asked else t.outcomes.get(name, np.nan) for t in told])
        mean = np.array([each.mean for _, each in pairs])
        std = np.array([math.hypot(each.std, each.noise_std or 1e-300) for _, each in pairs])
        half = _tracked(told, np.abs(value - mean) / std, OUTCOME_START)[0] * std
        for (trial, each), low, high in zip(pairs, mean - half, mean + half, strict=True):
            decided = None if each.lower is None or each.upper is None else (each.lower, each.upper)
            bands[trial.number, name] = decided or (float(low), float(high))
    return bands


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coverage of the predictive bands.

    Args:
        predictions: The calibrated predictions whose values are known, oldest first.
        coverage: Share of values inside their bands, after each value.
        least: Lower bound of ``coverage``: if the forecasts are right, coverage falls below it at
            any time in at most 1 % of studies.
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


def check_calibration(forecasts: Sequence[Prediction | None]) -> Calibration:
    """The coverage of a study's forecasts.

    Args:
        forecasts: One entry per trial, see ``predictions``.

    Returns:
        The coverage after each value; empty if there are not enough values yet.
    """
    checked = (p for p in forecasts if p is not None and p.residual is not None)
    known = tuple(prediction for prediction in checked if prediction.calibrated)
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
