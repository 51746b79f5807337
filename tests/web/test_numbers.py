"""The page reads numbers by the grammar of the shell and of CSV files: it asks the server."""

import re
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web import app

STATIC = Path(app.__file__).parent / "static"


def test_the_server_reads_what_was_typed(browser: TestClient) -> None:
    texts: list[dict[str, Any]] = [
        {"text": "1'000"},
        {"text": "41,5 ± 0,2 %", "unit": "%", "noise": True},
        {"text": "41 g", "unit": "mg"},
        {"text": "2±0.1"},
        *({"text": text, "noise": True} for text in ("1/2", "5 e3", "2–3", "0x10", "5o", "1,500")),
    ]
    answer = browser.post("/api/numbers", json={"texts": texts}).json()["numbers"]
    understood = [(each["value"], each["noise_std"]) for each in answer]
    assert understood[:3] == [(1000.0, None), (41.5, 0.2), (None, None)]
    assert "its unit is g where mg is meant" in answer[2]["error"]
    for text, refused in zip(texts[3:], answer[3:], strict=True):
        assert f"got '{text['text']}'" in refused["error"]
    cells = [["0x10", "2"], ["1'000 mg", "2,5 mg"], ["3", "4"]]
    read = browser.post("/api/numbers", json={"columns": cells}).json()["columns"]
    assert read == [["0x10", "2"], [1000.0, 2.5], [3, 4]]
    unclear = browser.post("/api/numbers", json={"columns": [["1,500", "2"]]})
    assert (unclear.status_code, "may mean" in unclear.json()["detail"]) == (422, True)


def test_the_page_has_no_grammar_of_its_own() -> None:
    scripts = {name: (STATIC / f"{name}.js").read_text() for name in ("page", "forms", "new")}
    assert 'post("/api/numbers"' in scripts["page"]
    for script in scripts.values():
        assert not re.search(r"parseFloat|parseInt|\\d|\[eE\]", script)
        # bounds come from the server, digits of a resolution too
        assert set(re.findall(r"\bNumber\([^)]", script)) <= {"Number(l", "Number(h", "Number(`"}


def test_fields_know_their_unit(browser: TestClient, storage: SQLStorage) -> None:
    study = nr.Study.create(
        "lab",
        {"t": nr.Float(0, 1)},
        "maximize",
        storage=storage,
        outcomes={"tox": nr.AtMost(1)},
    )
    study.annotate(attributes={"unit": "%", "units": {"t": "°C", "tox": "mg"}})
    page = " ".join(browser.get("/studies/lab/lab").text.split())
    units = {
        "name=value": "%",
        "name=noise_std": "%",
        "data-param=t": "°C",
        "data-outcome=tox": "mg",
    }
    for field, unit in units.items():
        place = field.replace("=", '="') + '"'
        found = re.findall(rf'<input [^>]*{place}[^>]*data-unit="([^"]*)"', page)
        assert set(found) == {unit}, field
