"""Study.run with many workers, executors and stopping rules; workers that die."""

import logging
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError, TrialError, UnavailableError
from noregret.trials import Decision, Trial

SPACE = [(0, 1)] * 2


def bowl(x: Any) -> float:
    return float(np.sum((np.asarray(x) - 0.3) ** 2))


def slow_bowl(x: Any) -> float:
    time.sleep(0.05)
    return bowl(x)


def test_workers_are_kept_busy_and_their_points_differ() -> None:
    together, most, lock = 0, 0, threading.Lock()
    four = threading.Barrier(4)

    def f(x: Any) -> float:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
        four.wait(240)  # until as many are at work
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
        study = nr.Study.create("s", SPACE, "minimize", storage=tmp_path / "s.db").run(
            slow_bowl, 12, workers=2, executor=executor
        )
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
            while "failed" not in {t.state for t in study.trials}:
                time.sleep(0.01)
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
    study, go_on = nr.Study(SPACE, "minimize"), threading.Event()

    def until(s: nr.Study) -> bool:
        if len(s.trials) == 5:
            raise KeyboardInterrupt
        return False

    def objective(x: Any) -> float:  # trials 3 and 4 are still under way at the interrupt
        if not any(np.array_equal(trial.params, x) for trial in study.trials[:3]):
            go_on.wait(240)
        return bowl(x)

    with pytest.raises(KeyboardInterrupt) as caught:
        study.run(objective, 20, workers=3, until=until)
    go_on.set()
    assert "2 trials in flight wait to be given out again (3 at [" in caught.value.__notes__[0]
    assert "everything told is kept. Call run again on this study" in caught.value.__notes__[0]
    assert {t.state for t in study.trials} <= {
        "complete",
        "waiting",
    }  # an interrupt says nothing about the point
    waiting = sum(t.state == "waiting" for t in study.trials)
    assert waiting >= 1
    assert len(study.run(bowl, 2 + waiting).trials) == 7
    assert {t.state for t in study.trials} == {"complete"}


def test_time_and_value_end_a_run() -> None:
    study = nr.Study(SPACE, "minimize", nr.RandomSearch()).run(slow_bowl, timeout=1.0, workers=2)
    assert 2 <= len(study.trials) <= 42  # two at a time, none of them under 0.05 s
    study = nr.Study(SPACE, "minimize").run(bowl, 50, until=nr.Reached(0.05))
    assert float(study.best.value or 0) <= 0.05
    assert all(float(t.value or 0) > 0.05 for t in study.trials[:-1])
    up = nr.Study(SPACE, "maximize").run(lambda x: -bowl(x), 50, until=nr.Reached(-0.05))
    assert float(up.best.value or 0) >= -0.05
    assert len(up.trials) < 50


def test_a_certificate_ends_a_run_where_there_is_one() -> None:
    careful = nr.AdaptiveGPUCB.rigorous(0.05, norm_bound=1.0, lengthscales=2.0)
    study = nr.Study([(0, 1)], "maximize", careful).run(
        lambda x: 0.1 * float(x[0]), 60, until=nr.CertifiedWithin(1.0)
    )
    assert len(study.trials) < 60
    assert study.certificate().regret_bound <= 1.0
    assert study.certificate().proved
    assert study.certificate(0.01).regret_bound > study.certificate().regret_bound
    stricter = nr.CertifiedWithin(study.certificate().regret_bound, delta=1e-6)
    assert not stricter(study)


@pytest.mark.filterwarnings("ignore::noregret.errors.GuaranteeWarning")
@pytest.mark.parametrize(
    "make",
    [
        nr.InsuredGPUCB,
        nr.AdaptiveGPUCB.paper,
        nr.LogEI,
        lambda: nr.LBGPUCB(0.1),
        lambda: nr.GPUCB(noise_std=0.1, width="mixture"),
    ],
    ids=["default", "paper", "log-ei", "lb-gp-ucb", "estimated"],
)
def test_a_rule_of_thumb_ends_a_run_only_if_told_so(
    make: Callable[[], nr.strategies.Strategy],
) -> None:
    refused = nr.Study([(0, 1)], "maximize", strategy=make())
    with pytest.raises(ConfigurationError, match=r"no proved bound .* heuristic=True"):
        refused.run(lambda x: 0.0, 5, until=nr.CertifiedWithin(0.1))
    assert refused.trials == []
    study = nr.Study([(0, 1)], "maximize", strategy=make())
    study.run(lambda x: 0.1 * float(x[0]), 30, until=nr.CertifiedWithin(1e3, heuristic=True))
    assert len(study.trials) == 1
    assert not study.certificate().proved


def test_random_search_has_nothing_to_stop_by() -> None:
    study = nr.Study([(0, 1)], "maximize", strategy=nr.RandomSearch())
    with pytest.raises(ConfigurationError, match="no proved bound"):
        study.run(lambda x: 0.0, 5, until=nr.CertifiedWithin(0.1))
    with pytest.raises(TrialError, match="a strategy with a model"):
        study.run(lambda x: 0.0, 5, until=nr.CertifiedWithin(0.1, heuristic=True))


def test_a_certificate_that_depends_on_the_context_stops_nothing_silently() -> None:
    space = {"x": nr.Float(0, 1), "weather": nr.Float(0, 1)}
    study = nr.Study(space, "maximize", context=("weather",))
    study.add({"x": 0.5, "weather": 0.5}, 1.0)
    with pytest.raises(ConfigurationError, match=r"certificate\(context="):
        nr.CertifiedWithin(0.1, heuristic=True)(study)


def test_points_under_way_do_not_narrow_a_proved_bound() -> None:
    """What decides counts them as known, and only the rigorous width pays for that; belief and
    certificate never see them.
    """
    for strategy, proved in (
        (nr.GPUCB(lengthscales=1.0, noise_std=0.1, width="mixture"), False),
        (nr.AdaptiveGPUCB.rigorous(0.1, lengthscales=1.0), True),
    ):
        study = nr.Study([(0, 1)], "maximize", strategy=strategy).run(
            lambda x: 0.1 * float(x[0]), 8
        )
        before = study.certificate()
        assert before.proved
        assert nr.CertifiedWithin(before.regret_bound)(study)
        assert study.ask().decision.payload["proved"]
        assert study.certificate() == before
        assert nr.CertifiedWithin(before.regret_bound)(study)
        assert study.ask().decision.payload["proved"] is proved


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "needs an end"),
        ({"trials": 1, "workers": 0}, "workers"),
        ({"timeout": -1}, "timeout"),
        ({"trials": 1.5}, "trials"),
        ({"total": -1}, "total"),
        ({"trials": 1, "grace": 0}, "grace"),
        ({"trials": 1, "reclaim": "maybe"}, "reclaim"),
    ],
    ids=["end", "workers", "timeout", "trials", "total", "grace", "reclaim"],
)
def test_impossible_runs(options: Any, words: str) -> None:
    study = nr.Study(SPACE, "maximize")
    with pytest.raises(ConfigurationError, match=words):
        study.run(bowl, **options)
    assert study.trials == []


def test_impossible_ends() -> None:
    for make in (
        lambda: nr.Reached(float("nan")),
        lambda: nr.CertifiedWithin(0.0),
        lambda: nr.CertifiedWithin(0.1, delta=2.0),
    ):
        with pytest.raises(ConfigurationError):
            make()


def test_a_value_that_is_no_number_stops_the_run() -> None:
    study = nr.Study(SPACE, "maximize")
    with pytest.raises(TrialError, match="one real number"):
        study.run(lambda x: "good", 3, workers=2)
    assert {t.state for t in study.trials} == {"failed"}


# -- several runs on one stored study --


def dead_worker(study: nr.Study, number: int) -> Trial:
    """A trial whose worker has not been heard of since it began."""
    trial = Trial(number, study.space.decode(np.full(2, 0.5)), decision=Decision("random"))
    assert study._storage.append(study.name, [trial], "dead")
    return trial


def stored(folder: Path) -> nr.Study:
    return nr.Study.create("s", SPACE, "minimize", nr.RandomSearch(), storage=folder / "s.db")


def test_a_run_takes_over_from_a_dead_worker_and_ends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = stored(tmp_path)
    dead_worker(study, 0)
    study.run(bowl, total=6, grace=0.3)
    assert [t.state for t in study.trials] == ["complete"] * 6
    assert "trial 0 gave no sign of life for 0.3 s: it is waiting" in caplog.text


def test_a_dead_workers_trial_can_be_failed_or_left(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = stored(tmp_path)
    dead_worker(study, 0)
    time.sleep(0.1)
    study.run(bowl, 2, grace=0.05, reclaim=None)
    assert [t.state for t in study.trials] == ["running", "complete", "complete"]
    study.run(bowl, total=3, grace=0.05, reclaim=None)  # nothing to start, and nobody to wait for
    study.run(bowl, total=4, grace=0.05, reclaim="fail")
    assert [t.state for t in study.trials] == ["failed", "complete", "complete", "complete"]


def test_a_slow_evaluation_that_is_alive_is_not_taken_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study, calls = stored(tmp_path), []

    def slow(x: Any) -> float:
        calls.append(x)
        time.sleep(5.0)
        return bowl(x)

    runs = [
        threading.Thread(
            target=lambda: nr.Study.open("s", storage=tmp_path / "s.db").run(
                slow, total=2, grace=4.0
            )
        )
        for _ in range(2)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(calls) == 2
    assert [t.state for t in study.trials] == ["complete"] * 2
    assert caplog.text == ""


def test_a_value_that_comes_too_late_is_not_an_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = stored(tmp_path)

    def f(x: Any) -> float:
        number = len(study.trials) - 1
        if number == 0:
            study.tell(number, 9.0)
        return bowl(x)

    study.run(f, 3)
    assert study.trials[0].value == 9.0
    assert [t.state for t in study.trials] == ["complete"] * 3
    assert "trial 0 was finished elsewhere first" in caplog.text


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_point_that_kills_its_workers_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    study = stored(tmp_path)
    study.enqueue([0.123, 0.5])

    def deadly(x: Any) -> float:
        if x[0] == 0.123:
            os._exit(9)
        return bowl(x)

    codes = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            nr.Study.open("s", storage=tmp_path / "s.db").run(deadly, total=3, grace=0.2)
            os._exit(0)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    assert codes == [9, 9, 9, 0]
    assert [t.state for t in study.trials] == ["failed", "complete", "complete"]


def die(x: Any) -> float:
    os._exit(1)


def test_a_broken_pool_stops_the_run_and_its_trials_wait(tmp_path: Path) -> None:
    study = stored(tmp_path)
    with ProcessPoolExecutor(2) as pool, pytest.raises(BrokenExecutor):
        study.run(die, 6, workers=2, executor=pool)
    assert {t.state for t in study.trials} == {"waiting"}
    study.run(bowl, total=6)
    assert [t.state for t in study.trials] == ["complete"] * 6


def test_an_error_of_the_strategy_or_the_stopping_rule_drains_what_is_in_flight(
    tmp_path: Path,
) -> None:
    study = stored(tmp_path)

    def until(s: nr.Study) -> bool:
        if len(s.trials) == 3:
            raise ZeroDivisionError
        return False

    with pytest.raises(ZeroDivisionError):
        study.run(slow_bowl, 20, workers=3, until=until)
    assert [t.state for t in study.trials] == ["complete"] * 3


def test_total_counts_what_others_did() -> None:
    study = nr.Study(SPACE, "minimize", nr.RandomSearch())
    study.add([0.5, 0.5], 1.0)
    study.run(bowl, 3)
    study.correct(1, 2.0)
    study.run(bowl, total=6, workers=3)
    assert len(study.trials) == 7  # with the correction
    lab = study.ask()  # by hand: no reason to wait for it
    study.run(bowl, total=7)
    assert study.trials[lab.number].state == "running"


def test_no_heartbeat_without_others(tmp_path: Path) -> None:
    seen: list[str] = []

    def f(x: Any) -> float:
        seen.extend(thread.name for thread in threading.enumerate())
        return bowl(x)

    nr.Study(SPACE, "minimize", nr.RandomSearch()).run(f, 2)
    assert not any("heartbeat" in thread for thread in seen)
    nr.Study.create("s", SPACE, "minimize", nr.RandomSearch(), storage=tmp_path / "s.db").run(f, 1)
    assert any("heartbeat" in thread for thread in seen)


def test_heartbeats_outlive_a_storage_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    study, beats = stored(tmp_path), []

    def heartbeat(name: str, numbers: list[int], worker: str) -> None:
        beats.append(numbers)
        if len(beats) == 1:
            raise UnavailableError("no answer")

    monkeypatch.setattr(study._storage, "heartbeat", heartbeat)
    study.run(slow_bowl, 10, grace=0.2)
    assert len(beats) >= 3
    assert all(len(numbers) == 1 for numbers in beats)
    assert "no heartbeat this time" in caplog.text
    assert caplog.records[0].levelno == logging.WARNING


def test_a_full_storage_is_waited_for_only_with_a_value_in_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("noregret.study.running.PATIENCE", 3.0)
    study = stored(tmp_path)
    finish, answers = study._storage.finish, iter([False, True])

    def refuse(*arguments: Any, **options: Any) -> Any:
        if not next(answers, False):
            raise UnavailableError("the disk is full")
        return finish(*arguments, **options)

    monkeypatch.setattr(study._storage, "finish", refuse)
    study.run(bowl, 1)
    assert study.trials[0].state == "complete"
    with pytest.raises(UnavailableError) as caught:
        study.run(lambda x: 0.25, 1)
    assert (
        "trial 1 has the value 0.25. Tell it once the storage answers" in caught.value.__notes__[0]
    )
    tries = []

    def full(*arguments: Any, **named: Any) -> bool:
        tries.append(arguments)
        raise UnavailableError("the disk is full")

    monkeypatch.setattr(study._storage, "append", full)
    with pytest.raises(UnavailableError):
        study.run(bowl, 1)
    assert len(tries) == 1
