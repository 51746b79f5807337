"""One GPU: seconds of an ask with many trials and of a sweep over many candidates, beside BoTorch.

    python -m research.benchmarks.gpu --out FILE.json [--device cuda] [--sizes 1000 10000 60000]
    python -m research.benchmarks.gpu --report FILE.json [LATER.json]

Every line is a process of its own with a limit of its own; FILE is written after each, so that
what was measured before a fault is kept. Needs NumPy, SciPy, PyTorch and, for its lines, BoTorch.
Seconds are the clock's: the GPU's work is waited for, since a proposal is an array here.

--report writes the table of docs/gpu.md from such files, a line that stands in several from the
last, and keeps them as one in research/benchmarks/results/gpu.json.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import noregret as nr
from noregret.errors import DeviceMemoryError
from noregret.gp import Matern, condition
from noregret.gp.device import device_for, products, values
from noregret.gp.device_factor import LARGEST, PanelFactor
from noregret.space import Array
from noregret.strategies import insured
from noregret.trials import Decision, Trial
from research.benchmarks.report import write_section

RESULT = Path(__file__).resolve().parent / "results" / "gpu.json"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "gpu.md"
BEGIN, END = "<!-- bench-gpu: written by the benchmark -->", "<!-- bench-gpu: end -->"
DIMENSION = 6
NOISE = 0.05
REFIT = 10  # every so many asks the estimate is improved, whatever the growth of the data
AGREE = (600, 1_500, 3_000)  # points at which proposals are compared with the processor's
SWEPT = 1_000  # points of the sweep
RESTARTS, RAW = 16, 2_048  # of BoTorch's search: as many candidates and starts as ours
KERNEL = Matern(2.5)
WANTED = {10_000: 0.3, 60_000: 5.0}  # seconds of an ask by the number of trials, on average
WANTED_SWEEP = 0.05


def objective(x: Array) -> float:
    """Smooth, multimodal, with falling importance of the inputs."""
    weight = 1 / np.arange(1, len(x) + 1)
    return float(weight @ (np.sin(3 * np.pi * x) - 2 * (x - 0.6) ** 2))


def data(n: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(n)
    X = rng.random((n, DIMENSION))
    return X, np.array([objective(x) for x in X]) + NOISE * rng.standard_normal(n)


def study(n: int) -> nr.Study:
    X, y = data(n)
    trials = [
        Trial(i, x, "complete", float(v), decision=Decision("added"))
        for i, (x, v) in enumerate(zip(X, y, strict=True))
    ]
    return nr.Study([(0.0, 1.0)] * DIMENSION, "maximize", trials=trials)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def memory(device: str) -> dict[str, float]:
    """GB that PyTorch held at most."""
    if not device.startswith("cuda"):
        return {}
    import torch

    return {"memory": torch.cuda.max_memory_allocated() / 1e9}


# -- what is measured: each returns a dictionary of numbers --


def asks(device: str, n: int, count: int) -> dict[str, Any]:
    """The first ask, which fits and factorises from nothing; then ``count`` more, each tenth of
    them with a refit, whose new lengthscales need a new factor.
    """
    nr.use_device(device)
    made = study(n)
    usual = insured.ESTIMATION
    first, trial = timed(made.ask)
    kinds: list[str] = []
    warm: list[float] = []
    refits: list[float] = []
    for index in range(1, count + 1):
        made.tell(trial, objective(trial.params))
        refit = index % REFIT == 0
        insured.ESTIMATION = replace(usual, refresh=1.0) if refit else usual
        seconds, trial = timed(made.ask)
        assert trial.decision.model is not None
        kinds.append(trial.decision.model.kind)
        (refits if refit else warm).append(seconds)
    mean = statistics.mean([*warm, *refits]) if refits else None
    return {
        "first": first,
        "warm": statistics.median(warm),
        "slowest": max(warm),
        "refit": statistics.median(refits) if refits else None,
        "mean": mean,
        "kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        **memory(device),
    }


def sweep(device: str, rows: int, n: int) -> dict[str, Any]:
    """Mean and std at many candidates, given n points; the way of the numbers to the device and
    back is in it.
    """
    nr.use_device(device)
    X, y = data(n)
    y = (y - y.mean()) / y.std()
    posterior = condition(KERNEL, np.full(DIMENSION, 1.0), X, y, 1e-2)
    A = np.random.default_rng(1).random((rows, DIMENSION))
    seconds, answers = [], []
    for _ in range(6):
        spent, answer = timed(lambda: posterior.predict(A))
        seconds.append(spent)
        answers.append(answer)
    nr.use_device("cpu")
    here = condition(KERNEL, np.full(DIMENSION, 1.0), X, y, 1e-2).predict(A[:512])
    apart = [float(np.abs(a[:512] - b).max()) for a, b in zip(answers[-1], here, strict=True)]
    return {
        "first": seconds[0],
        "median": statistics.median(seconds[1:]),
        "apart": max(apart),
        **memory(device),
    }


def parts(device: str, rows: int, n: int) -> dict[str, Any]:
    """Where a sweep's time goes: each step by itself and waited for, all rows together."""
    nr.use_device(device)
    X, y = data(n)
    posterior = condition(KERNEL, np.full(DIMENSION, 1.0), X, y, 1e-2)
    factor = posterior.factor
    assert isinstance(factor, PanelFactor)
    place, weights, A = (
        factor.place,
        factor.place.put(posterior.weights),
        np.random.default_rng(1).random((rows, DIMENSION)),
    )
    size = min(rows, LARGEST)
    spent: dict[str, list[float]] = {}

    def step(name: str, call: Callable[..., Any], *given: Any) -> Any:
        def waited() -> Any:
            answer = call(*given)
            if place.place.type == "cuda":
                place.torch.cuda.synchronize()
            return answer

        seconds, answer = timed(waited)
        spent.setdefault(name, []).append(seconds * rows / size)
        return answer

    for _ in range(5):
        there = step("to the device", place.put, A[:size])
        sq = step("distances", products, place, factor.points, there)
        k = step("kernel", values, place, KERNEL, sq)
        step("mean", place.torch.matmul, weights, k)
        v = step("factor", factor.whiten, k)
        norm = step("norm", lambda V: place.torch.linalg.vector_norm(V, dim=0), v)
        step("back", place.get, place.torch.stack([norm, norm]))
    return {name: statistics.median(seconds[1:]) for name, seconds in spent.items()}


def listed(device: str, rows: int, n: int) -> dict[str, Any]:
    """A whole ask that chooses from a list, given n measured designs of it."""
    nr.use_device(device)
    table = np.random.default_rng(1).random((rows, DIMENSION))
    y = np.array([objective(x) for x in table[:n]])
    y += NOISE * np.random.default_rng(2).standard_normal(n)
    trials = [
        Trial(i, x, "complete", float(v), decision=Decision("added"))
        for i, (x, v) in enumerate(zip(table[:n], y, strict=True))
    ]
    made = nr.Study(nr.Candidates(table), "maximize", trials=trials)
    seconds = []
    for _ in range(5):
        spent, trial = timed(made.ask)
        seconds.append(spent)
        made.tell(trial, objective(np.asarray(trial.params)))
    return {"first": seconds[0], "warm": statistics.median(seconds[1:])}


def agreement(device: str, n: int, count: int) -> dict[str, Any]:
    """How far apart the proposals of the processor and of the device are, in the unit cube."""
    apart, seconds = [], {}
    proposals = {}
    for name in ("cpu", device):
        nr.use_device(name)
        made, points, spent = study(n), [], []
        for _ in range(count):
            took, trial = timed(made.ask)
            points.append(np.asarray(trial.params))
            spent.append(took)
            made.tell(trial, objective(trial.params))
        proposals[name], seconds[name] = points, statistics.median(spent[1:])
    apart = [
        float(np.abs(a - b).max()) for a, b in zip(proposals["cpu"], proposals[device], strict=True)
    ]
    return {"apart": max(apart), "cpu": seconds["cpu"], "device": seconds[device]}


def too_small(device: str, n: int) -> dict[str, Any]:
    """A GPU that has not the memory: the error, and the way on."""
    import torch

    if device.startswith("cuda"):
        torch.cuda.set_per_process_memory_fraction(3 * n * n / torch.cuda.mem_get_info()[1])
    nr.use_device(device)
    made = study(n)
    try:
        made.ask()
    except DeviceMemoryError as error:
        nr.use_device("cpu")
        seconds, trial = timed(made.ask)
        return {"error": str(error), "went on": trial.number == n, "seconds": seconds}
    return {"error": None}


def botorch(device: str, n: int) -> dict[str, Any]:
    """SingleTaskGP with our lengthscales and noise, so that both do the same work: a posterior from
    nothing, then UCB maximised from as many candidates and starts; then a fit of its own.
    """
    import torch
    from botorch.acquisition import UpperConfidenceBound
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    place = torch.device("cuda" if device.startswith("cuda") else "cpu")

    def wait() -> None:
        if place.type == "cuda":
            torch.cuda.synchronize()

    X, y = data(n)
    given = torch.tensor(X, device=place, dtype=torch.float64)
    values = torch.tensor((y - y.mean()) / y.std(), device=place, dtype=torch.float64)[:, None]
    bounds = torch.tensor([[0.0] * DIMENSION, [1.0] * DIMENSION], device=place, dtype=torch.float64)

    def ask() -> None:
        model = SingleTaskGP(given, values, outcome_transform=None)
        model.covar_module.lengthscale = 1.0
        model.likelihood.noise = 1e-2
        model.eval()
        found = UpperConfidenceBound(model, beta=0.5)
        optimize_acqf(found, bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW)
        wait()

    def fit() -> None:
        model = SingleTaskGP(given, values, outcome_transform=None)
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        wait()

    answer: dict[str, Any] = {}
    for name, call in (("first", ask), ("ask", ask), ("fit", fit)):
        try:
            answer[name] = timed(call)[0]
            print(json.dumps({**answer, **memory(device)}), flush=True)
        except Exception as error:
            answer[f"{name} error"] = f"{type(error).__name__}: {str(error)[:200]}"
    return {**answer, **memory(device)}


def botorch_sweep(device: str, rows: int, n: int) -> dict[str, Any]:
    """Its posterior at many candidates, in pieces of 50,000."""
    import torch
    from botorch.models import SingleTaskGP

    place = torch.device("cuda" if device.startswith("cuda") else "cpu")
    X, y = data(n)
    given = torch.tensor(X, device=place, dtype=torch.float64)
    values = torch.tensor((y - y.mean()) / y.std(), device=place, dtype=torch.float64)[:, None]
    model = SingleTaskGP(given, values, outcome_transform=None)
    model.covar_module.lengthscale = 1.0
    model.likelihood.noise = 1e-2
    model.eval()
    A = torch.tensor(np.random.default_rng(1).random((rows, DIMENSION)))

    def call() -> Any:
        with torch.no_grad():
            found = []
            for part in A.split(50_000):
                posterior = model.posterior(part.to(place)[:, None, :])
                found.append(torch.cat([posterior.mean, posterior.variance]).cpu())
        return found

    seconds = [timed(call)[0] for _ in range(4)]
    return {"first": seconds[0], "median": statistics.median(seconds[1:]), **memory(device)}


MEASUREMENTS: dict[str, Callable[..., dict[str, Any]]] = {
    "asks": asks,
    "sweep": sweep,
    "parts": parts,
    "listed": listed,
    "agreement": agreement,
    "too_small": too_small,
    "botorch": botorch,
    "botorch_sweep": botorch_sweep,
}


def about(device: str) -> dict[str, Any]:
    import torch

    known = {"python": platform.python_version(), "numpy": np.__version__}
    known["torch"] = torch.__version__
    if device.startswith("cuda"):
        from noregret.gp.device import _fused

        nr.use_device(device)
        place = device_for(KERNEL, 10**6)
        assert place is not None
        known["gpu"] = torch.cuda.get_device_name(0)
        known["fused"] = str(_fused(place) is not None)
    return known


MEASUREMENTS["about"] = about


def planned(options: argparse.Namespace) -> list[tuple[str, list[int]]]:
    sizes, rows = sorted(options.sizes), options.candidates
    plan: list[tuple[str, list[int]]] = [("about", [])]
    plan += [("asks", [n, options.asks]) for n in sizes]
    plan += [("sweep", [rows, SWEPT]), ("parts", [rows, SWEPT])]
    plan += [("agreement", [n, 4]) for n in options.agree]
    plan += [("listed", [rows, SWEPT])]
    if not options.no_botorch:
        plan += [("botorch_sweep", [rows, SWEPT])]
        plan += [("botorch", [n]) for n in sizes]
    plan += [("too_small", [options.small])]
    return [line for line in plan if not options.only or line[0] in options.only]


def measured(device: str, what: str, numbers: list[int], limit: float) -> dict[str, Any]:
    """One line, in a process of its own; what it printed before a fault or the limit counts."""
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-W", "ignore", "-m", "research.benchmarks.gpu", "--device", device]
    command += ["--one", what, *map(str, numbers)]
    start = time.perf_counter()
    answer: dict[str, Any] = {}
    try:
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, timeout=limit, check=False
        )
        text = done.stdout
        if done.returncode:
            answer["fault"] = done.stderr.strip()[-600:]
    except subprocess.TimeoutExpired as error:
        text = error.stdout.decode() if isinstance(error.stdout, bytes) else (error.stdout or "")
        answer["fault"] = f"not done after {limit:.0f} s"
    except OSError as error:
        return {"fault": str(error)}
    lines = [line for line in text.splitlines() if line.startswith("{")]
    answer = {**(json.loads(lines[-1]) if lines else {}), **answer}
    return {**answer, "process": time.perf_counter() - start}


def run(options: argparse.Namespace) -> None:
    end = time.perf_counter() + 60 * options.minutes
    result: dict[str, Any] = {"device": options.device, "lines": []}
    for what, numbers in planned(options):
        left = end - time.perf_counter()
        if left < 10:
            line: dict[str, Any] = {"fault": "no time left"}
        else:
            line = measured(options.device, what, numbers, min(left, options.limit))
        result["lines"].append({"what": what, "numbers": numbers, **line})
        print(json.dumps(result["lines"][-1]), flush=True)
        if options.out:
            Path(options.out).write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


# -- the page --


def merged(results: list[dict[str, Any]]) -> dict[str, Any]:
    """A line that stands in several is that of the last."""
    lines = {
        (line["what"], *line["numbers"]): line for result in results for line in result["lines"]
    }
    return {"device": results[-1]["device"], "lines": list(lines.values())}


def shown(seconds: float | None) -> str:
    return "–" if seconds is None else f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def verdict(seconds: float | None, wanted: float | None) -> str:
    if wanted is None or seconds is None:
        return ""
    return f"{wanted:g} s: {'met' if seconds <= wanted else 'missed'}"


def section(result: dict[str, Any]) -> str:
    of: dict[str, list[dict[str, Any]]] = {}
    for line in result["lines"]:
        of.setdefault(line["what"], []).append(line)
    machine = of["about"][0]
    peers = {line["numbers"][0]: line for line in of.get("botorch", [])}
    rows = []
    for line in sorted(of["asks"], key=lambda each: each["numbers"][0]):
        n = line["numbers"][0]
        peer = peers.get(n, {})
        full = any("OutOfMemory" in str(value) for value in peer.values())
        theirs = "out of memory" if full else shown(peer.get("ask"))
        rows += [
            (f"{n:,} trials: a warm ask", shown(line["warm"]), "", theirs),
            (
                "mean, every tenth with a refit",
                shown(line["mean"]),
                verdict(line["mean"], WANTED.get(n)),
                "out of memory" if full else f"a fit {shown(peer.get('fit'))}",
            ),
            ("the first, from nothing", shown(line["first"]), "", ""),
            (
                "memory",
                f"{line['memory']:.2f} GB",
                "",
                f"{peer['memory']:.2f} GB" if "memory" in peer else "",
            ),
        ]
    for line, peer in zip(of["sweep"], of.get("botorch_sweep", [{}]), strict=False):
        count, n = line["numbers"]
        rows.append(
            (
                f"mean and std at {count:,} candidates, {n:,} trials",
                shown(line["median"]),
                verdict(line["median"], WANTED_SWEEP),
                shown(peer.get("median")),
            )
        )
    for line in of.get("listed", []):
        count, n = line["numbers"]
        about_list = f"an ask in a list of {count:,} designs, {n:,} trials"
        rows.append((about_list, shown(line["warm"]), "", ""))
    apart = max(line["apart"] for line in of["agreement"])
    sizes = ", ".join(f"{line['numbers'][0]:,}" for line in of["agreement"])
    lines = [
        f"Measured by `make bench-gpu` on one {machine['gpu']}, double precision, PyTorch"
        f" {machine['torch']}, {DIMENSION} inputs; clock seconds, the way to the GPU and back"
        " included. BoTorch: the same data on the same GPU, SingleTaskGP with given"
        f" hyperparameters, UCB from {RAW:,} candidates and {RESTARTS} starts; its fit apart.",
        "",
        "| | noregret | wanted | BoTorch |",
        "|---|---|---|---|",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
        f"Proposals differ from the processor's by at most {apart:.0e} of the unit cube (asks after"
        f" {sizes} trials).",
    ]
    for line in of.get("too_small", []):
        if line.get("went on"):
            lines[-1] += (
                f" With too little memory for {line['numbers'][0]:,} trials the error came, and the"
                " study went on on the processor."
            )
    return "\n".join(lines)


def write(result: dict[str, Any], page: Path) -> None:
    write_section(page, BEGIN, END, section(result))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--out", metavar="FILE", help="where the result is kept, as JSON")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 60_000])
    parser.add_argument("--agree", type=int, nargs="*", default=list(AGREE))
    parser.add_argument("--candidates", type=int, default=1_000_000)
    parser.add_argument("--asks", type=int, default=20, help="after the first")
    parser.add_argument("--small", type=int, default=6_000, help="points that must not fit")
    parser.add_argument("--minutes", type=float, default=9.0, help="in all")
    parser.add_argument("--limit", type=float, default=120.0, help="seconds of one line")
    parser.add_argument("--only", nargs="+", metavar="LINE", help="such as sweep or asks")
    parser.add_argument("--no-botorch", action="store_true")
    parser.add_argument("--report", nargs="+", metavar="FILE", help="only write docs/gpu.md")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        what, *numbers = options.one
        print(json.dumps(MEASUREMENTS[what](options.device, *map(int, numbers))), flush=True)
    elif options.report:
        result = merged([json.loads(Path(file).read_text("utf-8")) for file in options.report])
        RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
        write(result, PAGE)
    else:
        run(options)


if __name__ == "__main__":
    main()
