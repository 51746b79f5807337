"""The problems of the suite ``outcomes`` are those of the literature, and ranks are ranks."""

from pathlib import Path

import numpy as np
import pytest

from research.benchmarks import limited_tuning
from research.benchmarks.limited import CONTEXTUAL, LIMITED
from research.benchmarks.outcomes import BEGIN, END, SUITE, duel, play, ranks, section, table
from research.benchmarks.outcomes_methods import Ours, initial
from research.benchmarks.regret import read

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


def test_a_duel_counts_the_runs_that_both_ended() -> None:
    rows = [
        {"problem": "p", "method": "noregret", "seed": 0, "score": 1.0},
        {"problem": "p", "method": "ax", "seed": 0, "score": None},  # nothing feasible
        {"problem": "p", "method": "noregret", "seed": 1, "score": 2.0},
        {"problem": "p", "method": "ax", "seed": 1, "score": 2.0},
        {"problem": "p", "method": "noregret", "seed": 2, "score": 3.0},
        {"problem": "other", "method": "ax", "seed": 2, "score": 9.0},
    ]
    assert duel(rows, ["p"], "ax") == "1.5 of 2"
    assert duel(rows, ["p"], "noregret") == duel(rows, ["p"], "botorch") == "–"


def test_the_page_has_the_table_that_the_results_give() -> None:
    root = Path(__file__).parents[2]
    page = (root / "docs/outcomes.md").read_text(encoding="utf-8")
    assert page.split(BEGIN)[1].split(END)[0].strip() == section(read(SUITE)).strip()


# their optima as published (sources: see the module)
TUNED = {
    "g4": (78.0, 33.0, 29.9952560, 45.0, 36.7758129),
    "g6": (14.095, 0.8429608),
    "g8": (1.2279713, 4.2453733),
    "g24": (2.3295202, 3.1784930),
    "townsend": (2.0052938, 1.1944509),
    "bird": (-3.1302468, -1.5821422),
    "column": (5.451156, 0.291965),
    "cantilever": (6.0160, 5.3092, 4.4943, 3.5015, 2.1527),
}


@pytest.mark.parametrize("name", TUNED)
def test_a_problem_of_the_tuning_side_has_its_published_optimum(name: str) -> None:
    problem, x = limited_tuning.LIMITED[name], TUNED[name]
    assert problem.f(x) == pytest.approx(problem.best, rel=1e-3)
    scale = [abs(each) for each in problem.g([a + 0.1 * (b - a) for a, b in problem.bounds])]
    assert max(np.array(problem.g(x)) / np.maximum(scale, 1.0)) <= 1e-3


def test_nothing_was_tuned_on_the_report() -> None:
    tuned = {*limited_tuning.LIMITED, *limited_tuning.CONTEXTUAL}
    assert not tuned & {*LIMITED, *CONTEXTUAL}
    assert min(limited_tuning.SEEDS) >= 100
