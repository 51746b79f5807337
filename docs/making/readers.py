"""Which files of the package use what a file defines, found by reading their imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from docs.making.references import ROOT


class Imports:
    """The imports of the package's files; names that an ``__init__`` hands on are followed to the
    file that defines them.

    Args:
        root: The folder of the project.
    """

    def __init__(self, root: Path = ROOT) -> None:
        src = root / "src"
        self.files = {_module(path, src): path for path in sorted(src.rglob("*.py"))}
        self._nodes = {
            name: list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            for name, path in self.files.items()
        }
        self._imported = {
            name: {
                alias.asname or alias.name: (node.module, alias.name)
                for node in nodes
                if isinstance(node, ast.ImportFrom) and node.module in self.files
                for alias in node.names
            }
            for name, nodes in self._nodes.items()
        }  # of each module: the names that it imports, where they come from and their names there

    def readers(self) -> dict[Path, set[Path]]:
        """For each file but the ``__init__`` of rooms the others that use a name of it."""
        found: dict[Path, set[Path]] = {
            path: set() for path in self.files.values() if path.name != "__init__.py"
        }
        for name, path in self.files.items():
            if path in found:
                for used in self._used(name):
                    home = self.files[used]
                    if home in found and home != path:
                        found[home].add(path)
        return found

    def _used(self, module: str) -> Iterator[str]:
        """The modules that define what a module imports."""
        bound: dict[str, str] = {}  # names of this file that are modules
        for name, (source, original) in self._imported[module].items():
            home = self._home(source, original)
            if home == f"{source}.{original}":
                bound[name] = home
            yield home
        for node in self._nodes[module]:
            if isinstance(node, ast.Import):
                bound |= {a.asname or a.name: a.name for a in node.names if a.name in self.files}
        for node in self._nodes[module]:
            if isinstance(node, ast.Attribute) and (owner := ast.unparse(node.value)) in bound:
                yield self._home(bound[owner], node.attr)

    def _home(self, module: str, name: str) -> str:
        """The module that defines a name which another imports from ``module``."""
        if (inner := f"{module}.{name}") in self.files:
            return inner
        source = self._imported[module].get(name)
        return module if source is None else self._home(*source)


def _module(path: Path, src: Path) -> str:
    parts = path.relative_to(src).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def single_readers(root: Path = ROOT) -> dict[str, str]:
    """Files of the package that exactly one other file uses, and that file."""
    package = root / "src" / "noregret"
    return {
        path.relative_to(package).as_posix(): next(iter(others)).relative_to(package).as_posix()
        for path, others in Imports(root).readers().items()
        if len(others) == 1
    }
