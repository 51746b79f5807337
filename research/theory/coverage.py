"""Do the bands and certificates of docs/theory.md hold? ``python -m research.theory.coverage``.

bands     joint coverage of band and certificate at all looks of a study, δ = .1: four noise laws,
          R from .01 to .3, one to three inputs, four workers, the end where the certificate says so
stopping  d = 2, R = .05: trials until the certificate is within .3 of the range of f, with a
          scaling per input and with one for all

Each run gives the largest share of its band and certificate that was needed, over the looks at
which the class contains f. Negative control: would a fiftieth of them have been enough? A number
after ``bands`` is the seeds per setting.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

import noregret as nr
from noregret.gp import Kernel
from noregret.rkhs import (
    ClassEstimate,
    EvidenceClass,
    FunctionClass,
    Ladder,
    LogGrowth,
    Mixture,
    NoiseFromReplicates,
    Values,
    norm_lower_bound,
)
from noregret.rkhs.evidence_class import FINENESS
from noregret.strategies import Strategy
from noregret.testing.problems import RKHSFunction, rkhs_sample

DELTA, STEPS, WORKERS = 0.1, 26, 4
CONTROL = 1 / 50
CLIP = 4.0  # Student's t with 3 degrees of freedom is cut here, and so is 1-sub-Gaussian over it
LAWS: dict[str, Callable[[np.random.Generator], float]] = {
    "gaussian": lambda rng: float(rng.standard_normal()),
    "rademacher": lambda rng: float(rng.choice([-1.0, 1.0])),
    "uniform": lambda rng: float(rng.uniform(-1, 1)),
    "t3 truncated": lambda rng: float(np.clip(rng.standard_t(3), -CLIP, CLIP)) / CLIP,
}
REPEATED = {  # of those laws to which the bound from replicates applies
    "gaussian": NoiseFromReplicates(4),
    "rademacher": NoiseFromReplicates(9, "strict"),
    "uniform": NoiseFromReplicates(9, "strict"),
}


def strategies(law: str, R: float, f: RKHSFunction) -> Iterator[tuple[str, Strategy]]:
    """By name. The class of "sure" contains f from the first decision on."""
    start, sure = 0.5, EvidenceClass(norm_growth=LogGrowth(11.0))
    bound = f.norm_at(np.full(len(f.lengthscales), start))
    yield "paper", nr.AdaptiveGPUCB.paper(R, norm_bound=1.0, width="radius")
    yield "rigorous", nr.AdaptiveGPUCB.rigorous(R, DELTA, bound, start)
    yield "rigorous, sure", nr.AdaptiveGPUCB.rigorous(R, DELTA, bound, start, following=sure)
    if law in REPEATED:
        rule = REPEATED[law]
        yield "R unknown", nr.AdaptiveGPUCB.rigorous(rule, DELTA, bound, start)


@dataclass(frozen=True, slots=True)
class Needed:
    """Of the band and of the certificate of one run; None if its class never contained f."""

    band: float | None
    certificate: float


def run(f: RKHSFunction, strategy: Strategy, law: str, R: float, seed: int) -> Needed:
    d, rng = len(f.lengthscales), np.random.default_rng([seed, 17])
    study = nr.Study([(0, 1)] * d, "maximize", strategy=strategy, seed=seed)
    grid = np.random.default_rng(1).random((200, d))
    truth, waiting = f(grid), list[nr.Trial]()
    span = f.maximum - float(truth.min())
    band, used = list[float](), [0.0]
    extra = 0
    if isinstance(strategy, nr.RadiusGPUCB) and isinstance(
        strategy.noise_bound, NoiseFromReplicates
    ):
        extra = 2 * strategy.noise_bound.pairs
    for step in range(STEPS + extra):
        waiting.append(study.ask())
        if len(waiting) < WORKERS:
            continue
        done = waiting.pop(int(rng.integers(WORKERS)))
        study.tell(done, float(f(np.asarray(done.params))) + R * LAWS[law](rng))
        belief = study.belief() if step % 3 == 2 else None
        if belief is None or belief.norm_bound is None:
            continue
        theta, most = belief.lengthscales, belief.norm_bound * belief.scale
        if np.any(theta >= math.sqrt(2) * f.lengthscales) or f.norm_at(theta) > most * (1 + 1e-9):
            continue
        lower, upper = belief.band(grid)
        half = np.maximum((upper - lower) / 2, 1e-12)
        band.append(float(np.max(np.abs(truth - (lower + upper) / 2) / half)))
        if d < 3 and step % 6 == 5:
            certificate = study.certificate()
            left = f.maximum - float(f(np.asarray(certificate.params)))
            used.append(left / max(certificate.regret_bound, 1e-12))
            if certificate.regret_bound <= 0.5 * span:
                break  # stopped by the certificate
    return Needed(max(band, default=None), max(used))


def bands(seeds: int) -> None:
    found: dict[str, list[Needed]] = {}
    for seed, d in ((seed, d) for seed in range(seeds) for d in (1, 2, 3)):
        f = rkhs_sample(seed, dimension=d, lengthscale=0.4, norm=1.5)
        for R, law in ((R, law) for R in (0.01, 0.1, 0.3) for law in LAWS):
            for name, strategy in strategies(law, R, f):
                found.setdefault(name, []).append(run(f, strategy, law, R, seed))
        print(f"seed {seed}, up to {d} inputs")
        for name, runs in sorted(found.items()):
            print("  " + summary(name, runs), flush=True)


def summary(name: str, runs: list[Needed]) -> str:
    counted = [(r.band, r.certificate) for r in runs if r.band is not None]
    held, small = (sum(max(pair) <= share for pair in counted) for share in (1.0, CONTROL))
    total = len(counted)
    fails = binomtest(small, total, 1 - DELTA, alternative="less").pvalue
    return (
        f"{name}: {held} of {total} hold ({len(runs) - total} more never contained f), needed"
        f" {max(band for band, _ in counted):.2f} of the band and"
        f" {max(left for _, left in counted):.2f} of the certificate; control: {small} hold,"
        f" p = {fails:.1g}"
    )


@dataclass(frozen=True, slots=True)
class OneScaling(EvidenceClass):
    """One scaling for all inputs, as it was before there was one per input."""

    def estimate(
        self, kernel: Kernel | Ladder, t: int, start: FunctionClass, values: Values, delta: float
    ) -> tuple[Kernel, ClassEstimate]:
        assert not isinstance(kernel, Ladder)
        d, mixture = start.dimension, Mixture.around(kernel, start)
        ratios = mixture.log_ratios(values)
        radius_sq = mixture.radius_squared(values, delta)
        share = mixture.weights * np.exp(ratios - ratios.max())
        logs = np.log(start.lengthscales[0] / mixture.lengthscales[:, 0])
        fitted = math.exp(float(share @ logs) / float(share.sum()))
        g = max(min(self.shortening * fitted, self.cap(t) ** (1 / d)), self.floor(t) ** (1 / d))
        g = 2.0 ** (math.ceil(FINENESS * math.log2(g) - 1e-9) / FINENESS)
        implied = start.at(start.lengthscales / g, 1.0, "tight")
        least = norm_lower_bound(kernel, implied.lengthscales, values, radius_sq)
        bound = max(self.norm_growth(t) / 8 * implied.norm_bound, self.factor * least)
        held = FunctionClass(implied.lengthscales, bound)
        return kernel, ClassEstimate(held, radius_sq, least, g, bound / implied.norm_bound)


def trials_to_stop(f: RKHSFunction, inputs: int, rule: EvidenceClass, seed: int, most: int) -> int:
    """Of a study of two inputs, f of the first ``inputs`` of them; looked at every third trial."""
    rng = np.random.default_rng([seed, 23])
    strategy = nr.AdaptiveGPUCB.rigorous(0.05, DELTA, 1.0, 1.0, following=rule)
    study = nr.Study([(0, 1)] * 2, "maximize", strategy=strategy, seed=seed)
    span = f.maximum - float(f(np.random.default_rng(0).random((2_000, inputs))).min())
    for number in range(1, most + 1):
        trial = study.ask()
        x = np.asarray(trial.params)[:inputs]
        study.tell(trial, float(f(x)) + 0.05 * rng.standard_normal())
        if number >= 9 and number % 3 == 0 and study.certificate().regret_bound <= 0.3 * span:
            return number
    return most


def stopping(seeds: int = 4, most: int = 180) -> None:
    for inputs, theta in ((1, 0.2), (2, 0.4)):
        pairs = []
        for seed in range(seeds):
            f = rkhs_sample(seed, dimension=inputs, lengthscale=theta, norm=3.0)
            rules = (OneScaling(), EvidenceClass())
            pairs.append([trials_to_stop(f, inputs, rule, seed, most) for rule in rules])
            print(f"f of {inputs} of 2 inputs, seed {seed}: one {pairs[-1][0]}, own {pairs[-1][1]}")
        before, now = np.mean(pairs, axis=0)
        print(f"f of {inputs} of 2: {before:.0f} → {now:.0f} trials (at most {most})", flush=True)


if __name__ == "__main__":
    words = sys.argv[1:] or ["bands", "stopping"]
    numbers = [int(word) for word in words if word.isdigit()]
    if "bands" in words:
        bands(*(numbers or [2]))
    if "stopping" in words:
        stopping()
