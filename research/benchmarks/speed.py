"""Seconds per ask against the peers, in one run on one machine: python -m research.benchmarks.speed
[--quick]; results in research/benchmarks/results/speed.json.

Every optimizer is told the same n points of a smooth noisy function and then asked; each asked
point is told before the next ask. One thread for all. The first ask (which has everything to fit)
is apart from the median and the mean of later ones. A peer whose ask at one n took longer than
PATIENCE is not run at larger n.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.linalg import lapack

import noregret as nr
from noregret.space import Array, Space
from noregret.strategies import Strategy
from noregret.strategies.insured import ESTIMATION
from noregret.study import Progress
from research.benchmarks.players import DEFAULT as OURS
from research.benchmarks.players import Ours, player
from research.benchmarks.problem import Problem

matplotlib.use("Agg")
import matplotlib.pyplot as plt

RESULT = Path(__file__).resolve().parent / "results" / "speed.json"
DIMENSIONS = (1, 2, 6, 20)
SIZES = (10, 50, 100, 200, 500, 1000, 2000, 5000)
PEERS = ("optuna_gp", "optuna_tpe", "botorch_logei", "skopt")
PATIENCE = {"optuna_gp": 1.5, "optuna_tpe": 1.5, "botorch_logei": 0.6, "skopt": 0.6}  # seconds
GROWTH = 6  # the inputs in which the growth with n is taken
MEMORY = 5000  # points at which memory is measured
SWEEP = 1024  # candidates whose variance an ask looks at, for the floor
NOISE = 0.05


def objective(x: Array) -> float:
    """Smooth, multimodal, with falling importance of the inputs."""
    weight = 1 / np.arange(1, len(x) + 1)
    return float(weight @ (np.sin(3 * np.pi * x) - 2 * (x - 0.6) ** 2))


def data(d: int, n: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([d, n])
    X = rng.random((n, d))
    return X, np.array([objective(x) for x in X]) + NOISE * rng.standard_normal(n)


def problem(d: int) -> Problem:
    return Problem(
        f"speed-{d}",
        "speed",
        Space.from_bounds([(0.0, 1.0)] * d),
        lambda x: objective(np.asarray(x)),
        0.0,
        10_000,
        NOISE,
    )


def times(method: str | Strategy, d: int, n: int, asks: int) -> list[float]:
    """Seconds of the first ask and of ``asks`` later ones, of a peer or of a strategy of ours."""
    X, y = data(d, n)
    rng = np.random.default_rng([d, n, 1])
    playing = (
        player(method, problem(d), 0, own_start=False)
        if isinstance(method, str)
        else nullcontext(Ours(method, problem(d), 0))
    )
    with playing as optimizer:
        for x, value in zip(X, y, strict=True):
            optimizer.tell(x, float(value), [])
        seconds = []
        for _ in range(asks + 1):
            x = optimizer.ask()
            seconds.append(optimizer.seconds)
            value = objective(np.asarray(x)) + NOISE * float(rng.standard_normal())
            optimizer.tell(x, value, [])
        return seconds


def floor(d: int, n: int) -> float:
    """The LAPACK and BLAS work that an exact ask cannot avoid: one factorisation, the solves of one
    sweep, its cross products.
    """
    rng = np.random.default_rng(0)
    X, A = rng.random((n, d)), rng.random((SWEEP, d))
    K = np.exp(-((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=-1)) if n <= 1000 else np.eye(n)
    K = np.asfortranarray(K + n * np.eye(n))
    B = np.asfortranarray(rng.random((n, SWEEP)))
    best = np.inf
    for _ in range(3 if n <= 1000 else 1):
        started = time.perf_counter()
        L, _ = lapack.dpotrf(K, lower=1)
        _ = A @ X.T
        lapack.dtrtrs(L, B, lower=1)
        best = min(best, time.perf_counter() - started)
    return best


def compare(
    sizes: tuple[int, ...], dimensions: tuple[int, ...], peers: tuple[str, ...]
) -> Iterator[list[dict[str, Any]]]:
    """The rows of one (n, d) after the other, small n first."""
    gone: set[tuple[str, int]] = set()
    with Progress(len(sizes) * len(dimensions) * (len(peers) + 1), "speed ") as bar:
        for n in sizes:
            for d in sorted(dimensions, key=lambda d: d != GROWTH):
                rows: list[dict[str, Any]] = []
                for name in (OURS, *peers):
                    bar.advance(f"{name} d={d} n={n}")
                    if (name, d) in gone:
                        continue
                    ours = name == OURS
                    asks = asks_of(ours, d, n)
                    try:
                        first, *later = times(name, d, n, asks)
                    except RuntimeError as error:  # a peer that fails is reported
                        rows.append({"d": d, "n": n, "method": name, "error": str(error)[:200]})
                        gone.add((name, d))
                        continue
                    rows.append(
                        {
                            "d": d,
                            "n": n,
                            "method": name,
                            "first": first,
                            "median": float(np.median(later)),
                            "mean": float(np.mean(later)),
                        }
                    )
                    if not ours and np.median(later) > PATIENCE[name]:
                        gone.add((name, d))
                yield [*rows, {"d": d, "n": n, "method": "floor", "median": floor(d, n)}]


def asks_of(ours: bool, d: int, n: int) -> int:
    """How many later asks are timed. Growth is taken over fifty of ours, in GROWTH inputs."""
    if not ours:
        return 8 if n <= 500 else 2
    if n >= 2000:
        return 50 if d == GROWTH and n == 5000 else (8 if n < 5000 else 2)
    return 50 if n >= 500 else 30


VARIANTS: dict[str, Callable[[], Strategy]] = {
    "insured (default)": nr.InsuredGPUCB,
    "paper, one-step estimator": lambda: nr.AdaptiveGPUCB.paper(0.4),
    "paper, bound estimator": lambda: nr.AdaptiveGPUCB.paper(0.4, "regret_bound"),
    "rigorous": lambda: nr.AdaptiveGPUCB.rigorous(0.4),
    "LogEI, no widening": nr.LogEI,
}


def variants(d: int, n: int, asks: int) -> list[dict[str, Any]]:
    """Our strategies, an ask of eight, and an ask of a stored study."""
    rows = []
    for name, make in VARIANTS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, *later = times(make(), d, n, asks)
        rows.append(
            {
                "name": name,
                "first": first,
                "median": float(np.median(later)),
                "mean": float(np.mean(later)),
            }
        )
    X, y = data(d, n)
    study = nr.Study(Space.from_bounds([(0.0, 1.0)] * d), "maximize", nr.InsuredGPUCB(), 0)
    for x, value in zip(X, y, strict=True):
        study.add(list(x), float(value))
    study.ask()
    with tempfile.TemporaryDirectory() as folder:
        stored = nr.Study.create(
            "speed",
            Space.from_bounds([(0.0, 1.0)] * d),
            "maximize",
            storage=Path(folder) / "speed.db",
        )
        for x, value in zip(X, y, strict=True):
            stored.add(list(x), float(value))
        seconds = []
        for _ in range(asks + 1):
            started = time.perf_counter()
            trial = stored.ask()
            seconds.append(time.perf_counter() - started)
            stored.tell(trial, objective(np.asarray(trial.params)))
    rows.append(
        {
            "name": "insured, stored in SQLite",
            "first": seconds[0],
            "median": float(np.median(seconds[1:])),
            "mean": float(np.mean(seconds[1:])),
        }
    )
    started = time.perf_counter()
    study.ask(8)
    rows.append(
        {
            "name": "insured, ask(8)",
            "first": None,
            "median": time.perf_counter() - started,
            "mean": None,
        }
    )
    return rows


def in_process(code: str) -> float:
    """The number a fresh interpreter prints."""
    return float(
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=RESULT.parents[3],
        ).stdout.split()[-1]
    )


def footprint() -> dict[str, float]:
    """Import time (least of five, in turn), installed size, peak memory at n = 5000 in n×n matrices
    above the interpreter with the data.
    """
    timed = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
    pairs = [
        (
            in_process(timed.format("import noregret")),
            in_process(timed.format("import scipy.optimize, scipy.linalg")),
        )
        for _ in range(5)
    ]
    import_ours, import_scipy = (min(column) for column in zip(*pairs, strict=True))
    size = sum(path.stat().st_size for path in Path(nr.__file__).parent.rglob("*.py"))
    memory = (
        "import resource, numpy as np, noregret as nr\n"
        "from research.benchmarks.speed import data\n"
        "from noregret.gp.fit import Evidence\n"
        "from noregret.strategies import InsuredGPUCB\n"
        "n = {n}\nX, y = data(6, n)\n"
        "study = nr.Study([(0.0, 1.0)] * 6, 'maximize', InsuredGPUCB(), 0)\n"
        "for x, v in zip(X, y): study.add(list(x), float(v))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "study.ask()\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 / (8 * n * n))"
    )
    return {
        "import": import_ours,
        "import_scipy": import_scipy,
        "package_bytes": size,
        "matrices": in_process(memory.format(n=MEMORY)),
    }


def growth(rows: list[dict[str, Any]], d: int) -> float | None:
    """The exponent of the amortised ask from n = 500 to n = 5000: where no refit falls into the
    asks timed, a share of the first ask stands for it.
    """
    found = {}
    for row in (row for row in rows if row["d"] == d and row["method"] == OURS):
        between = (ESTIMATION.refresh - 1) * row["n"]  # asks from one refit to the next
        found[row["n"]] = row["mean"] + (
            row["first"] / between if between > asks_of(True, d, row["n"]) else 0.0
        )
    return float(np.log10(found[5000] / found[500])) if {500, 5000} <= found.keys() else None


def section(docs: Path) -> str:
    """The part of docs/benchmarks.md about speed, and its picture."""
    if not RESULT.exists():
        return "## Speed\n\nNot run."
    result = json.loads(RESULT.read_text(encoding="utf-8"))
    rows = result["rows"]
    plot(rows, docs / "figures" / "bench-speed.png")
    medians = {(row["d"], row["n"], row["method"]): row.get("median") for row in rows}
    methods = [OURS, *(m for m in PEERS if any(row["method"] == m for row in rows))]
    head = ["n", *methods]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for n in sorted({row["n"] for row in rows if row["d"] == GROWTH}):
        cells = [medians.get((GROWTH, n, method)) for method in methods]
        shown = [f"{1e3 * s:.3g}" if s else "–" for s in cells]
        lines.append(f"| {n} | {' | '.join(shown)} |")
    return "\n".join(
        [
            "## Speed\n\nWritten by `make bench-speed`: median milliseconds per ask after n"
            f" points of a smooth noisy function in {GROWTH} inputs, one thread. –: not run, as a"
            f" smaller n took too long. {result['machine']}. All numbers, d = 1 to 20:"
            " `research/benchmarks/results/speed.json`.\n",
            *lines,
            "",
            *(f"- {line}" for line in verdicts(result)),
            "",
            "![seconds per ask against n](figures/bench-speed.png)",
        ]
    )


def verdicts(result: dict[str, Any]) -> list[str]:
    """What is wanted beside what was measured."""
    rows = result["rows"]
    by = {(row["d"], row["n"], row["method"]): row.get("median") for row in rows}
    ratios = {}
    for peer in ("optuna_gp", "optuna_tpe"):
        pairs = [(d, n) for d, n, method in by if method == peer and by[d, n, peer]]
        ratios[peer] = {(d, n): by[d, n, OURS] / by[d, n, peer] for d, n in pairs}
    slow = [key for key, r in ratios["optuna_gp"].items() if key[1] >= 50 and r > 0.1]
    behind = [key for key, r in ratios["optuna_tpe"].items() if key[1] <= 200 and r > 2]

    def where(keys: list[tuple[int, int]]) -> str:
        if not keys:
            return "everywhere"
        by_d: dict[int, list[str]] = {}
        for d, n in sorted(keys):
            by_d.setdefault(d, []).append(str(n))
        return "missed at " + "; ".join(f"d={d} n={','.join(ns)}" for d, ns in by_d.items())

    exponents = {d: growth(rows, d) for d in sorted({row["d"] for row in rows})}
    grown = ", ".join(f"{e:.2f} (d={d})" for d, e in exponents.items() if e is not None)
    footprint = result["footprint"]
    return [
        f"at least 10× faster than Optuna's GPSampler for n ≥ 50: {where(slow)}.",
        f"at most 2× TPE for n ≤ 200: {where(behind)}.",
        f"exponent of the amortised ask from n = 500 to 5000, wanted ≤ 2.3: {grown or 'not run'}.",
        f"peak memory at n = {MEMORY}, wanted < 6: {footprint['matrices']:.1f} n×n matrices.",
    ]


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    methods = [OURS, *PEERS, "floor"]
    styles = {
        OURS: ("black", "o", "-"),
        "optuna_gp": ("#0072b2", "s", "--"),
        "optuna_tpe": ("#e69f00", "^", "-."),
        "botorch_logei": ("#009e73", "D", ":"),
        "skopt": ("#cc79a7", "v", (0, (5, 1))),
        "floor": ("0.6", "", "-"),
    }
    dimensions = sorted({row["d"] for row in rows})
    figure, axes = plt.subplots(
        1,
        len(dimensions),
        figsize=(3.6 * len(dimensions), 4),
        sharey=True,
        layout="constrained",
        squeeze=False,
    )
    for axis, d in zip(axes[0], dimensions, strict=True):
        for method in methods:
            points = sorted(
                (row["n"], row["median"])
                for row in rows
                if row["d"] == d and row["method"] == method and "median" in row
            )
            if points:
                color, marker, line = styles[method]
                axis.plot(
                    *zip(*points, strict=True),
                    color=color,
                    marker=marker,
                    ls=line,
                    lw=2.2 if method == OURS else 1.3,
                    ms=5,
                    label=method,
                )
        axis.set(xscale="log", yscale="log", xlabel="points told, n", title=f"d = {d}")
        axis.grid(alpha=0.25)
    axes[0][0].set_ylabel("seconds per ask (median)")
    figure.legend(
        *axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=len(methods)
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="research.benchmarks.speed", description="Seconds per ask against the peers."
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="n up to 200, two dimensions, ours and Optuna's samplers",
    )
    options = parser.parse_args()
    threads = dict.fromkeys(
        ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    )  # equal for all
    if not threads.items() <= os.environ.items():  # read when NumPy is imported: start again
        os.execve(
            sys.executable,
            [sys.executable, "-m", "research.benchmarks.speed", *sys.argv[1:]],
            {**os.environ, **threads},
        )
    sizes, dimensions, peers = (
        ((10, 50, 200), (2, 6), ("optuna_gp", "optuna_tpe"))
        if options.quick
        else (SIZES, DIMENSIONS, PEERS)
    )
    result: dict[str, Any] = {
        "rows": [],
        "variants": variants(2, 100, 20),
        "footprint": footprint(),
        "machine": (
            f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()},"
            f" NumPy {np.__version__}"
        ),
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    for rows in compare(sizes, dimensions, peers):  # what is done is kept if the run is stopped
        result["rows"] += rows
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    from research.benchmarks import report

    return report.main()


if __name__ == "__main__":
    sys.exit(main())
