"""Programs in any language as objectives; Python functions are tested with ``run``."""

import os
import shlex
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from noregret.cli.running import (
    EvaluationError,
    NotStartedError,
    Program,
    RunOverError,
    read_printed,
)
from noregret.errors import ConfigurationError, WorkerDiedError
from noregret.space import Float, Space


def box(*names: str) -> Space:
    """A program needs the names alone."""
    return Space({name: Float(0, 1) for name in names})


def python(code: str) -> str:
    return shlex.join([sys.executable, "-c", code])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["3.5"], (3.5, None)),
        (["epoch 1", "-1e-3"], (-0.001, None)),
        (['{"value": 2}'], (2.0, None)),
        (['{"value": 2, "noise_std": 0.5}', "done"], (2.0, 0.5)),
        (['{"value": 1}', '{"value": 2, "noise_std": null}', "{not json}"], (2.0, None)),
        (['{"value": 1}', "7"], (7.0, None)),
        (["3", "[1]", '{"loss": 3}', '{"value": 4}'], (4.0, None)),
    ],
)
def test_read_printed(lines: list[str], expected: tuple[float, float | None]) -> None:
    assert read_printed(lines) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([], "printed nothing"),
        (["done"], "no number"),
        (["nan"], "finite"),
        (["inf"], "finite"),
        (['{"value": "high"}'], "one real number"),
        (['{"value": NaN}'], "finite"),
        (['{"value": true}'], "one real number"),
        (['{"value": 1, "noise_std": -1}'], "noise_std"),
        (['{"value": 1, "noise_std": "low"}'], "noise_std"),
        (["[" * 100_000], "no number"),
        (["3 4"], "no number"),
    ],
)
def test_no_value(lines: list[str], expected: str) -> None:
    with pytest.raises(EvaluationError, match=expected):
        read_printed(lines)


def test_values_are_words_never_commands(tmp_path: Path) -> None:
    hostile = "$(touch owned); `touch owned` && {other} | ' \" \n -rf *"
    code = (
        "import sys, json; print(json.dumps({'value': 1, 'got': sys.argv[1:]}), file=sys.stderr);"
        " sys.exit(1)"
    )
    program = Program(
        f"{python(code)} --text={{text}} '{{other}} {{text}}' '{{\"x\": {{number}}}}'",
        box("text", "other", "number"),
    )
    words = program.arguments({"text": hostile, "other": "{text}", "number": 1e-05})
    assert words[-3:] == [f"--text={hostile}", f"{{text}} {hostile}", '{"x": 1e-05}']
    before = set(tmp_path.iterdir())
    with pytest.raises(EvaluationError, match="owned"):  # the program got it as text
        program({"text": hostile, "other": "o", "number": 1.0})
    assert set(tmp_path.iterdir()) == before
    assert not Path("owned").exists()


def test_values_as_other_languages_read_them() -> None:
    program = Program("env {a} {b} {c} {d}", box("a", "b", "c", "d"))
    assert program.arguments({"a": 0.1 + 0.2, "b": 3, "c": True, "d": None})[1:] == [
        "0.30000000000000004",
        "3",
        "true",
        "null",
    ]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("", "empty"),
        ("./train 'x", "split into words"),
        ("env --lr", "does not use {lr}"),
        ("env {lrate}", "does not use {lr}"),
        ("./absent {lr}", "no program './absent'"),
    ],
)
def test_commands_that_cannot_work(command: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=expected):
        Program(command, box("lr"))


def test_a_failure_says_its_last_words() -> None:
    program = Program(
        python("import sys; print('out of memory', file=sys.stderr); sys.exit(3)") + " {x}",
        box("x"),
    )
    with pytest.raises(EvaluationError, match="exit code 3, its last words: out of memory"):
        program({"x": 1})
    program = Program(python("import os; os.kill(os.getpid(), 9)") + " {x}", box("x"))
    with pytest.raises(WorkerDiedError, match="signal 9"):
        program({"x": 1})


def test_a_program_that_cannot_be_started(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("no interpreter is named")
    script.chmod(0o755)
    with pytest.raises(NotStartedError, match="cannot start"):
        Program(f"{script} {{x}}", box("x"))({"x": 1})
    with pytest.raises(NotStartedError, match="cannot start"):
        Program("env {x}", box("x"))({"x": "a\0b"})


def test_much_output_and_undecodable_bytes() -> None:
    code = "import sys; sys.stdout.buffer.write(b'\\xff' * 300_000 + b'\\n3.25\\n')"
    assert Program(python(code) + " {x}", box("x"))({"x": 1}) == (3.25, None)


def test_a_timeout_ends_the_program_and_its_children(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    command = shlex.join(["sh", "-c", f"sleep 60 & echo $! > {pid}; wait # {{x}}"])
    with pytest.raises(EvaluationError, match=r"no answer after 2 s"):
        Program(command, box("x"), timeout=2.0)({"x": 1})
    assert gone(int(pid.read_text()))


def test_a_program_that_ignores_the_request_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noregret.cli.running.PATIENCE", 0.2)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    with pytest.raises(EvaluationError, match="no answer"):
        Program(python(code) + " {x}", box("x"), timeout=1.0)({"x": 1})


def test_leaving_ends_what_runs() -> None:
    errors: list[BaseException] = []

    def evaluate(program: Program) -> None:
        try:
            program({"x": 60})
        except RunOverError as error:
            errors.append(error)

    with Program("sleep {x}", box("x")) as program:
        thread = threading.Thread(target=evaluate, args=(program,))
        thread.start()
        while not program._running:
            time.sleep(0.01)
    thread.join(240)
    assert len(errors) == 1
    with pytest.raises(RunOverError):
        program({"x": 1})


def gone(pid: int) -> bool:
    """Ended, or a zombie nobody waits for."""
    for _ in range(1200):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)
    return False
