"""Properties of every command: help with an example, the study's name, --json, errors without
traceback, completion.
"""

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from noregret.cli import cli
from noregret.cli.entry import SECTIONS
from noregret.cli.options import ENTRY, Command
from noregret.diagnostics.presentation import without_python
from noregret.strategies import NAMED
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
        parameter.help for parameter in COMMANDS[name].params if isinstance(parameter, click.Option)
    )


def test_the_help_names_every_strategy_and_documents_nothing_else() -> None:
    """What stands in docstrings follows what is declared."""
    (strategy,) = (each for each in COMMANDS["create"].params if each.name == "strategy")
    assert isinstance(strategy, click.Option)
    assert all(name in (strategy.help or "") for name in NAMED)
    for command in COMMANDS.values():
        if isinstance(command, Command):
            documented = {name for name, _ in ENTRY.findall(inspect.getdoc(command.callback) or "")}
            assert documented <= {parameter.name for parameter in command.params}


def test_there_are_the_commands_promised() -> None:
    promised = "create list ask tell add import run correct show plot export retry delete annotate"
    assert set(promised.split()) <= set(COMMANDS)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in COMMANDS
        if "--storage" in options(COMMANDS[name]) and name not in ("create", "research compare")
    ],
)
def test_without_a_database(name: str, shell: Shell) -> None:
    arguments = {
        "tell": "0 1",
        "add": "x=1 1",
        "import": "f.csv",
        "run": "f.py:f --trials 1",
        "correct": "0 1",
        "delete": "lab",
        "database backup": "copy.db",
        "derive": "other",
        "annotate": "--note x",
        "retry": "0",
    }
    message = shell.fails(f"{name} {arguments.get(name, '')} --json")
    assert json.loads(message)["error"] == "StorageError"
    assert list(Path().iterdir()) == []  # looking makes no file


def test_the_installed_command_as_typed(lab: Shell) -> None:
    """One real process each for a success and an error: everything else runs in this one."""

    def noregret(*arguments: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "noregret", *arguments]
        return subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)

    lab("add temperature=30 stirring=2 solvent=dmf 61.2")
    best = noregret("show", "lab")
    assert (best.returncode, best.stderr) == (0, "")
    assert "best         61.2 at trial 0" in best.stdout
    assert best.stdout.startswith("study lab")
    twice = noregret("tell", "0", "-1")
    assert (twice.returncode, twice.stdout) == (2, "")
    assert twice.stderr.startswith("noregret: trial 0 is complete")
    assert len(twice.stderr.splitlines()) == 1


@pytest.mark.parametrize("words", [["frobnicate"], ["ask", "--frobnicate"], ["tell"]])
def test_mistakes_of_typing_as_text_and_as_json(shell: Shell, words: list[str]) -> None:
    assert "Usage: noregret" in shell.fails(" ".join(words))
    message = shell.fails(" ".join([words[0], "--json", *words[1:]]))
    assert set(json.loads(message)) == {"error", "message"}


def test_the_version(shell: Shell) -> None:
    assert shell("--version").out.startswith("noregret, version")


def test_every_command_is_in_a_section_of_the_help(shell: Shell) -> None:
    text = shell("--help").out
    places = [text.index(f"\n{section}:\n") for section in SECTIONS]
    assert places == sorted(places)
    listed = [line.split()[0] for line in text[places[0] :].splitlines() if line[:2] == "  "]
    assert set(cli.commands) <= set(listed)
    assert "..." not in text[places[0] :]  # every first sentence fits


# -- the study's name as the first word --


@pytest.fixture
def two(lab: Shell) -> Shell:
    """Two studies, so that one must be named, with a trial under way and a value each."""
    for name in ("other", "lab"):
        if name == "other":
            lab("create other --float x 0 1 --goal maximize --strategy random")
            lab("add other x=0.5 2")
        else:
            lab("add lab temperature=30 stirring=2 solvent=dmf 1")
        lab(f"ask {name}")
    return lab


@pytest.mark.parametrize(
    ("line", "study"),
    [
        ("show other", "other"),
        ("show other 0", "other"),
        ("show 0 --study lab", "lab"),
        ("ask other --count 2", "other"),
        ("ask --count 2 other", "other"),
        ("tell other 1 -3", "other"),
        ("tell other 1 --failed", "other"),
        ("tell 1 5 -s other", "other"),
        ("correct other 0 3", "other"),
        ("add other x=0.1 -3", "other"),
        ("add other x=0.1", "other"),
        ("import other rows.csv", "other"),
        ("annotate other --note words", "other"),
        ("annotate other 0 --note words", "other"),
        ("retry other", "other"),
        ("retry other 1", "other"),
        ("plot other", "other"),
        ("plot other convergence", "other"),
        ("plot convergence -s other", "other"),
        ("research replay other", "other"),
        ("export other out.csv", "other"),
        ("run other own.py:f --trials 1", "other"),
        ("run own.py:f --trials 1 --study other", "other"),
    ],
)
def test_the_first_word_names_the_study(two: Shell, line: str, study: str) -> None:
    Path("rows.csv").write_text("x,value\n0.25,1\n", encoding="utf-8")
    Path("own.py").write_text("def f(p): return p['x']", encoding="utf-8")
    assert two(f"{line} --json").json["study"] == study


def test_names_of_old_and_new_study(two: Shell) -> None:
    assert two("derive other third --json").json["origin"]["study"] == "other"
    assert two("derive fourth -s other --json").json["origin"]["study"] == "other"
    assert [row["value"] for row in two("export other --json").json] == [2.0, None]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("show lba", ("no study named 'lba'", "lab, other", "TRIAL")),
        ("plot pie", ("no study named 'pie'", "convergence")),
        ("tell lba 0 1", ("no study named 'lba'", "TRIAL")),
        ("show lab --study other", ("named twice",)),
        ("show lab seven", ("not a valid integer",)),
        ("show", ("2 studies (lab, other)",)),
    ],
)
def test_names_that_are_wrong(two: Shell, line: str, expected: tuple[str, ...]) -> None:
    two.fails(line, *expected)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("missing ['a', 'b'], unknown []", "missing a, b, unknown none"),
        ("{'x': 0.5, 'c': 'dmf'} breaks it", "x=0.5, c=dmf breaks it"),
        ("outside [0, 1]", "outside [0, 1]"),
        ('print {"value": 0.3}', 'print {"value": 0.3}'),
        ("{'x': <object>}", "{'x': <object>}"),
        ("the first tell stands; correct() it", "the first tell stands; `correct` it"),
        ('wrong, tell(trial, state="failed"): it', "wrong, `tell --failed`: it"),
        ("retry(numbers=[…]) takes it back", "`retry` takes it back"),
    ],
)
def test_messages_show_no_python(message: str, expected: str) -> None:
    assert without_python(message) == expected


def test_a_reader_that_leaves_early(lab: Shell) -> None:
    line = f"{sys.executable} -m noregret show | true"
    done = subprocess.run(line, shell=True, capture_output=True, timeout=300, check=False)
    assert done.stderr == b""


def test_completion_of_commands_options_and_studies(shell: Shell) -> None:
    def complete(line: str) -> set[str]:
        count = str(len(line.split(" ")) - 1)
        asked = {"_NOREGRET_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": count}
        done = CliRunner().invoke(cli, [], env=asked)
        return {answer.partition(",")[2] for answer in done.stdout.split()}

    script = CliRunner().invoke(cli, [], env={"_NOREGRET_COMPLETE": "bash_source"}).stdout
    assert "_NOREGRET_COMPLETE=bash_complete" in script  # as docs/cli.md says
    assert complete("noregret re") == {"research", "retry"}
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
    assert complete("noregret show l") == {"lab"}
    assert complete("noregret delete ") == {"lab", "other"}


def test_a_database_that_cannot_be_written(shell: Shell) -> None:
    shell("create lab --float x 0 1 --goal maximize")
    Path("noregret.db").write_bytes(b"scrambled" + Path("noregret.db").read_bytes()[9:])
    for line in ("ask", "show", "list", "delete lab --yes", "database upgrade"):
        shell.fails(line, "noregret.db")
