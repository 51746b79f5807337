"""The simulation of many workers, and the page made from a result."""

import pytest

from research.benchmarks import workers


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
