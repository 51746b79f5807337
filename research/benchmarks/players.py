"""What plays a problem: a strategy of ours in this process, or a peer in its own."""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import noregret as nr
from noregret.space import Candidates, Choice, Float
from noregret.strategies import Strategy
from research.benchmarks.peers.registry import adapters
from research.benchmarks.problem import Problem

ROOT = Path(__file__).resolve().parents[2]
OURS: dict[str, Callable[[], Strategy]] = {
    "noregret": nr.InsuredGPUCB,
    "noregret, insurance 0": lambda: nr.InsuredGPUCB(0.0),
    "noregret LogEI": nr.LogEI,
    "random": nr.RandomSearch,
}


class Player(Protocol):
    """Maximises. ``tell`` takes points that were never asked for, too; None: it failed."""

    def ask(self) -> Any: ...
    def tell(self, params: Any, value: float | None) -> None: ...
    def recommend(self) -> Any: ...


@contextmanager
def player(method: str, problem: Problem, seed: int, *, own_start: bool) -> Iterator[Player]:
    if method in OURS:
        yield Ours(OURS[method](), problem, seed)
        return
    peer = Peer(method, problem, seed, own_start)
    try:
        yield peer
    finally:
        peer.close()


class Ours:
    def __init__(self, strategy: Strategy, problem: Problem, seed: int) -> None:
        self.study = nr.Study(problem.space, "maximize", strategy, seed)
        self._asked: nr.Trial | None = None

    def ask(self) -> Any:
        self._asked = self.study.ask()
        return self._asked.params

    def tell(self, params: Any, value: float | None) -> None:
        trial, self._asked = self._asked, None
        if trial is None and value is not None:
            self.study.add(params, value)
            return
        if trial is None:  # an initial point that failed
            self.study.enqueue(params)
            trial = self.study.ask()
        if value is None:
            self.study.tell(trial, state="failed")
        else:
            self.study.tell(trial, value)

    def recommend(self) -> Any:
        return self.study.recommended.params if self.study.recommended else None


class Peer:
    """A peer in its own process and environment, which minimises."""

    def __init__(self, method: str, problem: Problem, seed: int, own_start: bool) -> None:
        self._method, self._problem = method, problem
        space: Any = problem.space  # a box or a list
        self._finite = isinstance(space, Candidates)
        self._box: Any = space._box if self._finite else space
        self._measured: set[bytes] = set()
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
                "linear": [linear_sum(each) for each in getattr(self._box, "constraints", ())],
                "own_start": own_start,
            }
        )

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def ask(self) -> Any:
        self._send({"op": "ask"})
        assert self._process.stdout is not None
        reply = json.loads(self._process.stdout.readline() or '{"error": "the process ended"}')
        if "error" in reply:
            raise RuntimeError(f"{self._method}: {reply['error']}")
        named = dict(zip(self._box.parameters, reply["x"], strict=True))
        for name, parameter in self._box.parameters.items():  # rounding may leave the box
            if not isinstance(parameter, Choice):
                inside = min(max(named[name], parameter.low), parameter.high)
                named[name] = type(parameter.low)(inside)
        u, space = self._box.encode(named), self._problem.space
        if self._finite:  # a peer that knows boxes only: the nearest design not measured yet
            rows = space.enumeration()
            assert rows is not None
            order = np.argsort(((rows - u) ** 2).sum(axis=1), kind="stable")
            fresh = (rows[i] for i in order if rows[i].tobytes() not in self._measured)
            u = next(fresh, rows[order[0]])
        return space.decode(space.snap(u[None, :])[0])

    def tell(self, params: Any, value: float | None) -> None:
        self._measured.add(self._problem.space.encode(params).tobytes())
        row = list(params.values()) if isinstance(params, dict) else [float(v) for v in params]
        plain = [v.item() if isinstance(v, np.generic) else v for v in row]
        self._send({"op": "tell", "x": plain, "y": None if value is None else -value})

    def recommend(self) -> Any:
        return None

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def linear_sum(linear: nr.Linear) -> dict[str, Any]:
    ends = (end if math.isfinite(end) else None for end in linear.bounds)
    return dict(zip(("coefficients", "low", "high"), (linear.coefficients, *ends), strict=True))


def describe(name: str, parameter: Any) -> dict[str, Any]:
    if isinstance(parameter, Choice):
        return {"name": name, "kind": "choice", "options": list(parameter.options)}
    kind = "float" if isinstance(parameter, Float) else "int"
    ends = {"low": parameter.low, "high": parameter.high, "log": parameter.log}
    return {"name": name, "kind": kind, **ends}


def peer_python(method: str) -> str:
    path = ROOT / ".peers" / adapters()[method].environment / "bin" / "python"
    if not path.exists():
        raise RuntimeError(f"the environment of {method} is not there: run `make bench-peers`")
    return str(path)
