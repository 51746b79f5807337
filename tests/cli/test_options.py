"""One study, several shells: each storage from the command line alone, opened once by a command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from noregret.cli.options import Target
from noregret.errors import StorageError
from noregret.storage.database import Database
from noregret.study import Study
from tests.cli.conftest import Shell
from tests.databases import make_url


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_two_shells_share_a_study(
    kind: str, shell: Shell, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOREGRET_STORAGE", make_url(kind, request))
    Path("work.py").write_text(
        "import time\ndef f(p):\n    time.sleep(0.02)\n    return -abs(p['x'] - 0.3)\n"
    )
    shell("create shared --float x 0 1 --goal maximize --strategy random")
    command = [
        sys.executable,
        "-m",
        "noregret",
        "run",
        "work.py:f",
        "--total",
        "12",
        "--workers",
        "2",
        "--json",
    ]
    shells = [
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ
        )
        for _ in range(2)
    ]
    answers = [process.communicate(timeout=300) for process in shells]
    assert [process.returncode for process in shells] == [0, 0], answers
    assert max(json.loads(out)["complete"] for out, _ in answers) == 12
    trials = Study.open("shared").trials
    assert [trial.number for trial in trials] == list(range(12))
    assert {trial.state for trial in trials} == {"complete"}
    assert shell("research replay --json").json["agreed"] == 12
    shell("delete shared --yes")
    with pytest.raises(StorageError):
        Study.open("shared")


POINT = "temperature=30 stirring=2 solvent=dmf"
LINES = [
    "ask",
    "tell 0 1",
    "tell lab 2 1",
    "correct 1 3",
    f"add {POINT} 2",
    f"add {POINT}",
    "ask",
    "retry 5",
    "show",
    "export",
    "research replay",
    "list",
    "database upgrade",
    "delete lab --yes",
    "create other --float x 0 1 --goal maximize",
]


def test_a_command_opens_one_storage_once(lab: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    lab("ask")
    lab(f"add {POINT} 4")
    opened: list[str] = []
    original = Database.__init__

    def counting(self: Database, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        opened.append(self.url)

    monkeypatch.setattr(Database, "__init__", counting)
    for line in LINES:
        lab(line)
        assert opened == ["sqlite:///noregret.db"], line
        opened.clear()


@pytest.mark.parametrize(("line", "most"), [("show lab", 4), ("show", 5), ("show lab 0", 4)])
def test_showing_a_study_reads_it_once(lab: Shell, line: str, most: int) -> None:
    """The schema's check, the study's row and its trials, whatever is shown of them."""
    lab(f"add {POINT} 4")
    lab("annotate --note words --attribute unit=mg")
    statements: list[str] = []

    def listen(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        statements.append(statement)

    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", listen)
    try:
        lab(line)
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", listen)
    assert len(statements) <= most


def test_a_password_is_never_shown(shell: Shell) -> None:
    for line in ("list", "create a --float x 0 1 --goal maximize"):
        message = shell.fails(f"{line} --storage postgresql://me:secret@127.0.0.1:1/db")
        assert "secret" not in message
    assert (
        Target("my lab", storage="postgresql://me:secret@h/db").again("ask")
        == "noregret ask 'my lab' --storage 'postgresql://me:***@h/db'"
    )


def test_a_file_may_have_any_name(shell: Shell) -> None:
    shell("create lab --float x 0 1 --goal maximize --storage 'a?1.db'")
    assert "lab" in shell("list --storage 'a?1.db'").out
    assert "lab" in shell("list --storage 'sqlite:///a%3F1.db?timeout=5'").out
    shell.fails("list --storage 'a?2.db'", "a?2.db")
