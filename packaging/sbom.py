"""What belongs to a release besides its files: ``python packaging/sbom.py dist`` writes into dist a
bill of materials (CycloneDX 1.6, JSON) of the wheel with its extras as locked, a statement of
provenance (in-toto, SLSA 1.0, not signed) and SHA256SUMS. Runs in the development environment.
Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, distribution, metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from check import version

ROOT = Path(__file__).resolve().parents[1]
LOCKS = ROOT / "packaging" / "locks"
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


def purl(name: str, number: str) -> str:
    return f"pkg:pypi/{name}@{number}"


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def bill(number: str, when: str) -> dict[str, Any]:
    """Every package that the wheel or one of its extras brings along, with version, licence, the
    digests of the files it may come as, and what needs what.
    """
    locked, core = read_lock(LOCKS / "dev.txt"), closure(())
    names = sorted(name for name in closure(SHIPPED) if name in locked)
    references = {name: purl(name, locked[name].version) for name in names}
    components = [
        {
            "type": "library",
            "bom-ref": references[name],
            "name": name,
            "version": locked[name].version,
            "purl": references[name],
            "scope": "required" if name in core else "optional",
            "licenses": [{"license": {"name": licence(metadata(name))}}],
            "properties": [
                {"name": "noregret:sha256", "value": each} for each in locked[name].hashes
            ],
        }
        for name in names
    ]
    ours = {"type": "library", "bom-ref": purl("noregret", number), "name": "noregret"}
    graph = [{"ref": ours["bom-ref"], "dependsOn": _direct("noregret", references, SHIPPED)}]
    graph += [{"ref": references[name], "dependsOn": _direct(name, references)} for name in names]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid4()}",
        "version": 1,
        "metadata": {
            "timestamp": when,
            "component": {
                **ours,
                "version": number,
                "purl": ours["bom-ref"],
                "licenses": [{"license": {"id": "MIT"}}],
            },
        },
        "components": components,
        "dependencies": graph,
    }


def _direct(name: str, references: dict[str, str], extras: tuple[str, ...] = ()) -> list[str]:
    found = set()
    try:
        for each, _ in needs(name, extras):
            found |= {references[each]} if each in references else set()
    except PackageNotFoundError:
        pass
    return sorted(found)


def provenance(files: list[Path], number: str, when: str) -> dict[str, Any]:
    """Which files were made from which commit, by which command, with which locks."""
    commit = _git("rev-parse", "HEAD")
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": each.name, "digest": {"sha256": digest(each)}} for each in files],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "make dist",
                "externalParameters": {"version": number},
                "internalParameters": {
                    "python": platform.python_version(),
                    "uncommitted": bool(_git("status", "--porcelain", "--untracked-files=no")),
                },
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": commit}},
                    *(
                        {"name": f"packaging/locks/{each.name}", "digest": {"sha256": digest(each)}}
                        for each in sorted(LOCKS.glob("*.txt"))
                    ),
                ],
            },
            "runDetails": {
                "builder": {"id": f"{platform.system()}-{platform.machine()}"},
                "metadata": {"finishedOn": when},
            },
        },
    }


def _git(*words: str) -> str:
    said = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return said.stdout.strip()


def main() -> None:
    folder, number = Path(sys.argv[1]), version()
    when = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    files = sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])
    if len(files) != 2:
        raise SystemExit(f"{folder} should hold one wheel and one sdist, it has {files}")
    made = {
        f"noregret-{number}.cdx.json": bill(number, when),
        f"noregret-{number}.provenance.json": provenance(files, number, when),
    }
    for name, document in made.items():
        (folder / name).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    listed = [*files, *(folder / name for name in made)]
    sums = "".join(f"{digest(each)}  {each.name}\n" for each in listed)
    (folder / "SHA256SUMS").write_text(sums, encoding="utf-8")
    print(sums, end="")


if __name__ == "__main__":
    main()
