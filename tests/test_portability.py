"""What Windows does not have is not needed: the shell runs, times programs out and repairs files
in a Python without fork, groups of processes, SIGKILL, SIGHUP, fcntl and nice.
"""

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
WITHOUT = """
import os, signal, sys
for module, names in ((os, "killpg fork forkpty nice register_at_fork getuid setsid".split()),
                      (signal, "SIGKILL SIGHUP pthread_sigmask alarm".split())):
    for name in names:
        delattr(module, name)
for name in ("fcntl", "pwd", "grp", "resource", "termios"):
    sys.modules[name] = None
"""


def without(code: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", f"{WITHOUT}\n{code}"],
        cwd=folder, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_shell_needs_nothing_of_unix(tmp_path: Path) -> None:
    program = tmp_path / "slow.py"
    program.write_text(
        "import sys, time\ntime.sleep(60 if float(sys.argv[1]) < 0.5 else 0)\nprint(1)\n"
    )
    code = f"""
from click.testing import CliRunner
from noregret.cli import cli
for line in (
    ["create", "a", "--float", "x", "0", "1", "--goal", "minimize"],
    ["run", "a", "--command", {f"{sys.executable} {program} {{x}}"!r}, "--trials", "4",
     "--trial-timeout", "3"],
    ["run", "a", "own.py:f", "--trials", "3"],
    ["database", "backup", "b.db"],
    ["database", "recover"],
    ["show", "a"],
):
    done = CliRunner().invoke(cli, line)
    assert done.exit_code == 0, (line, done.output, done.stderr)
    print(done.stdout)
"""
    (tmp_path / "own.py").write_text("def f(p):\n    return p['x']\n")
    said = without(code, tmp_path)
    assert "7 trials" in said
    assert "failed" in said  # what took too long was ended
    assert (tmp_path / "b.db").exists()


def test_fits_start_where_no_process_has_a_niceness(tmp_path: Path) -> None:
    code = "from noregret.web.fitting import start\nstart('sqlite:///a.db')\nprint('started')"
    assert "started" in without(code, tmp_path)


def test_a_windows_path_stays_one_word(monkeypatch: pytest.MonkeyPatch) -> None:
    import noregret as nr
    from noregret.cli import running

    monkeypatch.setattr("noregret.cli.running.os.name", "nt")
    monkeypatch.setattr("noregret.cli.running.shutil.which", lambda name: name)
    made = running.Program(
        r'"C:\my tools\train.exe" --x {x}', nr.Space({"x": nr.Float(0, 1)}), None
    )
    assert made.words == [r"C:\my tools\train.exe", "--x", "{x}"]


def test_a_workflow_runs_what_the_classifiers_say() -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
    systems = {"POSIX :: Linux": "ubuntu", "MacOS": "macos", "Microsoft :: Windows": "windows"}
    for line in project["classifiers"]:
        kind, _, rest = line.partition(" :: ")
        if kind == "Operating System":
            assert systems[rest] in workflow
        if line.startswith("Programming Language :: Python :: 3."):
            assert f'"{line.rpartition(" ")[2]}"' in workflow
