"""The stations of one ask: which files run, in which order, and where each is entered.

``python -m docs.making.walk`` traces an ask of the default and writes the table of
docs/how-it-works.md; with the name of another strategy it prints that strategy's table.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import noregret as nr
from noregret.strategies import Strategy, named

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(nr.__file__).parent
PAGE = ROOT / "docs" / "how-it-works.md"
BEGIN, END = "<!-- walk: written by docs.making.walk -->", "<!-- walk: end -->"

Stations = dict[str, list[str]]


def calls(action: Callable[[], Any]) -> dict[str, dict[str, bool]]:
    """Runs an action. For each file of the package, in the order in which it is first entered, the
    functions that are called there, and whether another file calls them.
    """
    found: dict[str, dict[str, bool]] = {}

    def profile(frame: FrameType, event: str, _: Any) -> None:
        here, name = within(frame), frame.f_code.co_name
        if event != "call" or here is None or name.startswith(("<", "__")):
            return
        caller = frame.f_back
        while caller is not None and within(caller) is None:  # the wrappers of dataclasses, caches
            caller = caller.f_back
        names = found.setdefault(here, {})
        name = frame.f_code.co_qualname.replace("<locals>.", "")
        names[name] = names.get(name, False) or caller is None or within(caller) != here

    sys.setprofile(profile)
    try:
        action()
    finally:
        sys.setprofile(None)
    return found


def stations(found: dict[str, dict[str, bool]]) -> Stations:
    """For each file of ``calls`` the functions that another file calls there."""
    crossed = {
        file: [name for name, outside in names.items() if outside] for file, names in found.items()
    }
    return {file: names for file, names in crossed.items() if names}


def within(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    return path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None


def one_ask(strategy: Strategy | None = None) -> dict[str, dict[str, bool]]:
    """The calls of an ask of a study in two inputs that has a model: no initial design, no survey,
    no patrol.
    """
    study = nr.Study({"x": nr.Float(0, 1), "y": nr.Float(0, 1)}, "minimize", strategy, seed=1)
    study.run(lambda p: (p["x"] - 0.3) ** 2 + p["y"] ** 2, trials=12, progress=False)
    study.tell(study.ask(), 0.5)
    return calls(study.ask)


def summary(file: str) -> str:
    """The first sentence of a file's docstring, up to its colon."""
    text = ast.get_docstring(ast.parse((PACKAGE / file).read_text(encoding="utf-8"))) or ""
    return (
        text.split("\n\n")[0].replace("\n", " ").partition(". ")[0].partition(": ")[0].rstrip(".:")
        or "–"
    )


def table(found: Stations, most: int = 3) -> str:
    rows = [
        f"| `{file}` | {summary(file)} | {', '.join(f'`{n}`' for n in names[:most])} |"
        for file, names in found.items()
    ]
    return "\n".join(["| file | what it is | entered at |", "|---" * 3 + "|", *rows])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(table(stations(one_ask(named(sys.argv[1], {})))))
    else:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        written = table(stations(one_ask()))
        PAGE.write_text(f"{before}{BEGIN}\n{written}\n{END}{after}", encoding="utf-8")
