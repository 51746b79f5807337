"""Suites materials (measured designs) and tuning (scikit-learn models on its bundled data)."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from noregret.errors import ConfigurationError
from noregret.space import Array, Candidates, Choice, Float, Int, Space
from research.benchmarks.problem import Problem

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


@cache
def _split(data: str) -> tuple[Array, Array, Array, Array]:
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = {"digits": load_digits, "cancer": load_breast_cancer, "wine": load_wine}[data](
        return_X_y=True
    )
    a, b, c, d = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
    scaler = StandardScaler().fit(a)
    return scaler.transform(a), scaler.transform(b), c, d


def _log_loss(model: Any, data: str) -> float:
    """Negative validation log loss, bounded at ten times a coin's."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.metrics import log_loss
    from sklearn.utils._testing import ignore_warnings

    train, test, labels, truth = _split(data)
    with ignore_warnings(category=ConvergenceWarning):
        model.fit(train, labels)
        return -min(
            float(log_loss(truth, model.predict_proba(test), labels=np.unique(labels))), 10.0
        )


def _svm(p: dict[str, Any]) -> float:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    kernel = SVC(C=p["C"], gamma=p["gamma"], kernel=p["kernel"], degree=p["degree"], random_state=0)
    return _log_loss(CalibratedClassifierCV(kernel, cv=2, ensemble=False), "digits")


def _boosting(p: dict[str, Any]) -> float:
    from sklearn.ensemble import GradientBoostingClassifier

    settings = {**p, "max_features": None if p["max_features"] == "all" else p["max_features"]}
    return _log_loss(GradientBoostingClassifier(**settings, random_state=0), "cancer")


def _mlp(p: dict[str, Any]) -> float:
    from sklearn.neural_network import MLPClassifier

    settings = {**p, "hidden_layer_sizes": (p["width"],) * p["depth"]}
    settings.pop("width")
    settings.pop("depth")
    return _log_loss(MLPClassifier(**settings, max_iter=40, random_state=0), "cancer")


TUNING: dict[str, tuple[Callable[[dict[str, Any]], float], Space]] = {
    "SVM on digits": (
        _svm,
        Space(
            {
                "C": Float(1e-3, 1e3, log=True),
                "gamma": Float(1e-5, 1e1, log=True),
                "kernel": Choice(["rbf", "poly", "sigmoid"]),
                "degree": Int(2, 5),
            }
        ),
    ),
    "boosting on cancer": (
        _boosting,
        Space(
            {
                "learning_rate": Float(1e-3, 1, log=True),
                "n_estimators": Int(10, 120, log=True),
                "max_depth": Int(1, 6),
                "subsample": Float(0.3, 1.0),
                "max_features": Choice(["sqrt", "log2", "all"]),
            }
        ),
    ),
    "MLP on cancer": (
        _mlp,
        Space(
            {
                "learning_rate_init": Float(1e-5, 1, log=True),
                "alpha": Float(1e-7, 1e1, log=True),
                "width": Int(4, 128, log=True),
                "depth": Int(1, 3),
                "activation": Choice(["relu", "tanh", "logistic"]),
                "batch_size": Int(8, 200, log=True),
            }
        ),
    ),
}


def tuning(name: str) -> Problem:
    """The maximum is not known: the report takes the best value any run found."""
    function, space = TUNING[name]
    return Problem(name, "tuning", space, function, float("nan"), 50)
