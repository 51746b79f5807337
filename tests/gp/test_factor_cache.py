"""The factor as a sequence of block appends, and what a process keeps of it."""

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import NumericalError
from noregret.gp import (
    Matern,
    Posterior,
    SquaredExponential,
    condition,
    covariance,
    factor_cache,
    linalg,
)
from noregret.space import Array
from noregret.trials import Decision, Trial

KERNEL = Matern(2.5)
SIZES = [
    factor_cache.HEAD + 1,
    factor_cache.HEAD + factor_cache.STEP,
    factor_cache.HEAD + 2 * factor_cache.STEP + 7,
]
N = max(SIZES)
RNG = np.random.default_rng(0)
X = RNG.random((N, 3))
THETA = np.array([0.4, 0.8, 1.5])
NOISE = RNG.uniform(1e-3, 1e-2, N)


@pytest.fixture(autouse=True)
def nothing_cache() -> Iterator[None]:
    factor_cache.cache.clear()
    yield
    factor_cache.cache.clear()


def factor(n: int, x: Array = X, noise: Array = NOISE, theta: Array = THETA) -> Array:
    return factor_cache.factor(KERNEL, theta, x[:n], noise[:n])


def cold(n: int, *given: Any) -> Array:
    factor_cache.cache.clear()
    return factor(n, *given)


@pytest.mark.parametrize("n", SIZES)
def test_it_is_the_factor(n: int) -> None:
    L = factor(n)
    K = covariance(KERNEL, THETA, X[:n], X[:n]) + np.diag(NOISE[:n])
    np.testing.assert_allclose(L @ L.T, K, atol=1e-12)
    assert np.array_equal(L, np.tril(L))
    np.testing.assert_allclose(L, np.linalg.cholesky(K), atol=1e-10)
    assert L.flags.f_contiguous


@pytest.mark.parametrize("n", [1, 100, factor_cache.HEAD])
def test_few_points_are_factorised_at_once(n: int) -> None:
    K = covariance(KERNEL, THETA, X[:n], X[:n]) + np.diag(NOISE[:n])
    assert np.array_equal(factor(n), linalg.cholesky(K.T))
    assert not factor_cache.cache.items


def test_appending_and_starting_over_give_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = {n: cold(n) for n in SIZES}
    factor_cache.cache.clear()
    for n in range(factor_cache.HEAD - 2, N + 1, 3):  # as a study grows
        grown = factor(n)
        if n in alone:
            assert np.array_equal(grown, alone[n])
    appended: list[slice] = []
    true = factor_cache.append_block

    def noted(*given: Any) -> None:
        appended.append(given[-1])
        true(*given)

    monkeypatch.setattr(factor_cache, "append_block", noted)
    assert np.array_equal(factor(N), alone[N])
    assert appended == [slice(factor_cache.whole_blocks(N), N)]  # only what fills no block
    assert np.array_equal(factor(SIZES[0]), alone[SIZES[0]])  # fewer again


def test_only_what_agrees_is_used_again() -> None:
    other, middle = X.copy(), factor_cache.HEAD + factor_cache.STEP + 3
    other[middle] += 0.1
    louder = NOISE.copy()
    louder[10] *= 2
    first = factor(N)
    narrow = X[:, :2].copy()
    for given in [(other,), (X, louder), (X, NOISE, THETA * 1.1), (narrow, NOISE, THETA[:2])]:
        warm = factor(N, *given)
        assert not np.array_equal(warm, first)
        assert np.array_equal(warm, cold(N, *given))
        assert np.array_equal(cold(N), first)
    factor_cache.factor(SquaredExponential(), THETA, X[:N], NOISE + 0.1)
    assert np.array_equal(factor(N), first)


def test_a_factor_that_is_used_stays_while_others_are_tried() -> None:
    for n in SIZES:
        factor(n)
        for g in (1.2, 1.4, 1.7):
            factor(n, X, NOISE, THETA / g)
        assert len(factor_cache.cache.items) == factor_cache.CAPACITY
        assert any(np.array_equal(each.lengthscales, THETA) for each in factor_cache.cache.items)
    for g in (3.0, 4.0, 5.0):  # and one that is not used any more goes
        for n in (*SIZES, N, N):
            factor(n, X, NOISE, THETA / g)
    assert not any(np.array_equal(each.lengthscales, THETA) for each in factor_cache.cache.items)


def test_threads_get_the_same_factor() -> None:
    wanted, found = {n: cold(n) for n in SIZES}, []

    def work(n: int) -> None:
        found.extend([np.array_equal(factor(n), wanted[n]) for _ in range(5)])

    threads = [threading.Thread(target=work, args=(n,)) for n in SIZES * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 30


def test_a_block_that_cannot_be_factorised_names_all_points() -> None:
    twice = np.vstack([X[: factor_cache.HEAD], X[: factor_cache.STEP]])
    with pytest.raises(NumericalError, match=f"the covariance of {len(twice)} points"):
        factor_cache.factor(
            SquaredExponential(), np.full(3, 0.1), twice, np.full(len(twice), 1e-30)
        )


def asked(count: int, before: list[Trial]) -> list[Trial]:
    """A study of 700 added trials and ``before``, asked ``count`` times."""
    rng = np.random.default_rng(0)
    points = rng.random((700, 3))
    values = np.sin(5 * points).sum(axis=1) + 0.1 * rng.standard_normal(700)
    added = [
        Trial(i, x, "complete", float(v), decision=Decision("added"))
        for i, (x, v) in enumerate(zip(points, values, strict=True))
    ]
    study = nr.Study([(0, 1)] * 3, "maximize", trials=[*added, *before])
    for _ in range(count):
        trial = study.ask()
        study.tell(trial, float(np.sin(5 * np.asarray(trial.params)).sum()))
    return list(study.trials[700:])


def test_a_study_reopened_without_cached_factors_proposes_the_same_to_the_bit() -> None:
    warm, cold = asked(3, []), list[Trial]()
    for _ in range(3):
        factor_cache.cache.clear()
        cold = asked(1, cold)
    assert [trial.decision for trial in cold] == [trial.decision for trial in warm]
    for one, other in zip(cold, warm, strict=True):
        assert np.array_equal(one.params, other.params)


# -- the best of a sweep --


@pytest.mark.parametrize("width", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("top", [1, 40, 600])
def test_the_leading_candidates_are_right_and_no_other_passes_them(width: float, top: int) -> None:
    y = np.sin(4 * X).sum(axis=1)
    posterior = condition(KERNEL, THETA, X, y - y.mean(), NOISE)
    A = RNG.random((600, 3))
    mean, std = posterior.predict(A)
    leading_mean, leading_std = posterior.predict_leading(A, width, top)
    np.testing.assert_allclose(leading_mean, mean, atol=1e-9)
    naive, found = mean + width * std, leading_mean + width * leading_std
    best = np.argsort(-naive, kind="stable")[:top]
    assert set(np.argsort(-found, kind="stable")[:top].tolist()) == set(best.tolist())
    np.testing.assert_allclose(leading_std[best], std[best], atol=1e-7)
    assert np.all(leading_std >= std - 1e-7)


def test_candidates_are_dropped_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    y = 5 * np.sin(4 * X).sum(axis=1)
    posterior = condition(KERNEL, THETA, X, y - y.mean(), NOISE)
    widths: list[int] = []
    true = linalg.solve_lower

    def noted(L: Array, B: Array, **options: Any) -> Array:
        widths.append(B.shape[1])
        return true(L, B, **options)

    monkeypatch.setattr(linalg, "solve_lower", noted)
    posterior.predict_leading(RNG.random((600, 3)), 1.0, 10)
    assert widths[0] == 600
    assert widths[-1] < 100


def test_an_ask_with_many_points_sweeps_in_this_way(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    true = Posterior.predict_leading

    def noted(self: Posterior, A: Array, width: float, top: int) -> tuple[Array, Array]:
        calls.append(top)
        return true(self, A, width, top)

    monkeypatch.setattr(Posterior, "predict_leading", noted)
    study = nr.Study([(0, 1)] * 3, "maximize", strategy=nr.InsuredGPUCB(noise_std=0.1))
    for x in X[:520]:
        study.add(x, float(np.sin(5 * x).sum()))
    study.ask()  # by expected improvement
    study.ask()  # by UCB, whose leading values are enough
    assert len(calls) == 1
    assert calls[0] % 8 == 0
