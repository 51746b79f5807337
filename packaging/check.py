"""Checks what would be published: python packaging/check.py dist. Standard library only."""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = {"numpy", "scipy"}


def version() -> str:
    """The one place that says it."""
    found = re.search(
        r'^__version__ = "(.+)"$',
        (ROOT / "src" / "noregret" / "__init__.py").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    if found is None:
        raise SystemExit('src/noregret/__init__.py has no line __version__ = "…"')
    return found.group(1)


def sources() -> set[str]:
    """The package's files as the wheel must have them."""
    package = ROOT / "src" / "noregret"
    return {
        f"noregret/{path.relative_to(package).as_posix()}"
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }


def wheel_faults(names: set[str], metadata: Message, wanted: str, files: set[str]) -> list[str]:
    """What is wrong with a wheel that has these files and this metadata; nothing if it may be
    published.
    """
    info = f"noregret-{wanted}.dist-info"
    faults = [f"missing {name}" for name in sorted(files - names)]
    faults += [
        f"should not be there: {name}"
        for name in sorted(names)
        if not name.startswith(("noregret/", f"{info}/"))
    ]
    faults += [
        f"a test in the wheel: {name}"
        for name in sorted(names)
        if re.search(r"(^|/)tests?(_|/)", name)
    ]
    if f"{info}/licenses/LICENSE" not in names:
        faults.append("the license is missing")
    if metadata["Version"] != wanted:
        faults.append(f"version {metadata['Version']} in the metadata, {wanted} in the source")
    needed = {
        re.split(r"[^A-Za-z0-9_-]", line)[0]
        for line in metadata.get_all("Requires-Dist", [])
        if "extra ==" not in line
    }
    if needed != CORE:
        faults.append(f"the core needs {sorted(needed)}, not {sorted(CORE)}")
    if metadata["Description-Content-Type"] != "text/markdown" or not str(
        metadata.get_payload()
    ).startswith("# noregret"):
        faults.append("the description is not the README")
    return faults


def main(folder: Path) -> None:
    wanted = version()
    (wheel,), (sdist,) = list(folder.glob("*.whl")), list(folder.glob("*.tar.gz"))
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = Parser().parsestr(archive.read(f"noregret-{wanted}.dist-info/METADATA").decode())
    faults = wheel_faults(names, metadata, wanted, sources())
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    faults += [
        f"missing in the sdist: {name}"
        for name in (
            "LICENSE",
            "README.md",
            "CHANGELOG.md",
            "pyproject.toml",
            "src/noregret/py.typed",
            "tests/conftest.py",
        )
        if name not in inside
    ]
    if faults:
        raise SystemExit("\n".join(faults))
    print(
        f"{wheel.name}: {len(names)} files, {wheel.stat().st_size // 1024} KiB; {sdist.name}:"
        f" {len(inside)} files, {sdist.stat().st_size // 1024} KiB"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
