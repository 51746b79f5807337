"""A Python function by name, as in ``module:function`` or ``script.py:function``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from noregret.errors import ConfigurationError


def load(name: str) -> Callable[[Any], Any]:
    """The function; its module is loaded as Python would from the working folder."""
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        raise ConfigurationError(f"write module:function or script.py:function, got {name!r}")
    try:
        module = _script(Path(where)) if where.endswith(".py") else _module(where)
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigurationError(f"{where} could not be loaded: {describe(error)}") from None
    function = module
    for part in attribute.split("."):
        if not hasattr(function, part):
            there = ", ".join(
                sorted(
                    key
                    for key, value in vars(module).items()
                    if callable(value) and not key.startswith("_")
                )
            )
            raise ConfigurationError(
                f"{where} has no function {attribute!r}: it has {there or 'none'}"
            )
        function = getattr(function, part)
    if not callable(function):
        raise ConfigurationError(f"{attribute} in {where} is not a function but {function!r}")
    return function


def _module(name: str) -> ModuleType:
    sys.path.insert(0, "")
    if importlib.util.find_spec(name.split(".")[0]) is None:
        raise ConfigurationError(
            f"there is no module {name}: write its dotted name, or a script as"
            " path/to/script.py:function"
        )
    return importlib.import_module(name)


def _script(path: Path) -> ModuleType:
    if not path.is_file():
        raise ConfigurationError(f"there is no file {path}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def describe(error: BaseException) -> str:
    """An exception in a line, with the place in the user's code."""
    frames = traceback.extract_tb(error.__traceback__)
    text = "".join(traceback.format_exception_only(error)).strip().splitlines()[-1]
    if isinstance(error, SyntaxError):
        return f"{text} ({error.filename}, line {error.lineno})"
    return f"{text} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else text
