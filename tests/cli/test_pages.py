"""The commands on the other pages of the documentation: console blocks run as typed, and what they
are said to print they print.
"""

import re
import shlex
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.cli.test_docs import loosely
from tests.cli.test_entry import COMMANDS, options

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(DOCS.rglob("*.md"))
    if path.name != "cli.md"
}
WITH_SESSIONS = [name for name, text in PAGES.items() if "```console\n" in text]


@pytest.mark.parametrize("name", WITH_SESSIONS)
def test_sessions_run_as_printed(name: str, shell: Shell) -> None:
    for file, content in re.findall(
        r'```csv title="([\w.]+)"\n(.*?)```', PAGES[name], flags=re.DOTALL
    ):
        Path(file).write_text(content)
    for block in re.findall(r"```console\n(.*?)```", PAGES[name], flags=re.DOTALL):
        for step in re.split(r"^\$ noregret ", block, flags=re.M)[1:]:
            command, _, expected = step.partition("\n")
            printed = shell(command).out
            assert not expected.strip() or loosely(printed) == loosely(expected), command


@pytest.mark.parametrize("name", PAGES)
def test_commands_in_the_text_exist_with_their_options(name: str) -> None:
    quoted = re.findall(r"`(?:\w+=\S+ )?noregret ([a-z]+[^`\n]*)`", PAGES[name])
    blocks = re.findall(r"```sh\n(.*?)```", PAGES[name], flags=re.DOTALL)
    typed = [
        line.removeprefix("noregret ")
        for block in blocks
        for line in block.splitlines()
        if line.startswith("noregret ")
    ]
    for line in quoted + typed:
        words = shlex.split(line.replace("…", ""))
        known = next((" ".join(words[:n]) for n in (2, 1) if " ".join(words[:n]) in COMMANDS), None)
        assert known or words == ["theory"], line
        used = {word for word in words if word.startswith("--")}
        assert not known or used <= options(COMMANDS[known]) | {"--help"}, line


def test_there_are_sessions() -> None:
    assert {"tutorials/laboratory.md", "tutorials/cluster.md", "theory.md"} <= set(WITH_SESSIONS)
