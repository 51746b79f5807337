"""Whether the numbers that the shell and the page show are true.

python -m research.benchmarks.calibration [run] [--side tune] [--minutes M] [--workers N]
python -m research.benchmarks.calibration report; results in research/benchmarks/results/calibration
(with --side tune in out/calibration), resumable. The section of docs/benchmarks.md has a row per
number that is shown.

Four kinds of runs of the default, each as a user starts it:

- *study*: a problem of the regret benchmark. At every look: is what may be left at least the regret
  of the recommended point? Is f there within two stated stds, and how many of twenty repeats are
  within their band? Which alarms stand? How many values lay in their forecast band? Twice: how many
  true Sobol indices are within two stds?
- *limits*: a problem with limits, noise added to all that is measured: does the recommended point
  keep them, at which chance, and what does that cost?
- *context*: the same with an input that is given, in contexts never seen.
- *fault*: a planted fault and its clean twin: is it found, is there a false alarm?
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.diagnostics import (
    Alarm,
    Prediction,
    alarms,
    check_calibration,
    effective_trials,
    outcome_forecasts,
    predictions,
)
from noregret.space import Array, Space
from noregret.strategies import Strategy, random_points
from noregret.study import left_of, recommended_by_chance
from noregret.testing.problems import rkhs_sample
from research.benchmarks import sweep
from research.benchmarks.players import ROOT, scale_of, violation_sizes
from research.benchmarks.problem import Problem

RESULTS = ROOT / "research" / "benchmarks" / "results" / "calibration"
SCRATCH = ROOT / "out" / "calibration"
FIRST = 10  # the decision from which on a forecast counts
ROUNDING = 1e-6  # of the range of the values
FARTHEST = 1e6  # stds
SUITES = tuple(suite for suite in sweep.SUITES if suite not in ("constrained-5", "limits"))
LIMITED = ("constrained-5", "limits")
EVERY = (*SUITES, *LIMITED, "planted")
MOST = {"many": 2}  # problems of a suite, evenly spread; of others 24
SEEDS = {"laboratory": 2, "limits": 2}
REPEATS = 20  # at each look
PLACES = 64  # random points at which a band is checked
ONE_BAND = 1.645  # stds of a repeat around its mean in 90 % of all cases, if it is Gaussian
SHARES = (20, 40)  # values at which importances are checked
INPUTS = 10  # problems with more are not checked for importances
DESIGN = 1024  # points of the design that finds the true shares
STOPS = (0.01, 0.05)  # gains of ``LeftBelow``, in the problem's scale
NOISE = 0.05  # std added to an outcome, in its median size; to the value in its scale, half of it
CONTEXTS = 5  # never seen, per run
# planted faults
STUDIES = 50  # of each
RANGE = 60.0  # of the values of f
AFTER = 32  # trials before the fault
LATER = 14  # trials after it
SHIFT = 50.0  # of a wrong value

LOOK = ("n", "left", "regret", "seen", "error", "few", "one", "two")


def is_look(n: int) -> bool:
    """Whether a study is looked at after its n-th value."""
    return n >= 5 and n % (5 if n <= 40 else 10 if n <= 150 else 50) == 0


def followed(problem: Problem, study: nr.Study, seed: int) -> Iterator[int]:
    """Runs the study; after each value that calls for a look, the number of values."""
    told = 0
    for index in range(problem.trials):
        trial = study.ask()
        if problem.crashes(trial.params, index, seed):
            study.tell(trial, state="failed")
            continue
        study.tell(trial, problem.measure(trial.params, index, seed))
        told += 1
        if is_look(told):
            yield told


def study_of(problem: Problem, strategy: Strategy, seed: int) -> dict[str, Any]:
    """One run of the kind *study*; ``looks`` has the columns LOOK."""
    study, scale = nr.Study(problem.space, "maximize", strategy, seed), scale_of(problem)
    looks, kinds, shares = [], set[str](), []
    truth = true_shares(problem)
    for n in followed(problem, study, seed):
        looks.append([n, *_look(problem, study, seed)])
        kinds |= {kind_of(each) for each in alarms_of(study)}
        if n in SHARES:
            shares.append(shares_within(study, truth))
    made = predictions(effective_trials(study.trials), study.goal, study.strategy)
    late = [each for each in made if each is not None and each.residual is not None][FIRST - 1 :]
    checked = check_calibration(made)
    below = zip(checked.coverage, checked.least, strict=True)
    return {
        "looks": [[number if number is None else rounded(number) for number in r] for r in looks],
        "scale": rounded(scale),
        "d": problem.space.dimension,
        "inside": sum(bool(each.inside) for each in late),
        "values": len(late),
        "multiple": rounded(sum(each.multiple for each in late)),
        "earlier": rounded(sum(earlier_multiples(made)[FIRST - 1 :])),
        "slice": slice_within(problem, study, seed),
        "shares": [each for each in shares if each is not None],
        "alarm": any(coverage < least for coverage, least in below),
        "kinds": sorted(kinds),
    }


def is_cauchy(name: str) -> bool:
    """Whether COCO's noise is the Cauchy one, which has no mean and adds an offset to f."""
    return (int(name[1:].partition("-")[0]) - 101) % 3 == 2


def rounded(number: float) -> float:
    return float(f"{number:.4g}")


def _look(problem: Problem, study: nr.Study, seed: int) -> tuple[float | None, ...]:
    """LOOK without n: what is left or None, regret, range of the values so far, error of the
    prediction in its stds, whether it says that values are too few, and the share of the repeats
    in the shown band and in one of two stds, None without noise.
    """
    found = study.result()
    left = left_of(study, found)
    assert left is not None
    assert found.prediction is not None
    assert found.repeat_std is not None
    point = found.recommended.params
    truth, (mean, std) = problem.value(point), found.prediction
    seen = float(np.ptp([trial.value for trial in study.trials if trial.value is not None]))
    one = two = None
    if problem.noisy:
        first = 10_000 + REPEATS * len(study.trials)  # none of the draws of the run
        again = [problem.measure(point, first + i, seed) for i in range(REPEATS)]
        apart = np.abs(np.array(again) - mean) / max(found.repeat_std, sys.float_info.min)
        one, two = float(np.mean(apart <= ONE_BAND)), float(np.mean(apart <= 2))
    error = max(abs(truth - mean) - ROUNDING * seen, 0.0) / max(std, sys.float_info.min)
    regret, few = problem.maximum - truth, float(found.too_few)
    return left.gain, regret, seen, min(error, FARTHEST), few, one, two


def earlier_multiples(made: Sequence[Prediction | None]) -> list[float]:
    """Half-widths of the earlier forecast bands, in stds: the conformal quantile of the newer half
    of the residuals so far, at least nine; before, that of a Gaussian.
    """
    known: list[float] = []
    multiples = []
    for each in made:
        if each is None or each.residual is None:
            continue
        recent = sorted(known[-max(9, len(known) // 2) :])
        rank = math.ceil((len(recent) + 1) * 0.9 - 1e-9)
        multiples.append(recent[rank - 1] if rank <= len(recent) else ONE_BAND)
        known.append(abs(each.residual))
    return [min(each, FARTHEST) for each in multiples]


def slice_within(problem: Problem, study: nr.Study, seed: int) -> float:
    """Share of random points at which f lies in the band that slices show."""
    belief = study.belief()
    assert belief is not None
    points = random_points(problem.space, np.random.default_rng([seed, 5]), PLACES)
    f = np.array([problem.value(problem.space.decode(u)) for u in points])
    low, high = belief.band(points)
    return float(np.mean((low <= f) & (f <= high)))


def true_shares(problem: Problem) -> Array | None:
    """Total-effect Sobol indices of f, where they are defined and quickly found."""
    space = problem.space
    if not isinstance(space, Space) or space.region is not None or space.branches:
        return None
    names = [name for name, parameter in space.parameters.items() if parameter.width > 0]
    if not 2 <= len(names) <= INPUTS or problem.fails is not None:
        return None
    from scipy.stats import qmc

    both = qmc.Sobol(2 * space.dimension, seed=np.random.default_rng(0)).random(DESIGN)
    A, B = both[:, : space.dimension], both[:, space.dimension :]
    at_a = _values(problem, A)
    variance = float(np.var(np.concatenate([at_a, _values(problem, B)])))
    if variance <= 0:
        return None
    totals = []
    for name in names:
        mixed = A.copy()
        mixed[:, space.slices[name]] = B[:, space.slices[name]]
        totals.append(np.mean((at_a - _values(problem, mixed)) ** 2) / (2 * variance))
    return np.clip(np.array(totals), 0.0, 1.0)


def _values(problem: Problem, rows: Array) -> Array:
    decode = problem.space.decode
    return np.array([problem.value(decode(u)) for u in problem.space.snap(rows)])


def shares_within(study: nr.Study, truth: Array | None) -> tuple[int, int, int, float] | None:
    """Of how many inputs the true share is within two stds, how many there are, whether they are
    said to be known, and the mean std.
    """
    if truth is None:
        return None
    found = study.importances()
    errors = np.abs(np.array([each.total for each in found]) - truth)
    stds = np.array([each.total_std or 0.0 for each in found])
    right = int(np.sum(errors <= 2 * stds + 0.005))  # shown as whole per cents
    return right, len(truth), int(found[0].stable), rounded(float(stds.mean()))


def alarms_of(study: nr.Study) -> list[Alarm]:
    """The alarms that the page shows."""
    trials = effective_trials(study.trials)
    made = predictions(trials, study.goal, study.strategy)
    return alarms(study.space, trials, made, study.goal, study.strategy)


def kind_of(alarm: Alarm) -> str:
    """A jump of the fitted noise has a kind of its own here."""
    return "jump" if "jumped" in alarm.what else alarm.kind


# -- limits --


@dataclass(frozen=True, slots=True)
class Limited:
    """A problem with limits whose value and outcomes are measured with noise."""

    problem: Problem
    sizes: tuple[float, ...]
    scale: float

    @staticmethod
    def of(problem: Problem) -> Limited:
        return Limited(problem, tuple(violation_sizes(problem)), scale_of(problem))

    @property
    def outcomes(self) -> dict[str, Any]:
        return {f"g{i}": nr.AtMost(0.0) for i in range(len(self.sizes))}

    def margins(self, params: Any) -> list[float]:
        assert self.problem.limits is not None
        return self.problem.limits(params)

    def tell(self, study: nr.Study, trial: nr.Trial, rng: np.random.Generator) -> None:
        noise = rng.standard_normal(len(self.sizes))
        measured = np.array(self.margins(trial.params)) + NOISE * np.array(self.sizes) * noise
        value = self.problem.value(trial.params) + NOISE / 2 * self.scale * rng.standard_normal()
        study.tell(trial, value, outcomes={f"g{i}": float(g) for i, g in enumerate(measured)})


def limits_of(problem: Problem, strategy: Strategy, seed: int) -> dict[str, Any]:
    """One run of the kind *limits*. ``looks``: values, the chance said of the recommended point,
    whether it keeps all limits, its value below that of the point for a chance of one half, in the
    problem's scale, and whether that one keeps them.
    """
    limited, rng = Limited.of(problem), np.random.default_rng([*problem.seeds(seed), 8])
    study = nr.Study(problem.space, "maximize", strategy, seed, outcomes=limited.outcomes)
    looks = []
    for n in range(1, problem.trials + 1):
        limited.tell(study, study.ask(), rng)
        if n >= 10 and is_look(n):
            looks.append([n, *_limits_look(limited, study)])
    ends = outcome_forecasts(study.trials, study.strategy).items()
    inside = [lo <= study.trials[n].outcomes[name] <= hi for (n, name), (lo, hi) in ends]
    belief = study.belief()
    assert belief is not None
    points = random_points(problem.space, np.random.default_rng([seed, 5]), PLACES)
    g = np.array([limited.margins(problem.space.decode(u)) for u in points]).T
    bands = [each.band(points) for each in belief.outcomes]
    within = [(low <= row) & (row <= high) for row, (low, high) in zip(g, bands, strict=True)]
    return {
        "looks": looks,
        "bands": rounded(float(np.mean(within))),
        "forecasts": [len(inside), sum(inside)],
    }


def _limits_look(limited: Limited, study: nr.Study) -> tuple[float, ...]:
    found = study.result()
    assert found.belief is not None
    sure, even = recommended_by_chance(study, found.belief, (0.9, 0.5))
    value, kept = limited.problem.value, limited.margins
    cost = (value(even.params) - value(sure.params)) / limited.scale
    return (
        rounded(sure.chance or 0.0),
        int(max(kept(sure.params)) <= 0),
        rounded(cost),
        int(max(kept(even.params)) <= 0),
    )


def context_of(problem: Problem, strategy: Strategy, seed: int) -> dict[str, Any]:
    """One run of the kind *context*: the first input is given, at random. ``looks``: the chance
    said of the recommended action, whether it keeps all limits, and whether f is within two stds.
    """
    limited, rng = Limited.of(problem), np.random.default_rng([*problem.seeds(seed), 9])
    space: Any = problem.space
    name, parameter = next(iter(space.parameters.items()))
    study = nr.Study(space, "maximize", strategy, seed, outcomes=limited.outcomes, context=[name])

    def drawn() -> dict[str, Any]:
        return {name: parameter.decode(rng.random(1))}

    for _ in range(problem.trials):
        limited.tell(study, study.ask(context=drawn()), rng)
    looks = []
    for _ in range(CONTEXTS):
        found = study.recommend(context=drawn())
        error = abs(problem.value(found.params) - found.mean)
        kept = int(max(limited.margins(found.params)) <= 0)
        looks.append([rounded(found.chance or 0.0), kept, int(error <= 2 * found.std)])
    return {"looks": looks}


# -- planted faults --

FAULTS: dict[str, tuple[str, float]] = {  # the alarm, and the noise std
    "a slip among repeats": ("slip", 1.2),
    "a slip at a new point": ("surprise", 1.2),
    "noise 25 times as large": ("jump", 0.6),
    "R half the noise, 16 pairs": ("noise bound", 2.0),
    "R a third, 8 pairs": ("noise bound", 2.0),
    "R a tenth, 3 pairs": ("noise bound", 2.0),
}
TOO_SMALL = {  # how many times too small the noise bound is, and the pairs that are planned
    "R half the noise, 16 pairs": (2, 16),
    "R a third, 8 pairs": (3, 8),
    "R a tenth, 3 pairs": (10, 3),
}


def strategy_of(fault: str, noise: float, faulty: bool) -> Strategy:
    """The default, or the rigorous strategy with R and planned pairs."""
    if fault not in TOO_SMALL:
        return nr.InsuredGPUCB()
    times, pairs = TOO_SMALL[fault]
    bound = noise / times if faulty else noise
    return nr.AdaptiveGPUCB.rigorous(bound, norm_bound=RANGE, check_pairs=pairs)


def with_fault(fault: str, seed: int, faulty: bool) -> bool:
    """Whether the alarm of a fault stands at any look; of a clean twin, where it must not."""
    alarm, noise = FAULTS[fault]
    rng = np.random.default_rng([seed, 77])
    d = 1 + seed % 3
    f = rkhs_sample(seed, dimension=d, lengthscale=(0.2, 0.3, 0.5)[d - 1], norm=2.0)
    sample = f(rng.random((4000, d)))
    low, span = float(sample.min()), float(np.ptp(sample))
    study = nr.Study([(0, 1)] * d, "maximize", strategy_of(fault, noise, faulty), seed)
    done: int | None = None
    while done is None or len(study.trials) < done + LATER:
        number = len(study.trials)
        if alarm == "slip" and number == AFTER:
            study.enqueue(study.trials[int(rng.integers(AFTER))].params)
        trial = study.ask()
        value = (float(f(np.asarray(trial.params))) - low) / span * RANGE
        loud = 25.0 if alarm == "jump" and faulty and done is not None else 1.0
        measured = value + loud * noise * float(rng.standard_normal())
        due = number >= AFTER and done is None
        if alarm == "surprise":  # where the model knows the value
            model = trial.decision.model
            due = due and model is not None and model.std < SHIFT / 20
        if due:
            done = number
            if faulty and alarm in ("slip", "surprise"):
                measured += SHIFT if measured < RANGE / 2 else -SHIFT
        study.tell(trial, measured)
        if number > 2 * AFTER + LATER and done is None:
            done = number  # it never knew
        if done is not None and any(
            kind_of(each) in (alarm, "slip" if alarm == "surprise" else alarm)  # at a known point
            and (alarm not in ("slip", "surprise") or not faulty or str(done) in each.what)
            for each in alarms_of(study)
        ):
            return True
    return False


# -- runs --

KINDS: dict[str, Callable[[Problem, Strategy, int], dict[str, Any]]] = {
    "study": study_of,
    "limits": limits_of,
    "context": context_of,
}


def play(job: sweep.Job) -> dict[str, Any]:
    """One run; ``job.method`` is its kind."""
    warnings.simplefilter("ignore")
    key = {"problem": job.problem, "method": job.method, "seed": job.seed, "start": job.start}
    if job.method == "fault":
        found, false = (with_fault(job.problem, job.seed, faulty) for faulty in (True, False))
        return {**key, "found": found, "false": false}
    problem = sweep.make(job.suite, job.problem, job.materials)
    return {**key, **KINDS[job.method](problem, nr.InsuredGPUCB(), job.seed)}


def jobs_of(side: sweep.Side, folder: str | None, suites: Iterable[str]) -> list[sweep.Job]:
    """What is to be run: suites in turn, so that what is done when time is up has all of them."""
    columns: list[list[sweep.Job]] = []
    for suite in suites:
        if suite == "materials" and folder is None:
            continue
        if suite == "planted":
            first = 1000 if side == "tune" else 0
            keys = [(n, fault) for n in range(first, first + STUDIES) for fault in FAULTS]
        else:
            keys = list(sweep.instances(suite, side, SEEDS.get(suite, 1)))
            most = MOST.get(suite, 24)
            keys = keys[:: -(-len(keys) // most)]
            if suite == "noisy-5":
                keys = [(seed, name) for seed, name in keys if not is_cauchy(name)]
        kinds = ["fault" if suite == "planted" else "limits" if suite in LIMITED else "study"]
        kinds += ["context"] if suite == "constrained-5" else []
        columns += [
            [sweep.Job(suite, name, kind, seed, "own", folder) for seed, name in keys]
            for kind in kinds
        ]
    ranked = [
        (row / len(column), place, job)
        for place, column in enumerate(columns)
        for row, job in enumerate(column)
    ]
    return [job for _, _, job in sorted(ranked, key=lambda each: each[:2])]


# -- what they say --

POOLED = "all"
Rows = Sequence[dict[str, Any]]


def folder_of(side: sweep.Side) -> Path:
    return RESULTS if side == "report" else SCRATCH / side


def read(folder: Path) -> list[dict[str, Any]]:
    """All runs, each with its suite."""
    return [{"suite": suite, **row} for suite in EVERY for row in sweep.read(folder, suite)]


def of_kind(rows: Rows, kind: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["method"] == kind]


@dataclass(frozen=True, slots=True)
class Claim:
    """A number that is shown, when it is true, how often it was; None: not judged."""

    shown: str
    claim: str
    measured: str
    kept: bool | None = None

    @property
    def line(self) -> str:
        verdict = {True: "kept", False: "**missed**", None: ""}[self.kept]
        return f"|{self.shown}|{self.claim}|{self.measured}|{verdict}|"


@dataclass(frozen=True, slots=True)
class Share:
    """How many of a number."""

    hits: float
    of: int

    @staticmethod
    def among(marks: Sequence[Any]) -> Share:
        return Share(float(sum(marks)), len(marks))

    @property
    def share(self) -> float:
        return self.hits / self.of if self.of else math.nan

    def __str__(self) -> str:
        return f"{self.share:.1%} of {self.of}"


def looks_of(rows: Rows) -> list[dict[str, Any]]:
    """The looks by column, with the scale and the number of inputs of their problem."""
    return [
        dict(zip(LOOK, look, strict=True)) | {"scale": row["scale"], "d": row["d"]}
        for row in of_kind(rows, "study")
        for look in row["looks"]
        if math.isfinite(look[2])
    ]


def holds(look: dict[str, Any]) -> bool:
    return bool(look["regret"] <= look["left"] + ROUNDING * look["seen"])


def recommended(rows: Rows) -> list[Claim]:
    looks = looks_of(rows)
    sure = [look for look in looks if not look["few"]]
    by_n = {
        n: Share.among([look["error"] <= 2 for look in sure if look["n"] == n])
        for n in sorted({look["n"] for look in sure})
    }
    least = min((n for n in by_n if by_n[n].of >= 30), key=lambda n: by_n[n].share, default=None)
    if least is None:
        return []
    text = f"{Share.among([look['error'] <= 2 for look in sure])}; least {by_n[least].share:.1%}"
    shown = "recommended: expects a ± b"
    claims = [
        Claim(
            shown,
            "within two stds in ≥ 90% at every n ≥ 5",
            f"{text}, at n = {least:.0f}",
            by_n[least].share >= 0.9,
        )
    ]
    repeats = [look["one"] for look in sure if look["one"] is not None]
    if repeats:
        share = Share(sum(repeats), len(repeats))
        wide = np.mean([look["two"] for look in sure if look["two"] is not None])
        claims.append(
            Claim(
                "recommended: 90% of repeats between a and b",
                "85% to 95%",
                f"{share} looks; {wide:.1%} within two stds",
                0.85 <= share.share <= 0.95,
            )
        )
    return claims


def left(rows: Rows) -> list[Claim]:
    looks = looks_of(rows)
    known = [look for look in looks if look["left"] is not None]
    if not known:
        return []
    shown = "left: at most a better"
    right = Share.among([holds(look) for look in known])
    runs = [[look for look in looks_of([row]) if look["n"] >= 30 * look["d"]] for row in rows]
    late = [run[0]["left"] / run[0]["scale"] for run in runs if run and run[0]["left"] is not None]
    median = float(np.median(late)) if late else 0.0
    above = sum(look["left"] > look["seen"] * (1 + 1e-3) for look in known)
    claims = [
        Claim(
            shown,
            "in ≥ 88% of the looks that know it",
            f"{right}, {Share.among([look['left'] is not None for look in looks]).share:.0%} known",
            right.share >= 0.88,
        ),
        Claim(
            shown,
            "median ≤ 10% of the scale (median of f to its maximum) after 30·d",
            f"{median:.2%} of {len(late)}",
            median <= 0.1,
        ),
        Claim(shown, "never above the range seen", f"{above} above", above == 0),
    ]
    for gain in STOPS:
        stops = []
        for row in of_kind(rows, "study"):
            known = [look for look in looks_of([row]) if look["left"] is not None]
            low = gain * row["scale"]
            stops += [look["regret"] <= low for look in known if look["left"] <= low][:1]
        if stops:
            share = Share.among(stops)
            claims.append(
                Claim(
                    f"`LeftBelow`, {gain:.0%} of the scale",
                    "in ≥ 85% of the stops",
                    str(share),
                    share.share >= 0.85,
                )
            )
    return claims


def limits(rows: Rows) -> list[Claim]:
    claims = []
    runs = [row for row in of_kind(rows, "limits") if row["looks"]]
    looks = [look for row in runs for look in row["looks"] if look[1] >= 0.9]
    last = [row["looks"][-1] for row in runs if row["looks"][-1][1] >= 0.9]
    if last:
        end, all_looks = (Share.among([look[2] for look in each]) for each in (last, looks))
        cost, half = [look[3] for look in last], Share.among([look[4] for look in last])
        claims.append(
            Claim(
                "keeps limits: chance ≥ 90%",
                "in ≥ 88%",
                f"{end} runs, {all_looks} looks; costs {np.mean(cost):.1%} of the scale (median"
                f" {np.median(cost):.1%}) beside chance 50%, which keeps {half.share:.0%}",
                end.share >= 0.88,
            )
        )
    if any(row["forecasts"] for row in runs):
        n, within = np.sum([row["forecasts"] for row in runs if row["forecasts"]], axis=0)
        bands = float(np.mean([row["bands"] for row in runs]))
        claims += [
            Claim(
                "trial: expected outcome a to b (90%)",
                "88% to 92%",
                str(Share(within, int(n))),
                0.88 <= within / n <= 0.92,
            ),
            Claim(
                "model: band of an outcome",
                "at ≥ 90% of random points",
                f"{bands:.1%}",
                bands >= 0.9,
            ),
        ]
    looks = [look for row in of_kind(rows, "context") for look in row["looks"]]
    if looks:
        sure = Share.among([kept for chance, kept, _ in looks if chance >= 0.9])
        near = Share.among([close for _, _, close in looks])
        claims += [
            Claim(
                "best action by condition: chance ≥ 90%",
                "limits kept in ≥ 88%",
                str(sure),
                sure.share >= 0.88,
            ),
            Claim(
                "best action by condition: a ± b",
                "within two stds in ≥ 90%",
                str(near),
                near.share >= 0.9,
            ),
        ]
    return claims


def forecasts(rows: Rows) -> list[Claim]:
    runs = of_kind(rows, "study")
    if not runs:
        return []
    suites = {
        suite: Share(
            sum(row["inside"] for row in runs if row["suite"] == suite),
            sum(row["values"] for row in runs if row["suite"] == suite),
        )
        for suite in dict.fromkeys(row["suite"] for row in runs)
    }
    low, high = (end(suites, key=lambda suite: suites[suite].share) for end in (min, max))
    ends = [f"{suites[suite].share:.1%} in {suite}" for suite in (low, high)]
    values = sum(row["values"] for row in runs)
    now, before = (sum(row[name] for row in runs) / values for name in ("multiple", "earlier"))
    pooled = Share(sum(row["inside"] for row in runs), values)
    places = float(np.mean([row["slice"] for row in runs]))
    return [
        Claim(
            "trial: expects a to b (90%)",
            "88% to 92% in every suite",
            f"{pooled}; {ends[0]}, {ends[1]}",
            suites[low].share >= 0.88 and suites[high].share <= 0.92,
        ),
        Claim(
            "their width",
            "less than the earlier rule, a conformal quantile",
            f"{now:.2f} against {before:.2f} stds",
            now < before,
        ),
        Claim(
            "what to expect where: the band",
            "f at ≥ 90% of random points",
            f"{places:.1%}",
            places >= 0.9,
        ),
    ]


def importances(rows: Rows) -> list[Claim]:
    checks = [each for row in of_kind(rows, "study") for each in row["shares"]]
    known = [each for each in checks if each[2]]
    if not known:
        return []
    share = Share(sum(each[0] for each in known), sum(each[1] for each in known))
    stds = np.mean([each[3] for each in known])
    return [
        Claim(
            "which inputs matter: a% ± b",
            "within two stds in ≥ 90%, if known",
            f"{share}, mean ± {stds:.0%}, {len(known) / len(checks):.0%} known",
            share.share >= 0.9,
        )
    ]


DOUBTS = ("slip", "surprise", "range", "stuck", "jump", "noise bound")  # alarms that accuse


def doubts(rows: Rows) -> list[Claim]:
    """How many clean runs raise each alarm that accuses, at any look."""
    clean = [row for row in of_kind(rows, "study") if row["suite"] != "faults"]
    marks = {kind: Share.among([kind in row["kinds"] for row in clean]) for kind in DOUBTS}
    claims = [
        Claim(f"alarm: {kind}", "≤ 2% of clean runs", str(share), share.share <= 0.02)
        for kind, share in (marks if clean else {}).items()
    ]
    if clean:
        share = Share.among([row["alarm"] for row in clean])
        claims.append(
            Claim("alarm: coverage", "≤ 5% of clean runs", str(share), share.share <= 0.05)
        )
    planted = of_kind(rows, "fault")
    for fault in FAULTS:
        mine = [row for row in planted if row["problem"] == fault]
        found, false = (sum(row[name] for row in mine) for name in ("found", "false"))
        if mine:
            claims.append(
                Claim(
                    f"alarm: {fault}",
                    "found ≥ 90%, clean twins ≤ 2%",
                    f"{found} and {false} of {len(mine)}",
                    found >= 0.9 * len(mine) and false <= 0.02 * len(mine),
                )
            )
    return claims


# What was tried on the tuning side where a figure is missed.
TRIED = """Tried on the tuning side, forecasts in every suite: steps of the tracking of 0.15
(today), 0.5, 1: 79%, 86%, 88% in the worst suite, mean widths 2.2, 2.8, 3.5 stds; a start at 1.2
instead of 1.64 stds: no gain. Next: start from earlier studies. The coverage alarm is not false
where it stands: on f3 and f4 mostly, whose many peaks the model misses."""


EXACT = (  # numbers that are no estimates: what is shown, what it is, and its tests
    ("best; trials", "as told", "study/test_result"),
    ("limits", "a count", "study/test_outcomes"),
    ("certified; band of progress (rigorous)", "a theorem", "strategies/test_radius_gp_ucb"),
    ("resolution", "geometry", "search/test_resolution"),
    ("coverage; residuals", "counts", "diagnostics/test_forecast_checks"),
    ("decision; model; settings", "as recorded, and replayed", "golden/test_golden"),
)


def claims_of(rows: Rows) -> list[Claim]:
    parts = (recommended, left, limits, forecasts, importances, doubts)
    return [claim for part in parts for claim in part(rows)]


def joined(claims: Sequence[Claim]) -> list[Claim]:
    """Alarms of one claim and one verdict in one line."""
    groups: dict[tuple[Any, ...], list[Claim]] = {}
    for claim in claims:
        alarm = claim.shown.startswith("alarm: ")
        key = (claim.claim, claim.kept) if alarm else (claim.shown, claim.claim)
        groups.setdefault(key, []).append(claim)
    return [
        Claim(
            "; ".join([each[0].shown, *(c.shown.removeprefix("alarm: ") for c in each[1:])]),
            each[0].claim,
            "; ".join(dict.fromkeys(claim.measured for claim in each)),
            each[0].kept,
        )
        for each in groups.values()
    ]


def exact_claims() -> list[Claim]:
    return [Claim(shown, what, f"`tests/{test}.py`") for shown, what, test in EXACT]


def section(folder: Path = RESULTS) -> str:
    """The part of docs/benchmarks.md about calibration."""
    rows = read(folder)
    if not rows:
        return "## Calibration\n\nNot run."
    every = len(jobs_of("report", "", EVERY))
    return "\n".join(
        [
            "## Calibration\n\nEvery number that `show` and the page state, with its lines and"
            " cards by their names. Written by `make bench-calibration`:"
            f" {len(rows)} of {every} runs.\n",
            "|shown|true if|measured||\n|---|---|---|---|",
            *[claim.line for claim in (*joined(claims_of(rows)), *exact_claims())],
            f"\n{' '.join(TRIED.split())}",
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="research.benchmarks.calibration", description="Are the default's statements true?"
    )
    parser.add_argument("command", nargs="?", choices=["run", "report"], default="run")
    parser.add_argument("--side", choices=["report", "tune"], default="report")
    parser.add_argument("--suites", nargs="+", default=list(EVERY), choices=EVERY)
    parser.add_argument("--materials", type=Path, help="folder of that suite's tables")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop starting runs after this")
    parser.add_argument("--workers", type=int, default=1)
    options = parser.parse_args()
    folder = folder_of(options.side)
    if options.command == "run":
        tables = options.materials and str(options.materials.resolve())
        jobs = jobs_of(options.side, tables, options.suites)
        for failure in sweep.run(jobs, folder, options.workers, options.minutes, play):
            print(f"failed: {failure}", file=sys.stderr)
    for claim in claims_of(read(folder)):
        print(claim.line)
    if options.side == "report":
        for suite in EVERY:
            sweep.pack(RESULTS, suite)
        from research.benchmarks import report

        return report.main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
