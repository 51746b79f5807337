"""What belongs to a release besides its files: ``python packaging/sbom.py dist`` writes into dist a
bill of materials (CycloneDX 1.6, JSON) of the wheel with its extras as locked, a statement of
provenance (in-toto, SLSA 1.0, not signed) and SHA256SUMS. Runs in the development environment.
Standard library only.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from check import version
from dependencies import LOCKS, ROOT, SHIPPED, closure, licence, needs, read_lock


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
