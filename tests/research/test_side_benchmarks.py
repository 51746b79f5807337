"""Calibration, speed, GPU, storage, workers and the page's server: what their pages say is computed
from what was measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.study import Left
from research.benchmarks import calibration, gpu, report, scale, speed, storage, web, workers
from research.benchmarks.synthetic import needle, standard

# -- calibration --


Look = list[float | None]


def looks(suite: str, inside: int, seen: list[Look], alarm: bool = False) -> dict[str, Any]:
    row = {"suite": suite, "looks": seen, "spread": 2.0, "inside": inside, "values": 10}
    return {**row, "alarm": alarm}


def test_calibration_verdicts_turn_with_the_numbers() -> None:
    def kept(rows: list[dict[str, Any]]) -> list[bool]:
        return [kept for _, _, kept in calibration.promises(rows)]

    def look(left: float | None, regret: float, error: float = 1.0, again: float = 0.9) -> Look:
        return [10, left, regret, 20.0, error, again]

    good = [looks("needle", 9, [look(1.0, 0.5)]), looks("tables", 9, [look(1.0, 1.0)])]
    assert kept(good) == [True] * 7
    assert kept([*good, looks("mixed", 7, [])]) == [False, False, *[True] * 5]  # 83 %, 70 %
    assert kept([looks("needle", 10, [look(1.0, 0.5)])])[0] is False  # too wide
    assert kept([*good, looks("mixed", 9, [look(1.0, 1.1)])])[2] is False
    assert kept([*good, looks("mixed", 9, [look(None, 9.0)])])[2] is True  # not known yet
    assert kept([looks("mixed", 9, [look(3.0, 1.1)])])[3] is False  # true, and says nothing
    assert kept([*good, looks("mixed", 9, [look(1.0, 0.5, error=2.1)])])[4] is False
    assert kept([*good, looks("mixed", 9, [look(1.0, 0.5, again=0.6)])])[5] is False
    assert kept([*good, looks("mixed", 9, [], alarm=True)])[6] is False
    assert kept([*good, looks("faults", 9, [], alarm=True)])[6] is True  # it may be right there


def test_bounds_that_are_too_small_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = replace(needle(1005), trials=35)
    found = calibration.look_at(problem, nr.InsuredGPUCB(), 1000, every=10)
    assert [look[0] for look in found["looks"]] == [10, 20, 30]
    assert found["values"] == 35 - 3 - 9

    def shrunk(study: nr.Study, result: nr.Result) -> Left:
        return Left(0.0, 0.95)

    monkeypatch.setattr(calibration, "left_of", shrunk)
    wrong = calibration.look_at(problem, nr.InsuredGPUCB(), 1000, every=10)
    assert calibration.summary([{"suite": "needle", **wrong}])[-1].holds < 0.9


def test_the_section_on_calibration(tmp_path: Path) -> None:
    assert "Not run." in calibration.section(tmp_path / "nothing.json")
    out = tmp_path / "out.json"
    out.write_text(json.dumps({"every": 10, "rows": [looks("needle", 9, [[10, 1.0, 0.5]])]}))
    assert "| 90 % bands hold 85% to 95% of the values | 90.0% of 10 | kept |" in (
        calibration.section(out)
    )


# -- speed --


def test_speed_verdicts_turn_with_the_numbers() -> None:
    def rows(n: int, ours: float) -> list[dict[str, Any]]:
        return [
            {"d": 2, "n": n, "method": "noregret", "first": 1.0, "median": ours, "mean": ours},
            {"d": 2, "n": n, "method": "optuna_gp", "median": 0.1},
            {"d": 2, "n": n, "method": "optuna_tpe", "median": 0.005},
        ]

    measured = [*rows(50, 0.009), *rows(100, 0.02), *rows(500, 0.02), *rows(5000, 2.0)]
    text = "\n".join(speed.verdicts({"rows": measured, "footprint": {"matrices": 3.1}}))
    assert "GPSampler for n ≥ 50: missed at d=2 n=100, d=2 n=500, d=2 n=5000." in text
    assert "TPE for n ≤ 200: missed at d=2 n=100." in text
    assert "2.00 (d=2)" in text  # log10 of (2.0 + a share of 1.0/100)/0.02


def test_speed_is_measured_on_what_was_told() -> None:
    first, *later = speed.times(nr.RandomSearch(), 2, 5, 3)
    assert first > 0
    assert len(later) == 3
    assert speed.floor(2, 20) > 0
    assert set(scale.COUNTS) == {0, 1, 2, 4}


# -- GPU --


def gpu_line(what: str, *numbers: int, **values: Any) -> dict[str, Any]:
    return {"what": what, "numbers": list(numbers), **values}


def gpu_result(mean: float) -> dict[str, Any]:
    asks = {"warm": 0.2, "first": 2.5, "memory": 1.4}
    return {
        "device": "cuda",
        "lines": [
            gpu_line("about", gpu="A GPU", torch="2"),
            gpu_line("asks", 60_000, 20, mean=1.0, **asks),
            gpu_line("asks", 10_000, 20, mean=mean, **asks),
            gpu_line("sweep", 1_000_000, 1_000, median=0.06),
            gpu_line("agreement", 600, 4, apart=3e-14),
            gpu_line("botorch", 10_000, ask=0.43, fit=15.5, memory=11.0),
            gpu_line("botorch", 60_000, memory=116.0, **{"ask error": "OutOfMemoryError: CUDA"}),
        ],
    }


def test_the_gpu_page_says_what_was_met_and_what_was_not() -> None:
    text = gpu.section(gpu_result(0.22))
    assert "| 0.22 s | 0.3 s: met | a fit 16 s |" in text
    assert "| 1 s | 5 s: met | out of memory |" in text
    assert "| 0.06 s | 0.05 s: missed | – |" in text
    assert "| 0.31 s | 0.3 s: missed |" in gpu.section(gpu_result(0.31))
    later = {"device": "cuda", "lines": [gpu_line("sweep", 1_000_000, 1_000, median=0.04)]}
    assert "| 0.04 s | 0.05 s: met |" in gpu.section(gpu.merged([gpu_result(0.22), later]))


# -- storage and workers --


def storage_result(behind: bool) -> dict[str, Any]:
    rows = [
        {
            "round": turn,
            "library": library,
            "database": database,
            "clients": clients,
            "per_second": rate,
            "errors": 0,
            "last_error": "",
        }
        for turn in range(3)
        for database in storage.DATABASES
        for clients in storage.CLIENTS
        for library, rate in (
            ("noregret", 100.0 + turn),
            ("optuna", 200.0 if behind and clients == 16 and database == "sqlite" else 10.0 + turn),
        )
    ]
    loads = [
        {"round": 0, "library": library, "database": database, "trials": 10_000, "seconds": seconds}
        for database in storage.DATABASES
        for library, seconds in (("noregret", 0.5), ("optuna", 2.0))
    ]
    about = {"seconds": 4.0, "loaded": 10_000, "machine": "2 cores", "optuna": "5.0.0"}
    return {"rows": rows, "loads": loads, **about}


def test_the_storage_table_says_who_is_ahead(tmp_path: Path) -> None:
    text = storage.section(storage_result(behind=False))
    assert "noregret is ahead in every row" in text
    assert "| sqlite, 4 clients: trials per second | 101 | 11 | 9.2× |" in text
    behind = storage.section(storage_result(behind=True))
    assert "noregret is behind in: sqlite, 16 clients: trials per second." in behind
    page = tmp_path / "page.md"
    page.write_text(f"before\n{storage.BEGIN}\nold\n{storage.END}\nafter\n")
    report.write_section(page, storage.BEGIN, storage.END, text)
    assert page.read_text().startswith("before\n" + storage.BEGIN)
    assert page.read_text().endswith("after\n")
    assert "old" not in page.read_text()


def test_a_client_asks_and_tells(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    storage.client("noregret", "create", url, "0")
    storage.client("noregret", "fill", url, "20")
    command = [sys.executable, storage.__file__, "client", "noregret", "work", url, "0.1"]
    done = subprocess.run(command, input="go\n", capture_output=True, text=True, check=True)
    worked = json.loads(done.stdout.splitlines()[-1])
    assert worked["errors"] == 0
    trials = nr.Study.open("benchmark", storage=url).trials
    assert len(trials) == 20 + 1 + worked["done"]


def test_simulated_workers_wait_for_whatever_is_scarce() -> None:
    free = workers.simulated(50, 1, 10.0, lambda n: 0.0, 0.0)
    assert free["utilisation"] == pytest.approx(1.0)
    thinking = workers.simulated(200, 1, 10.0, lambda n: 0.5, 0.0)
    assert thinking["rate"] == pytest.approx(1 / 0.5, rel=0.05)
    four = workers.simulated(200, 4, 10.0, lambda n: 0.5, 0.0)
    assert four["rate"] == pytest.approx(400 / (400 / 8 + 10), rel=0.05)  # and a start of 10 s
    stored = workers.simulated(200, 200, 10.0, lambda n: 0.0, 0.25)
    assert stored["rate"] == pytest.approx(1 / 0.25, rel=0.25)  # at first only asks
    law = workers.Cost([(100, 0.01), (400, 0.16)])
    assert law(200) == pytest.approx(0.04)  # n²
    assert law(4_000) == pytest.approx(0.16)  # not beyond what was measured


def test_the_workers_page_says_how_many_are_busy() -> None:
    rows = [
        {
            "strategy": strategy,
            "how": how,
            "workers": count,
            "trials": 10,
            "utilisation": share,
            "processor": 0.02,
            "ask": None if how == "threads" else 0.02,
            "slowest": 0.1,
            "regret": {"end": 0.5},
        }
        for strategy, how, count, share in (
            ("default", "processes", 8, 0.97),
            ("default", "threads", 32, 0.96),
            ("default", "processes", 128, 0.5),
            ("random", "processes", 128, 0.99),
        )
    ]
    law = workers.Cost([(100, 0.01), (400, 0.16)])
    about = {"cores": 2, "evaluation": 1.0, "seconds": 5.0, "rows": rows, "storage": 0.002}
    simulated = {"asks": [[100, 0.01], [400, 0.16]], "simulated": workers.simulations(law, 0.002)}
    text = workers.section({**about, **simulated})
    assert "32 workers are busy for 95 %" in text
    assert "| 128 | each worker | 10 | 50 % | 20 ms | – | 0.5 | 2.5 |" in text
    assert "5.0 of 8, 5.0 of 128." in text


def test_regret_of_four_workers() -> None:
    problem = standard("Hartmann-3", False)
    one, four = (workers.regrets(problem, nr.RandomSearch(), n, 0, [6, 12]) for n in (1, 4))
    assert one == four  # random points do not depend on what is pending

    def said(regret: float) -> str:
        rows = [
            {"problem": "Hartmann-6", "seed": s, "workers": w, "regret": [r, r]}
            for s in range(3)
            for w, r in ((1, 0.1), (4, regret))
        ]
        return workers.regret_section({"counts": [25, 50], "seeds": 3, "rows": rows})

    assert "At the end four workers are within 1.3×; on the way they are so too" in said(0.12)
    assert "not within 1.3× on Hartmann-6 after 50" in said(0.2)


# -- the page's server --


def test_every_attack_is_on_the_page() -> None:
    shown = web.PAGE.read_text(encoding="utf-8").partition(web.BEGIN)[2].partition(web.END)[0]
    for name, _, count in web.ATTACKS:
        assert f"| {name} | {count} |" in shown
    assert web._said(Counter({"413": 2, "200": 1})) == "1 × 200, 2 × 413"
