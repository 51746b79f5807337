"""scikit-learn's checks with arrays of other libraries, in a process of its own: SciPy decides when
it is imported whether it takes them (SCIPY_ARRAY_API). Prints what passed, failed and was left out:
``SCIPY_ARRAY_API=1 python -m tests.integrations.array_checks``.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest import SkipTest

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import noregret as nr
from noregret.integrations.sklearn import NoRegretSearchCV

COMMON: dict[str, Any] = {"cv": 2, "error_score": "raise", "random_state": 0}
SEARCHES = (
    NoRegretSearchCV(Ridge(), {"alpha": nr.Float(0.1, 1.0)}, n_iter=4, **COMMON),
    NoRegretSearchCV(LogisticRegression(), {"C": nr.Float(0.1, 1, log=True)}, n_iter=4, **COMMON),
    NoRegretSearchCV(
        make_pipeline(StandardScaler(), Ridge()), {"ridge__alpha": [0.1, 1.0]}, **COMMON
    ),
)


def is_about_arrays(check: Any) -> bool:
    return "array_api" in getattr(check, "func", check).__name__


def checks() -> Iterator[tuple[str, Callable[[], None]]]:
    """Each with the libraries and devices that it is about."""
    for search in SEARCHES:
        for estimator, check in estimator_checks_generator(search):
            if is_about_arrays(check):
                given = check.keywords
                mixed = [v for name, v in given.items() if name.endswith("_ns_and_device")]
                about = mixed or [(given["array_namespace"], given.get("device_name"))]
                kind = type(search.estimator).__name__
                name = f"{check.func.__name__} {kind} {given.get('dtype_name') or ''}".strip()
                words = " + ".join("/".join(filter(None, each)) for each in about)
                yield f"{name}: {words}", lambda c=check, e=estimator: c(e)  # type: ignore[misc]


def main() -> None:
    warnings.simplefilter("ignore")  # Ridge takes another solver then, and says so
    found: dict[str, list[str]] = {"passed": [], "failed": [], "left out": []}
    for name, check in checks():
        try:
            check()
        except SkipTest:
            found["left out"].append(name)
        except Exception as error:
            found["failed"].append(f"{name}: {type(error).__name__}: {error}")
        else:
            found["passed"].append(name)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
