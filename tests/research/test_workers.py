"""The simulation of many workers, and the page made from a result."""

from pathlib import Path

import pytest

import noregret as nr
from research.benchmarks import ask_phases, workers


def test_workers_that_wait_for_nothing_are_always_busy() -> None:
    found = workers.simulated(50, 1, 10.0, lambda n: 0.0, 0.0)
    assert found["utilisation"] == pytest.approx(1.0)
    assert found["rate"] == pytest.approx(50 / 10, rel=0.3)


def test_one_process_thinks_as_often_as_it_can() -> None:
    found = workers.simulated(200, 1, 10.0, lambda n: 0.5, 0.0)
    assert found["rate"] == pytest.approx(1 / 0.5, rel=0.05)
    # 200 workers, of which 2 · 10 can be busy
    assert found["utilisation"] == pytest.approx(20 / 200, rel=0.15)
    four = workers.simulated(200, 4, 10.0, lambda n: 0.5, 0.0)
    assert four["rate"] == pytest.approx(400 / (400 / 8 + 10), rel=0.05)  # and a start of 10 s


def test_one_storage_is_shared_by_however_many_think() -> None:
    found = workers.simulated(200, 200, 10.0, lambda n: 0.0, 0.25)
    assert found["rate"] == pytest.approx(1 / 0.25, rel=0.25)  # at first only asks
    alone = workers.simulated(1, 1, 10.0, lambda n: 0.0, 0.25)
    assert alone["utilisation"] == pytest.approx(10 / 10.25, rel=0.03)


def test_asks_are_dearer_with_every_point_told_or_under_way() -> None:
    seen: list[int] = []

    def cost(n: int) -> float:
        seen.append(n)
        return 0.0

    workers.simulated(5, 1, 1.0, cost, 0.0)
    assert seen == list(range(len(seen)))
    law = workers.Cost([(100, 0.01), (400, 0.16)])
    assert law(200) == pytest.approx(0.04)  # n²
    assert law(4_000) == pytest.approx(0.16)  # not beyond what was measured


def test_the_page_says_how_many_are_busy() -> None:
    rows = [
        {
            "strategy": strategy,
            "how": how,
            "workers": count,
            "trials": 10,
            "utilisation": share,
            "processor": 0.02,
            "ask": 0.02,
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
    text = workers.section(
        {
            "cores": 2,
            "evaluation": 1.0,
            "seconds": 5.0,
            "rows": rows,
            "storage": 0.002,
            "asks": [[100, 0.01], [400, 0.16]],
            "simulated": workers.simulations(law, 0.002),
        }
    )
    assert "32 workers are busy for 95 %" in text
    assert "| 128 | each worker | 10 | 50 % | 20 ms | – | 0.5 | 2.5 |" in text
    assert text.count("trials/s") == 9


def row(strategy: str, count: int, trials: int, slowest: float) -> dict[str, object]:
    longest = {"seconds": slowest, "processor": 0.05, "thinking": 0.04, "thoughts": 2.0}
    return {
        "strategy": strategy,
        "how": "processes",
        "workers": count,
        "trials": trials,
        "ask": 0.1,
        "slowest": slowest,
        "dearest": 2.5,
        "longest": longest | {"reading": 0.01, "numbering": 0.02},
    }


def test_the_page_says_whether_somebody_starved() -> None:
    rows = [row("default", 1, 16, 0.2), row("default", 8, 120, 0.5), row("default", 128, 90, 0.29)]
    default, longest = ask_phases.fairness(rows)
    assert "1, 8 and 128 processes made 16, 120 and 90 trials" in default
    assert "fell to 0.75 of the best at worst" in default
    assert "2.0, 5.0 and 2.9 times the median (below 3 with 1 and 128)" in default
    assert "8 processes: 500 ms, of which 40 ms in 2 thoughts, 10 ms reading" in longest
    steady, _ = ask_phases.fairness([row("default", 1, 16, 0.4), row("default", 8, 16, 0.4)])
    assert "never fell" in steady
    assert "with none of them" in steady
    assert ask_phases.fairness([{"how": "threads", "strategy": "default"}]) == []


def test_an_ask_is_taken_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner, name, _ in ask_phases.CALLS:  # put back afterwards
        monkeypatch.setattr(owner, name, getattr(owner, name))
    watch = ask_phases.Watch()
    study = nr.Study.create("s", {"x": nr.Float(0, 1)}, "minimize", storage=tmp_path / "s.db")
    for _ in range(2):
        with watch.ask():
            study.ask()
    for each in watch.asks:
        assert each["thoughts"] == 1
        parts = each["reading"] + each["thinking"] + each["numbering"]
        assert 0 < parts <= each["seconds"]
    found = ask_phases.summary(watch.asks)
    assert found["slowest"] == found["longest"]["seconds"] >= found["ask"]
