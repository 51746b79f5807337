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
