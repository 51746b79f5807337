"""``noregret research theory``."""

import pytest

from tests.cli.conftest import Shell


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rates --kernel matern:2.5 --dimension 2", "sublinear below t^0.3"),
        ("rates --kernel se --norm paper", "0.3333"),
        ("schedule --g log --b log -d 3", "yes, proved"),
        ("schedule --g power:0.6 --b constant", "not guaranteed"),
        ("scaling --h power:0.4 --weight 0.1", "t^0.9"),
        (
            "reference --exponent 0.9 --weight 0.1 --cap power:2:0.3 --floor log:0.1",
            "yes, proved",
        ),
        ("reference --exponent 0.9 --kernel matern:1.5 -d 2", "not guaranteed"),
        ("capture --g log --lengthscale-ratio 10 --norm-ratio 2", "8,103 steps"),
        (
            "bound -t 1000 --norm-bound 2 --beta-sqrt 5 --information 12 --regulariser 0.01"
            " --captured-at 50",
            "R_1000 ≤ 921.131",
        ),
        ("information -t 20 --lengthscale 0.2 -d 2", "γ_20"),
    ],
)
def test_commands(shell: Shell, command: str, expected: str) -> None:
    assert expected in shell(f"research theory {command}").out


@pytest.mark.parametrize(
    ("command", "key", "value"),
    [
        ("scaling --h power:0.6", "holds", False),
        ("schedule", "holds", True),
        ("reference --exponent 0.9 --floor log:0.1 --cap log --weight 0.1", "holds", True),
        ("capture --lengthscale-ratio 10", "printed", 8103.0),
        ("rates", "kernel", "squared exponential, 1 input"),
        (
            "bound -t 10 --norm-bound 1 --beta-sqrt 1 --information 1 --regulariser 1",
            "t",
            10,
        ),
        ("information -t 5 --points 50", "candidates", 50),
    ],
)
def test_json(shell: Shell, command: str, key: str, value: object) -> None:
    assert shell(f"research theory {command} --json").json[key] == value


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("rates --kernel cosine", "matern:NU"),
        ("scaling --h cubic", "unknown schedule"),
        ("scaling --h power:-1", "positive"),
        ("capture --lengthscale-ratio 0.5", "at least as long as the true ones"),
        ("rates --kernel matern:-1", "not a kernel"),
        ("rates --kernel 2.5", "not a kernel"),
        ("rates --kernel matern:0.8 --capacity printed", "ν"),
    ],
)
def test_mistakes_go_to_stderr_with_code_2(shell: Shell, command: str, expected: str) -> None:
    shell.fails(f"research theory {command}", expected)
