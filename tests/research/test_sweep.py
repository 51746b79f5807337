"""The runner of the regret benchmark, its paired comparisons and the page made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from research.benchmarks import coco, paired, players, report, sweep
from research.benchmarks.strangers import strangers


def test_the_sides_share_no_instance() -> None:
    for suite in (*sweep.SUITES, sweep.CONTEXT):
        tune = set(sweep.instances(suite, "tune", 3))
        published = set(sweep.instances(suite, "report", 5))
        assert tune
        assert published
        assert not tune & published, suite


def _row(problem: str, seed: int, regret: list[float | None], **rest: object) -> dict[str, Any]:
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
    assert paired.simple_of(_row("p", 0, [None, None])) == paired.INFEASIBLE
    assert paired.recommended_of(_row("p", 0, [None], recommended=None)) == 1.0
    assert paired.is_off(_row("p", 0, [0.3]))
    assert not paired.is_off(_row("p", 0, [0.1]))


def test_seeds_of_one_problem_are_one_piece_of_evidence() -> None:
    """The error bar of ten copies of one difference is that of a single problem: none is known."""
    one = {("p/0", s): _row("p/0", s, [1.0 + s]) for s in range(10)}
    other = {key: _row(key[0], key[1], [2.0 * (1.0 + key[1])]) for key in one}
    assert paired.compare(one, other).simple_error == pytest.approx(0.0, abs=1e-12)
    names = ("bowl-8/3", "f7-i21", "hpolib/protein_structure", "laboratory-2")
    problems = ["bowl-8", "f7", "hpolib/protein_structure", "laboratory-2"]
    assert [paired.problem_of(name) for name in names] == problems


def test_in_context_regret_is_counted_from_the_best_action_there() -> None:
    made = coco.in_context("f1-i11", 3)  # a sphere: the context alone keeps from its maximum
    row = sweep.play(sweep.Job(sweep.CONTEXT, "f1-i11", "random", 11, "own"))
    assert len(row["regret"]) == 50
    assert min(row["regret"]) >= 0
    context = made.context_at(0, 11)
    assert context == made.context_at(0, 11) != made.context_at(1, 11)
    assert context is not None
    best = -made.best_in_context(context)
    line = np.linspace(-5, 5, 101)
    tried = [-made.value({**context, "x1": a, "x2": b}) for a in line for b in line]
    assert best <= min(tried) < best + 0.1
    assert best > -made.maximum + 1e-3


def test_pending_trials_are_told_oldest_first_and_run_longer() -> None:
    problem = strangers("short-2/100")
    with players.player("noregret, 8 pending", problem, 0, own_start=True) as optimizer:
        first = optimizer.ask(None)
        study = optimizer.study  # type: ignore[attr-defined]
        assert [trial.state for trial in study.trials] == ["running"] * 8
        assert first.tolist() == study.trials[0].params.tolist()
        optimizer.tell(first, 1.0, [])
        assert optimizer.ask(None).tolist() == study.trials[1].params.tolist()
        assert [trial.state for trial in study.trials] == ["complete", *["running"] * 8]
    job = sweep.Job("strangers", "short-2/100", "noregret, 8 pending", 100, "own")
    assert len(sweep.play(job)["regret"]) == round(problem.trials * players.LONGER)


def test_a_run_is_resumed_and_equal_results_are_equal_bytes(tmp_path: Path) -> None:
    names = ["short-2/100", "short-2/101"]
    jobs = [sweep.Job("strangers", name, "random", 100 + i, "own") for i, name in enumerate(names)]
    sweep.append(tmp_path, "strangers", sweep.play(jobs[0]))
    with (tmp_path / "strangers.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"problem": "short-2/101", "met\n')  # killed while it wrote
    assert sweep.run(jobs, tmp_path, workers=1, minutes=1) == []
    rows = sweep.read(tmp_path, "strangers")
    assert [row["problem"] for row in rows] == names
    assert rows[0] == {**sweep.play(jobs[0]), "seconds": rows[0]["seconds"]}
    sweep.pack(tmp_path, "strangers")
    packed = (tmp_path / "strangers.jsonl.gz").read_bytes()
    sweep.pack(tmp_path, "strangers")
    assert (tmp_path / "strangers.jsonl.gz").read_bytes() == packed


def test_common_starts_are_the_same_for_all() -> None:
    def regrets(method: str, start: sweep.Start) -> list[float]:
        return sweep.play(sweep.Job("strangers", "short-2/100", method, 100, start))["regret"][:4]

    assert regrets("random", "common") == regrets("noregret", "common")
    assert regrets("noregret", "own") != regrets("noregret", "common")
    assert strangers("short-2/100").initial == 4


@pytest.mark.parametrize("job", [("limits", "gramacy"), ("faults", "faults-1001")])
def test_infeasible_and_failed_trials_have_no_regret(job: tuple[str, str]) -> None:
    row = sweep.play(sweep.Job(*job, "random", 0, "own"))
    assert None in row["regret"]
    assert any(regret is not None for regret in row["regret"])
    best = min(regret for regret in row["regret"] if regret is not None)
    assert row["recommended"] >= best


def test_a_peer_without_limits_is_told_penalised_values(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = sweep.make("limits", "gramacy", None)
    assert problem.limits is not None
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(players.PeerProcess, "_send", lambda self, message: sent.append(message))
    monkeypatch.setattr(players, "peer_python", lambda method: "true")
    params = {"x0": 0.0, "x1": 0.0}
    for method, limits in (("skopt", 0), ("optuna_gp", 2)):
        with players.player(method, problem, 0, own_start=True) as peer:
            peer.tell(params, problem.value(params), problem.limits(params))
        start, told = sent[-2:]
        assert start["limits"] == limits
        assert (told["y"] > -problem.value(params)) == (limits == 0)


# -- the page --


def _rows(method: str, regret: float, seeds: int = 5) -> list[dict[str, Any]]:
    return [
        _row(f"f{f}-i{20 + s}", 20 + s, [1.0, regret * (1 + 0.01 * f)], method=method)
        for f in range(1, 13)
        for s in range(seeds)
    ]


def test_verdicts_turn_with_the_numbers() -> None:
    ours = _rows("noregret", 0.01)
    full = [*ours, *(row for m in sweep.PUBLISHED for row in _rows(m, 0.1))]
    assert report.board("bbob-2", "own", full).verdict == "**first** of 6"
    ahead = [row for row in full if row["method"] != "skopt"] + _rows("skopt", 0.001)
    assert report.board("bbob-2", "own", ahead).verdict == "behind scikit-optimize"
    few = [*ours, *_rows("random", 0.1), *_rows("skopt", 0.001, seeds=4)]
    said = report.board("bbob-2", "own", few).verdict
    assert said == ("**first** of 2")
    alone = [*ours, *_rows("random", 0.1, seeds=1)]
    assert report.board("bbob-2", "own", alone).verdict == "not enough runs"
    assert report.board("bbob-2", "own", _rows("random", 0.1)).verdict == "not run"
    [head, *worst] = report.losses([report.board("bbob-2", "own", ahead)])
    assert head.startswith("More than twice the best peer's regret on 12 of 12 problems")
    assert "scikit-optimize" in worst[0]


def test_the_page_is_made_of_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "RESULTS", tmp_path)
    for method, regret in (("noregret", 0.01), ("random", 0.1)):
        for row in _rows(method, regret):
            sweep.append(tmp_path, "bbob-2", row)
    (tmp_path / "figures").mkdir()
    text = report.page(tmp_path)
    assert "|bbob-2|COCO, 24 functions, d = 2|2|60|5.3e-03|0%|**first** of 2|" in text
    assert f"|bbob-2|{0.1:.2g} ×/÷1.00|–|" in text
    assert (tmp_path / "figures" / "benchmarks.png").stat().st_size > 5_000
