"""The tutorial for the page alone is played as it is printed, at both widths."""

from pathlib import Path

import pytest

import noregret as nr
from docs.making.page_steps import play, steps
from noregret.storage import SQLStorage
from tests.web.conftest import Page, violations

pytestmark = pytest.mark.xdist_group("browser")
TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorials" / "page.md"


def test_the_tutorial_is_played_as_printed(page: Page, empty: SQLStorage, axe: str) -> None:
    found: list[str] = []
    for step in play(page.driver, page.address, steps(TUTORIAL)):
        if step.what == "picture":
            found += violations(page, axe)
    assert found == []
    study = nr.Study.open("extraction", storage=empty)
    assert dict(study.space.parameters) == {
        "temperature": nr.Float(20, 90, step=5),
        "hours": nr.Float(0.5, 24, log=True),
        "solvent": nr.Choice(["water", "ethanol", "acetone"]),
    }
    states = [trial.state for trial in study.trials]
    assert states == ["complete"] * 3 + ["failed", "complete", "withdrawn"] + ["complete"] * 4
    assert [trial.value for trial in study.trials[:5]] == [31.5, 52.0, 44.8, None, 61.2]
    assert study.trials[3].error == "the vessel cracked"
    assert (study.trials[4].params["temperature"], study.trials[7].corrects) == (65.0, 6)
    assert dict(study.record().attributes) == {"value_name": "yield", "unit": "%"}
    hotter = nr.Study.open("extraction, hotter", storage=empty)
    assert hotter.space.parameters["temperature"] == nr.Float(20, 120, step=5)
    assert hotter.best.value == study.best.value == 66.4


def test_a_line_that_is_no_step_is_refused(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```steps\nopen the window\n```\n", encoding="utf-8")
    with pytest.raises(ValueError, match="this is no step: open the window"):
        steps(page)
