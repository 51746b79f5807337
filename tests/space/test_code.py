"""Choices of many options: nearly equally far apart, and nothing grows with their square."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import noregret as nr
from noregret.errors import SpaceError
from noregret.space import Choice, Float, Space
from noregret.space.parameters import MOST_OPTIONS, gold_code
from noregret.strategies import Strategy
from noregret.trials import Trial
from tests.recorded import decision


def named(count: int) -> list[str]:
    return [f"o{index}" for index in range(count)]


def test_words_are_nearly_equally_far_apart() -> None:
    """Any two of the 16,384 differ in 56, 64 or 72 places: by linearity their weights say so."""
    weights = gold_code(MOST_OPTIONS).sum(axis=1)
    assert set(weights) == {0.0, 56.0, 64.0, 72.0}
    assert (weights == 0).sum() == 1
    assert set(pdist(gold_code(128), "sqeuclidean")) == {64.0}


@pytest.mark.parametrize("count", [3, 127, 128, 1000, 10_000])
def test_every_option_comes_back(count: int) -> None:
    choice = Choice(named(count))
    assert choice.width == min(count, 127)
    levels = choice.levels()
    assert levels.shape == (count, choice.width)
    assert np.array_equal(choice.snap(levels), levels)
    rng = np.random.default_rng(0)
    for index in rng.integers(count, size=20):
        u = np.array(choice.encode(f"o{index}"))
        assert np.array_equal(u, levels[index])
        assert choice.decode(u) == f"o{index}"
    snapped = choice.snap(rng.random((50, choice.width)))
    assert {choice.decode(row) for row in snapped} <= set(choice.options)


def test_too_many_options_are_refused_and_messages_stay_short() -> None:
    with pytest.raises(SpaceError, match="at most 16384 options, got 16385"):
        Choice(named(16_385))
    with pytest.raises(SpaceError) as caught:
        Choice(named(10_000)).encode("other")
    assert len(str(caught.value)) < 1000
    assert "9980 more" in str(caught.value)


def test_equal_numbers_of_other_types_are_the_option() -> None:
    choice = Choice([1.0, 2, "3", True, None])
    assert choice.decode(np.array(choice.encode(1))) == 1.0
    assert choice.decode(np.array(choice.encode(np.float64(2.0)))) == 2
    assert choice.decode(np.array(choice.encode(True))) is True
    for wrong in ("1", 3, False, [1]):
        with pytest.raises(SpaceError, match="not one of the options"):
            choice.encode(wrong)


STRATEGIES: dict[str, Strategy] = {
    "default": nr.InsuredGPUCB(),
    "rigorous": nr.AdaptiveGPUCB.rigorous(0.1, initial_points=3),
    "gp-ucb": nr.GPUCB(initial_points=3),
    "minimum uncertainty": nr.MinimumUncertainty(initial_points=3),
    "log-ei": nr.LogEI(initial_points=3),
    "lb": nr.LBGPUCB(noise_std=0.1, initial_points=3),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_long_list_of_names_does_not_end_a_study(name: str) -> None:
    """It did: the norm bound overflowed, the share of delta underflowed."""
    study = nr.Study(
        nr.Candidates([{"c": each} for each in named(150)]),
        "maximize",
        strategy=STRATEGIES[name],
    )
    study.run(lambda params: float(np.sin(int(params["c"][1:]))), trials=18)
    assert np.isfinite(study.certificate().regret_bound)


def test_several_long_choices_and_numbers() -> None:
    space = {"a": Choice(named(3000)), "b": Choice(named(200)), "x": Float(0, 1)}
    study = nr.Study(space, "maximize", strategy=nr.GPUCB(initial_points=3))
    study.run(lambda params: float(params["x"] + np.sin(len(params["a"]))), trials=6)
    assert study.best.decision.source in ("initial", "model")


def test_one_long_choice_is_searched_whole() -> None:
    every = Space({"c": Choice(named(10_000))}).enumeration()
    assert every is not None
    assert every.shape == (10_000, 127)
    assert len(Space({"c": Choice(named(10_000)), "x": Float(0, 1)}).jumps(np.zeros(128))) <= 512


def test_decisions_made_with_other_coordinates_are_passed_over() -> None:
    """As a study stored by 0.1 has them."""
    theta = (1.0,) * 150
    old = decision(lengthscales=theta, fitted_lengthscales=theta, noise_var=0.1, searched=9)
    trials = [
        Trial(number, {"c": f"o{number}"}, "complete", float(number), None, old)
        for number in range(14)
    ]
    study = nr.Study({"c": Choice(named(150))}, "maximize", trials=trials)
    assert study.ask().decision.source == "model"
