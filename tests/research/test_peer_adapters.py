"""The peer side of the regret benchmark, without the peers: structure, settings, protocol,
environments.
"""

from __future__ import annotations

import ast
import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from research.benchmarks.peers import environments
from research.benchmarks.peers.environments import Outcome, ensure, installation
from research.benchmarks.peers.protocol import serve
from research.benchmarks.peers.random_search import Adapter
from research.benchmarks.peers.registry import adapters
from research.benchmarks.peers.setting import Parameter, Setting, Value

FOLDER = Path(environments.__file__).resolve().parent
ROOT = FOLDER.parents[2]
WORKER = FOLDER / "worker.py"
EXPECTED = {
    "ax",
    "bayesian_optimization",
    "botorch_logei",
    "botorch_ucb",
    "cma",
    "hebo",
    "optuna_gp",
    "optuna_tpe",
    "random_search",
    "skopt",
    "smac",
}
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


def work(
    name: str,
    *messages: dict[str, Any],
    worker: Path = WORKER,
    variables: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(worker), name],
        input="".join(lines(*messages)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, **(variables or {})},
    )


# --- adapters
# ------------------------------------------------------------------------------------------------


def test_every_peer_of_the_benchmark_has_an_adapter() -> None:
    assert set(adapters()) == EXPECTED


def code_lines(text: str, body: list[ast.stmt]) -> list[str]:
    """Neither blank lines nor comments, nor what stands before the body."""
    after = text.splitlines()[body[0].lineno - 1 :]
    return [line for line in after if line.strip() and not line.strip().startswith("#")]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_adapter_is_short_and_says_what_it_uses(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    module = ast.parse(text)
    docstring = ast.get_docstring(module)
    assert docstring is not None
    assert len(docstring) > 80
    assert len(code_lines(text, module.body[1:])) <= 40
    [adapter] = [
        node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "Adapter"
    ]
    methods = {
        node.name: [argument.arg for argument in node.args.args]
        for node in adapter.body
        if isinstance(node, ast.FunctionDef)
    }
    assert (
        methods.items()
        >= {
            "__init__": ["self", "setting"],
            "tell": ["self", "x", "y"],
            "ask": ["self"],
        }.items()
    )


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_an_adapter_lives_in_an_environment_that_pins_its_peer(name: str) -> None:
    adapter = adapters()[name]
    pins = (
        (FOLDER / f"requirements-{adapter.environment}.txt")
        .read_text(encoding="utf-8")
        .lower()
        .split()
    )
    assert adapter.peer == "python" or any(
        pin.startswith(f"{adapter.peer.lower()}==") for pin in pins
    )


def test_requirements_are_plain_pins() -> None:
    for name in environments.names():
        for line in (FOLDER / f"requirements-{name}.txt").read_text(encoding="utf-8").splitlines():
            assert line.startswith("#") or (
                line.count("==") == 1 and not set(line) & set(" /@:+")
            ), f"{name}: {line!r}"


def test_the_registry_wants_the_constants(tmp_path: Path) -> None:
    (tmp_path / "mute.py").write_text('PEER = "mute"\n\n\nclass Adapter:\n    pass\n')
    with pytest.raises(ValueError, match=r"mute.py must define ENVIRONMENT"):
        adapters(tmp_path)


# --- settings
# ------------------------------------------------------------------------------------------------


def test_a_setting_reads_the_start_message() -> None:
    setting = Setting.from_message(start(noisy=True, noise_std=0.5))
    assert [parameter.kind for parameter in setting.parameters] == ["float", "int", "choice"]
    assert setting.parameters[2].options == ("rbf", "linear", "poly")
    assert (setting.seed, setting.noisy, setting.noise_std, setting.trials, setting.dimension) == (
        3,
        True,
        0.5,
        20,
        5,
    )


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


@given(
    st.tuples(
        st.floats(1e-4, 1.0),
        st.integers(1, 6),
        st.sampled_from(["rbf", "linear", "poly"]),
    )
)
def test_the_cube_holds_every_point(x: tuple[float, int, str]) -> None:
    setting = Setting.from_message(start())
    cube = setting.encode(x)
    assert all(0 <= u <= 1 for u in cube)
    rate, *rest = setting.decode(cube)
    assert rate == pytest.approx(x[0])
    assert rest == list(x[1:])


@given(st.lists(st.floats(-0.1, 1.1), min_size=5, max_size=5))
def test_whatever_lies_in_the_cube_is_decoded_within_bounds(cube: list[float]) -> None:
    rate, depth, kernel = Setting.from_message(start()).decode(cube)
    assert isinstance(rate, float)
    assert 1e-4 <= rate <= 1.0
    assert depth in range(1, 7)
    assert isinstance(depth, int)
    assert kernel in {"rbf", "linear", "poly"}


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


# --- protocol
# ------------------------------------------------------------------------------------------------


class Recorder:
    """An optimizer that answers what it was told last."""

    def __init__(self, setting: Setting) -> None:
        self.told: list[tuple[list[Value], float]] = []

    def tell(self, x: list[Value], y: float) -> None:
        self.told.append((x, y))

    def ask(self) -> list[Value]:
        return self.told[-1][0]


def test_an_ask_is_answered_and_nothing_else_is() -> None:
    replies = io.StringIO()
    told = {"op": "tell", "x": [0.5, 2, "poly"], "y": 1.5}
    status = serve(
        lambda: Recorder,
        lines(start(), told, {"op": "ask"}, told, {"op": "stop"}, {"op": "ask"}),
        replies,
    )
    assert status == 0
    [reply] = [json.loads(line) for line in replies.getvalue().splitlines()]
    assert reply["x"] == [0.5, 2, "poly"]
    assert reply["seconds"] >= 0


def test_the_seconds_are_those_of_the_ask_and_the_tells_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = iter([0.0, 1.0, 10.0, 12.0, 20.0, 24.0, 30.0, 38.0])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    replies = io.StringIO()
    told = {"op": "tell", "x": [0.5, 2, "poly"], "y": 1.5}
    assert (
        serve(lambda: Recorder, lines(start(), told, told, {"op": "ask"}, {"op": "ask"}), replies)
        == 0
    )
    assert [json.loads(line)["seconds"] for line in replies.getvalue().splitlines()] == [7.0, 8.0]


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([{"op": "ask"}], "ValueError: the first message must be start, got 'ask'"),
        ([start(), {"op": "asks"}], "ValueError: op must be start, tell, ask or stop, got 'asks'"),
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


def test_a_worker_runs_an_adapter_in_a_process() -> None:
    told = {"op": "tell", "x": [0.5, 2, "poly"], "y": 1.5}
    runs = [
        work("random_search", start(), told, {"op": "ask"}, told, {"op": "ask"}, {"op": "stop"})
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [0, 0]
    asked = [[json.loads(line)["x"] for line in run.stdout.splitlines()] for run in runs]
    assert asked[0] == asked[1]
    assert asked[0][0] != asked[0][1]
    ours = Adapter(Setting.from_message(start()))
    assert asked[0] == [ours.ask(), ours.ask()]


def test_a_worker_answers_what_it_cannot_import() -> None:
    run = work("no_such_peer", start())
    assert run.returncode == 1
    assert json.loads(run.stdout)["error"].startswith("ModuleNotFoundError")


def test_what_a_peer_prints_stays_off_the_replies(tmp_path: Path) -> None:
    package = tmp_path / "research" / "benchmarks" / "peers"
    package.mkdir(parents=True)
    for path in (
        FOLDER.parents[1] / "__init__.py",
        FOLDER.parent / "__init__.py",
        *(FOLDER / name for name in ("__init__.py", "protocol.py", "setting.py", "worker.py")),
    ):
        (tmp_path / path.relative_to(ROOT)).write_text(
            path.read_text(encoding="utf-8"), encoding="utf-8"
        )
    (package / "loud.py").write_text(
        "import os, sys\nprint('import')\n\n\nclass Adapter:\n    def __init__(self, setting):\n   "
        "     print('init')\n    def ask(self):\n        os.write(1, b'from C\\n')\n       "
        " print(os.environ['OMP_NUM_THREADS'], hash('same'))\n        return [0.5, 2, 'rbf']\n"
    )
    run = work(
        "loud",
        start(),
        {"op": "ask"},
        worker=package / "worker.py",
        variables={"OMP_NUM_THREADS": "2"},
    )
    assert [json.loads(line)["x"] for line in run.stdout.splitlines()] == [[0.5, 2, "rbf"]]
    printed = run.stderr.split()
    assert {"import", "init", "from"} <= set(printed)
    assert "2" in printed  # the harness may choose its threads


def test_a_worker_wants_one_name() -> None:
    run = subprocess.run([sys.executable, str(WORKER)], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "usage" in run.stderr


# --- random search
# --------------------------------------------------------------------------------------------------


def test_random_search_draws_from_the_candidates() -> None:
    rows = [[0.1, 2.0], [0.2, 3.0], [0.3, 4.0]]
    search = Adapter(Setting.from_message(start(parameters=PARAMETERS[:2], candidates=rows)))
    drawn = [search.ask() for _ in range(30)]
    assert {tuple(x) for x in drawn} == {tuple(row) for row in rows}


def test_random_search_takes_every_option_alike() -> None:
    search = Adapter(Setting.from_message(start()))
    drawn = [search.ask()[2] for _ in range(3000)]
    for option in ("rbf", "linear", "poly"):
        assert drawn.count(option) == pytest.approx(1000, abs=130)  # five standard deviations


# --- environments
# ------------------------------------------------------------------------------------------------


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


def test_other_pins_install_again(pins: Path) -> None:
    ensure("some", ["optuna"], pins, pins, FakePip())
    (pins / "requirements-some.txt").write_text("optuna==5.0.1\n")
    pip = FakePip()
    pip_venv_exists = ensure(
        "some",
        ["optuna"],
        pins,
        pins,
        lambda command: (0, "") if "venv" in command else pip(command),
    )
    assert pip_venv_exists.ok
    assert [command[-1] for command in pip.commands[:-1]] == [str(pins / "requirements-some.txt")]


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
    outcome = ensure("some", ["cma", "optuna"], pins, pins, FakePip())
    assert outcome == Outcome(
        False, ".peers/some/bin/python", {"optuna": "5.0.0"}, "not installed: cma"
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
        "torch": Outcome(True, ".peers/torch/bin/python", {"cma": "4"}),
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
        "versions": {"cma": "4"},
        "error": "",
    }
    assert written["hebo"]["error"] == "no wheel"
    assert "hebo: failed\nno wheel" in capsys.readouterr().out


def test_an_unknown_environment_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert environments.main(["jax"]) == 2
    assert "there are hebo, smac, storage, torch" in capsys.readouterr().err
