"""``noregret theory`` as a person types it."""

import json
import subprocess
import sys

import pytest


def noregret(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "noregret", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("theory rates --kernel matern:2.5 --dimension 2", "sublinear below t^0.3"),
        ("theory rates --kernel se --norm paper", "0.3333"),
        ("theory schedule --g log --b log -d 3", "yes, proved"),
        ("theory schedule --g power:0.6 --b constant", "not guaranteed"),
        ("theory scaling --h power:0.4 --weight 0.1", "t^0.9"),
        (
            "theory reference --exponent 0.9 --weight 0.1 --cap power:2:0.3 --floor log:0.1",
            "yes, proved",
        ),
        ("theory reference --exponent 0.9 --kernel matern:1.5 -d 2", "not guaranteed"),
        ("theory capture --g log --lengthscale-ratio 10 --norm-ratio 2", "8,103 steps"),
        (
            (
                "theory bound -t 1000 --norm-bound 2 --beta-sqrt 5 --information 12 --regulariser"
                " 0.01 --captured-at 50"
            ),
            "R_1000 ≤ 921.131",
        ),
        ("theory information -t 20 --lengthscale 0.2 -d 2", "γ_20"),
        ("--version", "noregret, version"),
        ("theory reference --help", "Example:"),
    ],
)
def test_commands(command: str, expected: str) -> None:
    done = noregret(*command.split())
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout


@pytest.mark.parametrize(
    ("command", "key", "value"),
    [
        ("theory scaling --h power:0.6 --json", "holds", False),
        ("theory schedule --json", "holds", True),
        (
            "theory reference --exponent 0.9 --floor log:0.1 --cap log --weight 0.1 --json",
            "holds",
            True,
        ),
        ("theory capture --lengthscale-ratio 10 --json", "printed", 8103.0),
        ("theory rates --json", "kernel", "squared exponential, 1 input"),
    ],
)
def test_json(command: str, key: str, value: object) -> None:
    assert json.loads(noregret(*command.split()).stdout)[key] == value


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("theory rates --kernel cosine", "matern:NU"),
        ("theory scaling --h cubic", "unknown schedule"),
        ("theory scaling --h power:-1", "positive"),
        ("theory capture --lengthscale-ratio 0.5", "at least as long as the true ones"),
        ("theory rates --kernel matern:-1", "not a kernel"),
        ("theory rates --kernel 2.5", "not a kernel"),
        ("theory rates --kernel matern:0.8 --capacity printed", "ν"),
    ],
)
def test_mistakes_go_to_stderr_with_code_2(command: str, expected: str) -> None:
    done = noregret(*command.split())
    assert done.returncode == 2
    assert expected in done.stderr
    assert "Traceback" not in done.stderr
