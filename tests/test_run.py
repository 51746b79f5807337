"""Study.run with many workers, executors and stopping rules."""

import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, TrialError

SPACE = [(0, 1)] * 2


def bowl(x: Any) -> float:
    return float(np.sum((np.asarray(x) - 0.3) ** 2))


def slow_bowl(x: Any) -> float:
    time.sleep(0.05)
    return bowl(x)


def test_workers_are_kept_busy_and_their_points_differ() -> None:
    together, most, lock = 0, 0, threading.Lock()

    def f(x: Any) -> float:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        time.sleep(0.03)
        with lock:
            together -= 1
        return bowl(x)

    study = nr.Study(SPACE, "minimize").run(f, 20, workers=4)
    assert most == 4
    assert [t.state for t in study.trials] == ["complete"] * 20
    points = np.array([t.params for t in study.trials])
    gaps = np.linalg.norm(points[:, None] - points[None], axis=-1)[np.triu_indices(20, 1)]
    assert gaps.min() > 1e-6  # nobody was sent where another was looking


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_any_executor_and_a_stored_study(pool: Any, tmp_path: Path) -> None:
    with pool(2) as executor:
        study = nr.Study.create("s", SPACE, "minimize", storage=tmp_path / "s.db").run(slow_bowl, 12, workers=2, executor=executor)
        assert executor.submit(bowl, [0.3, 0.3]).result() == 0  # the caller's executor is left open
    assert len(nr.Study.open("s", storage=tmp_path / "s.db").trials) == 12
    assert study.best.value is not None
    assert study.best.value < 0.2


def test_parallel_runs_lose_little() -> None:
    one, four = (nr.Study(SPACE, "minimize", seed=3).run(bowl, 32, workers=w) for w in (1, 4))
    assert float(four.best.value or 0) <= 1.3 * float(one.best.value or 0) + 1e-3


def test_an_error_stops_the_run_and_what_is_in_flight_is_told() -> None:
    barrier = threading.Barrier(2)

    def f(x: Any) -> float:
        if len(calls) < 2:
            calls.append(1)
            barrier.wait()
            if threading.current_thread().name.endswith("_0"):
                raise ValueError("broken")
        time.sleep(0.1)
        return bowl(x)

    calls: list[int] = []
    study = nr.Study(SPACE, "minimize")
    with pytest.raises(ValueError, match="broken"):
        study.run(f, 10, workers=2)
    assert sorted(t.state for t in study.trials) == ["complete", "failed"]
    study.run(bowl, 3)
    assert len(study.trials) == 5


def test_named_errors_are_caught_in_parallel_too() -> None:
    def f(x: Any) -> float:
        if x[0] > 0.5:
            raise ValueError
        return bowl(x)

    study = nr.Study(SPACE, "minimize").run(f, 16, workers=3, catch=(ValueError,))
    assert {t.state for t in study.trials} == {"complete", "failed"}
    assert len(study.trials) == 16


def test_after_an_interrupt_what_was_in_flight_waits_and_it_says_how_to_go_on() -> None:
    study = nr.Study(SPACE, "minimize")

    def until(s: nr.Study) -> bool:
        if len(s.trials) == 5:
            raise KeyboardInterrupt
        return False

    with pytest.raises(KeyboardInterrupt) as caught:
        study.run(slow_bowl, 20, workers=3, until=until)
    assert "wait to be given out again; everything told is kept" in caught.value.__notes__[0]
    assert {t.state for t in study.trials} <= {"complete", "waiting"}  # an interrupt says nothing about the point
    waiting = sum(t.state == "waiting" for t in study.trials)
    assert waiting >= 1
    assert len(study.run(bowl, 2 + waiting).trials) == 7
    assert {t.state for t in study.trials} == {"complete"}


def test_time_and_value_end_a_run() -> None:
    started = time.monotonic()
    study = nr.Study(SPACE, "minimize", nr.RandomSearch()).run(slow_bowl, timeout=0.3, workers=2)
    assert time.monotonic() - started < 5
    assert 2 <= len(study.trials) < 60
    study = nr.Study(SPACE, "minimize").run(bowl, 50, until=nr.Reached(0.05))
    assert float(study.best.value or 0) <= 0.05
    assert all(float(t.value or 0) > 0.05 for t in study.trials[:-1])
    up = nr.Study(SPACE, "maximize").run(lambda x: -bowl(x), 50, until=nr.Reached(-0.05))
    assert float(up.best.value or 0) >= -0.05
    assert len(up.trials) < 50


def test_a_certificate_ends_a_run_where_there_is_one() -> None:
    careful = nr.AdaptiveGPUCB.rigorous(0.05, norm_bound=1.0, lengthscales=2.0)
    study = nr.Study([(0, 1)], "maximize", careful).run(lambda x: 0.1 * float(x[0]), 60, until=nr.CertifiedWithin(1.0))
    assert len(study.trials) < 60
    assert study.certificate().regret_bound <= 1.0
    with pytest.raises(ConfigurationError, match="no confidence bound"):
        nr.Study([(0, 1)]).run(lambda x: 0.0, 5, until=nr.CertifiedWithin(0.1))


@pytest.mark.parametrize(
    ("options", "words"),
    [({}, "needs an end"), ({"trials": 1, "workers": 0}, "workers"), ({"timeout": -1}, "timeout"), ({"trials": 1.5}, "trials")],
    ids=["end", "workers", "timeout", "trials"],
)
def test_impossible_runs(options: Any, words: str) -> None:
    study = nr.Study(SPACE)
    with pytest.raises(ConfigurationError, match=words):
        study.run(bowl, **options)
    assert study.trials == []


def test_impossible_ends() -> None:
    for make in (lambda: nr.Reached(float("nan")), lambda: nr.CertifiedWithin(0.0), lambda: nr.CertifiedWithin(0.1, delta=2.0)):
        with pytest.raises(ConfigurationError):
            make()


def test_a_value_that_is_no_number_stops_the_run() -> None:
    study = nr.Study(SPACE)
    with pytest.raises(TrialError, match="one real number"):
        study.run(lambda x: "good", 3, workers=2)
    assert {t.state for t in study.trials} == {"failed"}
