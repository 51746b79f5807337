"""Creates the environments the peers live in, under .peers/. Usage: python3
research/benchmarks/peers/environments.py [NAME …]

One virtual environment per requirements-NAME.txt, whose pins it installs; PyTorch first and alone,
so that pip takes the build its index prefers. What is installed already is left as it is. The
outcome is written to .peers/status.json: an environment that failed is in it with the end of pip's
output. Standard library only, any Python the project runs on.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FOLDER = ".peers"
FIRST = "torch"  # installed before the rest
LAST_LINES = 15
VERSIONS = """
import importlib.metadata, json, platform, sys
found = {}
for name in sys.argv[1:]:
    try:
        version = importlib.metadata.version
        found[name] = platform.python_version() if name == "python" else version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""

Run = Callable[[list[str]], tuple[int, str]]  # command → exit status, output


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one environment; ``python`` is relative to the root of the repository."""

    ok: bool
    python: str
    versions: dict[str, str] = field(default_factory=dict)
    error: str = ""


def run_command(command: list[str]) -> tuple[int, str]:
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


def names(folder: Path = HERE) -> list[str]:
    return sorted(
        path.stem.removeprefix("requirements-") for path in folder.glob("requirements-*.txt")
    )


def ensure(
    name: str,
    peers: list[str],
    root: Path = ROOT,
    requirements: Path = HERE,
    run: Run = run_command,
) -> Outcome:
    """Installs one environment unless its pins are installed already, and says which versions it
    holds.
    """
    pins = requirements / f"requirements-{name}.txt"
    environment = root / FOLDER / name
    python = environment / "bin" / "python"
    ready = environment / ".ready"
    digest = hashlib.sha256(pins.read_bytes()).hexdigest()
    relative = python.relative_to(root).as_posix()
    if not ready.exists() or ready.read_text(encoding="utf-8") != digest:
        for command in installation(python, pins):
            status, output = run(command)
            if status != 0:
                return Outcome(False, relative, error=_end(output, root))
        ready.write_text(digest, encoding="utf-8")
    status, output = run([str(python), "-c", VERSIONS, *peers])
    if status != 0:
        return Outcome(False, relative, error=_end(output, root))
    versions: dict[str, str] = json.loads(output)
    missing = [peer for peer in peers if peer not in versions]
    return Outcome(
        not missing, relative, versions, f"not installed: {', '.join(missing)}" if missing else ""
    )


def installation(python: Path, pins: Path) -> list[list[str]]:
    """The commands that fill an environment; the constraint holds PyTorch's own dependencies to
    their pins.
    """
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    first = [
        line for line in pins.read_text(encoding="utf-8").split() if line.startswith(f"{FIRST}==")
    ]
    return [
        [sys.executable, "-m", "venv", str(python.parents[1])],
        *([*pip, "--constraint", str(pins), pin] for pin in first),
        [*pip, "--requirement", str(pins)],
    ]


def _end(output: str, root: Path) -> str:
    """The last lines, without the folders of this machine."""
    lines = [
        line
        for line in output.replace(f"{root}/", "").splitlines()
        if line.strip() and not line.startswith("WARNING: Location")
    ]
    return "\n".join(lines[-LAST_LINES:])


def main(wanted: list[str]) -> int:
    from research.benchmarks.peers import PEERS

    known = names()
    if unknown := sorted(set(wanted) - set(known)):
        print(f"no environment {', '.join(unknown)}: there are {', '.join(known)}", file=sys.stderr)
        return 2
    path = ROOT / FOLDER / "status.json"
    path.parent.mkdir(exist_ok=True)
    outcomes = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in wanted or known:
        print(f"{name}: installing what is missing", flush=True)
        peers = sorted({p.distribution for p in PEERS.values() if p.environment == name})
        outcomes[name] = asdict(ensure(name, peers))
        path.write_text(json.dumps(outcomes, indent=2) + "\n", encoding="utf-8")
        versions = ", ".join(
            f"{peer} {version}" for peer, version in outcomes[name]["versions"].items()
        )
        failure = f"failed\n{outcomes[name]['error']}"
        print(f"{name}: {versions if outcomes[name]['ok'] else failure}", flush=True)
    return 0  # a peer that cannot be installed is reported, and the others run without it


if __name__ == "__main__":
    sys.path[0] = str(ROOT)
    sys.exit(main(sys.argv[1:]))
