"""The suite of known constraints: its problems, and how peers are told of them."""

import json
import math
from typing import Any

import numpy as np
import pytest

from noregret.space import Space
from noregret.strategies import random_points
from research.benchmarks.constrained import KNOWN, PEERS, constrained
from research.benchmarks.constrained_report import BEGIN, END, section
from research.benchmarks.methods import DEFAULT, RANDOM
from research.benchmarks.peers.eliminated import Eliminated
from research.benchmarks.peers.registry import adapters
from research.benchmarks.peers.setting import Setting
from research.benchmarks.players import describe as _describe
from research.benchmarks.players import linear_sum as _sum
from research.benchmarks.regret import ROOT, make, methods_of, problems, read
from tests.components import needed


def setting(space: Space) -> Setting:
    message = {
        "parameters": [_describe(name, p) for name, p in space.parameters.items()],
        "seed": 0,
        "noisy": False,
        "noise_std": 0.0,
        "candidates": None,
        "trials": 10,
        "linear": [_sum(each) for each in space.constraints],  # type: ignore[arg-type]
    }
    return Setting.from_message(json.loads(json.dumps(message)))


@pytest.mark.parametrize("name", ["blend-3", "branin, cut", "coating-5"])
def test_a_problem_starts_feasible_and_its_maximum_is_not_passed(name: str) -> None:
    problem = constrained(name)
    space: Any = problem.space
    for params in problem.initial_points(0):
        space.canonical(params)
    rng = np.random.default_rng(1)
    values = [problem.value(space.decode(u)) for u in random_points(space, rng, 2000)]
    assert max(values) <= 1.0 + 1e-6
    assert np.median(values) < 0.8
    assert make("constrained", name, None).name == name


def test_the_suite_is_listed_with_its_methods() -> None:
    assert problems("constrained", quick=False) == list(KNOWN)
    assert len(KNOWN) == 6
    assert set(PEERS) <= set(adapters())
    assert methods_of("constrained", ["ax", "cma"]) == [DEFAULT, RANDOM, "ax"]


@pytest.mark.parametrize("name", KNOWN)
def test_peers_are_told_the_same_constraints(name: str) -> None:
    space = KNOWN[name][0]()
    told, inside = setting(space), space.region
    assert inside is not None
    rng = np.random.default_rng(0)
    if space.enumeration() is None:
        good = random_points(space, rng, 50)
        for u in good:
            row = list(space.decode(u).values())  # type: ignore[union-attr]
            assert max(each.violation(told.named(row)) for each in told.linear) < 1e-6
    for u in rng.random((200, space.dimension)):
        row = told.decode(u.tolist())
        broken = max(each.violation(told.named(row)) for each in told.linear) > 1e-6
        assert broken != bool(inside.feasible(u[None, :])[0])
        cube = told.encode(row)
        sums = [
            (sum(f * cube[c] for c, f in zip(columns, factors, strict=True)), low, high)
            for columns, factors, low, high in told.cube_sums()
        ]
        outside = any(total < low - 1e-6 or total > high + 1e-6 for total, low, high in sums)
        assert outside == broken
    assert all(not math.isnan(each.low) for each in told.linear)


def test_optunas_proportions_are_those_of_its_faq() -> None:
    optuna_study = needed("research.benchmarks.peers.optuna_study", "optuna")
    space = KNOWN["paint-6"][0]()
    mixture = optuna_study.Mixture(setting(space))
    u = dict(zip("abcdef", np.random.default_rng(0).uniform(0.2, 1, 6), strict=True))
    named = mixture.values(u)
    parts = {name: -math.log(each) for name, each in u.items()}
    naive = {name: part / sum(parts.values()) for name, part in parts.items()}
    assert named == pytest.approx(naive)
    assert mixture.values(mixture.sampled(named)) == pytest.approx(named)
    violations = optuna_study.limits(setting(space))
    assert violations is not None
    assert len(violations(type("Frozen", (), {"params": u})())) == 2


def test_what_follows_from_an_equality_is_left_out() -> None:
    space = KNOWN["paint-6"][0]()
    left = Eliminated(setting(space))
    assert [p.name for p in left.free] == list("abcde")
    row = left.whole({"a": 0.3, "b": 0.05, "c": 0.3, "d": 0.1, "e": 0.2})
    assert row == pytest.approx([0.3, 0.05, 0.3, 0.1, 0.2, 0.05])
    inside = space.region
    assert inside is not None
    for u in np.random.default_rng(0).random((300, 5)) * 0.3:  # the inequalities say what is left
        point = dict(zip("abcde", (0.6 * u).tolist(), strict=True))
        holds = all(eval(text, {}, point) for text in left.texts())
        last = 1 - sum(point.values())
        full = np.array([*point.values(), last]) / 0.6
        assert holds == bool(0 <= last <= 0.6 and inside.feasible(full[None, :])[0])


def test_the_page_has_the_table_that_the_results_give() -> None:
    page = (ROOT / "docs/constraints.md").read_text(encoding="utf-8")
    assert page.split(BEGIN)[1].split(END)[0].strip() == section(read("constrained")).strip()
