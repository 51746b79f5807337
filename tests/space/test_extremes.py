"""Bounds of any size: right, or refused clearly, and never with a warning."""

from typing import Any

import pytest

import noregret as nr
from noregret.errors import SpaceError
from noregret.space import Candidates, Float, Int, Space


@pytest.mark.parametrize(
    "parameter",
    [
        Float(-1.7e308, 1.7e308),
        Float(0, 5e-324),
        Float(1e-320, 1e300, log=True),
        Float(1e16, 1e16 + 4),
        Int(-(2**53), 2**53),
        Int(2**53 - 5, 2**53),
        Int(1, 2**53, log=True),
    ],
    ids=str,
)
def test_a_study_on_extreme_bounds(parameter: Any) -> None:
    """Over the whole range: -1e308 and 1e308 were one point to the model."""
    space = Space({"x": parameter})
    ends = [space.encode({"x": end})[0] for end in (parameter.low, parameter.high)]
    assert ends == [0.0, 1.0]
    study = nr.Study(space, "minimize")
    study.run(lambda params: float(space.encode(params)[0] - 0.3) ** 2, trials=16)
    for trial in study.trials:
        assert parameter.low <= trial.params["x"] <= parameter.high
        assert type(trial.params["x"]) is (float if isinstance(parameter, Float) else int)
    if len({trial.params["x"] for trial in study.trials}) > 8:
        assert abs(space.encode(study.best.params)[0] - 0.3) < 0.1


@pytest.mark.parametrize("digits", [19, 200, 400, 5000])
@pytest.mark.parametrize("sign", [0, -1])
def test_whole_numbers_that_would_not_stay_exact_are_refused(digits: int, sign: int) -> None:
    low, high = sign * 10**digits, 2**63 if digits == 19 else 10**digits
    with pytest.raises(SpaceError, match=r"2\^53|must be a finite") as caught:
        Int(low, high)
    assert len(str(caught.value)) < 400
    assert "bits" in str(caught.value) or "2^53" in str(caught.value)


def test_floats_that_are_none_are_refused() -> None:
    for bounds in ((0, 10**400), (-(10**400), 0), (0, float("inf"))):
        with pytest.raises(SpaceError, match="finite"):
            Float(*bounds)
    with pytest.raises(SpaceError, match="finite"):
        Float(0, 1).encode(10**400)
    with pytest.raises(SpaceError, match="beyond"):
        Candidates([{"x": 2**60}, {"x": 2**60 + 1}])  # one design to a float


@pytest.mark.parametrize("log", [False, True])
def test_whole_numbers_stay_exact(log: bool) -> None:
    study = nr.Study({"n": Int(1, 2**53, log)}, "maximize")
    for number in (1, 2, 10**15 + 1, 2**52 + 1, 2**53 - 1, 2**53):
        assert study.add({"n": number}, 1.0).params["n"] == number
