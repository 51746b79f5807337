"""The walk through one ask names what runs, and the costly stations run once."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import noregret as nr
import noregret.strategies.data as data
import noregret.strategies.insured as insured
import noregret.strategies.surrogate as modelling
import noregret.study.study as study_module
from docs.making import walk
from noregret.space import Space


def test_the_page_names_only_what_runs() -> None:
    """After a change of the code, ``python -m docs.making.walk`` writes the table again."""
    page = walk.PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(.+?)` \| .* \| (`.*`) \|$", page, flags=re.MULTILINE)
    assert len(rows) > 10
    traced = walk.stations(walk.one_ask())
    for file, names in rows:
        missing = set(re.findall(r"`(.+?)`", names)) - set(traced.get(file, ()))
        assert not missing, f"{file}: {missing}; run python -m docs.making.walk"


def test_a_trace_has_what_other_files_call_in_order() -> None:
    found = walk.stations(walk.calls(nr.Study([(0, 1)], "maximize").ask))
    assert next(iter(found.items()))[1][0] == "Study.ask"
    assert "trials/history.py" in found
    assert walk.summary("errors.py") != "–"


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], Counter[str]]:
    calls: Counter[str] = Counter()

    def counted(owner: Any, name: str) -> Counter[str]:
        real = getattr(owner, name)

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            calls[name] += 1
            return real(*args, **kwargs)

        monkeypatch.setattr(owner, name, wrapper)
        return calls

    return counted


def test_the_costly_stations_of_an_ask_are_visited_once(
    count: Callable[[Any, str], Counter[str]],
) -> None:
    study = nr.maximize(lambda x: float(-((x[0] - 0.3) ** 2)), [(0, 1)], trials=4)
    stations = [
        (study_module, "history_of"),
        (insured, "standardise_robustly"),
        (modelling, "fit_inputs"),
        (data, "condition"),
        (insured, "argmax"),
        (Space, "encode"),
        (Space, "decode"),
    ]
    for owner, name in stations:
        calls = count(owner, name)
    trial = study.ask()
    assert trial.decision.source == "model"
    assert (
        trial.why.kind != "survey"
    )  # a survey conditions once more for each widening that it tries
    assert calls.pop("encode", 0) <= 1  # only what was told since the last ask
    once = ("history_of", "standardise_robustly", "fit_inputs", "condition", "argmax", "decode")
    assert calls == dict.fromkeys(once, 1)
    calls.clear()
    study.tell(trial, 0.0)
    assert not calls


def test_a_result_makes_one_fit(count: Callable[[Any, str], Counter[str]]) -> None:
    study = nr.maximize(lambda x: float(-((x[0] - 0.3) ** 2)), [(0, 1)], trials=6)
    calls = count(modelling, "fit_inputs")
    study.result()
    assert calls == {"fit_inputs": 1}
