"""The last pages' experiment: its functions are what they are said to be, and its figure is made of
its results.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs.making import last_pages
from noregret.strategies import random_points
from research.benchmarks import extensions, regret
from research.paper import discussion
from research.paper.runner import Job, Options


@pytest.mark.parametrize("panel", discussion.PANELS)
def test_no_point_is_above_the_maximum(panel: str) -> None:
    problem = discussion.PANELS[panel][1](3)
    points = random_points(problem.space, np.random.default_rng(0), 300)
    values = [problem.value(problem.space.decode(u)) for u in points]
    assert max(values) <= problem.maximum + 1e-6
    assert np.std(values) > 0 or panel == "warping"


def test_jobs_runs_and_the_figure(tmp_path: Path) -> None:
    jobs = discussion.jobs(Options(out=tmp_path, quick=True))
    assert {job.method.split(": ")[0] for job in jobs} == set(discussion.PANELS)
    result = discussion.run(Job("branches: sum over branches", 0, 9, 0.05))
    assert len(result["simple"]) == 9
    assert np.all(np.diff(result["simple"]) <= 0)
    assert np.all(np.diff(result["cumulative"]) >= 0)
    results = dict.fromkeys(jobs, result)
    summary = discussion.summarise(results)
    assert summary["panels"]["branches"]["log-EI"]["runs"] == 1
    drawn = [axis.get_title() for axis in discussion.draw(results).axes]
    assert "five branches" in drawn


def rows(regrets: dict[str, float], problems: int = 4) -> dict[tuple[str, str, int], Any]:
    """As many problems of every suite with the same regrets; the initial points had 2."""
    return {
        (f"{suite}-{index}", method, 1000): {"suite": suite, "start": 2.0, "regret": regret}
        for suite in extensions.PROBLEMS
        for index in range(problems)
        for method, regret in regrets.items()
    }


def test_the_table_is_of_ratios() -> None:
    given = rows({"default": 0.2, "warping": 0.1, "sparse": 0.8, "subspace": 0.202})
    lines = {line.split("|")[1].strip(): line for line in extensions.table(given).splitlines()}
    assert lines["warping"].count("0.50 (4–0)") == 6
    assert lines["sparse"].endswith("| 4.00 (0–4) | 4.00 |")
    assert lines["subspace"].count("1.01 (0–0)") == 6
    assert lines["additive"].count("–") == 7
    tiny = rows({"default": 1e-9, "warping": 1e-3})  # below a thousandth of the start: as good
    assert extensions.ratios(tiny, "warping", "rkhs") == [0.0] * 4


def test_what_joins_the_default_is_computed() -> None:
    given = rows({"default": 0.2, "warping": 0.1, "sparse": 0.8, "subspace": 0.202})
    assert extensions.verdict(given, "warping").startswith("joins")
    assert extensions.verdict(given, "sparse") == "no: worse on " + ", ".join(extensions.PROBLEMS)
    assert extensions.verdict(given, "subspace") == "no: not better beyond chance"
    noisy = rows({"default": 0.2, "categorical": 0.1})
    noisy["mixed-0", "categorical", 1000]["regret"] = 0.4  # half, half, half, and twice
    assert extensions.verdict(noisy, "categorical") == "no: not better beyond chance"
    for key in [key for key in given if key[0].startswith("high") and key[1] == "warping"]:
        given[key]["regret"] = 0.3
    assert extensions.verdict(given, "warping") == "no: worse on high"
    few = rows({"default": 0.2, "warping": 0.1}, problems=3)
    assert extensions.verdict(few, "warping").startswith("undecided")
    assert "| warping | undecided" in extensions.section(few)


@pytest.mark.parametrize("method", ["default", "Thompson", "random width"])
def test_a_run_of_the_table(method: str) -> None:
    problem = extensions.PROBLEMS["rkhs"]["rkhs-1000"]()
    start, last = extensions.final_regret(problem, extensions.METHODS[method](), 1000, 6)
    assert 0 <= last <= start


def test_the_committed_table_is_that_of_the_committed_rows() -> None:
    """The page is written by the command, not by hand."""
    page = (regret.ROOT / extensions.PAGE).read_text(encoding="utf-8")
    written = page.split(extensions.BEGIN)[1].split(extensions.END)[0]
    assert written.strip() == extensions.section(extensions.done()).strip()


def panels() -> dict[str, dict[str, Any]]:
    def found(*ends: float) -> dict[str, Any]:
        middle = float(np.median(ends))
        return {"simple_regret": middle, "cumulative_regret": 9.0, "runs": len(ends), "ends": ends}

    rows: dict[str, dict[str, Any]] = {
        panel: {method: found(0.2, 0.2, 0.2) for method in methods}
        for panel, (_, _, methods) in discussion.PANELS.items()
    }
    rows["warping"]["with warping"] = found(0.01, 0.3, 0.02)
    rows["sparse"]["Optuna TPE"] = found(0.1, 0.1, 0.1)
    return rows


def test_who_was_first_is_computed() -> None:
    text = last_pages.section(panels())
    assert "| bent inputs: with warping | 0.02 | 0.2 | 0.2 | – | – | 2–1 of 3 | yes |" in text
    assert "| five branches: sum over branches | 0.2 | 0.2 | 0.2 | – | – | 0–0 of 3 | yes |" in text
    assert "| three of fifty inputs: in a subspace | 0.2 | 0.2 | 0.2 | 0.1 |" in text
    assert text.count("| no |") == 2


def test_the_committed_discussion_is_that_of_the_committed_summary() -> None:
    page = last_pages.PAGE.read_text(encoding="utf-8")
    written = page.split(last_pages.BEGIN)[1].split(last_pages.END)[0]
    rows = json.loads(last_pages.SUMMARY.read_text(encoding="utf-8"))
    assert written.strip() == last_pages.section(rows).strip()
