"""What a test needs beyond Python, NumPy and SciPy. Where it is missing the test is skipped, but
not in CI (the variable CI is set): there a missing component is a failure, so that nothing goes
untried unnoticed. `.ci/run` installs all of them.
"""

from __future__ import annotations

import importlib
import os
import shutil
from types import ModuleType
from typing import Any, NoReturn

import pytest


def missing(what: str, module: bool = False) -> NoReturn:
    """``module``: whether a whole file of tests needs it."""
    if os.environ.get("CI"):
        pytest.fail(f"{what}; in CI that is a failure", pytrace=False)
    pytest.skip(what, allow_module_level=module)


def needed(name: str, extra: str) -> Any:
    """The module of that name, which the extra brings."""
    try:
        found: ModuleType = importlib.import_module(name)
    except ImportError as error:
        missing(f"{name} cannot be imported ({error}): install the extra {extra}", module=True)
    return found


def program(name: str, package: str) -> str:
    """The path of a program."""
    found = shutil.which(name)
    if found is None:
        missing(f"the program {name} is missing: install {package}")
    return found
