"""Where comments, docstrings and pages point to, and whether it is there.

A formula names its source: ``theory.md#grid`` (a heading of docs/theory.md), ``JMLR eq. (7)`` and
the like (Berkenkamp, Schoellig, Krause 2019, as printed), ``docs/decisions/0003``, or a page such
as ``docs/storage.md``. Anything else that only its author could open is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "research", "docs", "packaging", "examples", ".github", ".ci")
TEXT = {".py", ".md", ".toml", ".yml", ".yaml", ".cff", ".html", ".js", ".css", ".txt", ""}
SKIPPED = {"__pycache__", "site", "results"}

ANCHOR = re.compile(r"\btheory\.(?:md|html)#([\w-]+)")
HEADING = re.compile(r"^#{1,6} .*\{#([\w-]+)\}\s*$", flags=re.M)
DECISION = re.compile(r"\b[Dd]ecisions?[ /](\d{4})")
PAGE = re.compile(r"(?<![\w/.])docs/([\w/-]+\.md)\b")
TEST = re.compile(r"(?<!`)`(test_\w+)`")
FILE = re.compile(r"(?<!`)`((?:src|tests|research|docs|packaging|examples|\.github)/[\w./-]*\w)`")
PRINTED = [  # as numbered in print: equations, sections, figures, algorithms, lemmas, theorems
    (re.compile("JMLR " + pattern), known)
    for pattern, known in (
        (r"eqs?\. \((\d+)\)", {str(n) for n in range(1, 19)}),
        (r"sec\. ([\d.]*\d)", {*"123456", "3.1", "3.2", "3.3", "4.1", "4.2", "5.1", "5.2"}),
        (r"figs?\. (\d+)", set("123456")),
        (r"Alg\. (\d+)", {"1"}),
        (r"Lemma (\d+)", {"1", "2"}),
        (r"Thm\. (\d+)", {"1"}),
        (r"app\. (\w)", {"A", "B"}),
    )
]
CLOSED = [  # documents that are not in the project; put together so that this file is not a find
    re.compile(pattern)
    for pattern in (
        r"\bSP" r"EC\b",
        r"\bTHEO" r"REMS\.md",
        r"\bDES" r"IGN\.md",
        r"\b[pP]aper,? L\d",
        r"\(L\d{3}\)",
        r"§ ?\d",
    )
]


def files(root: Path = ROOT) -> Iterator[Path]:
    """The project's text: what is written by hand, not results and not what is built."""
    yield from sorted(p for p in root.iterdir() if p.is_file() and p.suffix in TEXT - {".txt"})
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            inside = path.relative_to(root).parts
            if path.is_file() and path.suffix in TEXT and not SKIPPED.intersection(inside):
                yield path


@dataclass(frozen=True, slots=True)
class Project:
    """What can be pointed to."""

    root: Path
    anchors: frozenset[str]
    decisions: frozenset[str]
    tests: frozenset[str]  # functions

    @staticmethod
    def at(root: Path = ROOT) -> Project:
        theory = (root / "docs" / "theory.md").read_text(encoding="utf-8")
        decisions = (root / "docs" / "decisions").glob("[0-9]*.md")
        numbers = frozenset(path.name[:4] for path in decisions)
        written = "".join(path.read_text("utf-8") for path in (root / "tests").rglob("test_*.py"))
        tests = frozenset(re.findall(r"^def (test_\w+)", written, flags=re.M))
        return Project(root, frozenset(HEADING.findall(theory)), numbers, tests)

    def faults(self, text: str) -> list[str]:
        """What a text points to and is not there."""
        found = [f"theory.md#{name}" for name in ANCHOR.findall(text) if name not in self.anchors]
        decided = DECISION.findall(text)
        found += [f"decision {number}" for number in decided if number not in self.decisions]
        found += [name for name in TEST.findall(text) if name not in self.tests]
        named = [*(f"docs/{page}" for page in PAGE.findall(text)), *FILE.findall(text)]
        found += [name for name in named if not (self.root / name).exists()]
        for pattern, known in PRINTED:
            found += [m.group() for m in pattern.finditer(text) if m.group(1) not in known]
        return found + [match.group() for closed in CLOSED for match in closed.finditer(text)]


def dangling(root: Path = ROOT) -> list[str]:
    """``file: reference`` for each that leads nowhere."""
    project = Project.at(root)
    return [
        f"{path.relative_to(root)}: {fault}"
        for path in files(root)
        for fault in project.faults(path.read_text(encoding="utf-8"))
    ]
