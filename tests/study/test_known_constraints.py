"""Known constraints through a study: what is asked, added, told, stored and derived."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noregret as nr
from noregret.errors import SpaceError

SOLVENTS = {name: nr.Float(0, 1) for name in ("water", "dmf", "ether")}
SUM = nr.Linear(dict.fromkeys(SOLVENTS, 1.0), equals=1.0)


def mixture(*more: Any, **parameters: Any) -> nr.Space:
    return nr.Space({**SOLVENTS, **parameters}, constraints=[SUM, *more])


def value(params: dict[str, Any]) -> float:
    return -((params["water"] - 0.2) ** 2) - (params["dmf"] - 0.7) ** 2


def satisfied(study: nr.Study) -> bool:
    for trial in study.trials:
        study.space.canonical(trial.params)
    return True


def test_a_mixture_is_optimised_and_every_point_sums_to_one() -> None:
    study = nr.maximize(value, mixture(), trials=18, seed=1)
    assert satisfied(study)
    for trial in study.trials:
        assert sum(trial.params.values()) == pytest.approx(1.0, abs=1e-12)
    assert float(study.best.value or 0.0) > -1e-3
    assert study.replay(tolerance=0.0).number is None
    assert study.resolution().radius < 0.5


def test_infeasible_points_are_refused_and_nothing_is_lost() -> None:
    study = nr.Study(mixture(), "maximize")
    wrong = {"water": 0.5, "dmf": 0.6, "ether": 0.1}
    refusals: list[Any] = [lambda: study.add(wrong, 1.0), lambda: study.enqueue(wrong)]
    for refused in refusals:
        with pytest.raises(SpaceError, match=r"'water \+ dmf \+ ether = 1': the sum is 1.2"):
            refused()
    assert study.trials == []
    trial = study.ask()
    with pytest.raises(SpaceError, match="nothing was recorded"):
        study.tell(trial, 1.0, params=wrong)
    assert study.trials[0].state == "running"
    study.tell(trial, 1.0)
    with pytest.raises(SpaceError, match="nothing was recorded"):
        study.correct(trial, 2.0, params=wrong)
    assert [each.value for each in study.trials] == [1.0]
    with pytest.raises(SpaceError, match="breaks the constraint"):
        nr.Study(mixture(), "maximize", trials=[nr.Trial(0, wrong, "complete", 1.0)])


def test_held_inputs_and_batches(tmp_path: Path) -> None:
    study = nr.Study(mixture(speed=nr.Int(1, 9)), "maximize", seed=2)
    study.run(lambda p: value(p) + p["speed"], trials=8, progress=False)
    held = study.ask(fixed={"water": 0.25})
    assert held.params["water"] == 0.25
    batch = study.ask(3)
    assert len({tuple(trial.params.values()) for trial in batch}) == 3
    assert satisfied(study)
    with pytest.raises(SpaceError, match="dmf fixed satisfies"):
        study.ask(fixed={"water": 0.8, "dmf": 0.8})
    assert study.replay(tolerance=0.0).number is None


def test_stored_opened_derived_and_exported(tmp_path: Path) -> None:
    place = tmp_path / "s.db"
    study = nr.Study.create("one", mixture(), "maximize", seed=3, storage=place)
    study.run(value, trials=6, progress=False)
    there = nr.Study.open("one", storage=place)
    assert there.space == mixture()
    copy = nr.Study(mixture(), "maximize", seed=3, trials=study.trials)
    assert there.ask().params == copy.ask().params
    nr.Study.create("one", mixture(), "maximize", storage=place, resume=True)
    with pytest.raises(nr.NoRegretError, match="exists with another space"):
        nr.Study.create("one", nr.Space(SOLVENTS), "maximize", storage=place, resume=True)
    wider = there.derived("two", parameters={"speed": nr.Int(1, 9)}, past={"speed": 3})
    assert wider.space == mixture(speed=nr.Int(1, 9))  # the constraints go along
    assert sum(v for k, v in wider.ask().params.items() if k != "speed") == pytest.approx(1.0)
    loose = there.derived("three", space=nr.Space(SOLVENTS))
    assert loose.space.constraints == ()
    water = nr.Linear({"water": 1}, at_most=0.01)
    with pytest.raises(SpaceError, match=r"does not fit the new space.*water <= 0\.01"):
        there.derived("four", space=mixture(water))
    target = tmp_path / "s.csv"
    there.export(target)
    assert len(nr.Study(mixture(), "maximize").import_csv(target)) == len(there.trials)
    text = target.read_text().splitlines()
    cells = text[1].split(",")
    cells[text[0].split(",").index("water")] = "0.987"
    target.write_text("\n".join([text[0], ",".join(cells)]))
    with pytest.raises(nr.NoRegretError, match=r"water \+ dmf \+ ether = 1"):
        nr.Study(mixture(), "maximize").import_csv(target)


def test_a_certificate_speaks_of_the_feasible_set() -> None:
    """f is large where nothing may be run: the bound must not count that."""
    space = nr.Space(
        {"x": nr.Float(0, 1), "y": nr.Float(0, 1)},
        constraints=[nr.Linear({"x": 1, "y": 1}, at_most=0.8)],
    )
    strategy = nr.AdaptiveGPUCB.rigorous(noise_bound=0.02, lengthscales=0.5)

    def f(p: dict[str, Any]) -> float:
        return float(np.exp(-((p["x"] - 1) ** 2 + (p["y"] - 1) ** 2) / (2 * 0.5**2)))

    study = nr.Study(space, "maximize", strategy, seed=1)
    study.run(f, trials=25, progress=False)
    bound = study.certificate()
    assert bound.proved
    most = float(np.exp(-2 * 0.6**2 / (2 * 0.5**2)))  # at (0.4, 0.4)
    assert float(study.best.value or 0.0) <= most + 1e-9
    free = nr.Study(nr.Space(space.parameters), "maximize", strategy, seed=1, trials=study.trials)
    # the same data with the whole square to cover: 1.0 at its corner cannot be ruled out
    assert bound.regret_bound < 0.75 * free.certificate().regret_bound
    assert most - float(study.result().recommended.value or 0.0) <= bound.regret_bound + 1e-9


def test_workers_share_a_constrained_study(tmp_path: Path) -> None:
    study = nr.Study.create("w", mixture(), "maximize", storage=tmp_path / "w.db")
    study.run(value, trials=10, workers=3, progress=False)
    assert satisfied(study)
    assert len(study.trials) == 10
