"""The peer side of the regret benchmark, without the peers: table, settings, protocol,
environments.
"""

from __future__ import annotations

import ast
import io
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from research.benchmarks.peers import PEERS, environments
from research.benchmarks.peers.environments import Outcome, ensure, installation
from research.benchmarks.peers.setting import Parameter, Setting, Value
from research.benchmarks.peers.worker import WorstAtFailure, serve
from research.benchmarks.sweep import PUBLISHED

FOLDER = Path(environments.__file__).resolve().parent
WORKER = FOLDER / "worker.py"
PARAMETERS: list[dict[str, Any]] = [
    {"name": "rate", "kind": "float", "low": 1e-4, "high": 1.0, "log": True},
    {"name": "depth", "kind": "int", "low": 1, "high": 6, "log": False},
    {"name": "kernel", "kind": "choice", "options": ["rbf", "linear", "poly"]},
]


def start(**changes: Any) -> dict[str, Any]:
    message = {
        "op": "start",
        "parameters": PARAMETERS,
        "seed": 3,
        "noisy": False,
        "noise_std": 0.0,
        "candidates": None,
        "trials": 20,
    }
    return {**message, **changes}


def lines(*messages: dict[str, Any]) -> list[str]:
    return [json.dumps(message) + "\n" for message in messages]


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_has_its_adapter_and_an_environment_that_pins_it(name: str) -> None:
    peer = PEERS[name]
    module = ast.parse((FOLDER / f"{peer.module}.py").read_text(encoding="utf-8"))
    [adapter] = [n for n in module.body if isinstance(n, ast.ClassDef) and n.name == peer.adapter]
    assert len(ast.get_docstring(adapter) or "") > 80  # says how it is set
    pins = (FOLDER / f"requirements-{peer.environment}.txt").read_text(encoding="utf-8").lower()
    assert f"\n{peer.distribution.lower()}==" in pins
    assert set(PUBLISHED) - {"random"} <= set(PEERS)


def test_requirements_are_plain_pins() -> None:
    for name in environments.names():
        for line in (FOLDER / f"requirements-{name}.txt").read_text(encoding="utf-8").splitlines():
            plain = line.count("==") == 1 and not set(line) & set(" /@:+")
            assert line.startswith("#") or plain, f"{name}: {line!r}"


# -- settings --


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parameters": []}, "names that differ"),
        ({"parameters": [PARAMETERS[0], PARAMETERS[0]]}, "names that differ"),
        (
            {"parameters": [{"name": "a", "kind": "real"}]},
            "kind of 'a' must be one of float, int, choice",
        ),
        (
            {"parameters": [{"name": "a", "kind": "float", "low": 1, "high": 1}]},
            "low of 'a' must be below high",
        ),
        (
            {"parameters": [{"name": "a", "kind": "float", "low": 0, "high": math.inf}]},
            "both finite",
        ),
        (
            {"parameters": [{"name": "a", "kind": "float", "low": 0, "high": 1, "log": True}]},
            "positive on a log scale",
        ),
        ({"parameters": [{"name": "a", "kind": "int", "low": 0.5, "high": 3}]}, "whole numbers"),
        ({"parameters": [{"name": "a", "kind": "choice", "options": ["one"]}]}, "two or more"),
        (
            {"parameters": [{"name": "a", "kind": "choice", "options": ["one", "one", "two"]}]},
            "two or more",
        ),
        ({"parameters": [{"name": "a", "kind": "choice", "options": ["one", 2]}]}, "of one type"),
        ({"seed": -1}, "seed must lie in"),
        ({"noise_std": 0.1}, "0 where noisy is false"),
        ({"noisy": True, "noise_std": -0.1}, "noise_std must be finite"),
        ({"trials": 0}, "trials must be at least 1"),
        ({"candidates": [[0.1, 2.0, 3.0]]}, "no parameter may be a choice"),
        (
            {"parameters": PARAMETERS[:2], "candidates": [[0.1]]},
            "every candidate must have 2 numbers",
        ),
        ({"parameters": PARAMETERS[:2], "candidates": []}, "every candidate must have 2 numbers"),
    ],
)
def test_a_setting_refuses(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Setting.from_message(start(**changes))


def test_the_cube_holds_every_point() -> None:
    setting = Setting.from_message(start())
    points: list[list[Value]] = [[1e-4, 1, "rbf"], [0.02, 4, "poly"], [1.0, 6, "linear"]]
    for x in points:
        cube = setting.encode(x)
        assert all(0 <= u <= 1 for u in cube)
        rate, *rest = setting.decode(cube)
        assert rate == pytest.approx(x[0])
        assert rest == x[1:]
    assert setting.decode([-0.1, 1.1, 0.2, 0.3, 0.1])[1:] == [6, "linear"]


def test_every_whole_number_has_an_equal_share_of_the_cube() -> None:
    depth = Parameter("depth", "int", 1, 6)
    shares = [depth.decode([(i + 0.5) / 600]) for i in range(600)]
    assert [shares.count(value) for value in range(1, 7)] == [100] * 6


def test_a_log_scale_is_uniform_in_the_logarithm() -> None:
    assert Parameter("rate", "float", 1e-4, 1.0, log=True).decode([0.5]) == pytest.approx(1e-2)
    assert Parameter("depth", "int", 1, 100, log=True).encode(10)[0] == pytest.approx(
        math.log(20) / math.log(201)
    )


def test_the_corners_are_the_combinations_of_choices() -> None:
    flag = {"name": "flag", "kind": "choice", "options": [True, False]}
    setting = Setting.from_message(start(parameters=[flag, *PARAMETERS]))
    corners = setting.corners()
    assert len(corners) == 6
    assert corners[1] == {0: 1.0, 1: 0.0, 4: 0.0, 5: 1.0, 6: 0.0}
    assert Setting.from_message(start(parameters=PARAMETERS[:2])).corners() == [{}]


@pytest.mark.parametrize(
    ("value", "native"),
    [([0.5, 2.0, "rbf"], [0.5, 2, "rbf"]), ([1.0 + 1e-12, 6.4, "poly"], [1.0, 6, "poly"])],
)
def test_what_a_library_returns_becomes_native(value: list[Any], native: list[Value]) -> None:
    assert Setting.from_message(start()).native(value) == native


def test_a_value_that_is_none_is_refused() -> None:
    setting = Setting.from_message(start())
    with pytest.raises(ValueError, match="'cubic' is no option of 'kernel'"):
        setting.native([0.5, 2, "cubic"])
    with pytest.raises(ValueError, match="'rate' must be finite"):
        setting.native([math.nan, 2, "rbf"])


# -- protocol --


class Recorder(WorstAtFailure):
    """Answers what it was told last; the depth counts what it was told."""

    def __init__(self, setting: Setting) -> None:
        self.told: list[tuple[list[Value], float]] = []

    def observe(self, x: list[Value], y: float) -> None:
        self.told.append((x, y))

    def ask(self) -> list[Value]:
        x, y = self.told[-1]
        return [min(y, 1.0), len(self.told), x[2]]


def test_an_ask_is_answered_with_the_seconds_since_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0.0, 1.0, 10.0, 12.0, 20.0, 24.0, 30.0, 38.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    replies = io.StringIO()
    told = {"op": "tell", "x": [0.5, 2, "poly"], "y": 0.25}
    failed = {**told, "y": None}  # told as the worst value so far
    assert (
        serve(lambda: Recorder, lines(start(), told, failed, ask := {"op": "ask"}, ask), replies)
        == 0
    )
    answers = [json.loads(line) for line in replies.getvalue().splitlines()]
    assert [answer["x"] for answer in answers] == [[0.25, 2, "poly"]] * 2
    assert [answer["seconds"] for answer in answers] == [7.0, 8.0]


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([{"op": "ask"}], "ValueError: the first message must be start, got 'ask'"),
        ([start(), {"op": "asks"}], "ValueError: op must be start, tell or ask, got 'asks'"),
        ([start(), {"op": "ask"}], "IndexError: list index out of range"),
        ([start(seed=-1)], "ValueError: seed must lie in"),
        (
            [start(), {"op": "tell", "x": [0.5, 2, "cubic"], "y": 0.0}],
            "ValueError: 'cubic' is no option",
        ),
    ],
)
def test_a_failure_is_answered_and_ends_the_conversation(
    messages: list[dict[str, Any]], error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = io.StringIO()
    assert serve(lambda: Recorder, lines(*messages, {"op": "ask"}), replies) == 1
    [reply] = [json.loads(line) for line in replies.getvalue().splitlines()]
    assert reply["error"].startswith(error)
    assert "Traceback" in capsys.readouterr().err


def test_a_worker_answers_what_it_cannot_import() -> None:
    run = subprocess.run(
        [sys.executable, str(WORKER), "hebo"],
        input="".join(lines(start())),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 1
    [reply] = run.stdout.splitlines()
    assert json.loads(reply)["error"].startswith("ModuleNotFoundError")
    assert "Traceback" in run.stderr


# -- environments --


class FakePip:
    """Records commands; creates the folder for venv, fails where told, answers the versions."""

    def __init__(self, fails_at: str = "", versions: dict[str, str] | None = None) -> None:
        self.commands: list[list[str]] = []
        self.fails_at = fails_at
        self.versions = versions if versions is not None else {"optuna": "5.0.0"}

    def __call__(self, command: list[str]) -> tuple[int, str]:
        self.commands.append(command)
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)
        if self.fails_at and self.fails_at in command[-1]:
            return 1, "\n".join(
                [
                    "WARNING: Location 'x' is ignored",
                    *(f"line {i}" for i in range(40)),
                    f"no wheel for {self.fails_at}",
                ]
            )
        return 0, json.dumps(self.versions) if "-c" in command else ""


@pytest.fixture
def pins(tmp_path: Path) -> Path:
    (tmp_path / "requirements-some.txt").write_text(
        "# pins\nnumpy==2.0\noptuna==5.0.0\ntorch==2.13.0\n"
    )
    return tmp_path


def test_torch_is_installed_first_and_alone(pins: Path) -> None:
    python = pins / ".peers" / "some" / "bin" / "python"
    venv, first, rest = installation(python, pins / "requirements-some.txt")
    assert venv[1:] == ["-m", "venv", str(pins / ".peers" / "some")]
    assert first[0] == str(python)
    assert first[-1] == "torch==2.13.0"
    assert first[-3] == "--constraint"
    assert rest[-2:] == ["--requirement", str(pins / "requirements-some.txt")]


def test_an_environment_is_installed_once(pins: Path) -> None:
    pip = FakePip()
    outcome = ensure("some", ["optuna"], pins, pins, pip)
    assert outcome == Outcome(True, ".peers/some/bin/python", {"optuna": "5.0.0"})
    assert len(pip.commands) == 4
    again = FakePip()
    assert ensure("some", ["optuna"], pins, pins, again) == outcome
    assert len(again.commands) == 1


@pytest.mark.parametrize("culprit", ["torch==", "requirements-some"])
def test_a_failed_installation_is_reported_and_tried_again(pins: Path, culprit: str) -> None:
    outcome = ensure("some", ["optuna"], pins, pins, FakePip(fails_at=culprit))
    assert not outcome.ok
    assert outcome.versions == {}
    assert outcome.error.endswith(f"no wheel for {culprit}")
    assert len(outcome.error.splitlines()) == environments.LAST_LINES
    assert "WARNING" not in outcome.error
    assert not (pins / ".peers" / "some" / ".ready").exists()


def test_a_peer_that_is_missing_after_all_is_reported(pins: Path) -> None:
    outcome = ensure("some", ["HEBO", "optuna"], pins, pins, FakePip())
    assert outcome == Outcome(
        False, ".peers/some/bin/python", {"optuna": "5.0.0"}, "not installed: HEBO"
    )


def test_the_versions_are_read_from_the_environment() -> None:
    status, output = environments.run_command(
        [sys.executable, "-c", environments.VERSIONS, "numpy", "python", "no-such-peer"]
    )
    assert status == 0
    assert json.loads(output).keys() == {"numpy", "python"}


def test_the_outcomes_are_written_for_the_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = {
        "torch": Outcome(True, ".peers/torch/bin/python", {"optuna": "5"}),
        "hebo": Outcome(False, "p", error="no wheel"),
    }
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(environments, "ensure", lambda name, peers: outcomes[name])
    assert environments.main(["torch"]) == 0
    assert environments.main(["hebo"]) == 0
    written = json.loads((tmp_path / ".peers" / "status.json").read_text())
    assert written["torch"] == {
        "ok": True,
        "python": ".peers/torch/bin/python",
        "versions": {"optuna": "5"},
        "error": "",
    }
    assert written["hebo"]["error"] == "no wheel"
    assert "hebo: failed\nno wheel" in capsys.readouterr().out


def test_an_unknown_environment_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert environments.main(["jax"]) == 2
    assert "there are hebo, smac, storage, torch" in capsys.readouterr().err
