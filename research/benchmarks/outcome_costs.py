"""What an ask costs with outcomes beside one without: processor time in one process, in turns.

python -m research.benchmarks.outcome_costs [SEEDS]

Three inputs, up to 40 trials, three objectives; the ratio of the sums from the ninth ask on.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable

import numpy as np

import noregret as nr
from research.benchmarks.limited import CONTEXTUAL

COUNTS = (0, 1, 2, 4)
TRIALS, FIRST = 40, 8
SPACE = {name: nr.Float(0, 1) for name in "abc"}

OBJECTIVES: tuple[Callable[[float, float, float], float], ...] = (
    lambda a, b, c: (a - 0.3) ** 2 + math.sin(4 * b) * c + 0.5 * a * c,
    lambda a, b, c: CONTEXTUAL["hartmann-3, given x3"].f([a, b, c]),
    lambda a, b, c: math.exp(2 * a) - 3 * b * c + abs(c - 0.4),
)


def outcomes(a: float, b: float, c: float) -> list[float]:
    return [a + b - c**2 - 0.4, math.sin(3 * a) + b - 1.1, c * b - 0.5, a**2 + c - 1.2]


def seconds(seed: int, f: Callable[[float, float, float], float]) -> dict[int, float]:
    total = dict.fromkeys(COUNTS, 0.0)
    studies = {
        count: nr.Study(
            SPACE, "minimize", seed=seed, outcomes={f"g{i}": nr.AtMost(0.0) for i in range(count)}
        )
        for count in COUNTS
    }
    for number in range(TRIALS):
        for count, study in studies.items():
            begun = time.process_time()
            trial = study.ask()
            if number >= FIRST:
                total[count] += time.process_time() - begun
            at = tuple(trial.params[name] for name in "abc")
            told = {f"g{i}": each for i, each in enumerate(outcomes(*at)[:count])}
            study.tell(trial, f(*at), outcomes=told or None)
    return total


def main(seeds: int) -> None:
    runs = [seconds(seed, f) for seed in range(seeds) for f in OBJECTIVES]
    total = {count: float(np.sum([run[count] for run in runs])) for count in COUNTS}
    print({count: round(each / total[0], 2) for count, each in total.items()})


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
