"""What a page shows is of the study that is there now, and of all of it."""

import asyncio
from typing import Any

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web.models import Models
from noregret.web.reading import Snapshot


def test_every_change_of_a_trial_is_a_new_version(storage: SQLStorage) -> None:
    study = nr.Study.create(
        "swap", {"x": nr.Float(0, 1)}, "maximize", nr.RandomSearch(), storage=storage
    )
    seen = [study.ask().number, study.ask().number]
    versions = [Snapshot(study, study.trials).version]

    def changed() -> bool:
        versions.append(Snapshot(study, study.trials).version)
        return versions[-1] not in versions[:-1]

    study.reclaim(numbers=[seen[0]])
    assert changed()
    study.ask()
    study.reclaim(numbers=[seen[1]])  # as many run and wait as before, but others
    assert changed()
    study.annotate(0, attributes={"who": "anna"})
    assert changed()
    study.annotate(1, attributes={"who": "anna"})
    study.annotate(0, attributes={"who": None})  # said of another trial
    assert changed()
    study.annotate(attributes={"unit": "g"})
    assert changed()
    versions.append(Snapshot(study, study.trials).version)
    assert versions[-1] == versions[-2]


def test_the_model_of_a_deleted_study_is_not_shown_for_a_new_one() -> None:
    class Canned(Models):
        async def _call(self, function: Any, name: str, *arguments: Any) -> dict[str, Any]:
            return {"version": "1", "seconds": 0.0, "recommended": {"number": 3}}

    async def look() -> None:
        models = Canned("sqlite://")
        assert models.look("lab", "old", "1") == (None, True)
        await asyncio.sleep(0.01)
        answer, fitting = models.look("lab", "old", "1")
        assert answer is not None
        assert not fitting
        assert models.last("lab", "old") == answer
        assert models.last("lab", "new") is None
        assert models.look("lab", "new", "2") == (None, True)
        await asyncio.sleep(0.01)
        assert models.last("lab", "old") is None

    asyncio.run(look())
