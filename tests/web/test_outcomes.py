"""Limits and context on the page and in its API."""

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

import noregret as nr
from noregret.storage import SQLStorage
from noregret.web.fitting import feasibility_text, policy_table
from noregret.web.schemas import encode_name
from tests.web.test_api import model_of

BOX = {"kind": "box", "parameters": [{"kind": "float", "name": "dose", "low": 0, "high": 1}]}


@pytest.fixture
def lab(browser: TestClient) -> Any:
    client = browser
    body = {"name": "lab", "goal": "maximize", "space": BOX, "outcomes": ["toxicity <= 0.3"]}
    assert client.post("/api/studies", json=body).status_code == 201
    return client


def test_a_study_with_limits_is_made_told_and_shown(lab: Any) -> None:
    where = f"/api/studies/{encode_name('lab')}"
    assert lab.get(where).json()["outcomes"] == ["toxicity ≤ 0.3"]
    assert lab.post(f"{where}/ask", json={}).status_code == 201
    missing = lab.post(f"{where}/trials/0/tell", json={"value": 2.0})
    assert missing.status_code == 409
    assert "missing toxicity" in missing.json()["detail"]
    told = lab.post(f"{where}/trials/0/tell", json={"outcomes": {"toxicity": 0.9}})
    assert (told.status_code, told.json()["feasible"]) == (200, False)
    page = lab.get(f"/studies/{encode_name('lab')}").text
    assert "Nothing feasible yet" in page
    assert "toxicity ≤ 0.3" in page
    point = {"params": {"dose": 0.2}, "value": 1.5, "outcomes": {"toxicity": [0.1, 0.02]}}
    added = lab.post(f"{where}/trials", json=point)
    assert (added.json()["feasible"], added.json()["outcome_noise"]) == (True, {"toxicity": 0.02})
    assert "within all limits" in lab.get(f"/studies/{encode_name('lab')}").text
    laboratory = lab.get(f"/studies/{encode_name('lab')}/lab").text
    assert 'data-outcome="toxicity"' in laboratory
    assert "beyond a limit" in laboratory
    assert "toxicity" in lab.get(f"/studies/{encode_name('lab')}/trials/0").text


def test_a_bad_limit_is_said(lab: Any) -> None:
    body = {"name": "bad", "goal": "maximize", "space": BOX, "outcomes": ["toxicity 0.3"]}
    answer = lab.post("/api/studies", json=body)
    assert answer.status_code == 422
    assert "write an outcome's limit as" in answer.json()["detail"]
    answer = lab.post("/api/studies", json={**body, "outcomes": ["temp >= 20", "temp <= 80"]})
    assert answer.status_code == 422
    assert "temp has two limits" in answer.json()["detail"]


def test_context_is_asked_for(browser: TestClient, storage: SQLStorage) -> None:
    space = {"set": nr.Float(20, 60), "outside": nr.Float(-10, 30)}
    study = nr.Study.create("heat", space, "minimize", storage=storage, context=("outside",))
    client = browser
    where = f"/api/studies/{encode_name('heat')}"
    assert "is context here" in client.post(f"{where}/ask", json={}).json()["detail"]
    for outside in (0, 10, 20, 30, -5):
        asked = client.post(f"{where}/ask", json={"context": {"outside": outside}}).json()[0]
        assert asked["params"]["outside"] == outside
        client.post(f"{where}/trials/{asked['number']}/tell", json={"value": asked["number"]})
    page = client.get(f"/studies/{encode_name('heat')}").text
    assert "Conditions you cannot control: outside" in page
    assert 'data-context="outside"' in client.get(f"/studies/{encode_name('heat')}/lab").text
    table = policy_table(study)
    assert table is not None
    assert [row["context"] for row in table["rows"]] == [-10, -5, 0, 5, 10, 15, 20, 25, 30]
    assert all(20 <= row["actions"][0] <= 60 for row in table["rows"])
    assert feasibility_text(study, study.trials) is None
    [curve] = table["curves"]
    assert (curve["context"], curve["action"]) == ("outside", "set")
    assert curve["values"][::4] == [row["context"] for row in table["rows"]]
    assert curve["best"][::4] == [row["actions"][0] for row in table["rows"]]
    assert curve["tried"]["context"] == [0, 10, 20, 30, -5]
    assert curve["tried"]["action"] == [trial.params["set"] for trial in study.trials]
    assert table["others"] == []


def test_the_cards_say_what_is_known_and_what_is_not(
    browser: TestClient, storage: SQLStorage
) -> None:
    few = nr.Study.create("few", [(0, 1)], "maximize", storage=storage)
    few.add([0.3], 41.5)
    model_of(browser, "few")
    text = _words(browser.get("/studies/few").text)
    assert "There are too few values to say how far it scatters." in text
    assert "If you repeat it, expect about 41.5." in text
    assert "Not known yet: the values are too few, or say too little." in text
    limited = nr.Study.create(
        "limited", [(0, 1)], "maximize", storage=storage, outcomes={"load": nr.AtMost(0.5)}
    )
    for i in range(12):
        x, noise = i / 11, 0.02 * (-1) ** i
        limited.add([x], x + noise, outcomes={"load": x - noise})
    answer = model_of(browser, "limited")
    assert [row["asked"] for row in answer["sure"]] == [0.5, 0.8, 0.9, 0.95, 0.99]
    assert answer["sure"][2]["number"] == answer["recommended"]["number"]
    text = _words(browser.get("/studies/limited").text)
    assert "How sure must it be to keep all limits?" in text
    assert "better than the recommended point, with a chance of 95%" in text
    exact = nr.Study.create(
        "exact", [(0, 1)], "maximize", nr.InsuredGPUCB(noise_std=0), storage=storage
    )
    for i in range(5):
        exact.add([i / 5], i / 5)
    model_of(browser, "exact")
    assert "Values are exact: a repeat gives the same." in _words(
        browser.get("/studies/exact").text
    )


def _words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())
