"""Widening by dimension: nested deals, points that stay where they are, and when it is enlarged."""

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.extensions.subspace import LONGEST, Embedding


@pytest.mark.parametrize("d", [3, 10, 50])
def test_more_directions_split_the_old_ones(d: int) -> None:
    """Every point of a subspace lies in all later ones: typed out input by input."""
    rng, count = np.random.default_rng(0), 2
    while count < d:
        small, large = Embedding.of(d, count, 5), Embedding.of(d, min(2 * count, d), 5)
        Z = rng.random((4, small.count))
        X = small.outwards(Z)
        for z, x in zip(Z, X, strict=True):
            for i in range(d):
                assert x[i] == pytest.approx(0.5 + small.basis[i] @ (z - 0.5))
        back, inside = small.inwards(X)
        assert inside.all()
        np.testing.assert_allclose(back, Z, atol=1e-12)
        assert large.inwards(X)[1].all()
        assert not small.inwards(rng.random((4, d)))[1].any() or small.count == d
        count *= 2
    whole = Embedding.of(d, d, 5)
    np.testing.assert_array_equal(whole.outwards(X), X)


def test_it_grows_where_nothing_gets_better_and_ends_in_the_whole_space() -> None:
    strategy = nr.Subspace(start=2, patience=1.5)
    study = nr.Study([(0, 1)] * 6, "maximize", strategy=strategy, seed=1)
    study.add([0.3] * 6, 10.0)  # better than all that comes: every subspace stagnates
    study.run(lambda x: -float(np.sum((np.array(x) - 0.4) ** 2)), trials=25)
    sizes = [t.decision.payload["directions"] for t in study.trials if t.decision.payload]
    assert sizes == sorted(sizes)
    assert set(sizes) == {2, 4, 6}
    assert sizes.count(2) == 3  # 1.5 per direction
    assert sizes.count(4) == 6
    for trial in study.trials[1:]:
        embedding = Embedding.of(6, trial.decision.payload["directions"], 0)
        assert embedding.inwards(np.array([trial.params]))[1].all()
    assert study.belief() is not None


def test_it_stays_while_it_gets_better_but_not_for_ever() -> None:
    strategy = nr.Subspace(start=1, patience=2.0)
    study = nr.Study([(0, 1)] * 3, "maximize", strategy=strategy, seed=1)
    clock = iter(range(10_000))
    study.run(lambda x: float(next(clock)), trials=LONGEST + 1)
    sizes = [trial.decision.payload["directions"] for trial in study.trials]
    assert sizes == [1] * LONGEST + [2]


def test_proposals_are_derived_again_and_pending_points_count() -> None:
    def run() -> list[Any]:
        study = nr.Study([(0, 1)] * 5, "minimize", strategy=nr.Subspace(start=2), seed=4)
        study.run(lambda x: float(x[0] + (x[1] - 0.3) ** 2), trials=9)
        first, second = study.ask(), study.ask()
        assert not np.allclose(first.params, second.params)
        return [list(trial.params) for trial in study.trials]

    assert run() == run()


def test_mistakes() -> None:
    mixed = nr.Study({"x": nr.Float(0, 1), "n": nr.Int(1, 3)}, "minimize", strategy=nr.Subspace())
    with pytest.raises(ConfigurationError, match="move freely"):
        mixed.ask()
    wrong: list[Any] = [
        lambda: nr.Subspace(inner=nr.LogEI()),  # type: ignore[arg-type]
        lambda: nr.Subspace(start=0),
        lambda: nr.Subspace(patience=0.0),
        lambda: nr.Subspace(patience=LONGEST + 1.0),
    ]
    for make in wrong:
        with pytest.raises(ConfigurationError):
            make()
    assert nr.Subspace().theorem.startswith("none before")
