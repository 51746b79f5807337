"""``noregret serve`` as a person types it."""

import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from click.testing import CliRunner

import noregret as nr
from noregret.cli import cli
from tests.web.conftest import TOKEN

COMMAND = [sys.executable, "-m", "noregret", "serve"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--host", "0.0.0.0"], "lets others in"),
        (["--token", "short"], "at least 16"),
        (["--port", "70000"], "70000"),
        (["--storage", "/nowhere/at/all.db"], "there is no database"),
        (["--storage", "/nowhere/at/all.db", "--write"], "folder does not exist"),
    ],
)
def test_what_cannot_be_served_is_said_in_a_line(
    options: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(cli, ["serve", *options])
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code == 2
    assert expected in done.stderr


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop(ending: signal.Signals, tmp_path: Path) -> None:
    study = nr.Study.create(
        "served", {"x": nr.Float(0, 1)}, "maximize", storage=tmp_path / "served.db"
    )
    study.run(lambda p: p["x"], 5, progress=False)
    environment = {
        **os.environ,
        "NOREGRET_TOKEN": TOKEN,
        "NOREGRET_STORAGE": str(tmp_path / "served.db"),
    }
    with subprocess.Popen(
        [*COMMAND, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "reads only" in line
            request = urllib.request.Request(
                f"{line.split()[0]}api/studies/served/slice?x=x",
                headers={"Authorization": f"Bearer {TOKEN}"},
            )
            with urllib.request.urlopen(request) as answer:  # by the process that fits models
                assert answer.status == 200
            process.send_signal(ending)
            _, errors = process.communicate(timeout=300)
        finally:
            process.kill()
    assert errors == ""
