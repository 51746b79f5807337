"""Seeded random mutants of the package: how many of them the tests notice.

python -m tests.mutants [--count 300] [--seed 0] [--rooms gp storage …] [--against CHECKOUT]

One operator, comparison, constant or condition is changed at a time, in a copy of the checkout, and
the tests of its room run until the first failure. A mutant that no test notices is printed. With
another checkout as many of its mutants take turns with ours, and both kill rates are printed with
one standard error, and how many standard errors they are apart.
"""

from __future__ import annotations

import argparse
import ast
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from noregret.study import Progress

ROOMS = ("gp", "rkhs", "strategies", "study", "storage")
SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SECONDS = 1800  # a mutant that runs longer is noticed


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed file: ``path`` below the checkout, the line and what became of it."""

    path: Path
    line: int
    change: str
    source: str


def places(tree: ast.AST) -> Iterator[ast.AST]:
    """Nodes that can be changed, annotations and docstrings left out."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.BinOp, ast.BoolOp)):
            is_place = type(node.op) in SWAPPED
        elif isinstance(node, ast.Compare):
            is_place = type(node.ops[0]) in SWAPPED
        elif isinstance(node, ast.Constant):
            is_place = type(node.value) in (int, float)
        else:
            is_place = isinstance(node, (ast.If, ast.IfExp))
        if is_place:
            yield node


def mutate(path: Path, source: str, index: int) -> Mutant:
    """The file with its place ``index`` changed."""
    tree = ast.parse(source)
    node = list(places(tree))[index]
    before = ast.unparse(node)
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        node.op = SWAPPED[type(node.op)]()  # type: ignore[assignment]
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPPED[type(node.ops[0])]()  # type: ignore[call-overload]
    elif isinstance(node, (ast.If, ast.IfExp)):
        before = f"if {ast.unparse(node.test)}"
        node.test = ast.UnaryOp(ast.Not(), node.test)
    elif isinstance(node, ast.Constant):
        node.value = node.value + 1  # type: ignore[operator]
    after = f"not ({before})" if before.startswith("if ") else ast.unparse(node)
    change = f"{before.splitlines()[0]} → {after.splitlines()[0]}"
    return Mutant(
        path, getattr(node, "lineno", 0), change, ast.unparse(ast.fix_missing_locations(tree))
    )


def draw(root: Path, rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """``count`` places, each as likely as any other of the rooms."""
    files = [path for room in rooms for path in sorted((root / "src/noregret" / room).glob("*.py"))]
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    all_places = [
        (path, index)
        for path, text in texts.items()
        for index in range(len(list(places(ast.parse(text)))))
    ]
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(all_places), size=min(count, len(all_places)), replace=False)
    picked = [all_places[i] for i in chosen]
    return [mutate(path.relative_to(root), texts[path], index) for path, index in picked]


def is_noticed(mutant: Mutant, root: Path) -> bool:
    """Whether a test of the mutant's room fails."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("src", "tests", "pyproject.toml"):
            place = root / name
            (shutil.copytree if place.is_dir() else shutil.copy)(place, copy / name)
        (copy / mutant.path).write_text(mutant.source, encoding="utf-8")
        room = mutant.path.parts[2]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
        try:
            done = subprocess.run(
                [*command, f"tests/{room}"],
                cwd=copy,
                env={**os.environ, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.mutants", description="Mutants of the package.")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), choices=ROOMS)
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    roots = [path for path in (Path(__file__).parents[1], options.against) if path is not None]
    drawn = [draw(root, options.rooms, options.count, options.seed) for root in roots]
    turns = [pair for row in zip(*drawn, strict=True) for pair in zip(row, roots, strict=True)]
    noticed: dict[Path, list[bool]] = {root: [] for root in roots}
    with Progress(len(turns), "mutants ") as bar, ThreadPoolExecutor(options.workers) as pool:
        results = pool.map(lambda turn: is_noticed(*turn), turns)
        for (mutant, root), result in zip(turns, results, strict=True):
            noticed[root].append(result)
            bar.advance(str(mutant.path))
            if not result:
                print(f"survived: {root / mutant.path}:{mutant.line}  {mutant.change}", flush=True)
    rates, variances = [], []
    for root, seen in noticed.items():
        rates.append(float(np.mean(seen)))
        variances.append(rates[-1] * (1 - rates[-1]) / len(seen))
        error = math.sqrt(variances[-1])
        print(f"{root}: killed {sum(seen)} of {len(seen)}, {rates[-1]:.1%} ± {error:.1%}")
    if len(rates) == 2:
        apart = (rates[0] - rates[1]) / math.sqrt(sum(variances) or math.inf)
        print(f"ours less the other's: {rates[0] - rates[1]:+.1%}, {apart:+.1f} standard errors")
    return 0


if __name__ == "__main__":
    sys.exit(main())
