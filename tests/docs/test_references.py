"""Every reference in comments, docstrings and pages can be opened by a reader of the project."""

import re
import shutil
from pathlib import Path

import pytest

from docs.making import references

THEORY = references.ROOT / "docs" / "theory.md"


def test_nothing_dangles() -> None:
    assert references.dangling() == []


def test_what_is_read_is_the_project() -> None:
    read = {path.relative_to(references.ROOT).as_posix() for path in references.files()}
    assert {"README.md", "pyproject.toml", "Makefile", ".ci/run", "docs/theory.md"} <= read
    assert {"src/noregret/gp/posterior.py", "tests/naive.py", "research/paper/fig4.py"} <= read
    assert not [name for name in read if name.endswith((".png", ".gz", ".pyc"))]


def test_every_anchor_of_the_theory_is_unique_and_the_code_uses_many() -> None:
    text = THEORY.read_text(encoding="utf-8")
    named = references.HEADING.findall(text)
    assert len(named) == len(set(named))
    used = {
        anchor
        for path in references.files()
        if path.relative_to(references.ROOT).parts[0] == "src"
        for anchor in references.ANCHOR.findall(path.read_text(encoding="utf-8"))
    }
    assert len(used) > 15


STATED = re.compile(r"^\*\*(?:Theorem |Corollary |Lemma )?([A-Z]\d?)(?=[.,:*])", re.MULTILINE)
CITED = re.compile(r"\[(?:theorem )?([A-Z]\d?(?:, [A-Z]\d?)*)\]\((?:[./]*theory\.md)?#([\w-]+)\)")


def test_every_theorem_has_a_letter_of_its_own_and_is_cited_by_it() -> None:
    parts = re.split(
        r"^#+ .*\{#([\w-]+)\}$", THEORY.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    sections = zip(parts[1::2], parts[2::2], strict=True)
    stated = {anchor: STATED.findall(text) for anchor, text in sections}
    letters = [letter for those in stated.values() for letter in those]
    assert len(letters) == len(set(letters)) > 15
    families = {letter[0] for letter in letters if len(letter) == 1}
    alone = {letter[0] for letter in letters if len(letter) == 2} - families
    assert alone == {"N"}  # no theorem N beside N1 and N2, as there is A with its corollaries
    cited = 0
    for path in (references.ROOT / "docs").rglob("*.md"):
        for those, anchor in CITED.findall(path.read_text(encoding="utf-8")):
            for letter in those.split(", "):
                assert letter in stated[anchor], (path.name, letter, anchor)
                cited += 1
    assert cited > 20


@pytest.mark.parametrize(
    "text",
    [
        "# theory.md|#no-such-heading",
        "see [theory](../theory.md|#nowhere)",
        "# docs/decisions/|9999",
        "[decision |9999](decisions/|9999-x.md)",
        "docs/|nowhere.md",
        "`tests/|test_nowhere.py`",
        "`test_|of_nothing`",
        "# JMLR |eq. (99)",
        "# JMLR |sec. 2.7",
        "# JMLR |fig. 9",
        "# SP|EC",
        "# pap|er L303",
        "see DES|IGN.md",
    ],
)
def test_a_reference_that_leads_nowhere_is_found(text: str) -> None:
    """Written with a stroke in it, so that this file is not a find itself."""
    assert references.Project.at().faults(text.replace("|", ""))


@pytest.mark.parametrize(
    "text", ["# theory.md#grid", "# JMLR eq. (7), sec. 4.1", "# docs/storage.md", "SPECIAL, spec"]
)
def test_good_references_pass(text: str) -> None:
    assert not references.Project.at().faults(text)


def test_a_heading_that_is_renamed_is_noticed(tmp_path: Path) -> None:
    for name in ("docs", "src", "tests", "research", "packaging"):
        shutil.copytree(
            references.ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("figures")
        )
    assert not references.dangling(tmp_path)
    page = tmp_path / "docs" / "theory.md"
    page.write_text(page.read_text(encoding="utf-8").replace("{#grid}", "{#net}"), encoding="utf-8")
    assert any("theory.md#grid" in line for line in references.dangling(tmp_path))
