import numpy as np
import pytest

import noregret as nr
from noregret.space import coordinate_names, named_params

MIXED = nr.Space({"x": nr.Float(0, 1), "n": nr.Int(1, 9), "gas": nr.Choice(["air", "argon", None])})


def test_a_point_by_name_whatever_its_form() -> None:
    named = {"x": 0.5, "n": 3, "gas": None}
    assert named_params(MIXED, named) == named
    assert list(named_params(MIXED, dict(reversed(named.items())))) == ["x", "n", "gas"]
    box = nr.Study([(0, 1), (-5, 5)], "maximize").space
    for point in (np.array([0.25, -3.0]), [0.25, -3.0], (0.25, -3.0)):
        assert named_params(box, point) == {"x0": 0.25, "x1": -3.0}
    with pytest.raises(ValueError):
        named_params(box, [0.25])


def test_values_are_plain() -> None:
    found = named_params(MIXED, {"x": np.float64(0.5), "n": np.int64(3), "gas": "air"})
    assert [type(value) for value in found.values()] == [float, int, str]


def test_a_name_per_coordinate() -> None:
    assert coordinate_names(MIXED) == ["x", "n", "gas=air", "gas=argon", "gas=None"]
    assert coordinate_names(nr.Candidates([[1.0, 2.0], [3.0, 4.0]])) == ["x0", "x1"]
    assert coordinate_names(nr.Space({"b": nr.Choice(["yes", "no"])})) == ["b"]  # one suffices


@pytest.mark.parametrize(
    "space", [MIXED, nr.Candidates([{"a": 1.0, "b": "u"}, {"a": 2.0, "b": "v"}])]
)
def test_as_many_as_the_cube_has(space: nr.Space | nr.Candidates) -> None:
    assert len(coordinate_names(space)) == space.dimension
