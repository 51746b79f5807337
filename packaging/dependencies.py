"""What noregret depends on, as locked, with licences: ``python packaging/dependencies.py`` writes
docs/dependencies.md from the environment it runs in. Standard library only.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "packaging" / "locks"
PAGE = ROOT / "docs" / "dependencies.md"
SHIPPED = ("cli", "frame", "hmc", "optuna", "plot", "postgres", "ray", "sklearn", "sql", "web")
UNKNOWN = "not stated"
# words of licences under which nothing may be that noregret brings along, the extras included:
# those of a library (LGPL) ask nothing of who only calls it, these do
FORBIDDEN = re.compile(
    r"\b(A?GPL|GNU (Affero )?General Public|SSPL|BUSL|Business Source|Commons Clause|"
    r"Non-?Commercial|Proprietary|not stated)",
    re.IGNORECASE,
)
SHORT = {  # classifiers and free texts by their SPDX name
    "MIT License": "MIT",
    "MIT Licence": "MIT",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD 2-Clause License": "BSD-2-Clause",
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


@dataclass(frozen=True, slots=True)
class Locked:
    """One line of a lock: a version and the sha256 of every file it may come as."""

    name: str
    version: str
    hashes: tuple[str, ...]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_lock(path: Path) -> dict[str, Locked]:
    """By name. Anything but a version with hashes is an error: that is what a lock is for."""
    found: dict[str, Locked] = {}
    text = path.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        pin = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;]+)", line)
        hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", line))
        if pin is None or not hashes:
            raise SystemExit(f"{path.name}: no version, or no hash: {line[:80]}")
        found[normal(pin[1])] = Locked(normal(pin[1]), pin[2], hashes)
    return found


def licence(about: Any) -> str:
    """By the metadata's expression, else its first line about it, else its classifiers."""
    expression = about.get("License-Expression")
    if expression:
        return str(expression)
    text = (about.get("License") or "").strip().partition("\n")[0]
    if text and len(text) < 40 and not text.startswith(("UNKNOWN", "==", "Copyright")):
        return SHORT.get(text, text)
    told = [
        each.rpartition("::")[2].strip()
        for each in about.get_all("Classifier") or []
        if each.startswith("License ::")
    ]
    return " OR ".join(SHORT.get(each, each) for each in told) or UNKNOWN


def needs(name: str, extras: Iterable[str] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What a package asks for here, markers other than extras left aside: (name, its extras)."""
    wanted = set(extras)
    for line in distribution(name).requires or []:
        body, _, marker = line.partition(";")
        extra = re.search(r"""extra\s*==\s*['"]([^'"]+)""", marker)
        if extra is not None and extra[1] not in wanted:
            continue
        parts = re.match(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^]]*)\])?", body)
        if parts is not None:
            given = tuple(each.strip() for each in (parts[2] or "").split(",") if each.strip())
            yield normal(parts[1]), given


def closure(extras: Iterable[str]) -> set[str]:
    """All packages that noregret with these extras brings along in this environment."""
    found: set[str] = set()
    left = list(needs("noregret", extras))
    seen = set()
    while left:
        name, given = left.pop()
        if (name, given) in seen:
            continue
        seen.add((name, given))
        try:
            distribution(name)
        except PackageNotFoundError:  # for another platform
            continue
        if name != "noregret":
            found.add(name)
        left += needs(name, given)
    return found


def described() -> list[tuple[str, str, str, str]]:
    """Name, version, licence and what needs it, of all that is locked and installed."""
    core, shipped = closure(()), closure(SHIPPED)
    rows = []
    for name, locked in sorted(read_lock(LOCKS / "dev.txt").items()):
        try:
            about = metadata(name)
        except PackageNotFoundError:  # for another platform, or a build tool
            continue
        used = "noregret" if name in core else "extras" if name in shipped else "development"
        rows.append((name, locked.version, licence(about), used))
    return rows


def tried() -> list[tuple[str, str, str, str]]:
    """Of each package that noregret or an extra names: the oldest version allowed and the newest
    one the tests have been run with.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    locked = read_lock(LOCKS / "dev.txt")
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    rows = []
    for extra, lines in sorted(groups.items()):
        for line in lines if extra not in ("dev", "docs") else ():
            parts = re.match(r"([A-Za-z0-9._-]+)(?:\[[^]]*\])?(.*)", line)
            assert parts is not None
            name = normal(parts[1])
            if name == "noregret":
                continue
            pin = locked.get(name)
            newest = pinned(name) if pin is None else pin.version
            rows.append((f"`{extra}`" if extra else "", name, parts[2].strip(), newest))
    return rows


def pinned(name: str) -> str:
    """The version in constraints.txt, of what is not in the lock."""
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(name)}==(.+)$", text, flags=re.MULTILINE | re.IGNORECASE)
    if found is None:
        raise SystemExit(f"{name} is neither locked nor in constraints.txt")
    return found[1]


HEADER = """# What noregret needs: versions and licences

The oldest versions that are allowed are tried by `make test-lowest`, the newest ones named here
by every run of the tests, in the versions of `constraints.txt` and with the digests of
`packaging/locks`: pip refuses a file that has another. A weekly run takes the newest there are.
An upper bound is set where an adapter reaches into the other library's own classes, or where a
new main version has to be expected to break the tables.

| extra | package | allowed | tried up to |
|---|---|---|---|
"""

LICENCES = """
## Licences

noregret itself is under the MIT licence. `make licences` writes this page from the locked
versions as they are installed for development on Linux; a test refuses anything that noregret or
one of its extras brings along under a licence that would bind its users (GPL, AGPL, SSPL,
none for commerce and the like). The LGPL of psycopg asks nothing of programs that only call it.

| package | version | licence | needed by |
|---|---|---|---|
"""


def page() -> str:
    def table(rows: Iterable[tuple[str, str, str, str]]) -> str:
        return "".join(f"| {' | '.join(row)} |\n" for row in rows)

    return HEADER + table(tried()) + LICENCES + table(described())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)}: {len(described())} packages")
