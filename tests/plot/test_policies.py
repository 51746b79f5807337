"""Pictures of policies and outcomes."""

import matplotlib as mpl
import numpy as np
import pytest

import noregret as nr
from noregret import plot
from noregret.errors import ConfigurationError, TrialError

mpl.use("Agg")


@pytest.fixture(scope="module")
def study() -> nr.Study:
    space = {"set": nr.Float(20, 60), "outside": nr.Float(-10, 30)}
    made = nr.Study(space, "minimize", context=("outside",), outcomes={"load": nr.AtMost(0.9)})
    for outside in (-5.0, 0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 2.0, 12.0):
        trial = made.ask(context={"outside": outside})
        x = trial.params["set"]
        made.tell(trial, (x - 45 + outside / 2) ** 2, outcomes={"load": x / 60})
    return made


def test_the_policy_is_drawn_along_the_context(study: nr.Study) -> None:
    ax = plot.policy(study)
    tried, best = ax.get_lines()
    assert np.size(tried.get_xdata()) == 9
    x, y = np.asarray(best.get_xdata()), np.asarray(best.get_ydata())
    assert (x[0], x[-1]) == (-10, 30)
    assert y.min() >= 20
    assert y[0] > y[-1]
    assert ax.get_xlabel() == "outside"
    with pytest.raises(ConfigurationError, match="the actions of this study"):
        plot.policy(study, action="outside")


def test_outcomes_are_drawn_beside_their_limit(study: nr.Study) -> None:
    within, beyond, limit = plot.outcomes(study).get_lines()
    assert np.asarray(limit.get_ydata()).tolist() == [0.9, 0.9]
    kept = [trial.number for trial in study.trials if trial.feasible]
    assert np.asarray(within.get_xdata()).tolist() == kept
    assert np.size(beyond.get_xdata()) == 9 - len(kept)
    with pytest.raises(ConfigurationError, match="there is no outcome"):
        plot.outcomes(study, "noise")
    with pytest.raises(TrialError, match="made without limits"):
        plot.outcomes(nr.Study([(0, 1)], "maximize"))


def test_other_pictures_take_such_studies(study: nr.Study) -> None:
    assert plot.convergence(study).get_title() == "study"
    assert plot.slice(study, "set").get_xlabel() == "set"
    limited = nr.Study([(0, 1)], "maximize", outcomes={"c": nr.AtMost(0)})
    for _ in range(4):
        limited.tell(limited.ask(), 1.0, outcomes={"c": 1.0})
    legend = plot.convergence(limited).get_legend()
    assert legend is not None
    labels = [text.get_text() for text in legend.get_texts()]
    assert "nothing feasible yet" in labels
