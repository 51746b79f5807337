"""The pictures of the quickstart and the walkthroughs: what their own code draws, and the page as
the steps of docs/tutorials/page.md leave it.

``python -m docs.making.walkthroughs docs/figures [PAGES]`` needs the extras plot, sklearn and sql,
and for page.md chromium and chromedriver.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image

from docs.making.page_steps import play, steps
from docs.making.web_pictures import COLOURS, emulate, framed, picture_here
from research.benchmarks.web import chromium, serving

DOCS = Path(__file__).parents[1]
DRAWN = ("quickstart.md", "tutorials/tuning.md", "tutorials/research.md")
PLAYED = "tutorials/page.md"


def draw(page: Path, folder: Path) -> list[str]:
    """Runs the Python blocks of a page that save a picture which the page shows."""
    text = page.read_text(encoding="utf-8")
    shown = set(re.findall(r"figures/([\w-]+\.png)", text))
    made = []
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        wanted = set(re.findall(r'savefig\("([\w-]+\.png)"', block)) & shown
        if not wanted:
            continue
        with tempfile.TemporaryDirectory() as place:
            (Path(place) / "block.py").write_text(block, encoding="utf-8")
            subprocess.run(
                [sys.executable, "block.py"],
                cwd=place,
                check=True,
                env=os.environ | {"MPLBACKEND": "agg"},
            )
            for name in sorted(wanted):
                saved(Image.open(Path(place) / name).convert("RGB"), folder / name)
                made.append(name)
    return made


def saved(image: Image.Image, path: Path) -> None:
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def page_alone(folder: Path) -> list[str]:
    """Plays the steps on a wide screen and on a phone; each picture shows both."""
    taken: dict[str, list[Image.Image]] = {}
    for mode in ("light", "phone"):
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "page.db"
            with serving(file, "--write") as address:
                driver: Any = chromium()
                emulate(driver, mode, 900)

                def keep(name: str, driver: Any = driver, mode: str = mode) -> None:
                    taken.setdefault(name, []).append(picture_here(driver, mode))

                for _ in play(driver, address, steps(DOCS / PLAYED), keep):
                    pass
                driver.quit()
    for name, images in taken.items():
        saved(framed(images), folder / f"{name}.png")
    return [f"{name}.png" for name in taken]


def main(folder: Path, pages: list[str]) -> None:
    for page in pages or [*DRAWN, PLAYED]:
        made = page_alone(folder) if page == PLAYED else draw(DOCS / page, folder)
        print(f"{page}: {', '.join(made)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
