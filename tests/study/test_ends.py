"""How a run ends, and what it then says: nothing hangs, no trial is left running."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import noregret as nr
from noregret.errors import ConfigurationError, TrialError, TrialTimeoutError
from noregret.storage import SQLStorage

SPACE = {"x": nr.Float(0, 1)}


@pytest.mark.parametrize("returned", [None, "1.5", float("nan"), (1.0, -1.0), [1, 2]])
def test_what_is_no_value_is_a_failure_with_that_reason(returned: Any) -> None:
    study = nr.Study(SPACE, "maximize")
    with pytest.raises(TrialError, match="the objective returned") as caught:
        study.run(lambda params: returned, trials=1)
    assert "nothing was recorded" not in str(caught.value)  # it was: as failed
    assert "Its trial has failed" in str(caught.value)
    assert [trial.state for trial in study.trials] == ["failed"]


def test_an_objective_that_cannot_be_pickled_costs_no_trial() -> None:
    study = nr.Study(SPACE, "maximize")
    with (
        ProcessPoolExecutor(1) as pool,
        pytest.raises(ConfigurationError, match="top of a module"),
    ):
        study.run(lambda params: params["x"], trials=3, executor=pool)
    with pytest.raises(ConfigurationError, match="trial_timeout needs"):
        study.run(lambda params: params["x"], trials=3, trial_timeout=5)
    assert study.trials == []


def sleeps(params: Any) -> float:
    """Hangs where x is above a half."""
    if params["x"] > 0.5:
        time.sleep(600)
    return float(params["x"])


def test_an_evaluation_that_takes_too_long_is_ended_and_the_run_goes_on() -> None:
    study = nr.Study(SPACE, "maximize", strategy=nr.RandomSearch())
    for x in (0.2, 0.9, 0.3):
        study.enqueue({"x": x})
    study.run(sleeps, trials=3, workers=1, trial_timeout=2.0)
    assert [trial.state for trial in study.trials] == ["complete", "failed", "complete"]
    assert issubclass(TrialTimeoutError, TimeoutError)


def dies(params: Any) -> float:
    os._exit(3)


def test_a_process_that_ends_itself_is_a_failure() -> None:
    study = nr.Study(SPACE, "maximize")
    with pytest.raises(RuntimeError, match="died"):
        study.run(dies, trials=2, trial_timeout=60)
    assert [trial.state for trial in study.trials] == ["failed"]


@pytest.mark.parametrize("setting", [{"trial_timeout": 0}, {"trial_timeout": float("nan")}])
def test_settings_of_the_limit(setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="trial_timeout"):
        nr.Study(SPACE, "maximize").run(sleeps, trials=1, **setting)
    with ProcessPoolExecutor(1) as pool, pytest.raises(ConfigurationError, match="executor"):
        nr.Study(SPACE, "maximize").run(sleeps, trials=1, executor=pool, trial_timeout=1)


HANGS = """
import sys, time
import noregret as nr

for workers in (1, 3):
    study = nr.Study.create(str(workers), {"x": nr.Float(0, 1)}, "maximize", storage=sys.argv[1])
    study.run(lambda params: time.sleep(600), timeout=1.0, grace=0.3, workers=workers)
    print([trial.state for trial in study.trials])
"""


def test_a_timeout_returns_although_the_objective_hangs(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", HANGS, str(tmp_path / "s.db")],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [eval(line) for line in done.stdout.splitlines()] == [["waiting"], ["waiting"] * 3]


def test_what_ends_soon_after_the_timeout_is_told() -> None:
    study = nr.Study(SPACE, "maximize")

    def slow(params: Any) -> float:
        time.sleep(1.0)
        return float(params["x"])

    study.run(slow, timeout=0.5)
    assert [trial.state for trial in study.trials] == ["complete"]


INTERRUPTED = """
import os, signal, sys, threading, time
import noregret as nr
from noregret.storage import SQLStorage

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background of a script
for attempt in range(6):
    study = nr.Study.open("s", storage=sys.argv[1])
    try:
        delay = 0.05 + 0.013 * attempt
        threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        study.run(lambda params: params["x"], trials=10**6)
    except KeyboardInterrupt:
        print(sum(trial.state == "running" for trial in study.trials))
"""


def test_an_interrupt_at_any_moment_leaves_no_trial_running(tmp_path: Path) -> None:
    """The trial may be inserted while the run does not know of it yet."""
    url = str(tmp_path / "s.db")
    nr.Study.create("s", SPACE, "maximize", strategy=nr.RandomSearch(), storage=url)
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, url],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout.split() == ["0"] * 6, done.stderr


def test_an_interrupt_right_after_the_trial_was_made(tmp_path: Path) -> None:
    class Interrupted(SQLStorage):
        def append(self, *arguments: Any, **named: Any) -> Any:
            added = super().append(*arguments, **named)
            if added and added[0].state == "running":
                raise KeyboardInterrupt
            return added

    storage = Interrupted(tmp_path / "s.db")
    study = nr.Study(SPACE, "maximize", storage=storage)
    with pytest.raises(KeyboardInterrupt):
        study.run(lambda params: 0.0, trials=3)
    assert [trial.state for trial in study.trials] == ["waiting"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_polite_end_ends_the_programs_under_way(tmp_path: Path, number: signal.Signals) -> None:
    noted = tmp_path / "pid"
    script = tmp_path / "train.sh"
    script.write_text(f"#!/bin/sh\necho $$ > {noted}\nsleep 600\n")
    script.chmod(0o755)
    url = str(tmp_path / "s.db")
    nr.Study.create("s", SPACE, "maximize", storage=url)
    command = [sys.executable, "-m", "noregret", "run", "-c", f"{script} {{x}}", "--trials", "3"]
    with subprocess.Popen(
        [*command, "--storage", url],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # nohup ignores one of them
    ) as process:
        try:
            while not (noted.exists() and noted.read_text().strip()):
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(number)
            assert process.wait(240) != 0
        finally:
            process.kill()
    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)
    assert [trial.state for trial in nr.Study.open("s", storage=url).trials] == ["waiting"]
