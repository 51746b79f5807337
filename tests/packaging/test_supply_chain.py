"""Digests, licences, bill of materials: what a release says about where its parts come from."""

import importlib.util
import re
import subprocess
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "packaging" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


check, sbom = load("check"), load("sbom")
LOCKS = {path.stem: sbom.read_lock(path) for path in sbom.LOCKS.glob("*.txt")}
PINS = {
    sbom.normal(line.partition("==")[0]): line.partition("==")[2]
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
}


@pytest.mark.parametrize("name", ["core", "dev", "release"])
def test_every_line_of_a_lock_has_digests_and_the_pinned_version(name: str) -> None:
    assert LOCKS[name]
    for each in LOCKS[name].values():
        assert each.hashes
        assert PINS.get(each.name, each.version) == each.version


def test_what_is_declared_is_locked() -> None:
    direct = [*PROJECT["project"]["dependencies"]]
    for extra in (*sbom.SHIPPED, "docs", "dev"):
        direct += PROJECT["project"]["optional-dependencies"][extra]
    names = {sbom.normal(re.split(r"[^A-Za-z0-9._-]", line)[0]) for line in direct}
    assert names - {"noregret"} <= set(LOCKS["dev"])
    assert {"numpy", "scipy"} <= set(LOCKS["core"])


def test_the_backend_is_the_locked_one() -> None:
    (backend,) = PROJECT["build-system"]["requires"]
    for name in ("dev", "release"):
        assert backend == f"hatchling=={LOCKS[name]['hatchling'].version}"


def test_a_lock_without_a_digest_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_text("numpy==2.0\n")
    with pytest.raises(SystemExit, match="no hash"):
        sbom.read_lock(tmp_path / "bad.txt")


def test_no_index_is_named() -> None:
    files = [*sbom.LOCKS.glob("*.txt"), *(ROOT / "packaging").glob("*.txt")]
    files += [ROOT / "Makefile", ROOT / "constraints.txt", ROOT / ".ci" / "run"]
    for file in files:
        said = file.read_text(encoding="utf-8")
        assert "://" not in said.replace("postgresql://", ""), file
        assert not re.search(r"--[a-z-]+-(url|links)\b", said), file


# -- licences --


def test_nothing_that_noregret_brings_along_binds_its_users() -> None:
    """Of what is locked and installed here; the rest is for other platforms."""
    names = sorted(sbom.closure(sbom.SHIPPED))
    assert len(names) > 40
    for name in names:
        found = sbom.licence(metadata(name))
        assert not sbom.FORBIDDEN.search(found), (name, found)


@pytest.mark.parametrize(
    "licence", ["GPL-3.0-only", "AGPL-3.0", "GNU General Public License v3", "not stated", "SSPL"]
)
def test_what_would_be_refused(licence: str) -> None:
    assert sbom.FORBIDDEN.search(licence)
    assert not sbom.FORBIDDEN.search("LGPL-3.0-only")


# -- what goes with a release --


def test_the_bill_of_materials_is_whole() -> None:
    bill: dict[str, Any] = sbom.bill("1.2.3", "2026-01-01T00:00:00Z")
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", bill["serialNumber"])
    parts = {each["name"]: each for each in bill["components"]}
    required = {name for name, each in parts.items() if each["scope"] == "required"}
    assert required == {"numpy", "scipy"}
    assert {"sqlalchemy", "optuna", "ray", "psycopg"} <= set(parts)
    assert "pytest" not in parts
    for each in parts.values():
        assert each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}" == each["bom-ref"]
        assert each["licenses"][0]["license"]["name"]
        assert each["properties"]
    known = {each["bom-ref"] for each in bill["components"]}
    known.add(bill["metadata"]["component"]["bom-ref"])
    graph = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert set(graph) == known
    assert {ref for refs in graph.values() for ref in refs} <= known
    assert parts["numpy"]["bom-ref"] in graph[parts["scipy"]["bom-ref"]]


def test_provenance_names_files_commit_and_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "noregret-1.2.3-py3-none-any.whl"
    file.write_bytes(b"wheel")
    monkeypatch.setattr(sbom, "_git", lambda *words: "c0ffee" if "HEAD" in words else "")
    statement = sbom.provenance([file], "1.2.3", "2026-01-01T00:00:00Z")
    known = subprocess.run(["sha256sum", file], capture_output=True, text=True, check=True)
    assert statement["subject"][0]["digest"]["sha256"] == known.stdout.split()[0]
    made = statement["predicate"]["buildDefinition"]
    assert made["internalParameters"]["uncommitted"] is False
    names = {each["name"]: each["digest"] for each in made["resolvedDependencies"]}
    assert names["source"] == {"gitCommit": "c0ffee"}
    assert {f"packaging/locks/{name}.txt" for name in LOCKS} <= set(names)
