"""Shares of the variance: against those known in closed form, and as sure as the data make them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import Importance, importances
from noregret.errors import ConfigurationError, TrialError


def modelled(f: Callable[[Any], float], space: Any, points: int = 60) -> list[Importance]:
    study = nr.Study(space, "maximize")
    rng = np.random.default_rng(0)
    for _ in range(points):
        p: Any = study.space.decode(rng.random(study.space.dimension))
        study.add(p, f(p))
    belief = study.belief()
    assert belief is not None
    return importances(belief, study.space)


def test_an_additive_function() -> None:
    """x + 2y: the variances are as 1 to 4, nothing is shared, z does nothing."""
    x, y, z = modelled(lambda p: p[0] + 2 * p[1], [(0, 1), (0, 1), (0, 1)])
    for found, share in ((x, 0.2), (y, 0.8), (z, 0.0)):
        assert found.first == pytest.approx(share, abs=0.05)
        assert found.total == pytest.approx(share, abs=0.05)
        assert found.total_std is not None
        assert found.total_std < 0.1


def test_a_product_acts_only_together() -> None:
    x, y = modelled(lambda p: (p[0] - 0.5) * (p[1] - 0.5), [(0, 1), (0, 1)])
    for found in (x, y):
        assert found.first < 0.1
        assert found.total > 0.9


def test_choices_whole_numbers_and_constants() -> None:
    space = {
        "s": nr.Choice(["a", "b", "c"]),
        "n": nr.Int(1, 9),
        "only": nr.Choice(["one"]),
        "idle": nr.Float(1e-3, 1, log=True),
    }
    found = modelled(lambda p: 3.0 * (p["s"] == "b") + p["n"] / 9, space)
    assert [each.name for each in found] == ["s", "n", "idle"]
    shares = {each.name: each.total for each in found}
    assert shares["s"] > 0.8 > 0.3 > shares["n"] > shares["idle"]


def test_few_data_are_said_to_be_few() -> None:
    few, many = (modelled(lambda p: p[0] + 2 * p[1], [(0, 1)] * 2, n)[1] for n in (4, 60))
    assert few.total_std is not None
    assert many.total_std is not None
    assert few.total_std > 3 * many.total_std


def test_a_study_says_it_itself() -> None:
    study = nr.Study([(0, 1), (0, 1)], "minimize").run(lambda x: (x[0] - 0.3) ** 2, 15)
    first, second = study.importances()
    assert first.total > 0.8 > 0.3 > second.total
    assert study.importances() == [first, second]  # the same each time
    with pytest.raises(TrialError, match="a model and at least one value"):
        nr.Study([(0, 1)], "minimize").importances()
    with pytest.raises(TrialError, match="a model"):
        nr.Study([(0, 1)], "minimize", nr.RandomSearch()).run(lambda x: 1.0, 2).importances()
    belief = study.belief()
    assert belief is not None
    with pytest.raises(ConfigurationError, match="draws"):
        importances(belief, study.space, draws=1)


def test_candidates() -> None:
    rows = [{"t": t, "s": s} for t in (1.0, 2.0, 3.0, 4.0) for s in ("a", "b")]
    study = nr.Study(nr.Candidates(rows), "maximize")
    for row in rows:
        study.add(row, row["t"])
    t, s = study.importances()
    assert t.total > 0.8 > s.total
