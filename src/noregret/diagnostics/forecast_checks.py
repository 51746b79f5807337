"""What was predicted at a point before its value was seen, and how often the value was where it was
expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtr, bdtrik, ndtri

from noregret.space import Array, Indices
from noregret.strategies import Compression
from noregret.trials import Goal, ModelDecision, Trial, corrections, latest, sign_of

LEVEL = 0.9  # of the band that values are held against
CHANCE = 0.01  # a coverage that chance alone falls below this rarely is an alarm
_MULTIPLE = float(ndtri(0.5 + LEVEL / 2))


@dataclass(frozen=True, slots=True)
class Prediction:
    """A proposal's own forecast, in the values' units and sign. (low, high): where a value was
    expected with probability ``LEVEL``; (lower, upper): the strategy's band of f, None without a
    width. residual: in standard deviations of a value, None before it is known.
    """

    number: int
    mean: float
    std: float
    low: float
    high: float
    lower: float | None
    upper: float | None
    residual: float | None

    @property
    def inside(self) -> bool | None:
        return None if self.residual is None else abs(self.residual) <= _MULTIPLE


def outcomes(trials: Sequence[Trial]) -> list[Trial]:
    """All but the corrections, each with the outcome that counts now and the reasons it was chosen
    for. trials: all of them, by number.
    """
    replaced_by = corrections(trials)
    kept = []
    for trial in trials:
        told = trials[latest(trial.number, replaced_by)]
        if trial.corrects is None:
            kept.append(
                trial
                if told is trial
                else replace(trial, state=told.state, value=told.value, noise_std=told.noise_std)
            )
    return kept


def predictions(trials: Sequence[Trial], goal: Goal) -> list[Prediction | None]:
    """One per trial; None if its point came from no model: an initial design, a random point, or
    one measured elsewhere.
    """
    made: list[Prediction | None] = [None] * len(trials)
    groups: dict[int, list[int]] = {}
    for index, trial in enumerate(trials):
        if trial.decision.model is not None:
            groups.setdefault(len(trial.decision.model.compression), []).append(index)
    for passes, rows in groups.items():
        for index, each in zip(
            rows, _predictions([trials[row] for row in rows], goal, passes), strict=True
        ):
            made[index] = each
    return made


def _predictions(trials: list[Trial], goal: Goal, passes: int) -> list[Prediction]:
    """Of proposals whose values were compressed equally often; all of them at once, since a study
    may have thousands.
    """
    sign = sign_of(goal)
    models = [trial.why for trial in trials]
    offset, scale = _column(models, "offset"), _column(models, "scale")
    center = sign * _column(models, "mean")
    bend = Compression(
        tuple(
            (
                np.array([model.compression[k][0] for model in models]),
                np.array([model.compression[k][1] for model in models]),
            )
            for k in range(passes)
        )
    )
    width = _column(models, "beta_sqrt")
    # compressed predictions are Gaussian in the model's units only, and there 2β^½σ was recorded
    std = (
        _column(models, "instant_regret_bound") / (2 * width)
        if passes
        else _column(models, "std") / scale
    )
    mean = bend.forward((center - offset) / scale)
    value = np.array(
        [
            np.nan if trial.value is None or trial.state != "complete" else sign * trial.value
            for trial in trials
        ]
    )
    z = (value - offset) / scale
    told = np.array([np.nan if trial.noise_std is None else trial.noise_std for trial in trials])
    known = np.isfinite(told) & np.isfinite(z)
    slope = bend.slope(np.where(known, z, 1.0))
    spread = np.hypot(
        std, np.where(known, told, np.nan_to_num(_column(models, "noise_std"))) / scale * slope
    )
    residual = sign * (bend.forward(z) - mean) / spread

    def ends(multiple: Array | float, std: Array) -> Array:
        """(low, high) in the values' units and sign, NaN where there is no width."""
        return np.sort(
            [
                sign * (offset + scale * bend.inverse(mean + side * multiple * std))
                for side in (-1.0, 1.0)
            ],
            axis=0,
        )

    columns = [*ends(_MULTIPLE, spread), *ends(width, std), residual]
    rows = (
        [None if np.isnan(number) else float(number) for number in row]
        for row in np.transpose(columns)
    )
    return [
        Prediction(trial.number, trial.why.mean, trial.why.std, *row)  # type: ignore[arg-type]
        for trial, row in zip(trials, rows, strict=True)
    ]


def _column(models: list[ModelDecision], name: str) -> Array:
    """One field of all of them, NaN where there is none."""
    return np.array([getattr(model, name) for model in models], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coverage after each value, and the least that chance allows (once in a hundred) if the
    forecasts are right.
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
    """Of all predictions whose value is known, oldest first."""
    known = tuple(each for each in made if each is not None and each.residual is not None)
    if not known:
        return Calibration((), (), ())
    counts = np.arange(1, len(known) + 1, dtype=np.intp)
    coverage = np.cumsum([bool(each.inside) for each in known]) / counts
    least = _quantile(CHANCE, counts, LEVEL) / counts
    return Calibration(known, tuple(coverage.tolist()), tuple(least.tolist()))


def _quantile(share: float, counts: Indices, chance: float) -> Array:
    """The least k that a binomial count stays at or below with probability ``share``. scipy.stats
    has it too, and takes half a second to import.
    """
    above = np.ceil(bdtrik(share, counts, chance))
    below = np.maximum(above - 1, 0)
    return np.where(bdtr(below, counts, chance) >= share, below, above)
