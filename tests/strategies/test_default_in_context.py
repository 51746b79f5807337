"""The default in context: values as they are, surveys by context, fewer patrols."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import noregret as nr
from noregret.space import Space, hold
from noregret.strategies.inputs import Inputs
from noregret.strategies.insured_gp_ucb import Insured, InsuredGPUCB

SPACE = {"a": nr.Float(0, 1), "z": nr.Float(0, 1)}


def studied(contexts: Iterator[float] | list[float]) -> nr.Study:
    """A parabola in a; the days differ more than the actions do."""
    study = nr.Study(SPACE, "minimize", seed=1, context=("z",))
    for z in contexts:
        trial = study.ask(context={"z": z})
        a = trial.params["a"]
        study.tell(trial, (a - 0.3 - 0.4 * z) ** 2 + 5 * z**2)
    return study


def kinds(study: nr.Study) -> Counter[str]:
    return Counter(t.why.kind for t in study.trials if t.decision.model is not None)


def test_bad_values_are_not_compressed_neither_for_decisions_nor_for_beliefs() -> None:
    """A bad value may be the best of its context."""
    study = studied(np.random.default_rng(0).random(10).tolist())
    assert [t.why.compression for t in study.trials if t.decision.model is not None][-1] == ()
    history = study._history(study.trials)
    rng = np.random.default_rng(0)
    assert Insured(InsuredGPUCB(), study.space, history, rng).framed.compression.passes == ()
    plain = nr.minimize(lambda p: (p["a"] - 0.3) ** 2 + p["z"], SPACE, trials=10, seed=1)
    assert plain.trials[-1].why.compression != ()


def test_a_survey_needs_a_context_that_came_before() -> None:
    """Contexts that never return look around by themselves; one that stays is a study of its
    own."""
    new = studied(np.random.default_rng(0).random(36).tolist())
    assert kinds(new)["survey"] == 0
    regret = [t.value - 5 * t.params["z"] ** 2 for t in new.trials[20:] if t.value is not None]
    assert float(np.mean(regret)) < 0.005
    same = kinds(studied([0.5] * 30))
    assert 0 < same["survey"] <= 0.4 * same.total()


def test_surveys_of_other_contexts_do_not_count() -> None:
    """Half of the decisions each, and the budget of each is that of its own decisions."""
    study = studied([0.2, 0.8] * 16)
    for z in (0.2, 0.8):
        own = [t.why for t in study.trials if t.params["z"] == z and t.decision.model is not None]
        spent = np.cumsum([each.survey for each in own])
        assert spent[-1] > 0
        assert all(s <= 0.4 * t for t, s in enumerate(spent, 1))


@pytest.mark.parametrize("t", [31, 32, 252, 253, 5000])
def test_patrols_are_a_quarter(t: int) -> None:
    space = Space({"a": nr.Float(0, 1), "z": nr.Float(0, 1)})
    held = Inputs.of(hold(space, {"z": 0.5}, is_context=True))
    made = InsuredGPUCB(0.4).patrols(t, held, False)
    assert made == pytest.approx(0.025 * t ** (2 / 3))
    assert InsuredGPUCB(0.4).patrols(t, Inputs.of(space), False) == pytest.approx(4 * made)
    assert (math.floor(made) >= 1) == (t >= 253)
