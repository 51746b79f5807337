"""Suite outcomes: limits on what is measured, and context.

Eight problems of the literature whose constraints are measured with every value, and four in which
some inputs are context. Peers: Optuna's TPE and GP samplers with ``constraints_func`` (context by
PartialFixedSampler), BoTorch's qLogEI with constraints, random search. Each method gets the same
initial points. ``python -m research.benchmarks.outcomes run FOLDER`` runs all of it in processes,
``… table FOLDER`` prints mean ranks. Sources: Gardner et al., *Bayesian Optimization with
Inequality Constraints*, ICML 2014; Gramacy et al., *Modeling an Augmented Lagrangian for Blackbox
Constrained Optimization*, Technometrics 2016; Coello Coello, *Use of a self-adaptive penalty
approach for engineering optimization problems*, Computers in Industry 2000 (vessel, beam, spring);
Golinski's speed reducer and the three-bar truss as in Ray and Liew, *Society and civilization*,
IEEE TEC 2003; Krause and Ong, *Contextual Gaussian process bandit optimization*, NeurIPS 2011.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr

X = Sequence[float]


@dataclass(frozen=True, slots=True)
class Limited:
    """Minimise f with all g ≤ 0 in a box; ``best``: the best known feasible value."""

    name: str
    bounds: tuple[tuple[float, float], ...]
    f: Callable[[X], float]
    g: Callable[[X], list[float]]
    best: float
    trials: int


def _reducer_f(x: X) -> float:
    a, b, c, d, e, f, g = x
    return float(
        0.7854 * a * b**2 * (3.3333 * c**2 + 14.9334 * c - 43.0934)
        - 1.508 * a * (f**2 + g**2)
        + 7.4777 * (f**3 + g**3)
        + 0.7854 * (d * f**2 + e * g**2)
    )


def _reducer_g(x: X) -> list[float]:
    a, b, c, d, e, f, g = x
    return [
        27 / (a * b**2 * c) - 1,
        397.5 / (a * b**2 * c**2) - 1,
        1.93 * d**3 / (b * c * f**4) - 1,
        1.93 * e**3 / (b * c * g**4) - 1,
        math.sqrt((745 * d / (b * c)) ** 2 + 16.9e6) / (110 * f**3) - 1,
        math.sqrt((745 * e / (b * c)) ** 2 + 157.5e6) / (85 * g**3) - 1,
        b * c / 40 - 1,
        5 * b / a - 1,
        a / (12 * b) - 1,
        (1.5 * f + 1.9) / d - 1,
        (1.1 * g + 1.9) / e - 1,
    ]


def _vessel_f(x: X) -> float:
    a, b, c, d = x
    return 0.6224 * a * c * d + 1.7781 * b * c**2 + 3.1661 * a**2 * d + 19.84 * a**2 * c


def _vessel_g(x: X) -> list[float]:
    a, b, c, d = x
    volume = math.pi * c**2 * d + 4 / 3 * math.pi * c**3
    return [0.0193 * c - a, 0.00954 * c - b, 1_296_000 - volume, d - 240]


def _beam_f(x: X) -> float:
    h, length, t, b = x
    return 1.10471 * h**2 * length + 0.04811 * t * b * (14.0 + length)


def _beam_g(x: X) -> list[float]:
    h, length, t, b = x
    load, span, young, shear = 6000.0, 14.0, 30e6, 12e6
    primary = load / (math.sqrt(2) * h * length)
    moment = load * (span + length / 2)
    radius = math.sqrt(length**2 / 4 + ((h + t) / 2) ** 2)
    polar = 2 * (math.sqrt(2) * h * length * (length**2 / 12 + ((h + t) / 2) ** 2))
    secondary = moment * radius / polar
    tau = math.sqrt(primary**2 + primary * secondary * length / radius + secondary**2)
    bending, bent = 6 * load * span / (b * t**2), 4 * load * span**3 / (young * t**3 * b)
    root = 4.013 * young * math.sqrt(t**2 * b**6 / 36) / span**2
    buckling = root * (1 - t / (2 * span) * math.sqrt(young / (4 * shear)))
    weight = 0.10471 * h**2 + 0.04811 * t * b * (14.0 + length) - 5.0
    return [tau - 13600, bending - 30000, h - b, weight, 0.125 - h, bent - 0.25, load - buckling]


def _spring_g(x: X) -> list[float]:
    w, d, n = x
    return [
        1 - d**3 * n / (71785 * w**4),
        (4 * d**2 - w * d) / (12566 * (d * w**3 - w**4)) + 1 / (5108 * w**2) - 1,
        1 - 140.45 * w / (d**2 * n),
        (w + d) / 1.5 - 1,
    ]


def _truss_g(x: X) -> list[float]:
    a, b = x
    root, below = math.sqrt(2), math.sqrt(2) * a**2 + 2 * a * b
    return [
        2 * ((root * a + b) / below) - 2,
        2 * (b / below) - 2,
        2 / (root * b + a) - 2,
    ]


TAU = 2 * math.pi
LIMITED = {
    each.name: each
    for each in (
        Limited(
            "gardner-1",
            ((0, 6), (0, 6)),
            lambda x: math.cos(2 * x[0]) * math.cos(x[1]) + math.sin(x[0]),
            lambda x: [math.cos(x[0] + x[1]) - 0.5],
            -2.0,
            30,
        ),
        Limited(
            "gardner-2",
            ((0, 6), (0, 6)),
            lambda x: math.sin(x[0]) + x[1],
            lambda x: [math.sin(x[0]) * math.sin(x[1]) + 0.95],
            0.2532,
            30,
        ),
        Limited(
            "gramacy",
            ((0, 1), (0, 1)),
            lambda x: x[0] + x[1],
            lambda x: [
                1.5 - x[0] - 2 * x[1] - 0.5 * math.sin(TAU * (x[0] ** 2 - 2 * x[1])),
                x[0] ** 2 + x[1] ** 2 - 1.5,
            ],
            0.5998,
            30,
        ),
        Limited(
            "truss",
            ((0.05, 1), (0.05, 1)),
            lambda x: (2 * math.sqrt(2) * x[0] + x[1]) * 100,
            _truss_g,
            263.8958,
            30,
        ),
        Limited(
            "spring",
            ((0.05, 0.2), (0.25, 1.3), (2, 15)),
            lambda x: (x[2] + 2) * x[1] * x[0] ** 2,
            _spring_g,
            0.012665,
            40,
        ),
        Limited(
            "vessel",
            ((0.0625, 6.1875), (0.0625, 6.1875), (10, 50), (10, 200)),
            _vessel_f,
            _vessel_g,
            5885.33,
            40,
        ),
        Limited(
            "beam", ((0.125, 10), (0.1, 10), (0.1, 10), (0.1, 10)), _beam_f, _beam_g, 1.7249, 40
        ),
        Limited(
            "reducer",
            (
                *((2.6, 3.6), (0.7, 0.8), (17, 28), (7.3, 8.3)),
                *((7.3, 8.3), (2.9, 3.9), (5.0, 5.5)),
            ),
            _reducer_f,
            _reducer_g,
            2994.47,
            40,
        ),
    )
}


@dataclass(frozen=True, slots=True)
class Contextual:
    """Minimise f over the actions, the last input being given."""

    name: str
    bounds: tuple[tuple[float, float], ...]
    f: Callable[[X], float]
    trials: int = 40


def _branin(x: X) -> float:
    a = x[1] - 5.1 / (4 * math.pi**2) * x[0] ** 2 + 5 / math.pi * x[0] - 6
    return a**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x[0]) + 10


def _heating(x: X) -> float:
    need, efficiency = 44 - 0.7 * x[1], 6.0 - 0.06 * (x[0] - x[1])
    return (20 - x[1]) / efficiency + 0.6 * math.log1p(math.exp((need - x[0]) / 1.5))


def _hartmann3(x: X) -> float:
    A = np.array([[3.0, 10, 30], [0.1, 10, 35], [3.0, 10, 30], [0.1, 10, 35]])
    P = [[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]
    inner = (A * (np.asarray(x) - 1e-4 * np.array(P)) ** 2).sum(axis=1)
    return -float(np.array([1.0, 1.2, 3.0, 3.2]) @ np.exp(-inner))


def _drift(x: X) -> float:
    """Two valleys, the deeper one depends on the context."""
    a, z = x
    first, second = math.exp(-((a - 0.2) ** 2) / 0.01), math.exp(-((a - 0.75) ** 2) / 0.02)
    return -(z * first + (1.1 - z) * second)


CONTEXTUAL = {
    each.name: each
    for each in (
        Contextual("branin, given y", ((-5, 10), (0, 15)), _branin),
        Contextual("heating", ((25, 60), (-15, 18)), _heating),
        Contextual("hartmann-3, given x3", ((0, 1), (0, 1), (0, 1)), _hartmann3),
        Contextual("two valleys", ((0, 1), (0, 1)), _drift),
    )
}
METHODS = ("noregret", "botorch", "optuna_tpe", "optuna_gp", "random")


def initial(bounds: Sequence[tuple[float, float]], seed: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 11])
    low, high = np.array(bounds, dtype=float).T
    return low + (high - low) * rng.random((max(2 * len(bounds), 4), len(bounds)))


# -- the methods: (told points, values, constraints) → next point --


def _asker(method: str, bounds: Sequence[tuple[float, float]], seed: int, limits: int) -> Any:
    if method == "noregret":
        return Ours(bounds, seed, limits)
    if method == "botorch":
        return Botorch(bounds, seed)
    if method.startswith("optuna"):
        return Optuna(method, bounds, seed)
    return Random(bounds, seed)


class Random:
    def __init__(self, bounds: Any, seed: int) -> None:
        self.low, self.high = np.array(bounds, dtype=float).T
        self.rng = np.random.default_rng([seed, 5])

    def ask(self, given: float | None) -> list[float]:
        x = self.low + (self.high - self.low) * self.rng.random(len(self.low))
        return [*x[:-1].tolist(), x[-1] if given is None else given]

    def tell(self, x: X, y: float, g: list[float]) -> None:
        pass


class Ours:
    def __init__(self, bounds: Any, seed: int, limits: int) -> None:
        outcomes: Any = {f"g{i}": nr.AtMost(0.0) for i in range(limits)}
        names = [f"x{i}" for i in range(len(bounds))]
        space = {name: nr.Float(*pair) for name, pair in zip(names, bounds, strict=True)}
        self.names, context = names, () if limits else (names[-1],)
        self.study = nr.Study(space, "minimize", seed=seed, outcomes=outcomes, context=context)
        self.asked: Any = None

    def ask(self, given: float | None) -> list[float]:
        self.asked = self.study.ask(context=None if given is None else {self.names[-1]: given})
        return [self.asked.params[name] for name in self.names]

    def tell(self, x: X, y: float, g: list[float]) -> None:
        told: Any = {f"g{i}": each for i, each in enumerate(g)} or None
        if self.asked is None:
            self.study.add(dict(zip(self.names, x, strict=True)), y, outcomes=told)
        else:
            self.study.tell(self.asked, y, outcomes=told)
            self.asked = None


class Optuna:
    def __init__(self, method: str, bounds: Any, seed: int) -> None:
        import optuna
        from optuna.distributions import FloatDistribution

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.optuna = optuna
        kind = "TPESampler" if method == "optuna_tpe" else "GPSampler"

        def constraints(trial: Any) -> Any:
            return trial.user_attrs["g"]

        self.constraints, self.kind, self.seed = constraints, kind, seed
        self.names = [f"x{i}" for i in range(len(bounds))]
        self.asked: Any = None
        self.distributions: dict[str, Any] = {
            name: FloatDistribution(*pair) for name, pair in zip(self.names, bounds, strict=True)
        }
        self.study = optuna.create_study(sampler=self._sampler(True))

    def _sampler(self, limited: bool) -> Any:
        made = getattr(self.optuna.samplers, self.kind)
        return made(seed=self.seed, constraints_func=self.constraints if limited else None)

    def ask(self, given: float | None) -> list[float]:
        if given is not None:
            base = getattr(self, "base", None) or self._sampler(False)
            self.base = base
            self.study.sampler = self.optuna.samplers.PartialFixedSampler(
                {self.names[-1]: given}, base
            )
        self.asked = self.study.ask(self.distributions)
        return [self.asked.params[name] for name in self.names]

    def tell(self, x: X, y: float, g: list[float]) -> None:
        if self.asked is None:
            self.study.add_trial(
                self.optuna.trial.create_trial(
                    params=dict(zip(self.names, x, strict=True)),
                    distributions=self.distributions,
                    value=y,
                    user_attrs={"g": g},
                    system_attrs={"constraints": g} if g else {},
                )
            )
        else:
            self.asked.set_user_attr("g", g)
            self.study.tell(self.asked, y)
            self.asked = None


class Botorch:
    """SingleTaskGP per outcome with its defaults, qLogExpectedImprovement with constraints; while
    nothing is feasible its best value is that of the least violation.
    """

    def __init__(self, bounds: Any, seed: int) -> None:
        import torch

        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.low, self.high = np.array(bounds, dtype=float).T
        self.rows: list[tuple[X, float, list[float]]] = []

    def tell(self, x: X, y: float, g: list[float]) -> None:
        self.rows.append((list(x), y, g))

    def ask(self, given: float | None) -> list[float]:
        import torch
        from botorch.acquisition.logei import qLogExpectedImprovement
        from botorch.acquisition.objective import GenericMCObjective
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import ModelListGP, SingleTaskGP
        from botorch.models.transforms import Standardize
        from botorch.optim import optimize_acqf
        from gpytorch.mlls import SumMarginalLogLikelihood

        def tensor(values: Any) -> Any:
            return torch.tensor(np.array(values), dtype=torch.double)

        points = tensor(
            [(np.array(x) - self.low) / (self.high - self.low) for x, _, _ in self.rows]
        )
        columns = [[-y for _, y, _ in self.rows]]
        count = len(self.rows[0][2])
        columns += [[g[i] for _, _, g in self.rows] for i in range(count)]
        models = [
            SingleTaskGP(points, tensor(column)[:, None], outcome_transform=Standardize(1))
            for column in columns
        ]
        model = ModelListGP(*models)
        fit_gpytorch_mll(SumMarginalLogLikelihood(model.likelihood, model))
        violation = [sum(max(each, 0.0) for each in g) for _, _, g in self.rows]
        kept = [-y for (_, y, _), v in zip(self.rows, violation, strict=True) if v == 0]
        best = max(kept) if kept else columns[0][int(np.argmin(violation))]
        fixed = None
        if given is not None:
            fixed = {len(self.low) - 1: (given - self.low[-1]) / (self.high[-1] - self.low[-1])}
            reach = 0.1 * (self.high - self.low)[-1]
            near = [-y for x, y, _ in self.rows if abs(x[-1] - given) < reach]
            best = max(near, default=best)
        acquisition = qLogExpectedImprovement(
            model,
            best_f=best,
            objective=GenericMCObjective(lambda samples, X=None: samples[..., 0]),
            constraints=[lambda samples, i=i: samples[..., 1 + i] for i in range(count)] or None,
        )
        unit = torch.stack([torch.zeros(len(self.low)), torch.ones(len(self.low))]).double()
        found, _ = optimize_acqf(
            acquisition, unit, 1, num_restarts=4, raw_samples=128, fixed_features=fixed
        )
        return (self.low + (self.high - self.low) * found[0].detach().numpy()).tolist()


# -- runs --


def play(problem: str, method: str, seed: int) -> dict[str, Any]:
    begun = time.perf_counter()
    limited = LIMITED.get(problem)
    try:
        result = _limited(limited, method, seed) if limited else _contextual(problem, method, seed)
    except Exception as error:  # a peer that fails is told of, and ranks last
        result = {"error": f"{type(error).__name__}: {error}"[:300], "score": None}
    row = {"problem": problem, "method": method, "seed": seed, **result}
    return row | {"seconds": time.perf_counter() - begun}


def _limited(problem: Limited, method: str, seed: int) -> dict[str, Any]:
    points = initial(problem.bounds, seed)
    count = len(problem.g(points[0]))
    asker, best, curve = _asker(method, problem.bounds, seed, count), math.inf, []
    for number in range(problem.trials):
        x = points[number].tolist() if number < len(points) else asker.ask(None)
        y, g = problem.f(x), problem.g(x)
        asker.tell(x, y, g)
        best = min(best, y if max(g) <= 0 else math.inf)
        curve.append(None if best == math.inf else best - problem.best)
    return {"curve": curve, "score": curve[-1]}


def _contextual(name: str, method: str, seed: int) -> dict[str, Any]:
    """The score is the mean regret against the best action of each context, of the second half."""
    problem = CONTEXTUAL[name]
    points, rng = initial(problem.bounds, seed), np.random.default_rng([seed, 7])
    asker = _asker(method, problem.bounds, seed, 0)
    low, high = problem.bounds[-1]
    curve = []
    for number in range(problem.trials):
        z = float(low + (high - low) * rng.random())
        if number < len(points):
            x = [*points[number][:-1].tolist(), z]
        else:
            x = asker.ask(z)
        y = problem.f(x)
        asker.tell(x, y, [])
        curve.append(y - _least(problem, z))
    return {"curve": curve, "score": float(np.mean(curve[len(curve) // 2 :]))}


def _least(problem: Contextual, z: float) -> float:
    actions = [
        np.linspace(a, b, 801 if len(problem.bounds) == 2 else 61) for a, b in problem.bounds
    ]
    grid = np.stack(np.meshgrid(*actions[:-1], indexing="ij"), axis=-1)
    points = grid.reshape(-1, len(problem.bounds) - 1)
    return min(problem.f([*point.tolist(), z]) for point in points)


def ranks(rows: Sequence[dict[str, Any]], problems: Sequence[str]) -> dict[str, float]:
    """Mean rank of each method over problems and seeds; who found nothing feasible comes last.
    What not every method has ended does not count.
    """
    methods = sorted({row["method"] for row in rows})
    total: dict[str, list[float]] = {method: [] for method in methods}
    for problem in problems:
        for seed in sorted({row["seed"] for row in rows if row["problem"] == problem}):
            score = {
                row["method"]: math.inf if row["score"] is None else row["score"]
                for row in rows
                if row["problem"] == problem and row["seed"] == seed
            }
            if len(score) < len(methods):
                continue
            for method, own in score.items():
                better = sum(each < own for each in score.values())
                same = sum(each == own for each in score.values())
                total[method].append(better + (same + 1) / 2)
    return {method: float(np.mean(each)) for method, each in total.items() if each}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Median scores by problem and method, and mean ranks, as Markdown."""
    methods = [m for m in METHODS if any(row["method"] == m for row in rows)]
    lines = []
    for title, problems in (("limits", list(LIMITED)), ("context", list(CONTEXTUAL))):
        lines += [f"| {title} | {' | '.join(methods)} |", f"|---|{'---|' * len(methods)}"]
        for problem in problems:
            cells = []
            for method in methods:
                found = [
                    math.inf if row["score"] is None else row["score"]
                    for row in rows
                    if row["problem"] == problem and row["method"] == method
                ]
                middle = float(np.median(found)) if found else math.nan
                cells.append("none feasible" if middle == math.inf else f"{middle:.3g}")
            lines.append(f"| {problem} | {' | '.join(cells)} |")
        mean = ranks(rows, problems)
        cells = [f"**{mean[method]:.2f}**" if method in mean else "–" for method in methods]
        lines += [f"| mean rank | {' | '.join(cells)} |", ""]
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    command, folder = arguments[0], Path(arguments[1])
    file = folder / "outcomes.json"
    if command == "run":
        seeds = int(arguments[2]) if len(arguments) > 2 else 3
        methods = arguments[3].split(",") if len(arguments) > 3 else list(METHODS)
        jobs = [
            (problem, method, seed)
            for seed in range(seeds)
            for method in methods
            for problem in (*LIMITED, *CONTEXTUAL)
        ]
        rows = []
        with ProcessPoolExecutor(os.cpu_count()) as pool:
            for done in as_completed([pool.submit(play, *job) for job in jobs]):
                rows.append(done.result())
                folder.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(rows), encoding="utf-8")
    print(table(json.loads(file.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    main(sys.argv[1:])
