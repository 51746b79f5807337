"""The walk through one ask and one tell names files and functions that exist, and goes through them
as it says: the costly stations once.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
import noregret.strategies.insured as insured
import noregret.strategies.modelling as modelling
import noregret.strategies.units as units
import noregret.study.study as study_module
from noregret.space import Space

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "noregret"
PAGE = (ROOT / "docs" / "how-a-proposal-is-made.md").read_text(encoding="utf-8")
QUOTED = re.findall(r"`([^`\n]+)`", PAGE)


def defined() -> set[str]:
    """Every function, class, ``Class.method``, ``module.function`` and field of the package."""
    names = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names |= {node.name, f"{path.stem}.{node.name}"}
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef):
                        names |= {inner.name, f"{node.name}.{inner.name}"}
                    if isinstance(inner, ast.AnnAssign):
                        names |= {ast.unparse(inner.target), f"{node.name}.{inner.target.id}"}  # type: ignore[union-attr]
    return names


def test_every_file_exists() -> None:
    files = [quoted for quoted in QUOTED if quoted.endswith(".py")]
    assert len(set(files)) > 10
    names = {path.name for path in PACKAGE.rglob("*.py")}
    for file in files:
        assert (PACKAGE / file).exists() if "/" in file else file in names, file


def test_every_function_exists() -> None:
    known = defined()
    asked = [
        q for q in QUOTED if re.fullmatch(r"[A-Za-z_]+(?:\.[a-zA-Z_]+)?", q) and q[-3:] != ".py"
    ]
    assert len(asked) > 50
    assert not [quoted for quoted in asked if quoted not in known]


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], Counter[str]]:
    calls: Counter[str] = Counter()

    def counted(owner: Any, name: str) -> Counter[str]:
        real = getattr(owner, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            calls[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, wrapper)
        return calls

    return counted


def test_the_costly_stations_of_an_ask_are_visited_once(
    count: Callable[[Any, str], Counter[str]],
) -> None:
    study = nr.maximize(lambda x: float(-((x[0] - 0.3) ** 2)), [(0, 1)], trials=4)
    stations = [
        (study_module, "history_of"),
        (insured, "standardise_robustly"),
        (modelling, "fit_inputs"),
        (units, "condition"),
        (insured, "argmax"),
        (Space, "encode"),
        (Space, "decode"),
    ]
    for owner, name in stations:
        calls = count(owner, name)
    trial = study.ask()
    assert trial.decision.source == "model"
    assert not trial.why.survey  # a survey conditions once more for each widening that it tries
    assert calls.pop("encode", 0) <= 1  # only what was told since the last ask
    once = ("history_of", "standardise_robustly", "fit_inputs", "condition", "argmax", "decode")
    assert calls == dict.fromkeys(once, 1)
    calls.clear()
    study.tell(trial, 0.0)
    assert not calls


def test_a_result_makes_one_fit(count: Callable[[Any, str], Counter[str]]) -> None:
    study = nr.maximize(lambda x: float(-((x[0] - 0.3) ** 2)), [(0, 1)], trials=6)
    calls = count(modelling, "fit_inputs")
    study.result()
    assert calls == {"fit_inputs": 1}
