"""What holds for every command: help with an example, --json, errors without traceback, completion.
Some as a person would type them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from noregret.cli import cli
from tests.cli.conftest import Shell


def commands(group: click.Group = cli, prefix: str = "") -> Iterator[tuple[str, click.Command]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


COMMANDS = dict(commands())


def options(command: click.Command) -> set[str]:
    return {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_and_the_options_hold(name: str, shell: Shell) -> None:
    said = shell(f"{name} --help").out
    assert (
        f"Example: noregret {name}" in " ".join(said.split())
        or f"noregret {name}" in said.rpartition("Example:")[2]
    )
    assert "--json" in options(COMMANDS[name])
    assert ("--study" in options(COMMANDS[name])) <= ("--storage" in options(COMMANDS[name]))
    assert all(
        parameter.help
        for parameter in COMMANDS[name].params
        if isinstance(parameter, click.Option) and not name.startswith("theory")
    )


def test_there_are_the_commands_promised() -> None:
    promised = (
        "create list ask tell add enqueue import run correct show best plot export replay reclaim"
        " delete upgrade completion"
    )
    assert set(promised.split()) <= set(COMMANDS)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in COMMANDS
        if "--storage" in options(COMMANDS[name]) and name not in ("create", "compare")
    ],
)
def test_without_a_database(name: str, shell: Shell) -> None:
    arguments = {
        "tell": "0 1",
        "add": "x=1 1",
        "enqueue": "x=1",
        "import": "f.csv",
        "run": "f.py:f --trials 1",
        "correct": "0 1",
        "delete": "lab",
        "backup": "copy.db",
        "derive": "other",
        "annotate": "--note x",
        "retry": "0",
    }
    message = shell.fails(f"{name} {arguments.get(name, '')} --json")
    assert json.loads(message)["error"] == "StorageError"
    assert list(Path().iterdir()) == []  # looking makes no file


def noregret(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "noregret", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )


def test_a_day_in_the_laboratory_as_typed(shell: Shell) -> None:
    created = noregret(
        "create",
        "lab",
        "--float",
        "temperature",
        "20",
        "90",
        "--choice",
        "solvent",
        "water",
        "dmf",
        "--goal",
        "maximize",
    )
    assert created.returncode == 0, created.stderr
    for number, value in enumerate(("61.2", "-3")):
        (trial,) = json.loads(noregret("ask", "--json").stdout)["trials"]
        assert trial["number"] == number
        assert noregret("tell", str(number), value).returncode == 0
    best = noregret("best")
    assert best.stdout.startswith("best         61.2 at trial 0")
    twice = noregret("tell", "0", "1")
    assert (twice.returncode, twice.stdout) == (2, "")
    assert twice.stderr.startswith("noregret: trial 0 is complete")
    assert len(twice.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [["frobnicate"], ["ask", "--frobnicate"], ["tell"]])
def test_mistakes_of_typing_as_text_and_as_json(words: list[str]) -> None:
    done = noregret(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: noregret" in done.stderr
    assert "Traceback" not in done.stderr
    done = noregret(*words[:1], "--json", *words[1:])
    assert (done.returncode, done.stdout) == (2, "")
    assert set(json.loads(done.stderr)) == {"error", "message"}


def test_a_reader_that_leaves_early(shell: Shell) -> None:
    noregret("create", "lab", "--float", "x", "0", "1", "--goal", "maximize")
    done = subprocess.run(
        f"{sys.executable} -m noregret show | true",
        shell=True,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_completion_scripts(name: str, shell: Shell) -> None:
    script = shell(f"completion {name}").out
    assert "_NOREGRET_COMPLETE" in script
    assert shell(f"completion {name} --json").json == {
        "shell": name,
        "script": script.removesuffix("\n"),
    }
    shell.fails("completion tcsh", "bash")


def test_completion_of_commands_options_and_studies(shell: Shell) -> None:
    def complete(line: str) -> set[str]:
        words = line.split(" ")
        done = noregret(
            _NOREGRET_COMPLETE="bash_complete", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1)
        )
        assert done.stderr == ""
        return {answer.partition(",")[2] for answer in done.stdout.split()}

    assert complete("noregret re") == {"replay", "reclaim", "recover", "reproduce", "retry"}
    assert complete("noregret ask --co") == {"--context", "--count"}
    assert complete("noregret create s --strategy r") == {
        "rigorous",
        "random",
        "randomised-gp-ucb",
    }
    assert complete("noregret show --study ") == set()  # no database
    shell("create lab --float x 0 1 --goal maximize")
    shell("create other --float x 0 1 --goal maximize")
    assert complete("noregret show --study l") == {"lab"}
    assert complete("noregret delete ") == {"lab", "other"}


def test_a_database_that_cannot_be_written(shell: Shell) -> None:
    shell("create lab --float x 0 1 --goal maximize")
    Path("noregret.db").write_bytes(b"scrambled" + Path("noregret.db").read_bytes()[9:])
    for line in ("ask", "show", "list", "delete lab --yes", "upgrade"):
        shell.fails(line, "noregret.db")
