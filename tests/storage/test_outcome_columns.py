"""What schema 6 added, in every kind of storage: limits, outcomes with their noise, what keeps
them, and the context, as another process reads them.
"""

import math
from typing import Any

import pytest

import noregret as nr
from noregret.storage import SQLStorage
from noregret.trials import Limit
from tests.databases import make_url

SPACE = {"dose": nr.Float(0, 1), "weather": nr.Float(-10, 30)}
LIMITS: dict[str, Limit] = {"toxicity": nr.AtMost(0.3), "purity: <b>β</b>": nr.AtLeast(50)}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_limits_outcomes_and_context_are_kept(kind: str, request: pytest.FixtureRequest) -> None:
    url = make_url(kind, request)
    made = nr.Study.create(
        "s", SPACE, "maximize", storage=SQLStorage(url), outcomes=LIMITS, context=("weather",)
    )
    told: list[tuple[float | None, dict[str, Any]]] = [
        (1.5, {"toxicity": (0.1, 0.02), "purity: <b>β</b>": 60.0}),
        (None, {"toxicity": 0.9, "purity: <b>β</b>": (1e-300, 1e300)}),
        (2.0, {"toxicity": 0.3, "purity: <b>β</b>": 50.0}),  # just kept
        (9.0, {"toxicity": math.nextafter(0.3, 1), "purity: <b>β</b>": 99.0}),  # just not
    ]
    for number, (value, outcomes) in enumerate(told):
        trial = made.ask(context={"weather": 7.0 + number})
        made.tell(trial, value, outcomes=outcomes)
    with pytest.raises(nr.NoRegretError, match=r"missing \['purity"):
        made.tell(made.ask(context={"weather": 1.0}), 1.0, outcomes={"toxicity": 0.1})
    again = nr.Study.open("s", storage=SQLStorage(url))
    assert (again.outcomes, again.context) == (LIMITS, ("weather",))
    kept = again.trials
    assert [trial.value for trial in kept] == [1.5, None, 2.0, 9.0, None]
    assert [trial.feasible for trial in kept] == [True, False, True, False, None]
    assert kept[4].state == "running"
    assert kept[4].outcomes == {}
    assert kept[0].outcomes == {"toxicity": 0.1, "purity: <b>β</b>": 60.0}
    assert kept[0].outcome_noise == {"toxicity": 0.02}
    assert kept[1].outcome_noise == {"purity: <b>β</b>": 1e300}
    assert kept[3].outcomes["toxicity"] == math.nextafter(0.3, 1)  # to the last bit
    assert [trial.decision.fixed for trial in kept[:2]] == [{"weather": 7.0}, {"weather": 8.0}]
    assert again.best.number == 2
    assert again.replay().number is None
    strict = again.derived("strict", outcomes={"toxicity": nr.AtMost(0.2)})
    assert [t.feasible for t in nr.Study.open("strict", storage=SQLStorage(url)).trials[:4]] == [
        t.feasible for t in strict.trials[:4]
    ]
