"""``noregret research compare``."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.testing.comparison import PROBLEMS, compare
from tests.cli.conftest import Shell


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problems_optimum_is_its_optimum(name: str) -> None:
    """No point of many is better, and the best of a local search comes close."""
    problem = PROBLEMS[name]
    sign = 1.0 if problem.goal == "maximize" else -1.0
    rng = np.random.default_rng(0)
    points = rng.random((4000, problem.space.dimension))
    values = [sign * problem.function(problem.space.decode(u)) for u in points]
    top = points[int(np.argmax(values))]
    best = max(values)
    for scale in (0.1, 0.03, 0.01, 0.003, 0.001):
        for _ in range(300):
            near = np.clip(top + scale * rng.standard_normal(len(top)), 0, 1)
            value = sign * problem.function(problem.space.decode(near))
            if value > best:
                top, best = near, value
    assert best <= sign * problem.optimum + 1e-5
    assert best == pytest.approx(sign * problem.optimum, abs=0.1)


def test_a_model_beats_chance_and_the_table_says_so(shell: Shell) -> None:
    said = shell(
        "research compare --problem reaction --strategies LogEI,random --seeds 3 --trials 20"
        " --out c.png"
    ).out
    lines = said.splitlines()
    assert lines[0].startswith("reaction: best value after 20 trials (maximize), 3 seeds, the opti")
    assert [line.split()[0] for line in lines[3:5]] == ["LogEI", "random"]
    assert Path("c.png").stat().st_size > 5000
    document = shell(
        "research compare --problem branin --strategies default,gp-ucb --seeds 2 --trials 6 --json"
    ).json
    assert set(document["strategies"]) == {"default", "gp-ucb"}
    assert len(document["strategies"]["default"]["final"]) == 2


def test_ones_own_function(shell: Shell) -> None:
    Path("own.py").write_text(
        "def f(p):\n    if p['x'] > 0.8: raise ValueError\n    return p['x']\n", encoding="utf-8"
    )
    shell("create s --float x 0 1 --goal minimize")
    document = shell(
        "research compare own.py:f --strategies random --seeds 2 --trials 9 --json"
    ).json
    assert document["problem"] == "s"
    assert all(0 <= value <= 0.8 for value in document["strategies"]["random"]["final"])
    assert nr.Study.open("s").trials == []  # nothing is recorded
    shell.fails("research compare", "name a function")
    shell.fails("research compare --problem branin --strategies nope", "no strategy 'nope'")


def test_noise_is_told_and_not_counted() -> None:
    def f(p: dict[str, Any]) -> float:
        return float(p["x"])

    space: dict[str, Any] = {"x": nr.Float(0, 1)}
    (found,) = compare(
        f, space, "maximize", {"r": nr.RandomSearch()}, seeds=2, trials=8, noise_std=5.0
    )
    assert found.best.shape == (2, 8)
    assert np.all(found.best <= 1.0)
    assert np.all(np.diff(found.best, axis=1) >= 0)
    assert max(abs(t.value or 0.0) for t in found.studies[0].trials) > 1.5
    with pytest.raises(ConfigurationError, match="at least one strategy"):
        compare(f, space, "maximize", {})
