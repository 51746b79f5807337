"""What makes asks fast must not change what they answer."""

import itertools
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import noregret as nr
from noregret.gp.evidence import Evidence
from noregret.gp.kernels import Matern
from noregret.gp.map import MAP
from noregret.gp.priors import LogNormal
from noregret.strategies import estimation
from noregret.strategies.estimation import estimate
from noregret.strategies.units import frame
from noregret.trials import History

ASK = """
import json, sys, numpy as np, noregret as nr
n, d = map(int, sys.argv[1:])
rng = np.random.default_rng(n)
X = rng.random((n, d))
study = nr.Study([(0, 1)] * d, "maximize", nr.InsuredGPUCB(), 0)
for x, value in zip(X, np.sin(5 * X).sum(axis=1) + 0.1 * rng.standard_normal(n)):
    study.add(x, float(value))
print(json.dumps([[float(v) for v in study.ask().params] for _ in range(2)]))
"""


@pytest.mark.parametrize(("n", "d"), [(40, 2), (300, 3)])
def test_asks_do_not_depend_on_the_number_of_threads(n: int, d: int) -> None:
    answers = []
    for threads in ("1", "2"):
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        done = subprocess.run(
            [sys.executable, "-c", ASK, str(n), str(d)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        answers.append(np.array(json.loads(done.stdout)))
    np.testing.assert_allclose(answers[0], answers[1], rtol=0, atol=1e-10)


def test_nothing_is_remembered_between_asks() -> None:
    """A warm process and a cold one, and one that asked something else in between, answer the same
    bits.
    """
    rng = np.random.default_rng(0)
    warm = nr.minimize(
        lambda x: float((x[0] - 0.3) ** 2 + 0.01 * rng.standard_normal()), [(0, 1)] * 2, 20, seed=3
    )
    nr.minimize(lambda x: float(x[0]), [(0, 1)] * 2, 12, seed=9)
    cold = nr.Study([(0, 1)] * 2, "minimize", warm.strategy, 3, trials=warm.trials)
    assert np.array_equal(warm.ask().params, cold.ask().params)


def test_estimates_are_improved_as_the_data_grow_and_searched_less_often() -> None:
    study = nr.minimize(lambda x: float((x[0] - 0.3) ** 2), [(0, 1)], 90, seed=1)
    whys = [each.decision.model for each in study.trials if each.decision.model is not None]
    improved = sorted({why.improved for why in whys})
    searched = sorted({why.searched for why in whys})
    assert (
        len(searched) < len(improved) < len(whys)
    )  # less often than asked, and that less often still
    assert all(b < 1.05 * a + 1 for a, b in itertools.pairwise(improved))
    assert all(b < 1.1 * a + 1 for a, b in itertools.pairwise(searched))


def test_the_search_on_a_part_ends_at_the_estimate_on_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    y = np.sin(6 * X[:, 0]) + 0.3 * X[:, 1] + 0.1 * rng.standard_normal(120)
    history = History(X, y, np.full(120, np.nan), np.empty((0, 2)), np.empty((0, 2)))
    framed = frame(history, standardise=True, offset=0.0, noise_std=None, regulariser=None)
    rule = MAP(prior=LogNormal(1.4, 1.7, dimension_scaled=True))
    whole = estimate(framed, Matern(2.5), rule, np.full(2, 1.5), (), np.random.default_rng(1))
    monkeypatch.setattr(estimation, "COARSE", 40)
    parted = estimate(framed, Matern(2.5), rule, np.full(2, 1.5), (), np.random.default_rng(1))
    assert whole is not None
    assert parted is not None
    np.testing.assert_allclose(parted.lengthscales, whole.lengthscales, rtol=1e-3)
    assert parted.noise_var == pytest.approx(whole.noise_var, rel=1e-3)


def test_a_part_of_the_evidence_keeps_the_noise_unknown() -> None:
    told = np.array([0.1, 0.1, 0.1, np.nan])
    evidence = Evidence(
        Matern(2.5), np.arange(4.0)[:, None] / 4, np.zeros(4), told, LogNormal(), LogNormal()
    )
    part = evidence.part(np.array([0, 1]))
    assert part.estimates_noise
    assert part.X[:, 0].tolist() == [0.0, 0.25, 0.75]
