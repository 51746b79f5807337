"""What a reader of docs/extending.md writes: a strategy and a widening rule, each in a file of at
most 60 lines that uses no name which the page does not use. Stored, replayed and shown.
"""

import ast
import re
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

import noregret as nr
from noregret.cli import cli
from noregret.storage import SQLStorage
from noregret.strategies import Strategy
from noregret.web.app import create_app
from noregret.web.security import Access
from tests.strategies.own_strategy import InTurn
from tests.strategies.own_widening import UntilUnsure

HERE = Path(__file__).parent
PAGE = (HERE.parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")


def widened() -> Strategy:
    return nr.AdaptiveGPUCB(
        width=2.0, standardise=True, noise_std=None, widening=UntilUnsure(), estimation=None
    )


OWN = {"own_strategy": InTurn, "own_widening": widened}


@pytest.mark.parametrize("name", OWN)
def test_a_file_of_sixty_lines_from_the_page_alone(name: str) -> None:
    text = (HERE / f"{name}.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("noregret"):
            for alias in node.names:
                assert re.search(rf"^from {node.module} import .*\b{alias.name}\b", PAGE, re.M)


@pytest.mark.parametrize("name", OWN)
def test_it_is_stored_replayed_and_shown(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, space = str(tmp_path / "own.db"), {"x": nr.Float(0, 1), "y": nr.Float(0, 1)}
    monkeypatch.setenv("NOREGRET_STORAGE", place)
    study = nr.Study.create("own", space, "maximize", OWN[name](), storage=place)
    study.run(lambda p: -((p["x"] - 0.3) ** 2) - (p["y"] - 0.6) ** 2, 12)
    again = nr.Study.open("own", storage=place)
    assert again.strategy == study.strategy
    assert again.replay().agreed == 12
    rule = again.strategy.explain(again.trials[-1].decision).rule
    told = CliRunner().invoke(cli, ["show", "11"])
    assert told.exit_code == 0
    assert rule in told.stdout
    app = create_app(SQLStorage(place), Access(False, None, "127.0.0.1"))
    with TestClient(app, base_url="http://127.0.0.1:8080") as client:
        page = client.get("/studies/own/trials/11")
    assert page.status_code == 200
    assert rule in page.text


def test_the_rules_do_what_they_say() -> None:
    study = nr.Study([(0, 1), (0, 1)], "maximize", InTurn()).run(lambda x: -sum(x), 8)
    model = [trial.decision.payload["looks"] for trial in study.trials if trial.decision.model]
    assert model == [False, True] * (len(model) // 2)
    study = nr.Study([(0, 1), (0, 1)], "maximize", widened()).run(lambda x: -sum(x), 16)
    g = [trial.decision.payload["g"] for trial in study.trials if trial.decision.model]
    assert g == sorted(g)
    assert g[-1] > 1.2
