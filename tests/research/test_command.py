"""``noregret research reproduce`` as a person types it: in a source checkout, and nowhere else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import noregret as nr


def noregret(*arguments: str, path: Path | None = None) -> subprocess.CompletedProcess[str]:
    ahead = {} if path is None else {"PYTHONPATH": str(path)}
    return subprocess.run(
        [sys.executable, "-m", "noregret", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=os.environ | ahead,
    )


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The package alone, as a wheel lays it out, ahead of any checkout on the path."""
    shutil.copytree(Path(str(nr.__file__)).parent, tmp_path / "site" / "noregret")
    return tmp_path / "site"


def test_a_checkout_offers_it() -> None:
    assert "reproduce" in noregret("research", "--help").stdout
    said = noregret("research", "reproduce", "--help")
    assert said.returncode == 0, said.stderr
    assert "Example: noregret research reproduce" in said.stdout


def test_an_installed_package_does_not(installed: Path) -> None:
    said = noregret("research", "--help", path=installed)
    assert said.returncode == 0, said.stderr
    assert "theory" in said.stdout
    assert "reproduce" not in said.stdout
    assert "No such command" in noregret("research", "reproduce", "fig2", path=installed).stderr


def test_a_package_of_the_same_name_is_not_touched(installed: Path) -> None:
    for folder in (installed / "research", installed / "research" / "paper"):
        folder.mkdir()
        (folder / "__init__.py").write_text("raise SystemExit('imported')")
    said = noregret("research", "--help", path=installed)
    assert said.returncode == 0, said.stderr
    assert "reproduce" not in said.stdout


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("research reproduce fig9", "fig9"),
        ("research reproduce fig6 --quick --mnist /nonexistent --out {out}", "not computed"),
    ],
)
def test_mistakes_go_to_stderr_with_code_2(command: str, expected: str, tmp_path: Path) -> None:
    done = noregret(*command.format(out=tmp_path).split())
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_reproduce_writes_what_it_says(tmp_path: Path) -> None:
    done = noregret(
        "research",
        "reproduce",
        "fig5",
        "--seeds",
        "1",
        "--iterations",
        "10",
        "--noise",
        "0.1",
        "--out",
        str(tmp_path),
        "--json",
    )
    assert done.returncode == 0, done.stderr
    (summary,) = json.loads(done.stdout)
    assert summary["noise_std"] == 0.1
    assert summary["iterations"] == 10
    assert {path.name for path in (tmp_path / "fig5").iterdir()} == {
        "results.jsonl",
        "curves.csv",
        "fig5.png",
        "fig5.pdf",
        "summary.json",
    }
