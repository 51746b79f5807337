"""``make house``: the measurements of the building in one table, and which limits are broken.

Rooms and files are read as text, so a room whose extra is not installed is measured too. One ask of
the default is traced.
"""

from __future__ import annotations

import ast
import inspect
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from docs.making.readers import single_readers
from docs.making.references import ROOT, dangling

AT_THE_ROOT = {"__init__", "__main__", "errors"}
PRAGMA = re.compile(r"\s*# (?:type: ignore|noqa).*$")  # does not count, as for the linter
SKIP = re.compile(r"# fmt: (?:skip|off)")
MERGE = re.compile(r"^(?:<{7}|>{7}) ", re.M)  # what a merge leaves where two changes met
# Budgets that only fall: lower one with every change that makes it possible. The aim is 137 files
# and 20,000 code lines, 45,000 words, 12 constants of the default.
FILES = {
    "cli": 10,
    "diagnostics": 6,
    "extensions": 12,
    "gp": 9,
    "integrations": 7,
    "plot": 4,
    "rkhs": 7,
    "search": 4,
    "space": 10,
    "storage": 8,
    "strategies": 15,
    "study": 11,
    "testing": 4,
    "theory": 4,
    "trials": 5,
    "web": 11,
}
WORDS = 45_000
CODE_LINES = 23_000  # 21,039 after the consolidation; CHANGELOG.md names what came on top
STUDY_MEMBERS = 36
DECISION_FIELDS = 12
ASK_FILES = 21  # the aim is 20
ASK_FUNCTIONS = 177  # the aim is 120
SINGLE_READERS = 23  # the aim is 15
MODULES_OF_IMPORT, MODULES_OF_FIRST_USE = 1, 53
DEFAULT_CONSTANTS = 12
NAMES_TWICE = 0
FIRST_USE = "nr.minimize(lambda p: p['x'] ** 2, {'x': nr.Float(-1, 1)}, 8)"
# Files with the constants of the default, and those that do not count: they guard a computation,
# say how much effort it takes, or belong to the band that is shown.
DEFAULT = ("insured", "exploration", "feasibility", "data", "surrogate")
EFFORT = {
    *(
        "CLOUD",
        "DELTA",
        "EXACT",
        "FARTHEST",
        "LARGEST",
        "LARGEST_LOG",
        "LEAST_CHANCE",
        "LEAST_GAIN",
    ),
    *("LEAST_NOISE", "LEAST_SPREAD", "MEAN", "NOISE_RANGE", "NORM_MARGIN", "SAME", "SMALLEST"),
    *("TOLD", "TOLD_STANDARDISED", "TOLERANCE", "WIDEST"),
}
WRITTEN = ("src", "tests", "research", "docs", "packaging", "examples")  # folders with Python


@dataclass(frozen=True, slots=True)
class Measure:
    """One number; ``limit`` is the largest that is accepted, None where there is none."""

    name: str
    value: float
    limit: float | None = None
    note: str = ""

    @property
    def is_broken(self) -> bool:
        return self.limit is not None and self.value > self.limit


@dataclass(frozen=True, slots=True)
class Room:
    """A folder of the package. ``exported``: names that other rooms may use; ``most``: public
    functions and classes in its fullest file.
    """

    name: str
    lengths: tuple[int, ...]
    exported: int
    most: int


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def code_lines(path: Path) -> int:
    """Lines with code: neither blank, nor comment, nor docstring."""
    source = path.read_text(encoding="utf-8")
    skipped = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    numbers: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in skipped:
            numbers.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
            and ast.get_docstring(node, clean=False) is not None
        ):
            docstring = node.body[0]
            numbers -= set(range(docstring.lineno, (docstring.end_lineno or 0) + 1))
    return len(numbers)


def longest_line(path: Path) -> int:
    return max((len(PRAGMA.sub("", line)) for line in lines(path)), default=0)


def public(path: Path) -> list[str]:
    """Functions and classes of a file that do not start with an underscore."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return [node.name for node in body if isinstance(node, kinds) and node.name[0] != "_"]


def exported(path: Path) -> list[str]:
    """What ``__all__`` of a file lists, or what the file defines."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return public(path)


def rooms(root: Path = ROOT) -> list[Room]:
    """Every folder of the package, and first the package's own root."""
    package = root / "src" / "noregret"
    folders = sorted(path for path in package.iterdir() if (path / "__init__.py").exists())
    found = []
    for folder in [package, *folders]:
        inside = folder.glob("*.py") if folder == package else folder.rglob("*.py")
        files = sorted(inside)
        name = "(root)" if folder == package else folder.name
        lengths = tuple(len(lines(path)) for path in files)
        most = max(len(public(path)) for path in files)
        found.append(Room(name, lengths, len(exported(folder / "__init__.py")), most))
    return found


def layers(root: Path = ROOT) -> int:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    return max(len(contract["layers"]) for contract in contracts if contract["type"] == "layers")


def unmerged(root: Path, written: Sequence[Path]) -> list[Path]:
    """Files, pages included, in which a merge was left undecided."""
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    return [
        path
        for path in [*written, *sorted(pages)]
        if MERGE.search(path.read_text(encoding="utf-8"))
    ]


def measures(root: Path = ROOT) -> list[Measure]:
    package = root / "src" / "noregret"
    sources = sorted(package.rglob("*.py"))
    written = [path for folder in WRITTEN for path in sorted((root / folder).rglob("*.py"))]
    length = {path: len(lines(path)) for path in sources}
    longest = max(length, key=lambda path: length[path])
    width = {path: longest_line(path) for path in written}
    widest = max(width, key=lambda path: width[path])
    fullest = max(sources, key=lambda path: len(public(path)))
    strangers = {path.stem for path in package.glob("*.py")} - AT_THE_ROOT
    skips = sum(bool(SKIP.search(line)) for path in sources for line in lines(path))
    lost, torn = dangling(root), unmerged(root, written)
    counts = {room.name: len(room.lengths) for room in rooms(root)}
    crowded = [name for name, count in counts.items() if count > FILES.get(name, 3)]
    pages = sorted((root / "docs").rglob("*.md"))
    words = sum(len(page.read_text(encoding="utf-8").split()) for page in pages)

    def at(path: Path) -> str:
        return path.relative_to(root).as_posix()

    return [
        Measure("files at the package's root", len(list(package.glob("*.py"))), 3),
        Measure("other files there", len(strangers), 0, ", ".join(sorted(strangers))),
        Measure("import layers", layers(root), 9),
        Measure("longest line", width[widest], 100, at(widest)),
        Measure("fmt: skip in src", skips, 5),
        Measure("dangling references", len(lost), 0, "; ".join(lost[:3])),
        Measure("files", len(sources), sum(FILES.values()) + 3),
        Measure("rooms with more files than their budget", len(crowded), 0, ", ".join(crowded)),
        Measure("code lines", sum(code_lines(path) for path in sources), CODE_LINES),
        Measure("words of documentation", words, WORDS),
        Measure("undecided merges", len(torn), 0, ", ".join(at(path) for path in torn)),
        Measure("median file, lines", median(length.values())),
        Measure("longest file, lines", length[longest], None, at(longest)),
        Measure("most public names in a file", len(public(fullest)), None, at(fullest)),
    ]


def study_members() -> list[str]:
    from noregret import Study

    return [name for name in dir(Study) if not name.startswith("_")]


def decision_fields() -> int:
    from dataclasses import fields

    from noregret.trials import Decision, ModelDecision

    return len(fields(Decision)) + len(fields(ModelDecision))


def undocumented() -> list[str]:
    """Exported names that take arguments and whose docstrings do not list them."""
    import noregret as nr

    values = {name: getattr(nr, name) for name in nr.__all__}
    return [
        name
        for name, value in values.items()
        if not (isinstance(value, type) and issubclass(value, Exception))
        and inspect.signature(value).parameters
        and "Args:" not in (inspect.getdoc(value) or "")
    ]


def modules_after(code: str) -> list[str]:
    """Modules that a new Python has loaded after it imported the package and ran some code."""
    program = f"import sys, noregret as nr; {code}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


def own_modules(code: str) -> list[str]:
    return [name for name in modules_after(code) if name.partition(".")[0] == "noregret"]


def default_constants(root: Path = ROOT) -> list[str]:
    """Constants that decide what the default proposes: those of the table of its page, and numbers
    in its files that are in neither the table nor EFFORT.
    """
    page = (root / "docs" / "default.md").read_text(encoding="utf-8")
    found = re.findall(r"^\|`?([^`|]+)`?\|", page.partition("## Constants")[2], flags=re.M)
    found = [name for name in found if name != "name" and not name.startswith("---")]
    for file in DEFAULT:
        path = root / "src" / "noregret" / "strategies" / f"{file}.py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                name, value = ast.unparse(target), ast.unparse(node.value)
                if name.isupper() and re.match(r"-?\d", value) and name not in {*found, *EFFORT}:
                    found.append(name)
    return found


def names_twice(root: Path = ROOT) -> list[str]:
    """Public functions and classes that two files of the package define."""
    files = [path for path in (root / "src").rglob("*.py") if path.name != "__init__.py"]
    counts = Counter(name for path in files for name in public(path))
    return sorted(name for name, count in counts.items() if count > 1)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Columns as wide as they must be; numbers to the right."""
    text = [list(map(str, header)), *([str(cell) for cell in row] for row in rows)]
    widths = [max(len(row[i]) for row in text) for i in range(len(header))]
    right = [all(isinstance(row[i], (int, float)) for row in rows) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(wide) if number else cell.ljust(wide)
            for cell, wide, number in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in text
    )


def main(root: Path = ROOT) -> int:
    header = ("room", "files", "lines", "median", "longest", "exported", "most in a file")
    per_room = []
    for r in rooms(root):
        sizes = (len(r.lengths), sum(r.lengths), int(median(r.lengths)), max(r.lengths))
        per_room.append((r.name, *sizes, r.exported, r.most))
    from docs.making.walk import one_ask

    members, twice, ask = study_members(), names_twice(), one_ask()
    functions = sum(map(len, ask.values()))
    single = [f"{file} ({reader})" for file, reader in single_readers().items()]
    bare, constants = undocumented(), default_constants()
    imported, used = own_modules("pass"), own_modules(FIRST_USE)
    found = [
        *measures(root),
        Measure("members of Study", len(members), STUDY_MEMBERS, " ".join(members)),
        Measure("files that one ask enters", len(ask), ASK_FILES),
        Measure("functions that one ask enters", functions, ASK_FUNCTIONS),
        Measure("files with one reader", len(single), SINGLE_READERS, ", ".join(single)),
        Measure("exported names without Args", len(bare), 0, " ".join(bare)),
        Measure("own modules of an import", len(imported), MODULES_OF_IMPORT),
        Measure("own modules of a first use", len(used), MODULES_OF_FIRST_USE),
        Measure("constants of the default", len(constants), DEFAULT_CONSTANTS, " ".join(constants)),
        Measure("names that exist twice", len(twice), NAMES_TWICE, " ".join(twice)),
        Measure("fields of a decision", decision_fields(), DECISION_FIELDS),
    ]
    rows = []
    for m in found:
        limit = "" if m.limit is None else f"≤ {m.limit:g}"
        rows.append((m.name, f"{m.value:g}", limit, "broken" if m.is_broken else "", m.note))
    print(table(header, per_room), table(("measure", "", "limit", "", ""), rows), sep="\n\n")
    return int(any(measure.is_broken for measure in found))


if __name__ == "__main__":
    sys.exit(main())
