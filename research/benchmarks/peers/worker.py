"""One peer in one process, with nothing but the standard library of its own. Usage: python
research/benchmarks/peers/worker.py ADAPTER

Speaks ``protocol`` over standard input and output; ends with status 1 after an error. What the peer
prints goes to standard error.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
HASHES = "PYTHONHASHSEED"


def main(name: str) -> int:
    for variable in THREADS:
        os.environ.setdefault(
            variable, "1"
        )  # small solves, and the harness runs one process per core
    sys.path[0] = str(
        ROOT
    )  # this folder has files named like the peers: "import ax" must not find our ax.py
    serve = importlib.import_module("research.benchmarks.peers.protocol").serve
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as replies:
        os.dup2(2, 1)  # the prints of a peer, those of its C code too, must not reach the harness
        status: int = serve(
            lambda: importlib.import_module(f"research.benchmarks.peers.{name}").Adapter,
            sys.stdin,
            replies,
        )
    return status


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} ADAPTER")
    if (
        HASHES not in os.environ
    ):  # SMAC walks through sets: the same seed gives the same asks only under the same hashes
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, HASHES: "0"})
    sys.exit(main(sys.argv[1]))
