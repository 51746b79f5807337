"""Calibration, speed, GPU, storage, workers and the page's server: what their pages say is computed
from what was measured.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

import noregret as nr
from noregret.study import Left
from research.benchmarks import (
    calibration,
    gpu,
    report,
    scale,
    speed,
    storage,
    sweep,
    web,
    workers,
)
from research.benchmarks.synthetic import needle, standard

ROOT = Path(__file__).parents[2]

# -- calibration --


def run(suite: str, *looks: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A run of the kind *study* in which all is well."""
    fine = {"n": 30, "left": 1.0, "regret": 0.5, "seen": 20.0, "error": 1.0}
    fine |= {"few": 0.0, "one": 0.9, "two": 0.95}
    columns = [[{**fine, **look}[name] for name in calibration.LOOK] for look in looks or [{}]]
    return {
        "suite": suite,
        "problem": "p",
        "method": "study",
        "seed": 0,
        "start": "own",
        "looks": columns * 30,
        "scale": 100.0,
        "d": 1,
        "inside": 9,
        "values": 10,
        "multiple": 20.0,
        "earlier": 30.0,
        "slice": 1.0,
        "shares": [[3, 3, 1, 0.1]],
        "alarm": False,
        "kinds": [],
        **more,
    }


def test_calibration_verdicts_turn_with_the_numbers() -> None:
    def missed(*rows: dict[str, Any]) -> set[str]:
        found = calibration.claims_of(rows)
        assert all(claim.kept is not None for claim in found)
        return {claim.shown for claim in found if not claim.kept}

    good = run("needle")
    assert missed(good) == set()
    bands = "trial: expects a to b (90%)"
    assert missed(good, run("mixed", inside=8)) == {bands}  # in every suite
    assert missed(good, run("mixed", inside=10)) == {bands}  # too wide
    assert missed(run("needle", multiple=31.0)) == {"their width"}
    left = "left: at most a better"
    stops = [f"`LeftBelow`, {gain:.0%} of the scale" for gain in calibration.STOPS]
    assert missed(run("needle", {"regret": 1.1})) == {left, stops[0]}
    assert missed(run("needle", {"regret": 6.0})) == {left, *stops}
    unknown = {"left": None, "regret": 9.0}
    assert missed(run("needle", unknown, {})) == set()  # it says so
    assert missed(run("needle", {"left": 15.0})) == {left}  # it says nothing
    assert missed(run("needle", {"left": 1.0, "seen": 0.6})) == {left}  # above the range
    expected = "recommended: expects a ± b"
    assert missed(run("needle", {"error": 2.1}, {})) == {expected}
    assert missed(run("needle", {"error": 2.1, "few": 1.0}, {})) == set()  # it says so
    assert missed(run("needle", {"one": 0.6})) == {"recommended: 90% of repeats between a and b"}
    assert missed(run("needle", shares=[[1, 3, 1, 0.1]])) == {"which inputs matter: a% ± b"}
    assert missed(good, run("needle", shares=[[1, 3, 0, 0.1]])) == set()  # not known yet
    assert missed(run("needle", alarm=True)) == {"alarm: coverage"}
    assert missed(run("needle", kinds=["stuck"])) == {"alarm: stuck"}
    assert missed(good, run("faults", alarm=True, kinds=["slip"])) == set()  # it may be right there
    planted = {"suite": "planted", "problem": "a slip among repeats", "method": "fault"}
    assert missed({**planted, "found": False, "false": False}) == {"alarm: a slip among repeats"}
    assert missed({**planted, "found": True, "false": True}) == {"alarm: a slip among repeats"}
    limits = {"suite": "limits", "method": "limits", "bands": 0.95, "forecasts": [10, 9]}
    assert missed({**limits, "looks": [[30, 0.95, 1, 0.1, 0]]}) == set()
    sure = "keeps limits: chance ≥ 90%"
    assert missed({**limits, "looks": [[30, 0.95, 0, 0.1, 0]]}) == {sure}
    context = {"suite": "constrained-5", "method": "context"}
    assert len(missed({**context, "looks": [[0.95, 0, 0], [0.5, 0, 1]]})) == 2


def test_numbers_that_are_wrong_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = replace(needle(1005), trials=35)
    found = calibration.study_of(problem, nr.InsuredGPUCB(), 1000)
    assert [look[0] for look in found["looks"]] == [5, 10, 15, 20, 25, 30, 35]
    assert found["values"] == 35 - problem.initial - calibration.FIRST + 1
    right = calibration.claims_of([{"suite": "needle", "method": "study", **found}])

    def shrunk(study: nr.Study, result: nr.Result, chance: float = 0.9) -> Left:
        return Left(0.0, chance)

    monkeypatch.setattr(calibration, "left_of", shrunk)
    wrong = calibration.study_of(problem, nr.InsuredGPUCB(), 1000)
    broken = calibration.claims_of([{"suite": "needle", "method": "study", **wrong}])
    held = [next(claim.kept for claim in each if "left" in claim.shown) for each in (right, broken)]
    assert held == [True, False]


def test_every_kind_of_run_is_played_on_both_sides() -> None:
    suites = [*calibration.SUITES, *calibration.LIMITED, "planted"]
    sides: dict[sweep.Side, set[tuple[str, str, int]]] = {}
    for side in get_args(sweep.Side):
        jobs = calibration.jobs_of(side, "somewhere", suites)
        assert {job.method for job in jobs} == {"study", "limits", "context", "fault"}
        assert {job.suite for job in jobs} == set(suites)
        sides[side] = {(job.suite, job.problem, job.seed) for job in jobs}
    assert not sides["tune"] & sides["report"]
    limited = replace(sweep.make("limits", "gardner-1", None), trials=12)
    row = calibration.limits_of(limited, nr.InsuredGPUCB(), 1000)
    assert [look[0] for look in row["looks"]] == [10]
    assert 0 <= row["bands"] <= 1
    looks = calibration.context_of(limited, nr.InsuredGPUCB(), 1000)["looks"]
    assert len(looks) == calibration.CONTEXTS


def test_the_section_on_calibration(tmp_path: Path) -> None:
    assert "Not run." in calibration.section(tmp_path)
    row = run("needle")
    sweep.append(tmp_path, row.pop("suite"), row)
    text = calibration.section(tmp_path)
    assert "; stuck; jump; noise bound|≤ 2% of clean runs|0.0% of 1|kept|" in text
    assert "**missed**" not in text


def test_every_number_that_is_shown_has_its_row(tmp_path: Path) -> None:
    """Each line of `show`, each heading of the page under which a number stands, each alarm; and
    the tests of those that are no estimates exist.
    """
    limited = {"problem": "p", "seed": 0, "start": "own", "looks": [[30, 0.95, 1, 0.1, 1]]}
    for suite, row in (
        ("needle", run("needle")),
        ("limits", {**limited, "method": "limits", "bands": 1.0, "forecasts": [10, 9]}),
        ("constrained-5", {**limited, "method": "context", "looks": [[0.95, 1, 1]]}),
    ):
        sweep.append(tmp_path, suite, row)
    lines = calibration.section(tmp_path).splitlines()
    rows = [line.split("|")[1] for line in lines if line.startswith("|")]
    named = {word.strip() for row in rows for word in re.split(r"[:;,]", row)}
    shell = (ROOT / "src/noregret/cli/output.py").read_text(encoding="utf-8")
    labels = set(re.findall(r'rows\["([a-z ]+)"\]', shell)) | {"best", "limits"}
    assert {"recommended", "left", "certified", "resolution", "keeps limits"} <= labels
    assert labels - named == set()
    templates = ROOT / "src/noregret/web/templates"
    pages = [(templates / f"{name}.html").read_text("utf-8") for name in ("overview", "trust")]
    headings = {
        heading.strip().lower()
        for page in pages
        for heading in re.findall(r"<h[23]>([^<{]+)</h[23]>|key, \"\w+\", \"([^\"]+)\"", page)
        for heading in heading
        if heading
    }
    other = {  # heading → the name of its row; "" where no number is stated
        "best result so far": "best",
        "how much better it could get": "left",
        "were the predictions right?": "coverage",
        "noise": "model",
        "lengthscales": "model",
        "widening": "model",
        "width and norm bound": "model",
        "information gain": "model",
        "progress": "band of progress (rigorous)",
        "timeline": "trials",
        "from inputs to value": "trials",
        "guarantee": "",
    }
    assert {other.get(heading, heading) for heading in headings} - {""} - named == set()
    for _, _, test in calibration.EXACT:
        assert (ROOT / "tests" / f"{test}.py").exists()


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
    assert "GPSampler for n ≥ 50: missed at d=2 n=100,500,5000." in text
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
