"""What programs and sessions on the pages print: compared by value, or written again.

``python -m docs.making.printed [PAGES]`` runs every Python block with an output and every session,
and writes on the page what they print today where it differs. ``--check`` only says what differs.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A number agrees within a hundredth, or within one unit of its last printed digit: another
# machine's arithmetic moves proposals in the fifth digit. Whole numbers agree exactly.
CLOSE = 0.01
SMALL, FACTOR = 1e-3, 2.0  # a number below is the error of an optimum: it agrees within the factor
NUMBER = re.compile(r"[-−]?\d+(?:\.\d*)?(?:e[+-]?\d+)?%?")
VARYING = (  # by the clock
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?)?(\+00:00|Z)?"), "a time"),
    (re.compile(r"\d+(\.\d+)?(e[+-]?\d+)? (s|ms)\b"), "a duration"),
)
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\n\n```text\n(?P<output>.*?)```)?", re.S)
SESSION = re.compile(r"```console\n(.*?)```", re.S)
FILE = re.compile(r'```csv title="([\w.]+)"\n(.*?)```', re.S)


def close(printed: str, expected: str) -> bool:
    """Whether two printed numbers agree."""
    plain = [each.replace("−", "-").removesuffix("%") for each in (printed, expected)]
    a, b = map(float, plain)
    digits, _, exponent = plain[1].partition("e")
    if "." not in digits and not exponent:
        return abs(a - b) <= expected.endswith("%")
    if 0 < abs(b) < SMALL:
        return 1 / FACTOR <= a / b <= FACTOR
    unit = 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))
    return abs(a - b) <= max(1.000001 * unit, CLOSE * abs(b))


def without_times(text: str) -> str:
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


def masked(text: str) -> list[str]:
    """Its words, each number replaced."""
    return NUMBER.sub(" # ", without_times(text)).split()


def differences(printed: str, expected: str) -> list[str]:
    """In words; empty if they agree. Spaces may differ: columns are as wide as their numbers."""
    if masked(printed) != masked(expected):
        return [f"printed {printed!r}, the page says {expected!r}"]
    texts = (NUMBER.findall(without_times(text)) for text in (printed, expected))
    pairs = zip(*texts, strict=True)
    return [f"printed {a}, the page says {b}" for a, b in pairs if not close(a, b)]


def session_differences(command: str, printed: str, expected: str) -> list[str]:
    """Of a command. Two workers take points in any order, so of theirs the numbers, and which
    point is recommended, are not compared.
    """
    if "--workers" not in command:
        return differences(printed, expected)
    texts = [re.sub(r"recommended  .*  \(", "recommended  (", t) for t in (printed, expected)]
    return [] if masked(texts[0]) == masked(texts[1]) else differences(*texts)


def steps(block: str) -> Iterator[tuple[str, str]]:
    """Of a session: each command, and what it is said to print."""
    for step in re.split(r"^\$ noregret ", block, flags=re.M)[1:]:
        command, _, expected = step.partition("\n")
        yield command, expected


# -- writing --


def ran(arguments: list[str], folder: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NOREGRET_")}
    environment |= {"MPLBACKEND": "agg", "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, text=True, capture_output=True
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr}")
    return done.stdout


def rewritten(text: str, report: Callable[[str], None]) -> str:
    """A page with what its programs and sessions print today."""

    def block(found: re.Match[str]) -> str:
        whole, output = found[0], found["output"]
        if output is None:
            return whole
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "block.py").write_text(found["code"], encoding="utf-8")
            printed = ran(["block.py"], Path(place))
        said = differences(printed, output)
        for line in said:
            report(line)
        return whole.replace(f"```text\n{output}```", f"```text\n{printed}```") if said else whole

    text = BLOCK.sub(block, text)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for name, content in FILE.findall(text):
            (folder / name).write_text(content, encoding="utf-8")
        for script in re.findall(r"```sh\n(#!.*?)```", text, flags=re.S):
            (folder / "train.sh").write_text(script, encoding="utf-8")
            (folder / "train.sh").chmod(0o755)
        for old in SESSION.findall(text):
            new = re.split(r"^\$ noregret ", old, maxsplit=1, flags=re.M)[0]
            for command, expected in steps(old):
                printed = ran(["-m", "noregret", *shlex.split(command)], folder)
                said = session_differences(command, printed, expected) if expected.strip() else []
                for line in said:
                    report(f"{command}: {line}")
                blank = expected[len(expected.rstrip()) :].removeprefix("\n")
                new += f"$ noregret {command}\n{printed + blank if said else expected}"
            if new != old:
                text = text.replace(old, new)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(prog="docs.making.printed", description="Printed outputs.")
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    count = 0
    for page in options.pages or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        found: list[str] = []
        text = page.read_text(encoding="utf-8")
        new = rewritten(text, found.append)
        count += len(found)
        for line in found:
            print(f"{page.name}: {line}")
        if new != text and not options.check:
            page.write_text(new, encoding="utf-8")
    return int(options.check and count > 0)


if __name__ == "__main__":
    sys.exit(main())
