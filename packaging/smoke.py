"""What the installed package must do with NumPy and SciPy alone: python packaging/smoke.py
[--bare]. Standard asserts, no test runner.
"""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import noregret as nr
from noregret.errors import MissingExtraError
from noregret.integrations.scipy import minimize_noisy

EXTRAS = {
    "optuna": "noregret.integrations.optuna",
    "sklearn": "noregret.integrations.sklearn",
    "ray": "noregret.integrations.ray",
}


def optimises() -> None:
    study = nr.minimize(
        lambda p: (p["x"] - 0.3) ** 2 + (p["kind"] == "bad"),
        {"x": nr.Float(0, 1), "kind": nr.Choice(["good", "bad"])},
        trials=15,
        progress=False,
    )
    assert study.best.value is not None
    assert study.best.value < 0.01
    result = minimize_noisy(lambda x: float((x[0] - 0.3) ** 2), [(0, 1)], maxfun=12, rng=0)
    assert result.success
    assert abs(result.x[0] - 0.3) < 0.1


def is_typed() -> None:
    assert Path(str(nr.__file__)).with_name("py.typed").exists()


def missing_extras_are_said(bare: bool) -> None:
    for package, module in EXTRAS.items():
        absent = importlib.util.find_spec(package) is None
        assert absent or not bare, f"{package} is installed: this is no bare environment"
        if absent:
            assert f"noregret[{package}]" in what_import_says(module)


def what_import_says(module: str) -> str:
    try:
        importlib.import_module(module)
    except MissingExtraError as error:
        return str(error)
    return "nothing"


def imports_little() -> None:
    """A plain import brings NumPy and SciPy and no optional package."""
    code = (
        "import sys, noregret; print([name for name in ('sqlalchemy', 'click', 'matplotlib',"
        " 'optuna', 'sklearn', 'ray', 'pandas') if name in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == "[]"
    )


if __name__ == "__main__":
    optimises()
    is_typed()
    missing_extras_are_said(bare="--bare" in sys.argv)
    imports_little()
    print(f"noregret {nr.__version__} works from {Path(str(nr.__file__)).parent.name}")
