"""What a person at a bench looks for: limits beside the values, trials in order, rows pasted from a
spreadsheet, one sheet to print, files beside a trial.
"""

import base64
import io
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web import artifacts
from tests.components import missing
from tests.web.conftest import Clients, Page, drawn, violations, with_csrf

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhg"
    "GAWjR9awAAAABJRU5ErkJggg=="
)


def paste(page: Page, rows: str) -> None:
    """Rows with tabs, which typed would leave the field."""
    script = "document.querySelector('[name=rows]').value = arguments[0]"
    page.driver.execute_script(script, rows)


def drug(storage: SQLStorage, trials: int = 12) -> nr.Study:
    space = {"dose": nr.Float(0, 20, step=0.5), "time": nr.Int(5, 60)}
    study = nr.Study.create(
        "drug", space, "maximize", storage=storage, outcomes={"toxicity": nr.AtMost(0.3)}
    )
    units = {"dose": "mg", "toxicity": "%"}
    study.annotate(attributes={"value_name": "yield", "unit": "%", "units": units})
    for dose in range(trials):
        study.add(
            {"dose": dose * 0.5, "time": 5 + dose},
            10.0 + dose,
            outcomes={"toxicity": round(0.05 * dose, 2)},
        )
    return study


def test_limits_are_seen_beside_the_values(page: Page, empty: SQLStorage, axe: str) -> None:
    drug(empty)
    page.go("/studies/drug")
    page.until(lambda: page.drawn("outcomes") == 12, "the outcome is drawn")
    drawing = page.driver.execute_script(
        "return document.querySelector('[data-chart=outcomes] .plot').data.map("
        "trace => [trace.name, trace.x.length, trace.y[0]])"
    )
    assert drawing == [["within", 7, 0], ["beyond", 5, 0.35], ["limit ≤ 0.3", 2, 0.3]]
    progress = page.driver.execute_script(
        "return Object.fromEntries(document.querySelector('[data-chart=convergence] .plot').data"
        ".map(trace => [trace.name, trace.y]))"
    )
    assert len(progress["beyond a limit"]) == 5
    assert progress["best so far"][-1] == 16.0  # the best that keeps the limit
    low, high = page.driver.execute_script(
        "return document.querySelector('[data-chart=convergence] .plot').layout.yaxis.range"
    )
    assert low < 10
    assert high > 16
    assert page.text("#trials thead").count("toxicity (%) ≤ 0.3") == 1
    assert len(page.all("#trials tr.infeasible td strong.reason")) == 5
    assert "5.0" in page.text("#trials tbody")  # as many digits as the step has
    page.one("[data-chart=convergence] [name=log]").click()
    page.until(
        lambda: (
            page.driver.execute_script(
                "return document.querySelector('[data-chart=convergence] .plot').layout.yaxis.type"
            )
            == "log"
        ),
        "a log scale",
    )
    page.one("#more summary").click()
    page.until(lambda: page.drawn("parallel") == 12, "parallel coordinates")
    page.until(lambda: page.drawn("timeline") == 12, "timeline")
    drawn(page)
    assert not page.complaints()
    assert not violations(page, axe)


def test_trials_are_sorted_and_filtered(page: Page, empty: SQLStorage) -> None:
    study = drug(empty, 30)
    study.tell(study.ask(), state="failed", reason="spilled")
    page.go("/studies/drug")
    page.one('#trials th[title="yield"] a').click()
    page.until(lambda: "sort=-value" in page.driver.current_url, "sorted")
    numbers = [row.text for row in page.all("#trials tbody th")]
    assert numbers[:2] == ["29", "28"]
    assert len(numbers) == 25
    page.one('#trials th[title="yield"] a').click()
    page.until(lambda: page.all("[aria-sort=ascending]"), "the other way around")
    assert page.text("#trials tbody th") == "0"
    page.one(".pages a").click()  # the order stays
    page.until(lambda: page.text("#trials tbody th") == "25", "the next page")
    page.go("/studies/drug?state=failed")
    assert len(page.all("#trials tbody tr")) == 1
    assert "spilled" in page.text("#trials tbody")


def test_a_condition_leaves_no_empty_card(page: Page, empty: SQLStorage) -> None:
    study = nr.Study.create(
        "oven", {"humidity": nr.Float(0, 1), "speed": nr.Float(0, 1)}, "minimize", storage=empty,
        context=["humidity"],
    )  # fmt: skip
    for number in range(5):
        study.tell(study.ask(context={"humidity": number / 5}), float(number))
    page.go("/studies/oven")
    page.until(lambda: page.all("#policy table"), "the policy")
    assert len(page.all("#cards .card")) == 1
    assert "–" not in page.text("#cards")
    assert "{" not in page.text("#cards")
    assert "under different conditions" in page.text("[data-chart=convergence] .words")


def test_rows_are_pasted_and_a_batch_is_one_sheet(page: Page, empty: SQLStorage, axe: str) -> None:
    study = drug(empty)
    study.ask(3)
    page.go("/studies/drug/lab")
    paste(page, "Dose\ttime\tYield\ttoxicity\toperator\n7,5\t9\t21,5\t0,2\tanna\n")
    page.one("form[data-upload] .tools button").click()
    page.until(lambda: "1 trials imported" in page.text("#messages"), "imported")
    assert "operator" in page.text("#messages")
    trial = study.trials[-1]
    assert (trial.params["dose"], trial.value, dict(trial.outcomes)) == (
        7.5,
        21.5,
        {"toxicity": 0.2},
    )
    assert trial.attributes["operator"] == "anna"
    paste(page, "dose\ttime\tyield\ttoxicity\n7\t9\tmuch\t0.2\n")
    page.one("form[data-upload] .tools button").click()
    page.until(lambda: page.all("label:has([name=rows]) .error"), "the error is at its field")
    page.driver.execute_script(
        "window.print = () => { window.sheet = [document.body.className,"
        " document.getElementById('sheet').className]; }"
    )
    page.driver.execute_script("document.querySelector('[data-print=sheet]').click()")
    assert page.driver.execute_script("return window.sheet") == ["printing", "sheet printed"]
    rows = page.driver.execute_script(
        "return [...document.querySelectorAll('#sheet tbody tr')].map(row => row.children.length)"
    )
    assert rows == [6, 6, 6]  # number, two inputs; value, outcome and note to be written
    assert not violations(page, axe)


def test_a_file_lies_beside_its_trial(page: Page, empty: SQLStorage, tmp_path: Path) -> None:
    study = drug(empty)
    photo = tmp_path / "Foto ä.png"
    photo.write_bytes(PNG)
    page.go("/studies/drug/trials/3")
    page.one("form[data-attach] [name=file]").send_keys(str(photo))
    page.one("form[data-attach] button").click()
    page.until(lambda: page.text("#files a") == "Foto ä.png", "the file is listed")
    record = study.record()
    assert record.key is not None
    path = artifacts.path_of(empty.url, record, 3, "Foto ä.png")
    assert path.read_bytes() == PNG
    assert path.is_relative_to(artifacts.root(empty.url))
    page.one("[data-remove-file]").click()
    page.until(lambda: page.gone("#files a"), "it is gone")
    assert not path.exists()
    assert not page.complaints()


def test_a_file_is_safe_to_serve(clients: Clients, storage: SQLStorage) -> None:
    browser, at = with_csrf(clients()), "/api/studies/first/trials/3/files"
    page = b"<script>alert(1)</script>"
    assert browser.put(f"{at}/photo.png", content=page).status_code == 204
    answer = browser.get(f"{at}/photo.png")
    assert answer.content == page
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert browser.put(f"{at}/real.png", content=PNG).status_code == 204
    assert browser.get(f"{at}/real.png").headers["content-type"] == "image/png"
    root = artifacts.root(storage.url)
    for name in ("..", "%2e%2e", "..%5C..%5Cwin.ini", ".hidden", "con"):
        browser.put(f"{at}/{name}", content=b"x")
    assert all(path.name.startswith("_") for path in root.rglob("*") if path.is_file())
    assert not [path for path in root.rglob("*") if set(path.name) & set(r'<>:"/\|?*')]  # Windows
    assert {path.parent.name for path in root.rglob("*") if path.is_file()} == {"3"}
    assert browser.put(f"{at}/{'n' * 300}", content=b"x").status_code == 422
    assert browser.put(f"{at}/large", content=bytes(artifacts.LARGEST_FILE + 1)).status_code == 413
    assert browser.put("/api/studies/first/trials/999/files/a", content=b"x").status_code == 404
    for number in range(artifacts.MOST_FILES):
        last = browser.put(f"{at}/{number}", content=b"x").status_code
    assert last == 409
    reading = clients(write=False)
    assert reading.put(f"{at}/a", content=b"x").status_code == 403
    assert browser.delete("/api/studies/first").status_code == 204
    assert not [path for path in root.rglob("*") if path.is_file()]


def test_a_spreadsheet_comes_back(browser: TestClient) -> None:
    try:
        import openpyxl
    except ImportError:
        missing("openpyxl is not installed")
    sheet = browser.get("/api/studies/first/export/xlsx").content
    rows = list(openpyxl.load_workbook(io.BytesIO(sheet)).active.values)
    body: dict[str, Any] = browser.get("/api/studies/first").json()
    assert len(rows) == 1 + body["counts"]["complete"]
    answer = browser.post("/api/studies/first/import?known=add", content=sheet,
                          headers={"Content-Type": "text/csv"})  # fmt: skip
    assert answer.json()["imported"] == 12
    trials = browser.get("/api/studies/first/trials").json()
    values = [trial["value"] for trial in trials]
    assert values[:12] == pytest.approx(values[12:], rel=1e-12)
    broken = browser.post("/api/studies/first/import", content=b"PK\x03\x04nothing",
                          headers={"Content-Type": "text/csv"})  # fmt: skip
    assert "cannot be read" in broken.json()["detail"]


def test_units_of_inputs_are_typed_in_the_form(page: Page, empty: SQLStorage) -> None:
    page.go("/new")
    page.fill("[name=name]", "bake")
    page.fill("[data-field=name]", "temperature")
    page.fill("[data-field=low]", "150")
    page.fill("[data-field=high]", "250")
    page.fill("[data-field=unit]", "°C")
    page.one("#new .primary").click()
    page.until(lambda: page.driver.current_url.endswith("/bake/lab"), "created")
    assert nr.Study.open("bake", storage=empty).record().attributes["units"] == {
        "temperature": "°C"
    }
    assert "temperature (°C)" in page.text("main")
    page.go("/new?from=bake")
    page.until(lambda: page.one("[data-field=unit]").get_property("value") == "°C", "it stays")


def test_an_error_stands_at_its_own_field(page: Page) -> None:
    for field, text, said in (
        ("[data-field=high]", "much", "must be a number"),
        ("[data-field=step]", "0.3", "whole number of steps"),
        ("[name=outcomes]", "tox", "limit"),
        ("[name=outcomes]", "x <= 3", "outcome"),
        ("[name=context]", "rain", "rain"),
        ("[name=constraints]", "x + y = 1", "constraint"),
    ):
        page.go("/new")
        for css, typed in (
            ("[name=name]", "t"),
            ("[data-field=name]", "x"),
            ("[data-field=low]", "0"),
            ("[data-field=high]", "1"),
            (field, text),
        ):
            page.fill(css, typed)
        page.driver.execute_script("document.querySelector('#new .primary').click()")
        message = f"label:has({field}) .error"
        page.until(partial(page.all, message), f"an error at {field}")
        assert said in page.text(message)
        assert not set("[]{}") & set(page.text(message))
