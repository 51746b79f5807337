"""run, with a function and with a program."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import noregret as nr
from noregret.cli.running import _signals
from tests.cli.conftest import Shell

SCRIPT = """
import math, time
def loss(p): return (math.log10(p["rate"]) + 3) ** 2 + abs(p["layers"] - 3)
def noisy(p): return loss(p), 0.25
def bad(p): return 1 / 0
def text(p): return "high"
def nan(p): return math.nan
def picky(p):
    if p["layers"] > 4: raise ValueError("too deep")
    return loss(p)
def slow(p): time.sleep(60)
calls = []
def every_other(p):
    calls.append(p)
    return 1 / (len(calls) % 2)
constant = 3
class Task:
    @staticmethod
    def loss(p): return loss(p)
"""


@pytest.fixture
def tuning(shell: Shell) -> Shell:
    Path("train.py").write_text(SCRIPT)
    shell(
        "create tuning --float rate 1e-5 1e-1 log --int layers 1 8 --goal minimize --strategy"
        " random"
    )
    return shell


def states() -> list[str]:
    return [trial.state for trial in nr.Study.open("tuning").trials]


@pytest.mark.parametrize(
    "name", ["train.py:loss", "./train.py:loss", "train:loss", "train.py:Task.loss"]
)
def test_a_function_by_name(tuning: Shell, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    sys.modules.pop("train", None)
    document = tuning(f"run {name} --trials 2 --json").json
    assert (document["new"], document["complete"], document["failed_here"]) == (2, 2, 0)
    assert document["best"]["value"] == min(
        trial.value or 0 for trial in nr.Study.open("tuning").trials
    )


def test_text_of_a_run(tuning: Shell) -> None:
    said = tuning("run train.py:loss --trials 3").out
    assert "3 new trials in" in said
    assert "tuning has 3 trials: 3 complete" in said
    assert "best         " in said
    assert said.endswith("next: noregret plot\n")


def test_a_function_may_return_its_noise(tuning: Shell) -> None:
    tuning("run train.py:noisy --trials 2 --workers 2")
    assert [trial.noise_std for trial in nr.Study.open("tuning").trials] == [0.25, 0.25]


def test_stopping(tuning: Shell) -> None:
    tuning("run train.py:loss --target 1e9 --trials 50")
    assert len(states()) == 1  # the first value is as good as that
    tuning("run train.py:loss --total 4")
    assert len(states()) == 4
    tuning("run train.py:loss --total 4")
    assert len(states()) == 4
    tuning("run train.py:loss --timeout 0")
    assert len(states()) == 4
    tuning("run train.py:loss --trials 0")
    assert len(states()) == 4


def test_stopping_at_a_negative_value(shell: Shell) -> None:
    Path("train.py").write_text("def f(p): return -p['x']")
    shell("create s --float x 0 1 --goal minimize --strategy random")
    shell("run train.py:f --target -0.5 --trials 50")
    trials = nr.Study.open("s").trials
    assert trials[-1].value is not None
    assert trials[-1].value <= -0.5
    assert all(trial.value is not None and trial.value > -0.5 for trial in trials[:-1])


def test_stopping_by_certificate(shell: Shell) -> None:
    Path("train.py").write_text("def f(p): return 0.1 * p['x']")
    shell(
        "create s --float x 0 1 --goal maximize --strategy rigorous --with noise_bound=0.01 --with"
        " norm_bound=0.2 --with lengthscales=2"
    )
    shell("run train.py:f --certified 0.2 --trials 20")
    assert len(nr.Study.open("s").trials) < 20
    shell("create r --float x 0 1 --goal maximize --strategy random")
    shell.fails("run train.py:f --certified 0.2 -s r", "no proved bound")
    shell("create d --float x 0 1 --goal maximize")  # the default has a model, and no theorem
    shell.fails("run train.py:f --certified 0.2 -s d", "no proved bound")
    shell("run train.py:f --left 0.05 --trials 20 -s d")
    assert 5 < len(nr.Study.open("d").trials) < 20


def test_failures_are_told_in_a_line_and_the_run_goes_on(tuning: Shell) -> None:
    answer = tuning("run train.py:picky --trials 12 --max-failures 12")
    failed = states().count("failed")
    assert 0 < failed < 12
    lines = answer.err.splitlines()
    assert len(lines) == failed
    assert all(
        "failed at rate=" in line and "ValueError: too deep" in line and "train.py, line 9)" in line
        for line in lines
    )


def test_failures_now_and_then_do_not_end_the_run(tuning: Shell) -> None:
    tuning("run train.py:every_other --trials 8 --max-failures 2")
    assert states() == ["complete", "failed"] * 4


@pytest.mark.parametrize(
    ("function", "expected"),
    [("bad", "ZeroDivisionError"), ("text", "returned 'high'"), ("nan", "returned nan")],
)
def test_too_many_failures_in_a_row_end_the_run(
    tuning: Shell, function: str, expected: str
) -> None:
    message = tuning.fails(
        f"run train.py:{function} --trials 20 --max-failures 2",
        expected,
        "2 trials in a row failed",
    )
    assert "Traceback" not in message
    assert states() == ["failed", "failed"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--trials 1", "name a function"),
        ("train.py:loss -c 'env {rate} {layers}' --trials 1", "name a function"),
        ("train.py:loss", "when to stop"),
        ("train.py --trials 1", "module:function"),
        ("train.py:los --trials 1", "it has Task, bad, every_other, loss"),
        ("train.py:constant --trials 1", "not a function"),
        ("absent.py:f --trials 1", "no file absent.py"),
        ("absent:f --trials 1", "no module absent"),
        ("broken.py:f --trials 1", "SyntaxError"),
        ("exits.py:f --trials 1", "SystemExit"),
        ("imports.py:f --trials 1", "absent_module"),
        ("train.py:loss --trials -1", "--trials"),
        ("train.py:loss --workers 0 --trials 1", "--workers"),
        ("train.py:loss --target nan", "finite"),
        ("-c '' --trials 1", "empty"),
        ("-c 'env {rate}' --trials 1", "does not use {layers}"),
        ("-c './absent {rate} {layers}' --trials 1", "no program"),
    ],
)
def test_mistakes_ask_for_nothing(tuning: Shell, words: str, expected: str) -> None:
    Path("broken.py").write_text("def f(:")
    Path("exits.py").write_text("raise SystemExit(3)")
    Path("imports.py").write_text("import absent_module")
    message = tuning.fails(f"run {words}", expected)
    assert "Traceback" not in message
    assert states() == []


def test_a_dry_run_records_nothing(tuning: Shell) -> None:
    document = tuning("run train.py:noisy --dry-run --json").json
    assert document["params"] == nr.Study.open("tuning").preview().params
    assert document["noise_std"] == 0.25
    assert document["command"] is None
    document = tuning("run -c 'sh -c \"echo 7.5\" {rate} x{layers}' --dry-run --json").json
    assert document["value"] == 7.5
    assert document["command"] == [
        "sh",
        "-c",
        "echo 7.5",
        repr(document["params"]["rate"]),
        f"x{document['params']['layers']}",
    ]
    tuning.fails("run train.py:bad --dry-run", "ZeroDivisionError", "Nothing was recorded")
    tuning.fails("run -c 'false {rate} {layers}' --dry-run", "exit code 1")
    assert states() == []


def test_a_program_by_its_output(tuning: Shell) -> None:
    Path("train.sh").write_text(
        '#!/bin/sh\necho "starting"\necho "{\\"value\\": $1, \\"noise_std\\": 0.5}"\necho "done'
        ' with $2"\n'
    )
    Path("train.sh").chmod(0o755)
    tuning("run -c './train.sh {rate} {layers}' --trials 3 --workers 2")
    for trial in nr.Study.open("tuning").trials:
        assert (trial.value, trial.noise_std) == (trial.params["rate"], 0.5)


def test_a_program_that_cannot_be_started_fails_no_trial(tuning: Shell) -> None:
    Path("script").write_text("no interpreter is named")
    Path("script").chmod(0o755)
    tuning.fails("run -c './script {rate} {layers}' --trials 3 --workers 2", "cannot start")
    assert set(states()) == {"waiting"}


def test_a_program_that_takes_too_long(tuning: Shell) -> None:
    tuning.fails(
        "run -c 'sh -c \"sleep 60 {rate} {layers}\"' --trials 3 --trial-timeout 0.2"
        " --max-failures 1",
        "no answer after 0.2 s",
    )
    assert states() == ["failed"]


@pytest.mark.parametrize(
    ("how", "inherited", "words"),
    [
        (signal.SIGTERM, signal.SIG_DFL, ["train.py:slow", "--workers", "2"]),
        # SIGINT is ignored where a script starts "noregret run … &"
        (signal.SIGINT, signal.SIG_IGN, ["-c", "sleep 60.{layers} {rate}"]),
    ],
    ids=["function", "program"],
)
def test_an_interrupt_loses_nothing(
    tuning: Shell, how: signal.Signals, inherited: signal.Handlers, words: list[str]
) -> None:
    command = [sys.executable, "-m", "noregret", "run", *words, "--trials", "2", "--json"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, inherited),
    ) as process:
        try:
            while "running" not in states():
                assert process.poll() is None, process.communicate()
                time.sleep(0.05)
            time.sleep(0.3)
            process.send_signal(how)
            out, err = process.communicate(timeout=240)
        finally:
            process.kill()
    assert process.returncode == 130
    assert out == ""
    assert "again to go on" in json.loads(err.strip().splitlines()[-1])["message"]
    assert set(states()) == {"waiting"}


@pytest.mark.parametrize("hang_up", [signal.SIG_DFL, signal.SIG_IGN])
def test_only_a_hang_up_that_nohup_ignores_stays_ignored(hang_up: signal.Handlers) -> None:
    requests = {
        signal.SIGINT: signal.SIG_IGN,
        signal.SIGTERM: signal.SIG_IGN,
        signal.SIGHUP: hang_up,
    }
    before = {number: signal.signal(number, handler) for number, handler in requests.items()}
    try:
        with _signals():
            ignored = {n for n in requests if signal.getsignal(n) is signal.SIG_IGN}
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGTERM)  # once is enough
        assert ignored == ({signal.SIGHUP} if hang_up is signal.SIG_IGN else set())
        assert {number: signal.getsignal(number) for number in requests} == requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(
    ("line", "states_then"),
    [
        ("kill -9 $$", [("failed", False)]),  # three times: the point may be what kills it
        ("exit 137", [("failed", False)]),  # as a shell says it
        ("kill -11 $$", [("failed", False)] * 3),  # a crash of its own
        ("exit 75", [("failed", True)] * 3),  # sysexits.h: try again later
        ("exit 1", [("failed", False)] * 3),
    ],
)
def test_programs_that_are_killed_and_such_that_cannot_work_now(
    tuning: Shell, line: str, states_then: list[tuple[str, bool]]
) -> None:
    Path("train.sh").write_text(f"#!/bin/sh\n# $1 $2\n{line}\n")
    Path("train.sh").chmod(0o755)
    names = " ".join(f"{{{name}}}" for name in nr.Study.open("tuning").space.parameters)
    tuning(f"run --command './train.sh {names}' --trials 3 --max-failures 9")
    trials = nr.Study.open("tuning").trials
    assert [(trial.state, trial.transient) for trial in trials] == states_then


def test_a_function_that_takes_too_long_is_ended(tuning: Shell) -> None:
    Path("slow.py").write_text("import time\n\ndef f(p):\n    time.sleep(600)\n")
    tuning("run slow.py:f --trials 1 --trial-timeout 3")
    trial = nr.Study.open("tuning").trials[0]
    assert trial.state == "failed"
    assert "no value after 3 s" in (trial.error or "")
