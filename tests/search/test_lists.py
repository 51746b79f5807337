"""Sweeps of lists."""

import numpy as np
import pytest

import noregret as nr
from noregret.gp import Matern, Posterior, condition
from noregret.search import allowed, optimizer, ucb, unlike
from noregret.space import Array, Candidates, FixedInputs, SearchSpace, Space, as_space

RNG = np.random.default_rng(0)
LIST = Candidates(RNG.integers(0, 9, (300, 3)).astype(float))
SPACES: list[SearchSpace] = [
    LIST,
    as_space({"n": nr.Int(1, 9), "k": nr.Choice(["a", "b", "c"])}),
    FixedInputs(LIST, {"x0": 3.0}),
]


@pytest.mark.parametrize("space", SPACES)
def test_what_is_known_of_a_list(space: SearchSpace) -> None:
    every = space.enumeration()
    assert every is not None
    known = np.vstack([every[::3], every[:1], RNG.random((4, space.dimension))])
    naive = [not any((x == k).all() for k in known) for x in every]
    assert unlike(space, every, known).tolist() == naive
    assert unlike(space, every, known[:0]).all()


def test_failures_are_avoided_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    points, failed = RNG.random((500, 2)), RNG.random((30, 2))
    whole = allowed(points, failed)
    monkeypatch.setattr(optimizer, "BLOCK", 64)
    assert np.array_equal(allowed(points, failed), whole)
    assert 0 < whole.sum() < 500


def test_a_stagnating_search_sweeps_its_list_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it proposes the best design that is not measured yet."""
    space = Candidates(RNG.random((600, 2)))
    every = space.enumeration()
    study = nr.Study(space, "maximize", strategy=nr.InsuredGPUCB(noise_std=1.0))
    swept: list[int] = []
    predict = Posterior.predict

    def counted(self: Posterior, A: Array) -> tuple[Array, Array]:
        swept.append(len(A))
        return predict(self, A)

    for row in space.rows[:40]:
        study.add(row, 0.0)
    monkeypatch.setattr(Posterior, "predict", counted)
    trial = study.ask()
    assert swept.count(len(every)) == 1
    assert max(swept) == len(every)
    assert trial.decision.model is not None
    measured = {tuple(t.params) for t in study.trials[:40]}
    assert tuple(trial.params) not in measured


def test_the_argmax_of_a_list_leaves_failed_designs_out() -> None:
    space = Space({"n": nr.Int(1, 40)})
    every = space.enumeration()
    assert every is not None
    posterior = condition(Matern(2.5), np.ones(1), every[:2], np.zeros(2), 1e-4)
    acquisition = ucb(posterior, 2.0)
    order = np.argsort(-acquisition.values(every), kind="stable")
    found = optimizer.argmax(
        acquisition, space, np.ones(1), np.random.default_rng(0), every[:1], every[order[:3]]
    )
    assert np.array_equal(found, every[order[3]])
