"""The problems of the suite ``outcomes`` are those of the literature, and ranks are ranks."""

import json
from pathlib import Path

import numpy as np
import pytest

from research.benchmarks.outcomes import CONTEXTUAL, LIMITED, Ours, initial, play, ranks, table

# published optima (sources: see the suite)
KNOWN = {
    "gardner-1": (3 * np.pi / 2, 0.0),
    "gramacy": (0.1954, 0.4044),
    "truss": (0.78868, 0.40825),
    "spring": (0.0516891, 0.3567177, 11.289),
    "vessel": (0.7781687, 0.3846492, 40.319618, 200.0),
    "beam": (0.205730, 3.470489, 9.036624, 0.205730),
    "reducer": (3.5, 0.7, 17.0, 7.3, 7.71532, 3.350215, 5.286655),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_published_optimum_is_feasible_and_has_its_value(name: str) -> None:
    problem = LIMITED[name]
    x = KNOWN[name]
    assert problem.f(x) == pytest.approx(problem.best, rel=1e-3)
    scale = 1_296_000 if name == "vessel" else 1.0
    assert max(problem.g(x)) / scale <= 1e-4


def test_there_are_eight_with_limits_and_four_with_context() -> None:
    assert (len(LIMITED), len(CONTEXTUAL)) == (8, 4)
    for problem in LIMITED.values():
        points = initial(problem.bounds, 0)
        assert points.shape[1] == len(problem.bounds)
        assert all(np.isfinite(problem.g(point)).all() for point in points)


def test_random_search_plays_both_kinds() -> None:
    limited, given = play("gardner-1", "random", 0), play("two valleys", "random", 0)
    assert len(limited["curve"]) == LIMITED["gardner-1"].trials
    assert min(given["curve"]) >= -1e-9
    assert "error" not in limited
    assert "error" not in given


def test_ours_is_told_what_it_asked_for() -> None:
    ours = Ours(((0, 1), (0, 1)), 0, 1)
    ours.tell([0.5, 0.5], 1.0, [-1.0])
    x = ours.ask(None)
    ours.tell(x, 2.0, [1.0])
    assert [trial.feasible for trial in ours.study.trials] == [True, False]
    assert ours.study.trials[1].decision.chosen


def test_ranks_are_means_over_problems_and_seeds() -> None:
    rows = [
        {"problem": "p", "method": "a", "seed": 0, "score": 1.0},
        {"problem": "p", "method": "b", "seed": 0, "score": 2.0},
        {"problem": "p", "method": "c", "seed": 0, "score": None},  # nothing feasible
        {"problem": "p", "method": "a", "seed": 1, "score": 3.0},
        {"problem": "p", "method": "b", "seed": 1, "score": 3.0},
        {"problem": "p", "method": "c", "seed": 1, "score": 1.0},
    ]
    assert ranks(rows, ["p"]) == {"a": 1.75, "b": 2.25, "c": 2.0}
    assert "mean rank" in table(rows)


def test_the_page_has_the_table_that_the_results_give() -> None:
    root = Path(__file__).parents[2]
    text = (root / "research/benchmarks/results/outcomes.json").read_text(encoding="utf-8")
    page = (root / "docs/outcomes.md").read_text(encoding="utf-8")
    for line in table(json.loads(text)).splitlines():
        assert line in page
