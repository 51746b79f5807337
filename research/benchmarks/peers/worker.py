"""One peer in one process. Usage: python research/benchmarks/peers/worker.py PEER

The harness writes JSON lines to standard input: ``start`` (see Setting), then ``tell`` and ``ask``.
Only ``ask`` is answered on standard output, with the point and the seconds that the peer took for
it and for the tells since the last ask. A failure is answered ``{"error": …}`` and ends the process
with status 1. Whatever the peer prints goes to standard error.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TextIO

if TYPE_CHECKING:
    from research.benchmarks.peers.setting import Setting, Value

ROOT = Path(__file__).resolve().parents[3]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HASHES = "PYTHONHASHSEED"


class Optimizer(Protocol):
    """An adapter. It minimises, and accepts points that it never asked for.

    ``limits``: measured outcome constraints of the point, ≤ 0 where it is feasible; empty without.
    """

    def ask(self) -> list[Value]: ...
    def tell(self, x: list[Value], y: float, limits: list[float]) -> None: ...
    def fail(self, x: list[Value]) -> None: ...


class WorstAtFailure:
    """For a peer without a state for failed trials: a failure is told as the worst value so far."""

    worst = 0.0

    def tell(self, x: list[Value], y: float, limits: list[float]) -> None:
        self.worst = max(self.worst, y)
        self.observe(x, y)

    def fail(self, x: list[Value]) -> None:
        self.observe(x, self.worst)

    def observe(self, x: list[Value], y: float) -> None:
        raise NotImplementedError


def serve(
    load: Callable[[], Callable[[Setting], Optimizer]], messages: Iterable[str], replies: TextIO
) -> int:
    """Answers messages until they end. Returns the exit status."""
    try:
        _converse(load, messages, replies)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        _reply(replies, {"error": f"{type(error).__name__}: {error}"})
        return 1
    return 0


def _converse(
    load: Callable[[], Callable[[Setting], Optimizer]], messages: Iterable[str], replies: TextIO
) -> None:
    from research.benchmarks.peers.setting import Setting

    lines = (json.loads(line) for line in messages)
    start = next(lines)
    if start["op"] != "start":
        raise ValueError(f"the first message must be start, got {start['op']!r}")
    setting = Setting.from_message(start)
    optimizer = load()(setting)
    seconds = 0.0
    for message in lines:
        clock = time.perf_counter()
        if message["op"] == "ask":
            x = setting.native(optimizer.ask())
            _reply(replies, {"x": x, "seconds": seconds + time.perf_counter() - clock})
            seconds = 0.0
            continue
        if message["op"] != "tell":
            raise ValueError(f"op must be start, tell or ask, got {message['op']!r}")
        x = setting.native(message["x"])
        if message["y"] is None:
            optimizer.fail(x)
        else:
            optimizer.tell(x, float(message["y"]), message.get("limits") or [])
        seconds += time.perf_counter() - clock


def _reply(replies: TextIO, reply: dict[str, Any]) -> None:
    replies.write(json.dumps(reply) + "\n")
    replies.flush()


def _adapter(name: str) -> Callable[[Setting], Optimizer]:
    peer = importlib.import_module("research.benchmarks.peers").PEERS[name]
    module = importlib.import_module(f"research.benchmarks.peers.{peer.module}")
    adapter: Callable[[Setting], Optimizer] = getattr(module, peer.adapter)
    return adapter


def main(name: str) -> int:
    for variable in THREADS:  # small solves, and the harness runs one process per core
        os.environ.setdefault(variable, "1")
    sys.path[0] = str(ROOT)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as replies:
        os.dup2(2, 1)  # prints of a peer, those of its C code too, must not reach the harness
        return serve(lambda: _adapter(name), sys.stdin, replies)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} PEER")
    if HASHES not in os.environ:  # SMAC iterates over sets: equal seeds need equal hashes
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, HASHES: "0"})
    sys.exit(main(sys.argv[1]))
