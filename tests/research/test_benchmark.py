"""The benchmark's problems have the maximum they claim, runs are equal for all methods, and the
report is made of the results.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from docs.making import benchmarks as report
from docs.making.regret_runs import load
from noregret.errors import ConfigurationError
from noregret.space import Space
from research.benchmarks import methods, regret
from research.benchmarks.faults import faults
from research.benchmarks.mixed import mixed
from research.benchmarks.problem import Problem
from research.benchmarks.real import materials
from research.benchmarks.regret import Job, make, play, problems
from research.benchmarks.synthetic import HIGH, STANDARD, high, needle, rkhs, standard
from research.benchmarks.tables import TABLES, TUNING_TABLES, tables

KNOWN = {
    "Branin": [np.pi, 2.275],
    "Hartmann-3": [0.114614, 0.555649, 0.852547],
    "Hartmann-6": [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573],
    "Ackley-5": [3.7] * 5,
    "Rastrigin-4": [1.3] * 4,
    "Levy-4": [1.0] * 4,
    "Rosenbrock-4": [1.0] * 4,
    "Michalewicz-5": [2.202906, 1.570796, 1.284992, 1.923058, 1.720470],
    "Styblinski–Tang-5": [-2.903534] * 5,
}


@pytest.mark.parametrize("name", STANDARD)
def test_standard_functions_reach_their_maximum_where_the_literature_says(name: str) -> None:
    problem = standard(name, noisy=False)
    assert problem.value(np.array(KNOWN[name])) == pytest.approx(
        problem.maximum, abs=1e-3 * max(1, abs(problem.maximum))
    )
    cloud = problem.space.decode(np.full(problem.space.dimension, 0.31))
    assert problem.value(cloud) < problem.maximum


@pytest.mark.parametrize("index", range(9))
def test_needles_hold_the_maximum_in_their_bump(index: int) -> None:
    problem = needle(index)
    d = problem.space.dimension
    assert problem.trials == 50 * d
    cloud = np.random.default_rng(0).random((20_000, d))
    values = np.array([problem.value(x) for x in cloud])
    assert values.max() <= problem.maximum + 1e-6
    assert problem.stuck_above is not None
    outside = values[np.array([np.linalg.norm(x - cloud[values.argmax()]) > 0.45 for x in cloud])]
    assert (
        outside.max() < problem.maximum - problem.stuck_above
    )  # a run that never saw the bump counts as stuck
    assert np.mean(values > problem.maximum - problem.stuck_above) < 0.15  # narrow


def test_rkhs_and_high() -> None:
    for index in range(3):
        problem = rkhs(index)
        cloud = np.random.default_rng(0).random((5000, problem.space.dimension))
        assert max(problem.value(x) for x in cloud) <= problem.maximum + 1e-9
    for name in HIGH:
        base, total = name.split("/")
        problem = high(name)
        assert problem.space.dimension == int(total)
        active = [
            i
            for i in range(int(total))
            if problem.value(np.full(int(total), 0.4))
            != problem.value(np.where(np.arange(int(total)) == i, 0.6, 0.4))
        ]
        assert len(active) == len(STANDARD[base][1])


def test_every_method_gets_the_same_start_and_noise() -> None:
    problem = standard("Branin", noisy=True)
    np.testing.assert_array_equal(problem.initial_points(3), problem.initial_points(3))
    assert problem.measure(np.array([1.0, 2.0]), 5, 3) == problem.measure(
        np.array([1.0, 2.0]), 5, 3
    )
    assert problem.measure(np.array([1.0, 2.0]), 5, 3) != problem.measure(
        np.array([1.0, 2.0]), 6, 3
    )
    assert not np.array_equal(problem.initial_points(3)[0], problem.initial_points(4)[0])


def test_materials_from_a_table(tmp_path: Path) -> None:
    rows = [
        "a,b,c,d,toughness",
        *(f"{i},0,1,{i % 2},{i + k / 10}" for i in range(20) for k in range(3)),
    ]
    (tmp_path / "crossed_barrel.csv").write_text("\n".join(rows), encoding="utf-8")
    problem = materials("crossed_barrel", tmp_path)
    assert problem.maximum == pytest.approx(19.1)
    assert problem.noisy
    x = problem.space.decode(np.ones(problem.space.dimension))
    assert {round(problem.measure(x, i, 0), 1) for i in range(30)} == {19.0, 19.1, 19.2}
    with pytest.raises(ConfigurationError, match="--materials"):
        materials("agnp", tmp_path)


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(regret, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(regret, "peer_python", lambda method: sys.executable)
    return tmp_path


def short(problem: Problem, trials: int) -> Any:
    from dataclasses import replace

    return replace(problem, trials=trials)


def test_runs_and_report(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        regret, "make", lambda suite, name, folder: short(make(suite, name, folder), 14)
    )
    for suite, name in (
        ("needle", "needle-0"),
        ("standard", "Branin"),
        ("tuning", "MLP on cancer"),
    ):
        for method in ("noregret", "random_search"):
            row = play(Job(suite, name, method, 0))
            assert len(row["values"]) == 14
            assert len(row["seconds"]) == 14 - row["initial"]
            regret.append(suite, row)
    rows = regret.read("standard")
    assert (
        rows[0]["values"][: rows[0]["initial"]] == rows[1]["values"][: rows[1]["initial"]]
    )  # the shared start
    report.write(results)
    text = (results / "benchmarks.md").read_text(encoding="utf-8")
    assert "**noregret**" in text
    assert "random_search" in text
    assert "of 1 |" in text  # stuck rate of the needle
    assert "Not run." in text  # suites without results say so
    assert (results / "figures" / "bench-needle.png").stat().st_size > 10_000


def test_methods_that_are_run_by_name(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started: list[Job] = []

    def start(jobs: list[Job], workers: int, minutes: float) -> list[str]:
        started.extend(jobs)
        return []

    monkeypatch.setattr(regret, "run", start)
    command = ["regret", "run", "--quick", "--suites", "needle", "rkhs"]
    monkeypatch.setattr(sys, "argv", command)
    regret.main()
    levels = [f"noregret, insurance {level}" for level in ("0.25", "0.5", "2")]
    assert {job.suite for job in started if job.method in levels} == {"needle"}
    assert not any(job.method == methods.UNPATROLLED for job in started)
    monkeypatch.setattr(sys, "argv", [*command, "--methods", methods.BEFORE])
    with pytest.raises(SystemExit):
        regret.main()
    assert "no method 'noregret before 0024'" in capsys.readouterr().err


def test_the_default_without_patrols_makes_none(monkeypatch: pytest.MonkeyPatch) -> None:
    strategy = methods.RUNNABLE[methods.UNPATROLLED]()
    study = nr.Study([(0.0, 1.0)] * 2, "maximize", strategy, seed=0)
    for _ in range(20):
        trial = study.ask()
        study.tell(trial, -float(np.sum((trial.params - 0.3) ** 2)))
    kinds = [trial.decision.model.kind for trial in study.trials if trial.decision.model]
    assert kinds
    assert "patrol" not in kinds


def test_a_result_file_cut_short_keeps_what_is_complete_and_goes_on(results: Path) -> None:
    for seed in range(3):
        regret.append("rkhs", {"problem": "p", "method": "m", "seed": seed})
    path = results / "results" / "rkhs.jsonl"
    path.write_bytes(path.read_bytes()[:-7])  # killed while writing
    assert [row["seed"] for row in regret.read("rkhs")] == [0, 1]
    regret.append("rkhs", {"problem": "p", "method": "m", "seed": 7})
    assert [row["seed"] for row in regret.read("rkhs")] == [0, 1, 7]
    regret.pack("rkhs")
    assert not path.exists()
    regret.append("rkhs", {"problem": "p", "method": "m", "seed": 8})
    assert [row["seed"] for row in regret.read("rkhs")] == [0, 1, 7, 8]


def test_the_suites_are_those_of_the_split() -> None:
    assert len(problems("needle", quick=False)) >= 40
    assert len(problems("standard", quick=False)) == 18
    assert all(0 < len(problems(suite, quick=True)) < 8 for suite in regret.SUITES)


@pytest.mark.parametrize("name", TUNING_TABLES[:2])
def test_tables_draw_from_the_repeats_of_a_design(name: str) -> None:
    problem = tables(name)
    points = [
        problem.space.decode(u)
        for u in np.random.default_rng(0).random((50, problem.space.dimension))
    ]
    assert all(problem.value(p) <= problem.maximum for p in points)
    drawn = {problem.measure(points[0], i, 0) for i in range(60)}
    assert 1 < len(drawn) <= 5
    assert np.mean(sorted(drawn)) == pytest.approx(problem.value(points[0]), abs=0.02)
    assert problem.spread is not None
    assert 0 < problem.spread < 0.1


def test_every_listed_table_ships_with_the_package() -> None:
    assert not set(TABLES) & set(TUNING_TABLES)
    for name in TABLES:
        problem = tables(name)  # no run: only that every design of the space is in the table
        corner = [problem.space.decode(np.full(problem.space.dimension, u)) for u in (0.0, 1.0)]
        assert all(np.isfinite(problem.value(p)) for p in corner)


def test_mixed_problems_have_their_maximum_and_traps() -> None:
    for index in (1000, 1001, 1002):
        problem = mixed(index)
        space = problem.space
        assert isinstance(space, Space)
        assert 3 <= len(space.parameters) <= 10
        cloud = [
            space.decode(u)
            for u in space.snap(np.random.default_rng(1).random((4000, space.dimension)))
        ]
        values = np.array([problem.value(p) for p in cloud])
        assert -0.1 < values.min() < values.max() <= 1 + 1e-6
    for index in (1002, 1005, 1008, 1011):  # divisible by 3: traps
        trap = mixed(index)
        inside = np.random.default_rng(1).random((2000, trap.space.dimension))
        points: list[Any] = [trap.space.decode(u) for u in inside]
        best, others = (
            [trap.value(p) for p in points if (p["c0"] == "option 0") == wanted]
            for wanted in (True, False)
        )
        assert np.mean(best) < np.mean(others)  # looks bad
        assert trap.stuck_above is not None
        assert max(others) < 1 - trap.stuck_above  # and holds the maximum


def test_faults_fail_where_they_should_and_keep_the_maximum() -> None:
    problem = faults(1001)
    rng = np.random.default_rng(2)
    points = [problem.space.decode(u) for u in rng.random((1000, problem.space.dimension))]
    failed = np.mean([problem.crashes(p, i, 0) for i, p in enumerate(points)])
    assert 0.1 < failed < 0.2
    top = max(points, key=problem.value)
    assert np.mean([problem.crashes(top, i, 0) for i in range(300)]) < 0.1
    drawn = np.array([problem.measure(top, i, 0) for i in range(400)])
    assert 0.005 < np.mean(drawn < problem.value(top) - 1) < 0.05


def test_a_failed_evaluation_is_told_and_charged(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        regret, "make", lambda suite, name, folder: short(make(suite, name, folder), 25)
    )
    for method in ("noregret", "random_search"):
        regret.append("faults", play(Job("faults", "faults-1001", method, 3)))
    assert any(np.isnan(row["values"]).any() for row in regret.read("faults"))
    runs = load("faults")
    assert all(np.isfinite(run.regret).all() for run in runs)
    assert all(np.isfinite([run.best_regret, run.final_regret]).all() for run in runs)
    assert all(run.best >= run.simple for run in runs)
    peer = next(run for run in runs if run.method == "random_search")
    assert peer.best == peer.final
