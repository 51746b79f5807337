"""A shell in an empty folder: commands run in this process, as typed."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from noregret.cli import cli


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Shell:
    """``shell("ask --count 2")`` must succeed, ``shell.fails("tell 9 1")`` must end with code 2 and
    a message, never with a traceback.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, line: str, typed: str | None = None) -> Answer:
        done = CliRunner().invoke(cli, shlex.split(line), input=typed)
        assert done.exception is None or isinstance(done.exception, SystemExit), repr(
            done.exception
        )
        return Answer(done.exit_code, done.stdout, done.stderr)

    def __call__(self, line: str, typed: str | None = None) -> Answer:
        answer = self.run(line, typed)
        assert answer.code == 0, answer.err
        return answer

    def fails(self, line: str, *expected: str, code: int = 2) -> str:
        answer = self.run(line)
        assert answer.code == code, answer.out
        assert answer.out == ""
        for text in expected:
            assert text in answer.err
        return answer.err


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NOREGRET_STORAGE", raising=False)
    monkeypatch.delenv("NOREGRET_STUDY", raising=False)
    return Shell(tmp_path)


@pytest.fixture
def lab(shell: Shell) -> Shell:
    """With a study to maximise, nothing told."""
    shell(
        "create lab --float temperature 20 90 --int stirring 1 5 --choice solvent water dmf --goal"
        " maximize"
    )
    return shell
