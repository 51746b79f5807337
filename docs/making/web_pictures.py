"""The pictures of docs/web.md: each view in light, in dark and on a phone. ``python -m
docs.making.web_pictures docs/figures``, and behind it views if not all are wanted, needs chromium
and chromedriver.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import noregret as nr
from research.benchmarks.web import chromium, serving

VIEWS = {
    "studies": "/",
    "new": "/new",
    "overview": "/studies/branin~2C~20noisy",
    "trust": "/studies/branin~2C~20noisy/trust",
    "laboratory": "/studies/reaction~20yield/lab",
    "trial": "/studies/branin~2C~20noisy/trials/24",
    "alarms": "/studies/stuck",
    "slice": "/studies/one~20input",
}
MODES = {"light": (1440, False), "dark": (1440, True), "phone": (390, False)}
TALLEST, SHARE, COLOURS = 2600, 0.45, 200


def studies(file: Path) -> None:
    rng = np.random.default_rng(0)
    study = nr.Study.create(
        "branin, noisy", {"x": nr.Float(-5, 10), "y": nr.Float(0, 15)}, "minimize", storage=file
    )

    def branin(p: dict[str, float]) -> float:
        if p["x"] > 9.5:
            raise ValueError("out of order")
        bowl = (p["y"] - 5.1 / (4 * np.pi**2) * p["x"] ** 2 + 5 / np.pi * p["x"] - 6) ** 2
        return float(bowl + 10 * (1 - 1 / (8 * np.pi)) * np.cos(p["x"]) + 10 + 0.3 * rng.normal())

    study.run(branin, 45, catch=(ValueError,), progress=False)
    study.correct(7, 12.5)
    study.annotate(note="Branin's function with noise 0.3, and a corner that cannot be run.")
    study.annotate(12, note="measured twice, the mean")
    study.tell(study.ask(), state="withdrawn")
    study.ask()
    best = {"water": 60, "dmf": 80, "toluene": 90, "ethanol": 70}
    space = {
        "temperature": nr.Float(20, 120),
        "catalyst loading": nr.Float(0.01, 10, log=True),
        "equivalents": nr.Int(1, 8),
        "solvent": nr.Choice(list(best)),
    }
    study = nr.Study.create("reaction yield", space, "maximize", storage=file)
    study.run(
        lambda p: float(
            90
            * np.exp(
                -(((p["temperature"] - best[p["solvent"]]) / 25) ** 2)
                - np.log10(p["catalyst loading"]) ** 2
            )
            + rng.normal()
        ),
        24,
        progress=False,
    )
    study.ask(2)
    study = nr.Study.create("one input", {"x": nr.Float(0, 1)}, "maximize", storage=file)
    study.run(lambda p: float(np.sin(9 * p["x"]) + 0.3 * np.sin(40 * p["x"])), 12, progress=False)
    study = nr.Study.create(
        "stuck",
        {"x": nr.Float(0, 1), "y": nr.Float(0, 1)},
        "maximize",
        strategy=nr.LogEI(),
        storage=file,
    )
    study.run(lambda p: float(p["x"] + p["y"]), 30, progress=False)


def emulate(driver: Any, mode: str, height: int) -> None:
    width, dark = MODES[mode]
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
    )
    size = {"width": width, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "height": height})


def picture(driver: Any, address: str, mode: str) -> Image.Image:
    emulate(driver, mode, 900)
    driver.get(address)
    return picture_here(driver, mode)


def picture_here(driver: Any, mode: str) -> Image.Image:
    """The page that is open, as far as TALLEST, once all that is not folded away is drawn."""
    emulate(driver, mode, 900)
    for _ in range(300):
        if driver.execute_script(
            "return [...document.querySelectorAll('.plot')].every(place =>"
            " !place.checkVisibility() || place.querySelector('.main-svg'))"
        ):
            break
        time.sleep(0.1)
    time.sleep(2.5)  # the page follows the model
    height = min(
        driver.execute_script(
            "return document.querySelector('main').getBoundingClientRect().bottom + scrollY"
        ),
        TALLEST,
    )
    emulate(driver, mode, int(max(height, 300)))
    driver.execute_script("scrollTo(0, 0)")
    time.sleep(1.0)
    return Image.open(io.BytesIO(driver.get_screenshot_as_png())).convert("RGB")


def framed(taken: list[Image.Image]) -> Image.Image:
    """Side by side, on grey, and smaller."""
    width = sum(each.width + 24 for each in taken) - 24
    whole = Image.new("RGB", (width, max(each.height for each in taken)), "#8a94a0")
    at = 0
    for each in taken:
        whole.paste(each, (at, 0))
        at += each.width + 24
    return whole.resize(
        (int(whole.width * SHARE), int(whole.height * SHARE)), Image.Resampling.LANCZOS
    )


def main(folder: Path, wanted: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        studies(Path(place) / "pictures.db")
        with serving(Path(place) / "pictures.db", "--write") as address:
            driver = chromium()
            for view, path in VIEWS.items():
                if wanted and view not in wanted:
                    continue
                taken = [picture(driver, address + path, mode) for mode in MODES]
                framed(taken).quantize(COLOURS, dither=Image.Dither.NONE).save(
                    folder / f"web-{view}.png", optimize=True
                )
            driver.quit()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
