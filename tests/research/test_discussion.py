"""The last pages' experiment: its functions are what they are said to be, and its figure is made of
its results.
"""

from pathlib import Path

import numpy as np
import pytest

from noregret.strategies import random_points
from research.benchmarks import extensions
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
    assert "three branches" in drawn


def test_the_table_is_of_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "FILE", tmp_path / "extensions.jsonl")
    rows = [("default", 0.2), ("warping", 0.1), ("sparse", 0.8)]
    text = "".join(
        f'{{"suite": "rkhs", "problem": "p", "method": "{m}", "seed": 1000, "regret": {r}}}\n'
        for m, r in rows
    )
    extensions.FILE.write_text(text, encoding="utf-8")
    lines = {line.split("|")[1].strip(): line for line in extensions.table().splitlines()}
    assert "0.50 (1–0)" in lines["warping"]
    assert "4.00 (0–1)" in lines["sparse"]
    assert lines["additive"].count("–") >= 6
    problem = extensions.PROBLEMS["rkhs"]["rkhs-1000"]()
    assert extensions.final_regret(problem, extensions.METHODS["default"](), 1000, 6) >= 0
