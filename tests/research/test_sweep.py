"""The runner of the regret benchmark, its suites and its paired comparisons."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from noregret.strategies import random_points
from research.benchmarks import coco, laboratory, paired, strangers, sweep
from research.benchmarks.problem import Problem


def _problems() -> list[Problem]:
    return [
        *(strangers.strangers(f"{kind}/100") for kind in strangers.KINDS),
        *(laboratory.laboratory(name) for name in laboratory.names(1000)[:2]),
        coco.coco("bbob", 3, "f8-i11", 10),
        coco.coco("mixint", 5, "f3-i11", 10),
        coco.coco("noisy", 5, "f101-i11", 10),
    ]


@pytest.mark.parametrize("problem", _problems(), ids=lambda problem: problem.name)
def test_no_point_is_above_the_maximum(problem: Problem) -> None:
    points = random_points(problem.space, np.random.default_rng(1), 200)
    best = max(problem.value(problem.space.decode(u)) for u in points)
    assert best <= problem.maximum + 1e-9 * max(1.0, abs(problem.maximum))
    assert 0 < sweep.scale_of(problem) < math.inf


def test_an_instance_is_a_problem_of_its_own_and_always_the_same() -> None:
    x = np.full(8, 0.3)
    first, again, other = (strangers.strangers(f"bowl-8/{i}").value(x) for i in (0, 0, 1))
    assert first == again
    assert first != other


def test_the_sides_share_no_instance() -> None:
    for suite in sweep.SUITES:
        if suite == "materials":  # two measured data sets: the sides differ by their seeds
            continue
        tune = set(sweep.instances(suite, "tune", 3))
        report = set(sweep.instances(suite, "report", 5))
        assert tune
        assert report
        assert not tune & report, suite


def _row(problem: str, seed: int, regret: list[float | None], **rest: object) -> dict[str, object]:
    named = {"problem": problem, "seed": seed, "method": "a", "start": "own", "regret": regret}
    known = {"scale": 2.0, "stuck_above": None, "recommended": 0.2, "seconds": 1.0}
    return {**named, **known, **rest}


def test_only_what_both_have_is_compared() -> None:
    first = {("p/0", 0): _row("p/0", 0, [1.0, 0.2]), ("p/1", 1): _row("p/1", 1, [1.0])}
    second = {("p/0", 0): _row("p/0", 0, [1.0, 0.4]), ("q/0", 0): _row("q/0", 0, [0.0])}
    found = paired.compare(first, second)
    assert found.runs == 1
    assert found.simple == pytest.approx(2.0)
    assert (found.wins, found.losses) == (0, 1)
    assert found.cumulative == pytest.approx((0.5 + 0.2) / (0.5 + 0.1))


def test_a_failure_and_a_disaster_count_as_the_whole_scale() -> None:
    assert paired.cumulative_of(_row("p", 0, [None, 1e9, 1.0])) == pytest.approx(2.5 / 3)
    assert paired.simple_of(_row("p", 0, [None, 1e9, 1.0])) == 0.5
    assert paired.is_off(_row("p", 0, [0.3]))
    assert not paired.is_off(_row("p", 0, [0.1]))


def test_seeds_of_one_problem_are_one_piece_of_evidence() -> None:
    """The error bar of ten copies of one difference is that of a single problem: none is known."""
    one = {("p/0", s): _row("p/0", s, [1.0 + s]) for s in range(10)}
    other = {key: _row(key[0], key[1], [2.0 * (1.0 + key[1])]) for key in one}
    assert paired.compare(one, other).simple_error == pytest.approx(0.0, abs=1e-12)


def test_a_run_is_resumed_and_equal_results_are_equal_bytes(tmp_path: Path) -> None:
    names = ["short-2/100", "short-2/101"]
    jobs = [sweep.Job("strangers", name, "random", 100 + i, "own") for i, name in enumerate(names)]
    for job in jobs[:1]:
        sweep.append(tmp_path, job.suite, sweep.play(job))
    with (tmp_path / "strangers.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"problem": "short-2/101", "met')  # killed while it wrote
        file.write("\n")
    assert sweep.run(jobs, tmp_path, workers=1, minutes=1) == []
    rows = sweep.read(tmp_path, "strangers")
    assert [row["problem"] for row in rows] == names
    assert rows[0] == {**sweep.play(jobs[0]), "seconds": rows[0]["seconds"]}
    sweep.pack(tmp_path, "strangers")
    packed = (tmp_path / "strangers.jsonl.gz").read_bytes()
    sweep.pack(tmp_path, "strangers")
    assert (tmp_path / "strangers.jsonl.gz").read_bytes() == packed


def test_common_starts_are_the_same_for_all() -> None:
    job = sweep.Job("strangers", "bowl-2/100", "random", 100, "common")
    other = sweep.Job("strangers", "bowl-2/100", "noregret", 100, "common")
    given = strangers.strangers("bowl-2/100").initial
    assert sweep.play(job)["regret"][:given] == sweep.play(other)["regret"][:given]
    own = sweep.Job("strangers", "bowl-2/100", "noregret", 100, "own")
    assert sweep.play(own)["regret"][:given] != sweep.play(other)["regret"][:given]
