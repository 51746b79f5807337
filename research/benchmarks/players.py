"""The two kinds of player: a strategy of ours in this process, or a peer in its own."""

from __future__ import annotations

import json
import math
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import noregret as nr
from noregret.space import Candidates, Choice, Float
from noregret.strategies import Strategy, random_points
from research.benchmarks.peers import PEERS
from research.benchmarks.problem import Problem
from research.theory.hidden import Unpatrolled

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = "noregret"
PENDING = {"noregret, 8 pending": 8}  # trials under way at once
LONGER = 1.5  # times as many trials as with one at a time
OURS: dict[str, Callable[[], Strategy]] = {
    DEFAULT: nr.InsuredGPUCB,
    "noregret, insurance 0": lambda: nr.InsuredGPUCB(0.0),
    "noregret, no patrols": Unpatrolled,
    "noregret LogEI": nr.LogEI,
    "random": nr.RandomSearch,
    **dict.fromkeys(PENDING, nr.InsuredGPUCB),
}
TYPICAL = 200  # random points from which the size of a violation is taken


class Player(Protocol):
    """Maximises; accepts points that it never asked for.

    ``seconds``: of the last ask, for a peer with the tells before it.
    """

    seconds: float

    def ask(self, context: dict[str, float] | None = None) -> Any: ...
    def tell(self, params: Any, value: float | None, limits: list[float]) -> None: ...
    def recommend(self) -> Any: ...


@contextmanager
def player(method: str, problem: Problem, seed: int, *, own_start: bool) -> Iterator[Player]:
    """The player of a method: a key of OURS, or of PEERS, whose process ends with the block."""
    if method in OURS:
        yield Ours(OURS[method](), problem, seed, PENDING.get(method, 1))
        return
    peer = PeerProcess(method, problem, seed, own_start)
    try:
        yield peer
    finally:
        peer.close()


class Ours:
    """A study of this library. pending: how many trials are under way, the oldest is told first."""

    def __init__(self, strategy: Strategy, problem: Problem, seed: int, pending: int = 1) -> None:
        outcomes: Any = None
        if problem.limits is not None:
            count = len(problem.limits(problem.initial_points(seed)[0]))
            outcomes = {f"g{i}": nr.AtMost(0.0) for i in range(count)}
        context = () if problem.context is None else tuple(problem.context_at(0, seed) or ())
        self.study = nr.Study(
            problem.space, "maximize", strategy, seed, outcomes=outcomes, context=context
        )
        self.seconds = 0.0
        self._pending, self._waiting = pending, list[nr.Trial]()
        self._asked: nr.Trial | None = None

    def ask(self, context: dict[str, float] | None = None) -> Any:
        started = time.perf_counter()
        while len(self._waiting) < self._pending:
            self._waiting.append(self.study.ask(context=context))
        self._asked = self._waiting.pop(0)
        self.seconds = time.perf_counter() - started
        return self._asked.params

    def tell(self, params: Any, value: float | None, limits: list[float]) -> None:
        trial, self._asked = self._asked, None
        outcomes: Any = {f"g{i}": g for i, g in enumerate(limits)} or None
        if trial is None and value is not None:
            self.study.add(params, value, outcomes=outcomes)
            return
        if trial is None:  # a common initial point that failed
            self.study.enqueue(params)
            trial = self.study.ask()
        if value is None:
            self.study.tell(trial, state="failed")
        else:
            self.study.tell(trial, value, outcomes=outcomes)

    def recommend(self) -> Any:
        if self.study.context:
            return None
        return self.study.recommended.params if self.study.recommended else None


class PeerProcess:
    """A peer in its own process and environment, which minimises.

    A peer without outcome constraints is told penalised values: each violation lowers the value by
    the problem's scale times the violation over its median size at random points.
    """

    def __init__(self, method: str, problem: Problem, seed: int, own_start: bool) -> None:
        self._method, self._problem = method, problem
        self.seconds = 0.0
        space: Any = problem.space  # a box or a list
        self._finite = isinstance(space, Candidates)
        self._box: Any = space._box if self._finite else space
        self._measured: set[bytes] = set()
        self._sizes = violation_sizes(problem)
        self._scale = scale_of(problem) if self._sizes else 0.0
        self._process = subprocess.Popen(
            [peer_python(method), str(ROOT / "research/benchmarks/peers/worker.py"), method],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=ROOT,
        )
        rows = [[float(v) for v in row] for row in space.rows] if self._finite else None
        self._send(
            {
                "op": "start",
                "parameters": [describe(name, p) for name, p in self._box.parameters.items()],
                "seed": seed,
                "noisy": problem.noisy,
                "noise_std": problem.noise_std,
                "candidates": rows,
                "trials": problem.trials,
                "linear": [] if self._finite else [linear_sum(c) for c in self._box.constraints],
                "own_start": own_start,
                "limits": len(self._sizes) if PEERS[method].limits else 0,
            }
        )

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def ask(self, context: dict[str, float] | None = None) -> Any:
        if context is not None:
            raise RuntimeError(f"{self._method} is not run with context")
        self._send({"op": "ask"})
        assert self._process.stdout is not None
        reply = json.loads(self._process.stdout.readline() or '{"error": "the process ended"}')
        if "error" in reply:
            raise RuntimeError(f"{self._method}: {reply['error']}")
        self.seconds = reply["seconds"]
        named = dict(zip(self._box.parameters, reply["x"], strict=True))
        for name, parameter in self._box.parameters.items():  # rounding may leave the box
            if not isinstance(parameter, Choice):
                inside = min(max(named[name], parameter.low), parameter.high)
                named[name] = type(parameter.low)(inside)
        u, space = self._box.encode(named), self._problem.space
        if self._finite:  # a peer that proposes in the box: the nearest design not measured yet
            rows = space.enumeration()
            assert rows is not None
            order = np.argsort(((rows - u) ** 2).sum(axis=1), kind="stable")
            fresh = (rows[i] for i in order if rows[i].tobytes() not in self._measured)
            u = next(fresh, rows[order[0]])
        return space.decode(space.snap(u[None, :])[0])

    def tell(self, params: Any, value: float | None, limits: list[float]) -> None:
        self._measured.add(self._problem.space.encode(params).tobytes())
        row = list(params.values()) if isinstance(params, dict) else [float(v) for v in params]
        x = [v.item() if isinstance(v, np.generic) else v for v in row]
        if value is not None and not PEERS[self._method].limits:
            violations = [max(g, 0.0) / s for g, s in zip(limits, self._sizes, strict=True)]
            value -= self._scale * sum(violations)
        y = None if value is None else -value
        self._send({"op": "tell", "x": x, "y": y, "limits": limits})

    def recommend(self) -> Any:
        return None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def scale_of(problem: Problem) -> float:
    """What a regret is a share of: from the median of random feasible points to the maximum."""
    if problem.scale is not None:
        return problem.scale
    points = random_points(problem.space, np.random.default_rng(0), 1000)
    decoded = [problem.space.decode(u) for u in points]
    if problem.limits is not None:  # all points where no random point is feasible
        feasible = [params for params in decoded if max(problem.limits(params)) <= 0]
        gaps = [abs(problem.maximum - problem.value(params)) for params in feasible or decoded]
        return max(float(np.median(gaps)), 1e-12)
    middle = float(np.median([problem.value(params) for params in decoded]))
    return max(problem.maximum - middle, 1e-12)


def violation_sizes(problem: Problem) -> list[float]:
    """Median absolute value of each outcome constraint at random points; empty without."""
    if problem.limits is None:
        return []
    points = random_points(problem.space, np.random.default_rng(0), TYPICAL)
    rows = np.array([problem.limits(problem.space.decode(u)) for u in points])
    return [max(float(size), 1e-12) for size in np.median(np.abs(rows), axis=0)]


def linear_sum(linear: nr.Linear) -> dict[str, Any]:
    ends = (end if math.isfinite(end) else None for end in linear.bounds)
    return dict(zip(("coefficients", "low", "high"), (linear.coefficients, *ends), strict=True))


def describe(name: str, parameter: Any) -> Mapping[str, Any]:
    if isinstance(parameter, Choice):
        return {"name": name, "kind": "choice", "options": list(parameter.options)}
    kind = "float" if isinstance(parameter, Float) else "int"
    ends = {"low": parameter.low, "high": parameter.high, "log": parameter.log}
    return {"name": name, "kind": kind, **ends}


def peer_python(method: str) -> str:
    """The interpreter of a peer's environment.

    Raises:
        RuntimeError: the environment is missing.
    """
    path = ROOT / ".peers" / PEERS[method].environment / "bin" / "python"
    if not path.exists():
        raise RuntimeError(f"no environment for {method}: run `make bench-peers`")
    return str(path)
