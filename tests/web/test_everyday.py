"""The page for the person who runs the experiments: words, errors at their field, what is drawn is
what is said. In a real browser at two widths, by keyboard alone, and checked by axe-core.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

import noregret as nr
from noregret.storage import SQLStorage
from noregret.strategies import Strategy
from tests.web.conftest import Page, drawn, reaction, violations

pytestmark = pytest.mark.xdist_group("browser")
THEORY = re.compile(r"\bregret\b|β|compress|\bnats\b|lengthscale", re.IGNORECASE)


def bowl(
    storage: SQLStorage, inputs: int, trials: int, strategy: Strategy | None = None
) -> nr.Study:
    space = {f"input {i}": nr.Float(0, 1) for i in range(inputs)}
    study = nr.Study.create(f"{inputs} inputs", space, "minimize", strategy, storage=storage)
    return study.run(
        lambda p: float(sum((v - 0.4) ** 2 for v in p.values())), trials, progress=False
    )


# -- words --


def test_first_sight_is_free_of_theory_and_a_fold_keeps_it(page: Page, empty: SQLStorage) -> None:
    reaction(empty)
    for path in ("/", "/new", "/studies/yield", "/studies/yield/trust", "/studies/yield/lab"):
        page.go(path)
        drawn(page)
        if path == "/studies/yield":
            page.until(lambda: "rule of thumb" in page.text("#cards"), "the model's answer")
        assert not THEORY.search(page.text("main")), path
    page.go("/studies/yield/trials/13")
    assert not THEORY.search(page.text("main"))
    page.tab_to("#recorded summary")
    page.press(Keys.ENTER)
    page.until(lambda: "β^½" in page.text("#recorded"), "the theory, unfolded")
    page.go("/studies/yield/trust")
    page.tab_to("#theory summary")
    page.press(Keys.ENTER)
    page.until(lambda: page.drawn("lengthscales") > 0, "drawn once it is unfolded")
    assert "nats" in page.text("#theory")


def test_times_are_those_of_the_clock_on_the_wall(page: Page, empty: SQLStorage) -> None:
    study = nr.Study.create("kept", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    asked = study.ask()
    assert asked.created is not None
    page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Kolkata"})
    try:
        page.go("/studies/kept/lab")
        shown = page.one("#experiment-0 time")
        page.until(lambda: "UTC" not in shown.text, "local time")
        minute = (int(asked.created[14:16]) + 30) % 60  # half an hour off every full one
        assert f":{minute:02d}" in shown.text
    finally:
        page.driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})


# -- forms --


def test_errors_stand_at_their_field(page: Page, empty: SQLStorage) -> None:
    study = nr.Study.create(
        "lab", {"x": nr.Float(0, 1), "n": nr.Int(1, 5)}, "maximize", storage=empty
    )
    page.go("/studies/lab/lab")
    page.tab_to("#ask button")
    page.press(Keys.ENTER)
    page.until(lambda: page.all("#experiment-0"), "an experiment")
    page.tab_to("#experiment-0 [name=value]")
    page.press("forty", Keys.ENTER)
    page.until(lambda: page.all("#experiment-0 .error"), "the error")
    field = page.one("#experiment-0 [name=value]")
    assert "must be a number, got 'forty'" in page.text("#experiment-0 label .error")
    assert field.get_attribute("aria-invalid") == "true"
    assert field.get_attribute("aria-describedby") == page.one(".error").get_attribute("id")
    assert page.driver.switch_to.active_element == field
    assert page.text("#messages") == "Experiment 0 is ready."
    page.retype("41,5 %", Keys.TAB, "-1", Keys.ENTER)
    page.until(lambda: "more than 0" in page.text("#experiment-0 label + label .error"), "noise")
    assert not page.one("#experiment-0 [name=value]").get_attribute("aria-invalid")
    page.press(Keys.BACKSPACE, Keys.BACKSPACE, "0.5", Keys.ENTER)
    page.until(lambda: study.trials[0].state == "complete", "told")
    assert (study.trials[0].value, study.trials[0].noise_std) == (41.5, 0.5)
    page.until(lambda: "Saved 41.5 ± 0.5." in page.text("#messages"), "what was understood")
    page.tab_to('[data-nest] [data-param="x"]')
    page.press("1.5", Keys.TAB, "2", Keys.ENTER)
    page.until(lambda: page.all("[data-nest] .error"), "refused")
    assert page.text('[data-nest] label[title="x"] .error') == "1.5 is outside 0 to 1."
    page.tab_to('[data-nest] [data-param="x"]')
    page.retype("0.5", Keys.TAB, "2.5", Keys.ENTER)
    page.until(lambda: "A whole number" in page.text('label[title="n"] .error'), "not whole")
    assert len(study.trials) == 1


def test_a_name_that_is_taken_is_refused_at_the_name(page: Page, empty: SQLStorage) -> None:
    nr.Study.create("taken", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    page.go("/new")
    page.tab_to("[name=name]")
    page.press("taken", Keys.TAB)
    page.tab_to("[data-field=name]")
    page.press("x")
    page.tab_to("[data-field=low]")
    page.press("3", Keys.TAB, "2", Keys.ENTER)
    page.until(lambda: "more than 3" in page.text("[data-range] .error"), "an empty range")
    page.press(Keys.BACKSPACE, "9", Keys.ENTER)
    page.until(lambda: "exists already" in page.text("#new label .error"), "taken")
    assert page.driver.switch_to.active_element == page.one("[name=name]")


def test_messages_cover_no_form(page: Page, empty: SQLStorage) -> None:
    nr.Study.create("lab", {f"x{i}": nr.Float(0, 1) for i in range(6)}, "maximize", storage=empty)
    page.go("/studies/lab/lab")
    page.tab_to("#ask button")
    page.press(Keys.ENTER)
    page.until(lambda: page.text("#messages"), "a message")
    for where in ("0", "document.body.scrollHeight"):
        page.driver.execute_script(f"scrollTo(0, {where})")
        covered = page.driver.execute_script(
            """const bar = document.querySelector('.bar').getBoundingClientRect();
            const said = document.querySelector('#messages p').getBoundingClientRect();
            return said.bottom > bar.bottom || said.top < bar.top || said.right > innerWidth;"""
        )
        assert covered is False
    page.driver.execute_script("scrollTo(0, document.body.scrollHeight)")
    page.driver.execute_script("document.querySelector('[data-upload] button').focus()")
    page.driver.execute_script("document.querySelector('#ask button').focus()")
    assert page.driver.execute_script(  # what has the focus is not under the bar
        "return document.activeElement.getBoundingClientRect().top >="
        " document.querySelector('.bar').getBoundingClientRect().bottom"
    )


def test_typed_text_looks_like_text_and_hints_do_not(page: Page, empty: SQLStorage) -> None:
    nr.Study.create("lab", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    for path in ("/new", "/studies/lab/lab"):
        page.go(path)
        assert not page.driver.execute_script(
            "return [...document.querySelectorAll('[placeholder]')].length"
        )
        ink, typed, hint = page.driver.execute_script(
            """const style = (css) => getComputedStyle(document.querySelector(css));
            return [style('body').color, style('main input').color, style('.why').fontStyle]"""
        )
        assert (typed, hint) == (ink, "italic")


def test_correcting_keeps_the_noise(page: Page, empty: SQLStorage) -> None:
    study = nr.Study.create("lab", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    study.tell(study.ask(), 41.0, noise_std=0.25)
    page.go("/studies/lab/lab")
    page.tab_to('[data-correct="0"]')
    page.press(Keys.ENTER)
    page.until(lambda: page.one("#correct").is_displayed(), "the dialog")
    assert page.one("#correct [name=noise_std]").get_attribute("value") == "0.25"
    page.press("42", Keys.ENTER)
    page.until(lambda: len(study.trials) == 2, "corrected")
    assert (study.trials[1].value, study.trials[1].noise_std) == (42.0, 0.25)


def test_an_empty_study_is_one_sentence_and_a_button(page: Page, empty: SQLStorage) -> None:
    study = nr.Study.create("fresh", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    for path in ("", "/trust"):
        page.go(f"/studies/fresh{path}")
        assert len(page.all(".empty p")) == 2
        assert not page.all("figure, .card, table")
    page.go("/studies/fresh")
    page.tab_to(".empty a.button")
    page.press(Keys.ENTER)
    page.until(lambda: page.all("#ask"), "the laboratory")
    assert not page.all("#done table, #done .empty")
    page.go("/studies/fresh")
    study.tell(study.ask(), 1.0)
    page.until(lambda: page.drawn("convergence") == 1, "charts as soon as there is a value")


def test_experiments_are_put_back_or_withdrawn(page: Page, empty: SQLStorage) -> None:
    study = nr.Study.create("lab", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    study.ask(2)
    page.go("/studies/lab/lab")
    page.tab_to('#experiment-0 [data-withdraw="later"]')
    page.press(Keys.ENTER)
    page.until(lambda: page.gone("#experiment-0"), "put back")
    page.until(lambda: study.trials[0].state == "waiting", "and waiting")
    page.tab_to('#experiment-1 [data-withdraw="never"]')
    page.press(Keys.ENTER)
    page.until(lambda: study.trials[1].state == "withdrawn", "withdrawn")
    page.until(lambda: page.all('#waiting [data-number="0"]'), "listed as waiting")
    page.tab_to('#waiting [data-withdraw="never"]')
    page.press(Keys.ENTER)
    page.until(lambda: study.trials[0].state == "withdrawn", "withdrawn, too")
    page.until(lambda: "2 withdrawn" in page.text("#counts"), "counted as that")
    assert "failed" not in page.text("#counts")


def test_a_failure_that_is_not_the_points_fault_is_tried_again(
    page: Page, empty: SQLStorage
) -> None:
    study = nr.Study.create("lab", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    study.ask()
    page.go("/studies/lab/lab")
    page.tab_to('#experiment-0 [name="transient"]')
    page.press(Keys.SPACE)
    page.tab_to('#experiment-0 button[name="state"]')
    page.press(Keys.ENTER)
    page.until(lambda: study.trials[0].state == "failed", "told")
    assert study.trials[0].transient
    page.until(lambda: page.all('[data-retry="0"]'), "can be tried again")
    page.tab_to('[data-retry="0"]')
    page.press(Keys.ENTER)
    page.until(lambda: len(study.trials) == 2, "waits")
    assert study.ask().params == study.trials[0].params


def test_a_study_is_deleted_after_a_question(page: Page, empty: SQLStorage) -> None:
    reaction(empty, trials=4)
    page.go("/studies/yield")
    page.tab_to("[data-delete]")
    page.press(Keys.ENTER)
    page.until(lambda: page.one("#delete").is_displayed(), "the question")
    assert "4 trials will be deleted for good" in page.text("#delete")
    page.tab_to("#delete [data-close]")
    page.press(Keys.ENTER)
    page.until(lambda: not page.one("#delete").is_displayed(), "kept")
    assert empty.names() == ["yield"]
    page.tab_to("[data-delete]")
    page.press(Keys.ENTER)
    page.tab_to("#delete .danger")
    page.press(Keys.ENTER)
    page.until(lambda: "There is no study here yet" in page.text(), "deleted")
    assert empty.names() == []


def test_a_study_from_another_brings_its_trials(page: Page, empty: SQLStorage) -> None:
    old = reaction(empty, trials=10)
    page.go("/studies/yield")
    page.tab_to('a[href^="/new?from="]')
    page.press(Keys.ENTER)
    page.until(lambda: len(page.all(".entry")) == 2, "its inputs, filled in")
    page.tab_to(".entry:first-child [data-field=high]")
    page.retype("60")
    page.tab_to("#new button.primary")
    page.press(Keys.ENTER)
    page.until(lambda: page.all(".error"), "trials outside the new range")
    assert empty.names() == ["yield"]  # all of it or nothing
    page.tab_to(".entry:first-child [data-field=high]")
    page.retype("150")
    page.tab_to("#more")
    page.press(Keys.ENTER)
    page.press("stirring")
    page.tab_to(".entry:nth-child(3) [data-field=low]")
    page.press("0", Keys.TAB, "900")
    page.tab_to("#new button.primary")
    page.press(Keys.ENTER)
    page.until(lambda: "earlier trials" in page.text("[data-past] .error"), "a value for the past")
    page.press("300", Keys.ENTER)
    page.until(lambda: page.all("#ask"), "the laboratory of the new study")
    made = nr.Study.open("yield (2)", storage=empty)
    assert made.space.parameters["temperature"] == nr.Float(20, 150)
    assert [trial.value for trial in made.trials] == [trial.value for trial in old.trials]
    assert {trial.params["stirring"] for trial in made.trials} == {300.0}
    origin = made.record().origin
    assert origin is not None
    assert origin["study"] == "yield"
    assert "Started from “yield”" in page.text("#origin")


# -- what is drawn --


def legend(page: Page, chart: str) -> str:
    return page.text(f"{chart} .legend, {chart} .plot .legend")


def test_the_band_is_promised_where_there_is_one(page: Page, empty: SQLStorage) -> None:
    bowl(empty, 1, 9, nr.AdaptiveGPUCB.rigorous(0.1))
    bowl(empty, 6, 20)
    for name, there in (("1~20inputs", True), ("6~20inputs", False)):
        page.go(f"/studies/{name}")
        drawn(page)
        figure = '[data-chart="convergence"]'
        assert ("range for the best" in page.text(f"{figure} .plot")) is there
        assert ("shaded band" in page.text(f"{figure} .note")) is there


def test_points_off_the_slice_are_paler(page: Page, empty: SQLStorage) -> None:
    bowl(empty, 2, 14)
    page.go("/studies/2~20inputs")
    page.until(lambda: page.all("[data-slice] .main-svg"), "the slice")
    page.tab_to("[data-slice] [name=y]")
    page.press("n")  # nothing else
    opacities = (
        "return document.querySelector('[data-slice] .plot').data?.find(trace =>"
        " trace.name === 'trials')?.marker.opacity"
    )
    page.until(lambda: "Along input 0," in page.text("#text-slice"), "along one input")
    found = page.until(lambda: page.driver.execute_script(opacities), "its points")
    assert min(found) < 0.9 <= max(found) <= 1
    near = int(re.search(r"(\d+) trials? lies? near", page.text("#text-slice"))[1])  # type: ignore[index]
    assert 0 < near <= 14
    assert "paler" in page.text("#note-slice")
    assert "diamonds" not in page.text("#note-slice")  # nothing is under way


def test_on_a_list_every_trial_is_drawn(page: Page, empty: SQLStorage) -> None:
    designs = nr.Candidates([{"t": t, "s": s} for t in (1, 2, 3, 4) for s in ("a", "b", "c")])
    study = nr.Study.create("list", designs, "maximize", storage=empty)
    study.run(lambda p: float(70 - (p["t"] - 3) ** 2), 12, progress=False)
    page.go("/studies/list")
    page.until(lambda: "12 trials" in page.text("#text-slice"), "twelve")
    assert not page.all("[data-slice] [name=y]")
    words = page.text('[data-chart="convergence"] .words')
    assert "12 values" in words
    assert "between" not in words  # a range for the best stands only where one is proved


def test_every_input_has_its_own_colour(page: Page, empty: SQLStorage) -> None:
    bowl(empty, 14, 18)
    page.go("/studies/14~20inputs/trust")
    page.tab_to("#theory summary")
    page.press(Keys.ENTER)
    page.until(lambda: page.drawn("lengthscales") > 0, "drawn")
    page.until(lambda: len(page.all('[data-chart="lengthscales"] .legend li')) == 14, "the names")
    colours = page.driver.execute_script(
        "return [...document.querySelectorAll('.legend li span')].map(s =>"
        " s.style.backgroundColor.match(/\\d+/g).map(Number))"
    )
    distances = [
        float(np.linalg.norm(np.subtract(one, other)))
        for i, one in enumerate(colours)
        for other in colours[:i]
    ]
    assert min(distances) > 25  # of 442 from black to white
    width = page.driver.execute_script(  # a width of 1.5 can be read off its axis
        "return document.querySelector('[data-chart=width] .plot').layout.yaxis.type"
    )
    assert width == "log"


def test_a_phone_shows_the_best_and_the_point(page: Page, empty: SQLStorage) -> None:
    reaction(empty)
    page.go("/")
    right = "return arguments[0].getBoundingClientRect().right <= innerWidth"
    assert page.one("td.best").is_displayed()
    assert page.driver.execute_script(right, page.one("td.best"))
    page.go("/studies/yield/lab")
    point = page.one("#done tbody .where")
    assert point.is_displayed()
    assert "temperature" in point.text
    assert "solvent" in point.text
    assert page.driver.execute_script(right, point)
    assert page.driver.execute_script(right, page.one("#done [data-correct]"))


# -- for everybody --


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, empty: SQLStorage, axe: str, scheme: str) -> None:
    study = reaction(empty)
    study.ask()
    study.enqueue({"temperature": 30.0, "solvent": "water"})
    nr.Study.create("fresh", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    found: list[str] = []
    paths = ("/", "/new", "/studies/yield", "/studies/yield/trust", "/studies/yield/lab")
    for path in (*paths, "/studies/yield/trials/12", "/studies/fresh", "/studies/none"):
        page.go(path)
        drawn(page)
        if path.endswith("/trust"):
            page.one("#theory summary").send_keys(Keys.ENTER)
            page.until(lambda: page.drawn("lengthscales") > 0, "unfolded")
        if path.endswith("/lab"):
            page.one("#experiment-14 [name=value]").send_keys("abc", Keys.ENTER)
            page.until(lambda: page.all(".error"), "an error")
        found += violations(page, axe)
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert found == []


def test_mistakes_are_mended_on_the_page(page: Page, empty: SQLStorage, tmp_path: Path) -> None:
    """A correction of inputs, outcome and note; a result struck out; a file imported twice, and
    taken back.
    """
    study = nr.Study.create(
        "lab",
        {"x": nr.Float(0, 1), "kind": nr.Choice(["<a>", "b"])},
        "maximize",
        storage=empty,
        outcomes={"heat": nr.AtMost(50)},
    )
    study.add({"x": 0.5, "kind": "<a>"}, 3.0, 0.2, outcomes={"heat": (40.0, 1.5)}, note="cloudy")
    page.go("/studies/lab/lab")
    page.until(lambda: page.one('[data-correct="0"]').is_displayed(), "the result listed")
    page.one('[data-correct="0"]').click()

    def field(css: str) -> str:
        return str(page.one(f"#correct {css}").get_attribute("value"))

    assert field("[data-outcome=heat]") == "40 ± 1.5"
    assert (field("[name=value]"), field("[name=noise_std]")) == ("3.0", "0.2")
    assert field("[name=note]") == "cloudy"
    page.one("#correct summary").click()
    assert (field("[data-param=x]"), field("[data-param=kind]")) == ("0.5", '"\\u003ca\\u003e"')
    page.fill("#correct [data-param=x]", "0.55")
    page.fill("#correct [data-outcome=heat]", "45")
    page.fill("#correct [name=note]", "cloudy; second flask")
    page.one("#correct .primary").click()
    page.until(lambda: len(study.trials) == 2, "corrected")
    now = study.trials[1]
    assert (now.params, now.value, now.noise_std) == ({"x": 0.55, "kind": "<a>"}, 3.0, 0.2)
    assert (dict(now.outcomes), now.note) == ({"heat": 45.0}, "cloudy; second flask")
    page.until(lambda: "second flask" in page.text("#done"), "the correction listed")
    page.one('[data-correct="0"]').click()  # the experiment keeps its number
    assert field("[data-outcome=heat]") == "45"
    page.one("#correct [value=withdrawn]").click()
    page.until(lambda: len(study.trials) == 3, "struck out")
    assert (study.trials[2].state, study.trials[2].corrects) == ("withdrawn", 1)
    page.until(lambda: "struck out" in page.text("#messages"), "it is said")
    # a file twice
    file = tmp_path / "m.csv"
    file.write_text("x,kind,value,heat,flask\n0.1,b,1,30,7\n", encoding="utf-8")
    page.one("[data-upload] [type=file]").send_keys(str(file))
    page.one("[data-upload] button").click()
    page.until(lambda: "1 trials imported. Kept with them: flask." in page.text("#messages"), "")
    file.write_text("x,kind,value,heat,flask\n0.1,b,1,30,7\n0.2,b,2,30,8\n", encoding="utf-8")
    page.until(lambda: page.one("[data-upload] button").is_enabled(), "ready again")
    page.one("[data-upload] [type=file]").send_keys(str(file))
    page.one("[data-upload] button").click()
    page.until(lambda: page.one("#known").is_displayed(), "the question")
    assert "1 of 2 rows are in the study already." in page.text("#known")
    page.one("#known [data-known=skip]").click()
    page.until(lambda: len(study.trials) == 5, "the other row")
    page.until(lambda: len(page.all("[data-take-back]")) == 2, "both imports listed")
    page.all("[data-take-back]")[1].click()
    page.until(lambda: len(study.trials) == 6, "taken back")
    assert (study.trials[5].state, study.trials[5].corrects) == ("withdrawn", 4)
    page.until(lambda: len(page.all("[data-take-back]")) == 1, "one import left")
    complaints = [line for line in page.complaints() if "409" not in line]
    assert complaints == []
