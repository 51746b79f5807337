"""Shares of the variance: against those known in closed form, and as sure as the data make them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.diagnostics import Importance, half_beliefs, importances
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


# -- halves of the data --


def searched(seed: int, trials: int) -> tuple[nr.Study, list[float]]:
    """A cosine mixture in three inputs, searched by the default; its true shares."""
    rng = np.random.default_rng([seed, 3])
    weight = 1 + 5 * rng.dirichlet(np.full(3, 0.5))
    frequency, phase = rng.normal(size=(12, 3)) * weight, rng.uniform(0, 2 * np.pi, 12)
    amplitude = rng.normal(size=12)

    def f(U: Any) -> Any:
        return np.cos(np.atleast_2d(U) @ frequency.T + phase) @ amplitude

    A, B = rng.random((20_000, 3)), rng.random((20_000, 3))
    shares = []
    for i in range(3):
        mixed = A.copy()
        mixed[:, i] = B[:, i]
        shares.append(float(np.mean((f(A) - f(mixed)) ** 2) / 2 / np.var(f(A))))
    study = nr.Study([(0, 1)] * 3, "maximize", seed=seed)
    return study.run(lambda x: float(f(x)[0]), trials, progress=False), shares


def test_the_truth_lies_within_two_stds_also_of_few_data() -> None:
    """One fit alone is far too sure: the negative control."""
    hits: list[bool] = []
    alone: list[bool] = []
    for seed in range(6):
        study, truth = searched(seed, 16)
        belief = study.belief()
        assert belief is not None
        for marks, found in (
            (hits, study.importances(belief)),
            (alone, importances(belief, study.space)),
        ):
            marks += [
                abs(each.total - share) <= 2 * (each.total_std or 0.0)
                for each, share in zip(found, truth, strict=True)
            ]
    assert np.mean(hits) >= 0.85
    assert np.mean(alone) <= 0.75


def test_shares_are_stable_once_halves_agree() -> None:
    f: Callable[[Any], float] = lambda x: x[0] + 0.1 * x[1]  # noqa: E731
    study = nr.Study([(0, 1)] * 2, "maximize")
    rng = np.random.default_rng(0)
    for _ in range(30):
        x = rng.random(2)
        study.add(x, f(x))
    assert all(each.stable for each in study.importances())
    few = nr.Study([(0, 1)] * 2, "maximize")
    few.add([0.5, 0.5], 1.0)
    assert not any(each.stable for each in few.importances())  # nothing to halve
    noise = nr.Study([(0, 1)] * 6, "maximize")
    for _ in range(12):
        noise.add(rng.random(6), rng.normal())
    assert not any(each.stable for each in noise.importances())


def test_halves_are_the_naive_ones() -> None:
    study, _ = searched(1, 12)
    history = study._history(study.trials)
    for split, (first, second) in enumerate(half_beliefs(study.strategy, study.space, history)):
        order = np.random.default_rng(split).permutation(12)
        assert sorted(order) == list(range(12))
        for rows, belief in ((order[:6], first), (order[6:], second)):
            alone = nr.Study([(0, 1)] * 3, "maximize", seed=1)
            for row in sorted(rows):
                alone.add(study.trials[row].params, float(study.trials[row].value or 0.0))
            expected, at = alone.belief(), np.random.default_rng(0).random((5, 3))
            assert belief is not None
            assert expected is not None
            np.testing.assert_allclose(belief.predict(at), expected.predict(at))
