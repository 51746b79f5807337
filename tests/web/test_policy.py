"""The policy on the page: the best action as a function of the context, in a real browser at two
widths, checked by axe-core.
"""

import pytest

import noregret as nr
from noregret.storage import SQLStorage
from tests.web.conftest import Page, drawn, violations

pytestmark = pytest.mark.xdist_group("browser")


def heated(storage: SQLStorage) -> nr.Study:
    space = {
        "set <b>point</b>": nr.Float(25, 55),
        "pump": nr.Choice(["slow", "fast"]),
        "outside": nr.Float(-15, 20),
    }
    study = nr.Study.create("heat", space, "minimize", storage=storage, context=("outside",))
    for k in range(16):
        outside = -15 + (7 * k) % 35
        trial = study.ask(context={"outside": float(outside)})
        off = trial.params["set <b>point</b>"] - 42 + 0.6 * outside
        wrong = trial.params["pump"] == ("slow" if outside < 0 else "fast")
        study.tell(trial, off**2 / 50 + 2 * wrong)
    return study


def test_the_policy_is_drawn_beside_what_was_tried(page: Page, empty: SQLStorage, axe: str) -> None:
    study = heated(empty)
    page.go("/studies/heat")
    page.until(lambda: len(page.all("#policy .main-svg")) >= 2, "a drawing for each action")
    drawn(page)
    plots = page.driver.execute_script(
        """return [...document.querySelectorAll('#policy .plot')].map(plot =>
             ({traces: plot.data.map(t => [t.name, t.x.length]), x: plot.data[1].x,
               y: plot.data[1].y, axes: [plot.layout.xaxis.type, plot.layout.yaxis.type],
               titles: [plot.layout.xaxis.title.text, plot.layout.yaxis.title.text]}))"""
    )
    for plot in plots:
        assert plot["traces"] == [["tried", 16], ["best by the model", 33]]
    number, option = plots
    assert number["axes"] == ["linear", "linear"]
    assert option["axes"] == ["linear", "category"]
    assert number["titles"] == ["outside", "set &lt;b&gt;point&lt;/b&gt;"]  # a name is no markup
    for outside, best in list(zip(number["x"], number["y"], strict=True))[::8]:
        found = study.recommend(context={"outside": outside}).params["set <b>point</b>"]
        assert best == pytest.approx(found, abs=1e-6)
    assert set(option["y"]) <= {"slow", "fast"}
    words = page.text("#policy-0")
    assert words.startswith("At outside −15 the best set <b>point</b> is ")
    assert len(page.all("#policy tbody tr")) == 9
    assert "cannot be compared" in page.text("#cards")
    assert "–" not in page.text("#cards")
    assert (
        page.driver.execute_script(  # no bar to scroll the tabs down a pixel
            "return getComputedStyle(document.querySelector('.tabs')).overflowY"
        )
        == "hidden"
    )
    assert page.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert page.complaints() == []
    assert violations(page, axe) == []


def test_it_is_drawn_again_when_a_value_comes(page: Page, empty: SQLStorage) -> None:
    study = heated(empty)
    page.go("/studies/heat")
    page.until(lambda: len(page.all("#policy .main-svg")) >= 2, "drawn")
    count = "return document.querySelector('#policy .plot')?.data?.[0].x.length"
    assert page.driver.execute_script(count) == 16
    trial = study.ask(context={"outside": 3.5})
    study.tell(trial, 0.1)
    page.until(lambda: page.driver.execute_script(count) == 17, "with the new trial")
