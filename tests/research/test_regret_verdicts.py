"""Verdicts of docs/benchmarks.md are computed from runs: each turns with the numbers."""

import numpy as np
import pytest

from docs.making import regret_verdicts as verdicts
from docs.making.regret_pictures import bought, is_below
from docs.making.regret_runs import Run, place, ranks
from research.benchmarks.methods import BEFORE, UNINSURED, UNPATROLLED

OURS = "noregret"


def runs(method: str, values: list[float], stuck: list[bool] | None = None) -> list[Run]:
    """One decision per problem, of that regret."""
    marks: list[bool | None] = [None] * len(values) if stuck is None else list(stuck)
    return [
        Run(f"p{i}", method, 0, np.array([v]), 0, mark, 0.0)
        for i, (v, mark) in enumerate(zip(values, marks, strict=True))
    ]


def kept(rows: list[verdicts.Promise], words: str) -> bool | None:
    (row,) = [row for row in rows if words in row.wanted]
    return row.kept


def test_ranks_share_ties() -> None:
    every = [*runs("a", [1.0]), *runs("b", [1.0]), *runs("c", [2.0])]
    assert ranks(every, "simple") == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_our_methods_are_not_ranked_against_each_other() -> None:
    every = [*runs(OURS, [3.0]), *runs(UNINSURED, [1.0]), *runs(BEFORE, [2.0]), *runs("cma", [2.5])]
    assert ranks(every, "simple") == {OURS: 2.0, UNINSURED: 1.0, BEFORE: 1.0, "cma": 1.0}
    assert place(every, "simple").number == 2
    assert place(every, "simple", UNINSURED).number == 1


def test_a_peer_on_few_problems_is_compared_on_those() -> None:
    every = [*runs(OURS, [1.0, 1.0, 9.0]), *runs("cma", [2.0, 2.0, 2.0]), *runs("ax", [3.0, 3.0])]
    found = place(every, "simple")  # ours 1, 1, 2; ax 3, 3: its two problems are those we won
    assert found.number == 1
    found = place([*every, *runs("smac", [0.5])], "simple")
    assert found.ahead == {"smac": (1.0, 2.0, 1)}
    assert str(found).startswith("2. of 4 (1.67); ahead: smac 1.00 against 2.00 on 1 of 3 problems")


def test_many_inputs_are_compared_on_the_runs_that_both_have() -> None:
    def one(method: str, problem: str, seed: int, start: float, end: float) -> Run:
        return Run(problem, method, seed, np.array([2 * start, start, end]), 2, None, 0.0)

    every = [
        one(OURS, p, s, 4.0, 4.0 * left)
        for p, s, left in (("a", 0, 0.5), ("a", 1, 0.25), ("b", 0, 0.125), ("b", 1, 0.001))
    ]
    every += [one("botorch_logei", p, 0, 8.0, 8.0 * left) for p, left in (("a", 0.25), ("b", 0.5))]
    each, pooled = verdicts.beside_botorch(every)
    assert (
        "not behind BoTorch's LogEI on 2 of 2 problems (median simple regret; a: 1.5 against 2; b:"
        " 0.252 against 4)" in each
    )
    assert "over the 2 runs that both have" in pooled
    assert pooled.endswith("is 0.31 against 0.38.")  # the medians of ½, ⅛ and of ¼, ½


def test_needle() -> None:
    good = [
        *runs(OURS, [1.0, 2.0], [False, False]),
        *runs(UNINSURED, [0.5, 0.5], [True, False]),
        *runs(BEFORE, [3.0, 3.0], [False, False]),
        *runs("cma", [3.0, 4.0], [False, False]),
    ]
    rows = verdicts.promise_needle(good)
    assert [row.kept for row in rows] == [True] * 4
    bad = [
        *runs(OURS, [5.0, 6.0], [True, False]),
        *runs(UNINSURED, [4.0, 6.0], [True, True]),
        *runs(BEFORE, [3.0, 3.0], [False, False]),
        *runs("cma", [3.0, 4.0], [False, False]),
    ]
    rows = verdicts.promise_needle(bad)
    assert [row.kept for row in rows] == [False] * 4
    assert "below: cma (3.5, 0%)" in rows[-1].measured
    nobody = [*runs(OURS, [9.0], [False]), *runs("cma", [3.0], [True])]
    assert "no peer is; least cma" in verdicts.promise_needle(nobody)[1].measured
    alone = verdicts.promise_needle(runs(OURS, [1.0], [False]))
    assert kept(alone, "below our curve") is None


@pytest.mark.parametrize(
    ("point", "below"),
    [
        ((3.0, 0.5), False),  # exactly between the levels
        ((2.9, 0.4), True),
        ((3.1, 0.6), False),
        ((1.9, 1.0), True),  # cheaper than all of ours
        ((2.0, 1.0), False),
        ((9.0, 0.0), False),
        ((4.1, -0.1), True),
    ],
)
def test_what_lies_below_a_curve(point: tuple[float, float], below: bool) -> None:
    assert is_below(point, [(2.0, 1.0), (4.0, 0.0)]) is below
    assert is_below(point, [(4.0, 0.0), (2.0, 1.0)]) is below


def test_only_methods_that_ran_everywhere_are_points() -> None:
    every = [*runs(OURS, [1.0, 3.0], [False, True]), *runs("skopt", [1.0], [False])]
    assert bought(every) == {OURS: (2.0, 0.5)}


def test_ranks_in_the_other_suites() -> None:
    every = [*runs(OURS, [2.0, 2.0]), *runs(UNINSURED, [1.0, 1.0])]
    every += [*runs("cma", [1.5, 3.0]), *runs("ax", [3.0, 3.0])]
    rows = verdicts.promise_ranks("rkhs", every)
    assert [row.kept for row in rows] == [True, True, True]
    rows = verdicts.promise_ranks("rkhs", [*every, *runs("tpe", [0.5, 0.5])])
    assert [row.kept for row in rows] == [False, True, False]  # second by cumulative regret
    many = [run for name in ("a", "b", "c") for run in runs(name, [0.1, 0.1])]
    assert verdicts.promise_ranks("rkhs", [*every, *many])[1].kept is False


def ended(method: str, best: float, final: float, wasted: float = 0.0, problem: str = "p") -> Run:
    return Run(problem, method, 0, np.array([min(best, final)]), 0, None, 0.0, final, wasted, best)


def test_tables() -> None:
    rows = verdicts.promise_tables([ended(OURS, 0.1, 0.3, 0.05), ended("cma", 0.2, 0.2)])
    assert [row.kept for row in rows] == [True, False, True]
    rows = verdicts.promise_tables([ended(OURS, 0.3, 0.1, 0.11), ended("cma", 0.2, 0.2)])
    assert [row.kept for row in rows] == [False, True, False]
    assert "in 1 of 1 runs; 11% at most" in rows[-1].measured


def test_mixed() -> None:
    rows = verdicts.promise_mixed([ended(OURS, 0.09, 0.11), ended("cma", 0.1, 0.2)])
    assert [row.kept for row in rows] == [True, True, True, False]
    assert "1 of 1; best peer cma, 100% of its runs" in rows[-1].measured


def test_faults_against_the_same_problems_without() -> None:
    every = [
        ended(OURS, 0.1, 0.2, problem="faults-0"),
        ended(OURS, 0.1, 0.1, problem="faults-1"),
        ended("cma", 0.3, 0.3, problem="faults-0"),
    ]
    clean = {
        "mixed": [ended(OURS, 0.1, 0.1, problem="mixed-0")],
        "rkhs": [ended(OURS, 0.1, 0.1, problem="rkhs-1")],
    }
    rows = verdicts.promise_faults(every, clean)
    assert rows[-1].kept is False
    assert "× 1.50 over 2 problems" in rows[-1].measured  # the median of 1.99 and 1
    clean["mixed"] = [ended(OURS, 0.2, 0.2, problem="mixed-0")]
    assert verdicts.promise_faults(every, clean)[-1].kept is True
    assert verdicts.promise_faults(every, {})[-1].kept is None


def test_patrols() -> None:
    every = [*runs(OURS, [1.02, 2.0]), *runs(UNPATROLLED, [1.0, 2.0])]
    assert verdicts.promise_patrols("rkhs", every)[0].kept is True
    every = [*runs(OURS, [1.1, 2.0]), *runs(UNPATROLLED, [1.0, 2.0])]
    assert verdicts.promise_patrols("rkhs", every)[0].kept is False
    assert verdicts.promise_patrols("rkhs", runs(OURS, [1.0])) == []


def test_the_page_has_losses_beside_the_table() -> None:
    every = {
        "rkhs": [*runs(OURS, [1.0, 5.0]), *runs("cma", [2.0, 1.0])],
        "high": [*runs(OURS, [1.0, 5.0]), *runs("botorch_logei", [2.0, 1.0])],
        "standard": runs("cma", [1.0]),  # ours did not run: nothing is said
    }
    text = verdicts.verdicts(every)
    assert (
        "rkhs: more than twice the best peer's median simple regret on 1 of 2 problems: p1 (5"
        " against 1 of cma)" in text
    )
    assert "not behind BoTorch's LogEI on 1 of 2" in text
    assert "standard" not in text
    assert "| rkhs | first by mean rank of simple regret | first of 2 (1.50) | kept |" in text
