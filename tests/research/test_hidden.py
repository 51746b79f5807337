"""The function made of a run's own hole."""

import json

import numpy as np
import pytest

from noregret.study import Progress
from research.theory import hidden


def test_the_bump_lies_in_a_hole_around_a_patrol_point() -> None:
    points = np.array([0.0, 0.1, 0.24, 0.26, 0.45, 0.56, 0.72, 0.9])
    centre, radius = hidden.hole(points, np.array([0.5, 0.25, 0.75]))
    assert centre - radius > 0.45  # around ½: those at ¼ and ¾ are narrower
    assert centre + radius <= 0.55 + 1e-12
    assert abs(centre - 0.5) < radius  # the patrol is inside, off the top
    assert centre != 0.5
    function = hidden.with_bump(centre, radius)
    assert all(function(x) == hidden.smooth(x) for x in points)
    assert function(centre) == pytest.approx(hidden.smooth(centre) + hidden.HEIGHT)


def test_without_patrols_the_run_is_the_same_with_the_bump_and_its_regret_linear() -> None:
    result = hidden.measure(150)
    first, second = hidden.halves(result["regret"]["without patrols"])
    assert second > 0.8 * first  # in 150 trials the way there still counts
    assert min(result["regret"]["without patrols"]) > 0.5
    assert min(result["regret"]["the default"]) < 0.1  # a patrol
    function = hidden.with_bump(result["centre"], result["radius"])
    with Progress(150, "") as bar:
        values = hidden.run(function, hidden.Unpatrolled(), 150, bar)[1]
    regret = result["maximum"] - np.array(values)
    np.testing.assert_allclose(regret, result["regret"]["without patrols"], rtol=1e-3)


def test_a_rule_that_wants_the_worst_point_is_bent_by_the_leash() -> None:
    page = (hidden.ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    free, leashed = (
        hidden.halves(hidden.stubborn(2000, is_leashed)) for is_leashed in (False, True)
    )
    assert f"without the leash: {free[0]:.0f} and {free[1]:.0f};" in page
    assert f"with it {leashed[0]:.0f} and {leashed[1]:.0f}." in page
    assert free[1] > free[0]
    assert leashed[1] < leashed[0]


def test_the_figures_of_the_page_are_those_of_the_results() -> None:
    result = json.loads(hidden.RESULT.read_text(encoding="utf-8"))
    page = (hidden.ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    regret = result["regret"]
    without, with_patrols = (hidden.halves(regret[n]) for n in ("without patrols", "the default"))
    assert result["trials"] == 2000
    assert f"half is {without[0]:,.0f} and {without[1]:,.0f} without, " in page
    assert f"{with_patrols[0]:.0f} and {with_patrols[1]:.0f} with them." in page
    assert without[1] > 0.9 * without[0]
    assert sum(with_patrols) < 0.2 * sum(without)
