"""What the page says about all inputs at once, and notes: in a real browser at two widths, by
keyboard alone, and checked by axe-core.
"""

import pytest
from selenium.webdriver.common.keys import Keys

import noregret as nr
from noregret.storage import SQLStorage
from tests.web.conftest import Page, drawn, reaction, violations

pytestmark = pytest.mark.xdist_group("browser")


def test_all_inputs_at_once_on_one_scale(page: Page, empty: SQLStorage, axe: str) -> None:
    study = reaction(empty)
    page.go("/studies/yield")
    drawn(page)
    page.until(lambda: len(page.all("#slices .main-svg")) >= 2, "a slice along each input")
    assert [each.text for each in page.all("#slices h3")] == ["temperature", "solvent"]
    ranges = page.driver.execute_script(
        "return [...document.querySelectorAll('#slices .plot')].map(p => p.layout.yaxis.range)"
    )
    assert ranges[0] == ranges[1]
    lowest, highest = page.driver.execute_script(  # lines, and bars where an input has levels
        """const ends = [...document.querySelectorAll('#slices .plot')].flatMap(plot =>
             plot.data.filter(t => t.name?.startsWith('expected')).flatMap(t => t.y));
           return [Math.min(...ends), Math.max(...ends)]"""
    )
    assert ranges[0][0] < lowest < highest < ranges[0][1]
    assert ranges[0][1] - ranges[0][0] < 3 * (80 - lowest)  # differences can be seen
    for words in page.all("#slices .words"):
        assert words.text.startswith("From ")
    # through another trial, from the form above, by keyboard
    seen, used = page.text("#slices-0"), study.recommended.params["solvent"]
    other = next(t.number for t in study.trials if t.value and t.params["solvent"] != used)
    page.tab_to("[data-slice] [name=through]")
    page.press(str(other), Keys.ENTER)
    page.press(Keys.TAB)
    page.until(lambda: page.text("#slices-0") != seen, "through that trial")
    # importance and what could hide stand beside it
    rows = [each.text for each in page.all("#importance li")]
    assert len(rows) == 2
    assert all("%" in row for row in rows)
    assert "of every range" in page.text("#cards")
    assert page.driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    # folded and unfolded by keyboard
    page.tab_to("#slices summary")
    page.press(Keys.ENTER)
    assert not page.one("#slices-0").is_displayed()
    page.press(Keys.ENTER)
    assert page.one("#slices-0").is_displayed()
    page.one("#annotate summary").send_keys(Keys.ENTER)
    assert violations(page, axe) == []


def test_notes_are_written_by_keyboard(page: Page, empty: SQLStorage, axe: str) -> None:
    study = reaction(empty, trials=5)
    page.go("/studies/yield")
    page.tab_to("#annotate summary")
    page.press(Keys.ENTER)
    page.tab_to("#annotate textarea")
    page.press("second batch of <b>enzyme</b>")
    page.tab_to("#annotate button")
    page.press(Keys.ENTER)
    page.until(lambda: "batch of <b>enzyme</b>" in page.text("#study-note"), "at once, as text")
    assert study.record().note == "second batch of <b>enzyme</b>"
    page.go("/studies/yield/trials/3")
    page.tab_to("#trial details summary")
    page.press(Keys.ENTER)
    page.tab_to("#trial textarea")
    page.press("the flask was cold")
    page.tab_to("#trial .stack button")
    page.press(Keys.ENTER)
    page.until(lambda: "the flask was cold" in page.text("#trial .remark"), "at once")
    assert [trial.note for trial in study.trials[2:4]] == [None, "the flask was cold"]
    page.tab_to("#trial details summary")
    page.press(Keys.ENTER)
    page.tab_to("#trial textarea")
    page.retype("")
    page.press(Keys.BACKSPACE)
    page.tab_to("#trial .stack button")
    page.press(Keys.ENTER)
    page.until(lambda: page.gone("#trial .remark"), "taken away")
    assert study.trials[3].note is None
    assert violations(page, axe) == []


def test_one_input_has_no_second_view_of_itself(page: Page, empty: SQLStorage) -> None:
    study = nr.Study.create("one", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    study.run(lambda p: -float((p["x"] - 0.4) ** 2), 5, progress=False)
    page.go("/studies/one")
    page.until(lambda: "expected at" in page.text("#cards"), "the model's answer")
    assert not page.all("#slices")
    assert not page.all("#importance li")
