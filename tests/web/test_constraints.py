"""Known constraints on the page: made, shown, refused, sliced."""

import os
import re
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select
from starlette.testclient import TestClient

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web.fitting import Fitter
from noregret.web.schemas import StudyIn
from noregret.web.security import Access
from tests.web.conftest import Page, served

MIXTURE: dict[str, Any] = {
    "kind": "box",
    "parameters": [
        {"kind": "float", "name": name, "low": 0, "high": 1} for name in ("water", "dmf", "ether")
    ],
    "constraints": ["water + dmf + ether = 1 ± 0.002", "water - dmf <= 0.5"],
}


def made(browser: TestClient, space: dict[str, Any]) -> Any:
    body = {"name": "mix", "goal": "maximize", "space": space}
    return browser.post("/api/studies", json=body)


def test_a_mixture_is_made_shown_and_asked(browser: TestClient) -> None:
    assert made(browser, MIXTURE).status_code == 201
    about = browser.get("/api/studies/mix").json()
    assert about["constraints"] == MIXTURE["constraints"]
    assert "<code>water + dmf + ether = 1 ± 0.002</code>" in browser.get("/studies/mix").text
    assert "Rules every experiment must obey" in browser.get("/new").text
    for trial in browser.post("/api/studies/mix/ask", json={"count": 3}).json():
        assert sum(trial["params"].values()) == pytest.approx(1.0)
    wrong = {"params": {"water": 0.5, "dmf": 0.6, "ether": 0.1}, "value": 1}
    answer = browser.post("/api/studies/mix/trials", json=wrong)
    assert answer.status_code in (400, 422)
    assert "breaks the constraint 'water + dmf + ether = 1 ± 0.002'" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("constraint", "says"),
    [
        ("water + tea <= 1", "is no input"),
        ("water + dmf >= 3", "feasible set is empty"),
        ("satisfies os:system", "from Python or the shell"),
        ("satisfies lab:rule", "from Python or the shell"),
    ],
)
def test_what_makes_no_sense_is_said(browser: TestClient, constraint: str, says: str) -> None:
    answer = made(browser, {**MIXTURE, "constraints": [constraint]})
    assert answer.status_code in (400, 422)
    assert says in answer.json()["detail"]
    assert browser.get("/api/studies/mix").status_code == 404


def test_slices_stay_where_something_can_be_run(
    storage: SQLStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "nice", lambda _: 0)
    solvents = {name: nr.Float(0, 1) for name in ("water", "dmf", "ether")}
    space = nr.Space(
        solvents,
        constraints=[
            nr.Linear(dict.fromkeys(solvents, 1.0), equals=1.0),
            nr.Linear({"water": 1}, at_most=0.6),
        ],
    )
    study = nr.Study.create("mix", space, "maximize", storage=storage)
    study.run(lambda p: p["water"] - p["ether"] ** 2, 6, progress=False)
    fitter = Fitter(storage.url)
    line = fitter.slice("mix", "water")
    assert line["error"] is None
    assert line["constrained"]
    assert max(line["xs"]) == pytest.approx(0.6, abs=0.01)
    assert len(line["xs"]) == len(line["mean"])
    surface = fitter.slice("mix", "water", "dmf")
    empty = [
        (x, y)
        for j, y in enumerate(surface["ys"])
        for i, x in enumerate(surface["xs"])
        if surface["mean"][j][i] is None
    ]
    assert empty
    assert all(x + y > 1 - 1e-6 or x > 0.6 - 1e-6 for x, y in empty)
    assert len(empty) < len(surface["xs"]) * len(surface["ys"]) * 0.75


@pytest.mark.xdist_group("browser")
def test_an_error_stands_at_its_field(driver: Any, empty: SQLStorage) -> None:
    with served(empty, Access(write=True)) as address:
        page = Page(driver, address)
        page.go("/new")
        page.fill('[name="name"]', "mix")
        page.one("#more").click()
        for place, name in enumerate(("a", "b")):
            entry = page.all(".entry")[place]
            for field, text in (("name", name), ("low", "0"), ("high", "1")):
                entry.find_element(By.CSS_SELECTOR, f'[data-field="{field}"]').send_keys(text)
        page.fill('[name="constraints"]', "a + b >= 3")
        page.one("#new button.primary").click()
        page.until(lambda: "feasible set is empty" in page.text(), "what is wrong")
        field = page.one('[name="constraints"]')
        assert field.get_attribute("aria-invalid") == "true"
        field.clear()
        page.fill('[name="constraints"]', "a + b <= 1")
        page.one("#new button.primary").click()
        page.until(lambda: "No experiment is under way" in page.text(), "the laboratory")
    study = nr.Study.open("mix", storage=empty)
    assert [str(each) for each in study.space.constraints] == ["a + b <= 1"]


def test_inputs_that_exist_only_for_some_options(browser: TestClient) -> None:
    space: dict[str, Any] = {
        "kind": "box",
        "parameters": [
            {"kind": "choice", "name": "model", "options": ["svm", "forest"]},
            {"kind": "float", "name": "C", "low": 0.1, "high": 10},
        ],
        "constraints": ["C only for model=tree"],
    }
    wrong = made(browser, space)
    assert wrong.status_code in (400, 422)
    assert "no option" in wrong.text
    assert made(browser, {**space, "constraints": ["C only for model=svm"]}).status_code == 201
    about = browser.get("/api/studies/mix").json()
    assert about["constraints"] == ["C only for model=svm"]
    assert "<code>C only for model=svm</code>" in browser.get("/studies/mix").text


NESTED: dict[str, Any] = {
    "kind": "box",
    "parameters": [
        {"kind": "choice", "name": "model", "options": ["svm", "forest"]},
        {"kind": "float", "name": "C", "low": 0.1, "high": 10},
        {"kind": "choice", "name": "kernel", "options": ["linear", "rbf"]},
        {"kind": "float", "name": "gamma", "low": 0, "high": 1},
        {"kind": "int", "name": "trees", "low": 1, "high": 9},
    ],
    "constraints": [
        "C only for model=svm",
        "kernel only for model=svm",
        "gamma only for kernel=rbf",
        "trees only for model=forest",
        "C + gamma <= 5",
    ],
}


def test_what_does_not_exist_is_a_dash(browser: TestClient) -> None:
    """Branches inside branches and a constraint, by the page's own form."""
    assert made(browser, NESTED).status_code == 201
    forest = {"params": {"model": "forest", "trees": 4}, "value": 1}
    assert browser.post("/api/studies/mix/trials", json=forest).status_code == 201
    wrong = {"params": {"model": "svm", "C": 4.5, "kernel": "rbf", "gamma": 0.9}, "value": 1}
    assert "C + gamma <= 5" in browser.post("/api/studies/mix/trials", json=wrong).text
    right = {"params": {"model": "svm", "C": 9.5, "kernel": "linear"}, "value": 0.5}
    assert browser.post("/api/studies/mix/trials", json=right).status_code == 201
    page = browser.get("/studies/mix").text
    best = page.split("Best result so far")[1].split("</dl>")[0]
    rows = re.findall(r"<dt[^>]*>(.*?)</dt><dd>(.*?)</dd>", best)
    assert rows == [
        ("model", "forest"), ("C", "–"), ("kernel", "–"), ("gamma", "–"), ("trees", "4")
    ]  # fmt: skip
    cells = re.findall(r'<td class="num">(.*?)</td>', page.split("Table of trials")[1])
    assert cells == ["0.5", "svm", "9.5", "linear", "–", "–", "1", "forest", "–", "–", "–", "4"]
    assert "<span>gamma –</span>" in browser.get("/studies/mix/lab").text
    assert "<dd>–</dd>" in browser.get("/studies/mix/trials/1").text


@pytest.mark.xdist_group("browser")
def test_a_form_has_the_inputs_that_exist(driver: Any, empty: SQLStorage) -> None:
    given = {"name": "mix", "goal": "maximize", "space": NESTED}
    space = StudyIn.model_validate(given).to_space()
    nr.Study.create("mix", space, "maximize", storage=empty)
    with served(empty, Access(write=True)) as address:
        page = Page(driver, address)
        page.go("/studies/mix/lab")
        own = 'form[data-post$="/trials"] '

        def seen() -> list[str]:
            fields = page.all(f"{own}[data-param]")
            return [str(f.get_attribute("data-param")) for f in fields if f.is_displayed()]

        assert seen() == ["model", "C", "kernel"]
        Select(page.one(f'{own}[data-param="kernel"]')).select_by_visible_text("rbf")
        assert seen() == ["model", "C", "kernel", "gamma"]
        Select(page.one(f'{own}[data-param="model"]')).select_by_visible_text("forest")
        assert seen() == ["model", "trees"]
        page.fill(f'{own}[data-param="trees"]', "3")
        page.fill(f'{own}[name="value"]', "2.5")
        page.one(f"{own}button").click()
        page.until(lambda: "trees 3" in page.text("#done"), "the point in the table")
        assert "C –" in page.text("#done")
    (trial,) = nr.Study.open("mix", storage=empty).trials
    assert space.active(trial.params) == {"model": "forest", "trees": 3}  # type: ignore[union-attr]
