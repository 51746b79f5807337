"""Which adapters there are, read from their files without importing them: the peers live in other
environments.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class AdapterFile:
    """One adapter: ``peer`` is the distribution whose version is reported, ``environment`` the one
    it runs in.
    """

    name: str
    peer: str
    environment: str
    path: Path


def adapters(folder: Path = HERE) -> dict[str, AdapterFile]:
    """Every module with a class ``Adapter``, by name."""
    found = {}
    for path in sorted(folder.glob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8"), str(path)).body
        if any(isinstance(node, ast.ClassDef) and node.name == "Adapter" for node in body):
            constants = _constants(body)
            if missing := {"PEER", "ENVIRONMENT"} - constants.keys():
                raise ValueError(
                    f"{path.name} must define {' and '.join(sorted(missing))} as strings"
                )
            found[path.stem] = AdapterFile(
                path.stem, constants["PEER"], constants["ENVIRONMENT"], path
            )
    return found


def _constants(body: list[ast.stmt]) -> dict[str, str]:
    return {
        node.targets[0].id: node.value.value
        for node in body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }
