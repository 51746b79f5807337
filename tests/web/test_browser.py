"""The page in a real browser: a study made, run and watched by hand. Needs Debian's chromium and
chromium-driver.
"""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web.security import Access
from tests.web.conftest import TOKEN, Page, served


@pytest.mark.xdist_group("browser")
def test_a_study_from_its_form_to_its_charts(driver: Any, empty: SQLStorage) -> None:
    with served(empty, Access(write=True)) as address:
        page = Page(driver, address)
        page.go("/")
        assert "There is no study here yet" in page.text()
        page.one('.title a[href="/new"], a.button').click()
        page.fill('[name="name"]', "by <b>hand</b>")
        driver.find_element(By.CSS_SELECTOR, '[value="minimize"]').click()
        page.fill('[data-field="name"]', "temperature")
        page.fill('[data-field="low"]', "20")
        page.fill('[data-field="high"]', "120")
        page.one("#more").click()
        second = page.all(".entry")[1]
        Select(second.find_element(By.CSS_SELECTOR, '[data-field="kind"]')).select_by_value(
            "choice"
        )
        second.find_element(By.CSS_SELECTOR, '[data-field="name"]').send_keys("solvent")
        second.find_element(By.CSS_SELECTOR, '[data-field="options"]').send_keys(
            "water, dmf, toluene"
        )
        page.one("#new button.primary").click()
        page.until(
            lambda: "No experiment is under way" in page.text(), "the laboratory of the new study"
        )
        assert page.text("h1") == "by <b>hand</b>"

        # ten values, by keyboard: ask, type, Enter
        for number in range(10):
            page.one("#ask button").send_keys(Keys.ENTER)
            page.until(partial(page.one, f"#experiment-{number} input"), f"experiment {number}")
            page.one(f"#experiment-{number} [name=value]").send_keys(
                f"{10 + np.sin(number):.3f}", Keys.ENTER
            )
            page.until(partial(page.gone, f"#experiment-{number}"), f"experiment {number} told")
        study = nr.Study.open("by <b>hand</b>", storage=empty)
        assert [trial.state for trial in study.trials] == ["complete"] * 10
        assert study.goal == "minimize"

        page.go("/studies/by~20~3Cb~3Ehand~3C~2Fb~3E")
        page.until(lambda: page.drawn("convergence") == 10, "convergence drawn")
        page.until(lambda: page.all("[data-slice] .plot .main-svg"), "the slice drawn")
        page.until(lambda: "expected at" in page.text("#cards"), "the recommended point")
        assert "10 values" in page.text('[data-chart="convergence"] .words')
        scripts = driver.execute_script(
            "return performance.getEntriesByType('resource').map(e => e.name).filter(name =>"
            " name.includes('.js'))"
        )
        assert len({name.partition("?")[0] for name in scripts}) == len(
            scripts
        )  # no module twice: it would watch twice
        # another worker tells values: the charts change without a reload
        driver.execute_script("window.notReloaded = true")
        for _ in range(3):
            study.tell(study.ask(), -5.0)
        page.until(lambda: page.drawn("convergence") == 13, "convergence follows")
        page.until(lambda: "-5" in page.text("#cards").replace("−", "-"), "the best value follows")
        assert "13 complete" in page.text("#counts")
        assert driver.execute_script("return window.notReloaded") is True
        page.one("[data-slice] [name=surface]").send_keys("uncertainty")
        page.go("/studies/by~20~3Cb~3Ehand~3C~2Fb~3E/trust")
        page.until(lambda: page.drawn("residuals") > 0, "residuals drawn")
        assert not page.all('[data-chart="coverage"]')  # too few forecasts to count
        page.one("#theory summary").send_keys(Keys.ENTER)
        page.until(lambda: page.drawn("lengthscales") > 0, "lengthscales drawn")
        assert page.complaints() == []


@pytest.mark.xdist_group("browser")
def test_the_laboratory(driver: Any, empty: SQLStorage, tmp_path: Path) -> None:
    study = nr.Study.create("lab", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    with served(empty, Access(write=True)) as address:
        page = Page(driver, address)
        page.go("/studies/lab/lab")
        page.fill("#ask [name=count]", "2")
        page.one("#ask button").click()
        page.until(lambda: len(page.all(".experiment")) == 2, "a batch of two")
        # what a person types stays while the page follows others
        page.one("#experiment-0 [name=value]").send_keys("1.2")
        page.one("#experiment-0 [name=noise_std]").send_keys("0,1")
        study.tell(1, 5.0)
        page.until(lambda: not page.all("#experiment-1"), "the other one told elsewhere")
        assert page.one("#experiment-0 [name=value]").get_attribute("value") == "1.2"
        page.one("#experiment-0 .primary").click()
        page.until(lambda: study.trials[0].state == "complete", "told")
        assert (study.trials[0].value, study.trials[0].noise_std) == (1.2, 0.1)
        # undo: a correction, not a deletion
        page.until(lambda: page.one('[data-correct="0"]').is_displayed(), "the result listed")
        page.one('[data-correct="0"]').click()
        page.fill("#correct [name=value]", "12")
        page.one("#correct .primary").click()
        page.until(lambda: len(study.trials) == 3, "corrected")
        assert (study.trials[0].value, study.trials[2].corrects, study.best.value) == (1.2, 0, 12.0)
        # a failure
        page.fill("#ask [name=count]", "1")
        page.one("#ask button").click()
        page.until(lambda: page.all("#experiment-3"), "a third one")
        page.one('#experiment-3 [value="failed"]').click()
        page.until(lambda: study.trials[3].state == "failed", "failed")
        # a wrong number is refused in words and sends nothing
        page.one("#ask button").click()
        page.until(lambda: page.all("#experiment-4"), "a fourth one")
        page.one("#experiment-4 [name=value]").send_keys("abc", Keys.ENTER)
        page.until(lambda: "must be a number" in page.text("#experiment-4 .error"), "the refusal")
        assert study.trials[4].state == "running"
        # a point of one's own, and a file
        page.fill('form.card[data-nest] [data-param="x"]', "0.25")
        page.fill('form.card[data-nest] [name="value"]', "2.5")
        page.one("form.card[data-nest] button").click()
        page.until(lambda: len(study.trials) == 6, "added")
        file = tmp_path / "measured.csv"
        file.write_text("x,value\n0.5,1\n0.75,2\n", encoding="utf-8")
        page.one("[data-upload] [type=file]").send_keys(str(file))
        page.one("[data-upload] button").click()
        page.until(lambda: "2 trials imported" in page.text("#messages"), "imported")
        assert [trial.value for trial in study.trials[6:]] == [1.0, 2.0]
        file.write_text("x,value\n7,1\n", encoding="utf-8")
        page.one("[data-upload] [type=file]").send_keys(str(file))
        page.one("[data-upload] button").click()
        page.until(lambda: "outside" in page.text("[data-upload] .error"), "refused")
        assert len(study.trials) == 8
        assert [m for m in page.complaints() if "422" not in m and "409" not in m] == []


@pytest.mark.xdist_group("browser")
def test_a_stuck_study_raises_its_alarm(driver: Any, empty: SQLStorage) -> None:
    study = nr.Study.create(
        "stuck",
        {"x": nr.Float(0, 1), "y": nr.Float(0, 1)},
        "maximize",
        strategy=nr.LogEI(),
        storage=empty,
    )
    study.run(lambda p: p["x"] + p["y"], 12, progress=False)
    with served(empty, Access()) as address:
        page = Page(driver, address)
        page.go("/studies/stuck/trust")
        page.until(lambda: page.drawn("residuals") > 0, "residuals drawn")
        assert not page.all('[data-kind="stuck"]')
        study.run(lambda p: p["x"] + p["y"], 18, progress=False)
        page.until(lambda: page.all('[data-kind="stuck"]'), "the alarm, without a reload")
        assert "one and the same point" in page.text("#alarms")
        assert "upper bound" in page.text("#alarms")


@pytest.mark.xdist_group("browser")
def test_scripts_in_names_stay_text(driver: Any, empty: SQLStorage) -> None:
    evil = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
    link = '<a href="https://evil.example">b</a>'  # a tag that Plotly would draw
    study = nr.Study.create(
        evil, {evil: nr.Float(0, 1), "c": nr.Choice([evil, link, "c"])}, "maximize", storage=empty
    )
    study.run(lambda p: p[evil], 9, progress=False)
    with served(empty, Access(write=True)) as address:
        page = Page(driver, address)
        page.go("/")
        page.one("tbody a").click()
        page.until(lambda: page.drawn("convergence") == 9, "convergence drawn")
        page.until(lambda: page.all("[data-slice] .plot .main-svg"), "the slice drawn")
        assert link in page.text("[data-slice] .plot")
        assert not page.all("svg a")
        where = driver.current_url
        for part in ("", "/trust", "/lab"):
            driver.get(where + part)
            page.until(lambda: page.text("#live") in ("live", "fitting the model…"), "alive")
            if part == "/trust":
                page.one("#theory summary").send_keys(Keys.ENTER)
                page.until(lambda: page.drawn("lengthscales") > 0, "lengthscales drawn")
            assert page.text("h1") == evil
            assert not page.all("img, main script, svg a, svg image[*|href^='http']")
            assert "taken" not in driver.title.replace(evil, "")


@pytest.mark.xdist_group("browser")
def test_without_token_and_without_write(driver: Any, empty: SQLStorage) -> None:
    nr.Study.create("kept", {"x": nr.Float(0, 1)}, "maximize", storage=empty)
    with served(empty, Access(token=TOKEN)) as address:
        page = Page(driver, address)
        page.go("/studies/kept/lab")
        assert "kept" not in page.text("main")
        page.one("[name=token]").send_keys("not the token at all", Keys.ENTER)
        page.until(lambda: "not this server's token" in page.text(), "refused")
        page.one("[name=token]").send_keys(TOKEN, Keys.ENTER)
        page.until(lambda: page.text("h1") == "kept", "let in")
        assert "only reads" in page.text("main")
        assert not page.all("#ask, .tell, [data-post]")
        refused = driver.execute_async_script(
            """const done = arguments[0];
            const csrf = document.querySelector('meta[name="csrf-token"]').content;
            const headers = {'Content-Type': 'application/json', 'X-CSRF-Token': csrf};
            fetch('/api/studies/kept/ask', {method: 'POST', headers, body: '{}'})
              .then(a => done(a.status));"""
        )
        assert refused == 403
        assert driver.execute_script("return document.cookie") == ""  # out of the scripts' reach
        page.one("#logout").click()
        page.until(lambda: page.all("[name=token]"), "logged out")
        page.go("/studies/kept")
        assert "Log in" in page.text()
    assert empty.trials("kept") == []


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_spills_over_and_nothing_jumps(driver: Any, empty: SQLStorage, width: int) -> None:
    long = "a name that somebody thought was a good idea and that nobody will ever read to the end"
    study = nr.Study.create(
        long.replace(" ", "_") * 2,
        {f"{long} {i}": nr.Float(0, 1) for i in range(3)},
        "maximize",
        storage=empty,
    )
    study.run(lambda p: sum(p.values()), 10, progress=False)
    study.ask()
    with served(empty, Access(write=True)) as address:
        page = Page(driver, address)
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        remember = (
            "addEventListener('DOMContentLoaded', () => { window.before ="
            " [...document.querySelectorAll('.plot')].map(plot => plot.offsetHeight); })"
        )
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": remember})
        page.go("/")
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        page.one("tbody a").click()
        where = driver.current_url
        for part in ("", "/trust", "/lab", "/trials/9"):
            driver.get(where + part)
            driver.execute_script(
                """window.shift = 0; new PerformanceObserver(list => list.getEntries()
                .forEach(e => { window.shift += e.hadRecentInput ? 0 : e.value; }))
                .observe({type: 'layout-shift', buffered: true})"""
            )
            if part in ("", "/trust"):
                page.until(
                    lambda: all(
                        place.find_elements(By.CSS_SELECTOR, ".main-svg")
                        for place in page.all(".plot")
                        if place.is_displayed()
                    ),
                    "all charts drawn",
                )
                assert driver.execute_script(
                    "return [...document.querySelectorAll('.plot .point')].every(point =>"
                    " point.getBoundingClientRect().width > 0)"
                )
            assert driver.execute_script("return document.documentElement.scrollWidth") <= width, (
                part
            )
            assert driver.execute_script("return window.shift") < 0.1, (
                part
            )  # below what counts as good
            assert driver.execute_script(
                "return [...document.querySelectorAll('.plot')].every((plot, i) =>"
                " plot.offsetHeight === window.before[i] && (plot.offsetHeight > 150 ||"
                " plot.closest('details:not([open])')))"
            ), part
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
