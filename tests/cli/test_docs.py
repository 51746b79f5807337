"""docs/cli.md lists every command with its options. Sessions on all pages run as printed, and what
they are said to print they print.
"""

import re
import shlex
from pathlib import Path

import pytest

from docs.making.printed import FILE, SESSION, session_differences, steps
from noregret.trials import STATES, Trial
from tests.cli.conftest import Shell
from tests.cli.test_entry import COMMANDS, options
from tests.components import program

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "cli.md").read_text(encoding="utf-8")
OTHERS = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
    if path.name != "cli.md"
}
WITH_SESSIONS = [name for name, text in OTHERS.items() if "```console\n" in text]
SHARED = {"--study", "-s", "--storage", "--json"}


def listed() -> dict[str, set[str]]:
    """Command → options, from the table at the end of the page."""
    found = {}
    for line in PAGE.partition("## Every command")[2].splitlines():
        if line.startswith("| `noregret "):
            cells = re.split(r"(?<!\\)\|", line)
            words = cells[1].strip().strip("`").split()[1:]
            name = " ".join(word for word in words if re.fullmatch(r"[a-z]+", word))
            found[name] = set(re.findall(r"`(--?[a-z-]+)`", cells[3]))
    return found


def test_every_command_and_option_is_listed_and_no_other() -> None:
    assert listed() == {name: options(command) - SHARED for name, command in COMMANDS.items()}


def test_the_keys_of_every_json_document_are_listed() -> None:
    table = PAGE.partition("## For machines")[2].partition("## Every command")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`([a-z ]+)`", row)}
    assert named == {
        name for name in COMMANDS if not name.startswith(("research theory", "research reproduce"))
    }


def test_the_sessions_run_as_printed(shell: Shell) -> None:
    program("awk", "the package gawk")
    (script,) = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    Path("train.sh").write_text(script)
    Path("train.sh").chmod(0o755)
    typed = [step for block in SESSION.findall(PAGE) for step in steps(block)]
    assert len(typed) >= 3
    for command, expected in typed:
        assert session_differences(command, shell(command).out, expected) == [], command


def test_the_study_in_a_file_can_be_created(shell: Shell) -> None:
    (toml,) = re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL)
    Path("training.toml").write_text(toml)
    assert (
        shell("create training --file training.toml --json").json["strategy"]["noise_bound"] == 0.1
    )


def test_every_inline_command_parses() -> None:
    """Commands quoted in the text name options that exist."""
    for quoted in re.findall(r"`noregret ([a-z]+ [^`\n]*)`", PAGE.partition("## Every command")[0]):
        name, *words = shlex.split(quoted.replace("…", ""))
        assert {word for word in words if word.startswith("--")} <= options(COMMANDS[name]), quoted


# -- the other pages --


@pytest.mark.parametrize("name", WITH_SESSIONS)
def test_sessions_of_other_pages_run_as_printed(name: str, shell: Shell) -> None:
    for file, content in FILE.findall(OTHERS[name]):
        Path(file).write_text(content)
    for block in SESSION.findall(OTHERS[name]):
        for command, expected in steps(block):
            printed = shell(command).out
            assert not expected.strip() or session_differences(command, printed, expected) == [], (
                command
            )


@pytest.mark.parametrize("name", OTHERS)
def test_commands_on_other_pages_exist_with_their_options(name: str) -> None:
    quoted = re.findall(r"`(?:\w+=\S+ )?noregret ([a-z]+[^`\n]*)`", OTHERS[name])
    blocks = re.findall(r"```sh\n(.*?)```", OTHERS[name], flags=re.DOTALL)
    typed = [
        line.removeprefix("noregret ")
        for block in blocks
        for line in block.splitlines()
        if line.startswith("noregret ")
    ]
    for line in quoted + typed:
        words = shlex.split(line.replace("…", ""))
        known = next(
            (" ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in COMMANDS), None
        )
        assert known or words == ["research", "theory"], line
        used = {word for word in words if word.startswith("--")}
        assert not known or used <= options(COMMANDS[known]) | {"--help"}, line


def test_there_are_sessions() -> None:
    assert {"tutorials/laboratory.md", "tutorials/cluster.md", "theory.md"} <= set(WITH_SESSIONS)


def test_the_page_names_all_that_a_trial_has() -> None:
    said = PAGE[PAGE.index("A trial has number") : PAGE.index("## Every command")]
    assert all(f"`{state}`" in said for state in STATES)
    trial = Trial(0, {}, "complete", 1.0, outcomes={"a": 1.0}).to_json()
    assert [name for name in trial if name not in said] == []
