"""Widening by dimension: nested deals, points that stay where they are, and when it is enlarged."""

from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.extensions.subspace import LONGEST, Embedding
from noregret.space import Array


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


@pytest.mark.filterwarnings("ignore::noregret.errors.GuaranteeWarning")
@pytest.mark.parametrize("learn", [0, 3])
def test_the_papers_rule_searches_in_a_subspace(learn: int) -> None:
    strategy = nr.Subspace(nr.AdaptiveGPUCB.paper(), start=2, learn=learn)
    study = nr.Study([(0, 1)] * 6, "maximize", strategy=strategy, seed=1)
    study.run(lambda x: float(-((x[3] - 0.7) ** 2) - (x[1] - 0.2) ** 2), trials=20)
    payloads = [trial.decision.payload for trial in study.trials]
    widened = [each for each in payloads if {"g", "h", "inner"} <= each.keys()]  # by A-GP-UCB
    assert widened
    assert all(len(each["lengthscales"]) == 6 for each in widened)
    assert study.replay().number is None


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


def ridge(seed: int, d: int) -> tuple[Array, Any]:
    """A function of two oblique directions (d, 2), and itself."""
    A = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, 2)))[0]

    def value(x: Any) -> float:
        z = (np.asarray(x) - 0.5) @ A
        return float(np.sin(5 * z[0]) + np.sin(5 * z[1]))

    return A, value


def least_cosine(A: Array, directions: Array) -> float:
    """1 if the span of A lies in that of the directions."""
    return float(np.linalg.svd(A.T @ directions)[1].min())


def test_directions_are_recovered_from_fewer_differences_than_inputs_have() -> None:
    """Ten differences at each of 8 points of 20 inputs; those of shuffled slopes tell nothing."""
    good, control = [], []
    for seed in range(6):
        A, value = ridge(seed, 20)
        strategy = nr.Subspace(learn=8, seed=seed)
        path = strategy._differences(20)
        assert len(path) == 8 * 11
        assert np.all((path >= 0) & (path <= 1))
        told = {n: value(x) for n, x in enumerate(path)}
        learnt = strategy._learnt(20, told)
        assert learnt is not None
        directions, count = learnt
        np.testing.assert_allclose(directions.T @ directions, np.eye(20), atol=1e-9)
        assert 2 <= count <= 6
        good.append(least_cosine(A, directions[:, :count]))
        shuffled = dict(
            zip(told, np.random.default_rng(seed).permutation(list(told.values())), strict=True)
        )
        wrong = strategy._learnt(20, shuffled)
        assert wrong is not None
        control.append(least_cosine(A, wrong[0][:, :count]))
    assert np.mean(good) > 0.85
    assert np.mean(control) < 0.5


def test_differences_come_first_and_the_search_lies_in_the_span() -> None:
    _, value = ridge(1, 6)
    study = nr.Study([(0, 1)] * 6, "maximize", nr.Subspace(learn=4, patience=LONGEST), seed=1)
    study.run(value, trials=24)
    first, rest = study.trials[:16], study.trials[16:]
    assert all(trial.decision.source == "initial" for trial in first)
    assert [trial.decision.payload["difference"] for trial in first] == list(range(16))
    counts = {trial.decision.payload["directions"] for trial in rest}
    assert len(counts) == 1
    assert 2 <= counts.pop() <= 4
    told = {n: float(trial.value or 0.0) for n, trial in enumerate(first)}
    learnt = nr.Subspace(learn=4)._learnt(6, told)
    assert learnt is not None
    embedding = Embedding.along(*learnt)
    inside = [
        np.asarray(t.params)
        for t in rest
        if np.all((np.array(t.params) > 0) & (np.array(t.params) < 1))
    ]
    for x in inside:  # not cut off at the cube
        away = (x - 0.5) - embedding.basis @ (np.linalg.pinv(embedding.basis) @ (x - 0.5))
        assert np.abs(away).max() < 1e-6
    assert study.replay().number is None
    flat = nr.Study([(0, 1)] * 6, "maximize", nr.Subspace(learn=1), seed=1)
    flat.run(lambda x: 1.0, trials=6)  # nothing to learn: random directions
    assert flat.trials[-1].decision.payload["directions"] == 4
