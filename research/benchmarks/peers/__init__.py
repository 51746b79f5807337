"""Other optimizers behind one interface, each in a process and an environment of its own.

This file imports nothing but the standard library: the harness reads the table without the peers.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Peer:
    """Where an adapter is and what it needs.

    Attributes:
        module: file in this folder.
        adapter: class in that file; see ``worker.Optimizer``.
        distribution: package whose version the report names.
        environment: ``requirements-<environment>.txt`` has its pins.
        limits: whether it takes outcome constraints; the others get penalised values.
    """

    module: str
    adapter: str
    distribution: str
    environment: str
    limits: bool = False


PEERS = {
    "optuna_tpe": Peer("optuna_samplers", "TPE", "optuna", "torch", limits=True),
    "optuna_gp": Peer("optuna_samplers", "GP", "optuna", "torch", limits=True),
    "botorch_logei": Peer("gp_libraries", "BoTorchLogEI", "botorch", "torch"),
    "skopt": Peer("gp_libraries", "ScikitOptimize", "scikit-optimize", "torch"),
    "ax": Peer("gp_libraries", "Ax", "ax-platform", "torch"),
    "hebo": Peer("gp_libraries", "Hebo", "HEBO", "hebo"),
    "smac": Peer("gp_libraries", "Smac", "smac", "smac"),
}
