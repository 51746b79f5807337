"""The API as a program uses it, and the pages that go with it."""

import csv
import io
import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import noregret as nr
from noregret.diagnostics import presentation
from noregret.storage import SQLStorage, StudyRecord
from noregret.web import charts, words
from noregret.web.charts import CHARTS
from noregret.web.fitting import Fitter
from noregret.web.library import Library, Snapshot
from tests.web.conftest import with_csrf

BOX = {
    "kind": "box",
    "parameters": [
        {"kind": "float", "name": "lr", "low": 1e-4, "high": 1, "log": True},
        {"kind": "int", "name": "layers", "low": 1, "high": 8},
        {"kind": "choice", "name": "optimizer", "options": ["sgd", "adam", None]},
    ],
}


def create(client: TestClient, name: str = "made", **more: Any) -> str:
    answer = client.post(
        "/api/studies", json={"name": name, "goal": "minimize", "space": BOX, **more}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()["key"]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ({"kind": "insured"}, nr.InsuredGPUCB()),
        ({"kind": "insured", "noise_std": 0.5}, nr.InsuredGPUCB(noise_std=0.5)),
        (
            {"kind": "rigorous", "noise_bound": 0.1, "norm_bound": 3, "delta": 0.05, "offset": 2},
            nr.AdaptiveGPUCB.rigorous(0.1, 0.05, norm_bound=3.0, offset=2.0),
        ),
        ({"kind": "log_ei", "noise_std": 1}, nr.LogEI(noise_std=1.0)),
        ({"kind": "insured", "noise_std": 0}, nr.InsuredGPUCB(noise_std=0.0)),
        ({"kind": "random"}, nr.RandomSearch()),
    ],
)
def test_a_study_is_created_as_described(
    browser: TestClient, storage: SQLStorage, strategy: dict[str, Any], expected: Any
) -> None:
    create(browser, strategy=strategy, seed=9)
    study = nr.Study.open("made", storage=storage)
    assert study.strategy == expected
    assert (study.goal, study.record().seed) == ("minimize", 9)
    assert study.space == nr.Space(
        {
            "lr": nr.Float(1e-4, 1, log=True),
            "layers": nr.Int(1, 8),
            "optimizer": nr.Choice(["sgd", "adam", None]),
        }
    )
    assert (
        browser.post(
            "/api/studies", json={"name": "made", "goal": "minimize", "space": BOX}
        ).status_code
        == 409
    )


def test_a_list_of_designs(browser: TestClient, storage: SQLStorage) -> None:
    create(
        browser,
        space={
            "kind": "candidates",
            "rows": [{"t": 20, "s": "a"}, {"t": 40, "s": "b"}, {"t": 60, "s": "a"}],
        },
    )
    study = nr.Study.open("made", storage=storage)
    assert isinstance(study.space, nr.Candidates)
    assert (
        browser.post(
            "/api/studies/made/trials", json={"params": {"t": 21, "s": "a"}, "value": 1}
        ).status_code
        == 422
    )
    assert (
        browser.post(
            "/api/studies/made/trials", json={"params": {"t": 20, "s": "a"}, "value": 1}
        ).status_code
        == 201
    )


@pytest.mark.parametrize(
    "space",
    [
        {"kind": "box", "parameters": []},
        {"kind": "box", "parameters": [{"kind": "float", "name": "x", "low": 1, "high": 0}]},
        {
            "kind": "box",
            "parameters": [{"kind": "float", "name": "x", "low": 0, "high": 1, "log": True}],
        },
        {"kind": "other"},
        {"kind": "candidates", "rows": [{"a": 1}, {"b": 1}]},
        {"kind": "box", "parameters": [{"kind": "float", "name": "x", "low": 0, "high": 1}] * 2},
        {"kind": "choice", "name": "x", "options": ["one"]},
    ],
)
def test_spaces_that_make_no_sense(browser: TestClient, space: dict[str, Any]) -> None:
    answer = browser.post("/api/studies", json={"name": "made", "goal": "maximize", "space": space})
    assert answer.status_code == 422
    assert answer.json()["detail"]


def test_a_study_run_by_hand(browser: TestClient, storage: SQLStorage) -> None:
    key = create(browser)
    first, second = browser.post(f"/api/studies/{key}/ask", json={"count": 2}).json()
    assert (first["state"], second["number"]) == ("running", 1)
    assert (
        browser.post(
            f"/api/studies/{key}/trials/0/tell", json={"value": 0.5, "noise_std": 0.1}
        ).json()["value"]
        == 0.5
    )
    assert (
        browser.post(f"/api/studies/{key}/trials/1/tell", json={"state": "failed"}).json()["state"]
        == "failed"
    )
    assert (
        browser.post(f"/api/studies/{key}/trials/1/tell", json={"value": 2}).status_code == 409
    )  # the first tell stands
    fixed = browser.post(f"/api/studies/{key}/ask", json={"fixed": {"optimizer": "adam"}}).json()[0]
    assert fixed["params"]["optimizer"] == "adam"
    point = {"lr": 0.1, "layers": 2, "optimizer": None}
    assert (
        browser.post(f"/api/studies/{key}/trials", json={"params": point, "value": 0.2}).json()[
            "state"
        ]
        == "complete"
    )
    waiting = browser.post(
        f"/api/studies/{key}/trials", json={"params": {**point, "layers": 3}}
    ).json()
    assert waiting["state"] == "waiting"
    assert browser.post(f"/api/studies/{key}/ask", json={}).json()[0]["number"] == waiting["number"]
    assert (
        browser.post(
            f"/api/studies/{key}/trials", json={"params": point, "noise_std": 1}
        ).status_code
        == 422
    )
    corrected = browser.post(f"/api/studies/{key}/trials/0/correct", json={"value": 5}).json()
    assert corrected["corrects"] == 0
    assert corrected["decision"]["source"] == "correction"
    study = nr.Study.open("made", storage=storage)
    assert study.best.value == 0.2
    assert [trial.value for trial in study.trials][:1] == [0.5]  # nothing was overwritten
    assert (
        browser.post(
            f"/api/studies/{key}/trials/{fixed['number']}/correct", json={"value": 5}
        ).status_code
        == 409
    )
    summary = next(each for each in browser.get("/api/studies").json() if each["name"] == "made")
    assert (summary["complete"], summary["failed"], summary["running"], summary["best"]) == (
        2,
        1,
        2,
        0.2,
    )


def test_files_go_out_and_come_in(browser: TestClient, storage: SQLStorage) -> None:
    text = browser.get("/api/studies/first/export/csv")
    assert text.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(text.text)))
    assert (len(rows), float(rows[3]["value"])) == (12, storage.trials("first")[3].value)
    assert len(json.loads(browser.get("/api/studies/first/export/json").text)) == 12
    create(
        browser,
        "copy",
        space={
            "kind": "box",
            "parameters": [
                {"kind": "float", "name": "x", "low": 0, "high": 1},
                {"kind": "choice", "name": "kind", "options": ["a", "b"]},
            ],
        },
    )
    done = browser.post(
        "/api/studies/copy/import",
        content=text.text,
        headers={"Content-Type": "text/csv; charset=utf-8"},
    )
    assert (done.status_code, done.json()["imported"], done.json()["attributes"]) == (201, 12, [])
    assert [t.value for t in storage.trials("copy")] == [t.value for t in storage.trials("first")]


def test_an_import_is_noticed_listed_and_taken_back(
    browser: TestClient, storage: SQLStorage
) -> None:
    address, rows = "/api/studies/first/import", "X,kind,value,operator\n0.5,a,9,anna\n"

    def send(text: str, **query: str) -> Any:
        headers = {"Content-Type": "text/csv"}
        return browser.post(
            address, params={"file": "m.csv"} | query, content=text, headers=headers
        )

    first = send(rows).json()
    assert (first["imported"], first["attributes"]) == (1, ["operator"])
    assert first["label"].startswith("m.csv, 2")
    again = send(rows)
    assert again.status_code == 409
    assert again.json()["detail"].startswith("1 of 1 rows are in the study already: import the")
    assert send(f"{rows}0.6,a,8,bo\n", known="skip").json()["imported"] == 1
    assert send(rows, known="add").json()["imported"] == 1
    assert send(rows, known="maybe").status_code == 422
    assert f'data-take-back="{first["label"]}"' in browser.get("/studies/first/lab").text
    undo = "/api/studies/first/take-back"
    gone = browser.post(undo, json={"label": first["label"]})
    assert [trial["number"] for trial in gone.json()] == [12]
    assert browser.post(undo, json={"label": first["label"]}).status_code == 409
    assert f'data-take-back="{first["label"]}"' not in browser.get("/studies/first/lab").text
    struck = browser.post("/api/studies/first/trials/3/correct", json={"state": "withdrawn"}).json()
    assert (struck["state"], struck["corrects"]) == ("withdrawn", 3)
    told = browser.post("/api/studies/first/trials/3/tell", json={"state": "withdrawn"})
    assert told.status_code == 422  # a running one is withdrawn by withdraw


@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_has_words_columns_and_a_file(browser: TestClient, chart: str) -> None:
    drawn = browser.get(f"/api/studies/first/charts/{chart}").json()
    assert drawn["text"].endswith(".")
    assert len({len(column) for column in drawn["columns"].values()}) == 1
    rows = list(csv.reader(io.StringIO(browser.get(f"/api/studies/first/charts/{chart}/csv").text)))
    assert rows[0] == list(drawn["columns"])
    assert len(rows) - 1 == drawn["rows"]
    # twelve values, eight of them of forecasts: nine are needed before bands are held against them
    without = {"coverage": "Not enough", "outcomes": "no limits"}
    assert drawn["rows"] > 0 or without.get(chart, "…") in drawn["text"]
    empty = create(browser, "nothing yet")
    assert browser.get(f"/api/studies/{empty}/charts/{chart}").json()["rows"] == 0


def test_long_series_are_thinned_in_the_drawing_only() -> None:
    chart = charts.Chart("words", {"number": list(range(5001)), "value": [float("nan")] * 5001})
    drawn = json.loads(chart.to_json())
    assert len(drawn["columns"]["number"]) <= charts.DRAWN + 1
    assert (drawn["columns"]["number"][0], drawn["columns"]["number"][-1], drawn["rows"]) == (
        0,
        5000,
        5001,
    )
    assert drawn["columns"]["value"][0] is None
    assert len(chart.to_csv().splitlines()) == 5002


def test_an_unchanged_study_is_not_sent_again(browser: TestClient) -> None:
    first = browser.get("/api/studies/first/charts/convergence")
    same = browser.get(
        "/api/studies/first/charts/convergence", headers={"If-None-Match": first.headers["etag"]}
    )
    assert (same.status_code, same.content) == (304, b"")
    browser.post("/api/studies/first/ask", json={})
    changed = browser.get(
        "/api/studies/first/charts/convergence", headers={"If-None-Match": first.headers["etag"]}
    )
    assert changed.status_code == 200
    assert browser.get("/api/studies/first/version").json()["version"] == changed.headers[
        "etag"
    ].strip('"')


def test_viewers_share_one_reading(storage: SQLStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    library, read = Library(storage), []
    real = Snapshot.__init__

    def counted(self: Snapshot, *arguments: Any) -> None:
        read.append(1)
        real(self, *arguments)

    monkeypatch.setattr(Snapshot, "__init__", counted)
    seen = [library.snapshot("first") for _ in range(50)]
    assert len(read) == 1
    assert all(each is seen[0] for each in seen)
    seen[0].read -= 10.0
    assert (
        library.snapshot("first") is seen[0]
    )  # read again, and unchanged: what was derived from it is kept
    nr.Study.open("first", storage=storage).ask()
    seen[0].read -= 10.0
    assert library.snapshot("first").version != seen[0].version


def test_a_study_that_is_deleted_and_made_anew(browser: TestClient, storage: SQLStorage) -> None:
    assert browser.get("/studies/first").status_code == 200
    version = browser.get("/api/studies/first/version").json()["version"]
    other = SQLStorage(storage.url)  # another process
    nr.delete_study("first", other)
    browser.app.state.library._snapshots.clear()  # type: ignore[attr-defined]
    assert browser.get("/studies/first").status_code == 404
    nr.Study.create("first", [(0, 1)], "maximize", storage=other)
    assert browser.get("/api/studies/first/version").json()["version"] != version
    assert browser.get("/studies/first").status_code == 200


# -- the model, in its own process --


def model_of(client: TestClient, key: str) -> dict[str, Any]:
    import time

    for _ in range(4800):
        answer = client.get(f"/api/studies/{key}/model").json()
        if not answer["fitting"]:
            return answer
        time.sleep(0.05)
    raise AssertionError("no model after four minutes")


def test_the_model_is_that_of_the_study_and_is_fitted_once(
    browser: TestClient, storage: SQLStorage
) -> None:
    calls: list[Any] = []
    models = browser.app.state.models  # type: ignore[attr-defined]
    real = models.call

    def counted(function: Any, *arguments: Any) -> Any:
        calls.append(function.__name__)
        return real(function, *arguments)

    models.call = counted
    study = nr.Study.open("first", storage=storage)
    answer = model_of(browser, "first")
    assert answer["recommended"]["number"] == study.recommended.number
    assert answer["certificate"] is None
    assert answer["left"] == {"gain": pytest.approx(study.left(), rel=1e-6), "chance": 0.95}
    assert answer["next"] == study.preview().params == study.ask().params
    browser.app.state.library._snapshots.clear()  # type: ignore[attr-defined]
    assert calls == ["summarise"]
    for _ in range(20):
        browser.get("/studies/first")
        browser.get("/api/studies/first/version?model=true")
    assert model_of(browser, "first")["version"] != answer["version"]
    for _ in range(20):
        assert browser.get("/api/studies/first/version?model=true").json()["fitting"] is False
    assert calls == ["summarise", "summarise"]


def test_slices(browser: TestClient, storage: SQLStorage) -> None:
    study = nr.Study.open("first", storage=storage)
    line = browser.get("/api/studies/first/slice", params={"x": "x", "through": 3}).json()
    belief = study.belief()
    assert belief is not None
    at = {**study.trials[3].params, "x": line["xs"][40]}
    mean, _ = belief.predict(study.space.encode(at)[None, :])
    low, high = belief.band(study.space.encode(at)[None, :])
    assert (line["mean"][40], line["low"][40], line["high"][40]) == pytest.approx(
        (mean[0], low[0], high[0]), rel=1e-6
    )
    surface = browser.get("/api/studies/first/slice", params={"x": "x", "y": "kind"}).json()
    assert (surface["kind"], surface["ys"], len(surface["mean"]), len(surface["mean"][0])) == (
        "surface",
        ["a", "b"],
        2,
        41,
    )
    assert browser.get("/api/studies/first/slice", params={"x": "nothing"}).status_code == 422
    assert (
        browser.get("/api/studies/first/slice", params={"x": "x", "through": 99}).status_code == 422
    )
    assert "error" in browser.get("/api/studies/first/slice", params={"x": "x"}).json()


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_slices_of_lists_arrays_and_empty_studies(
    storage: SQLStorage, goal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitter = Fitter(storage.url)
    listed = nr.Study.create(
        "listed",
        nr.Candidates([{"t": t, "s": s} for t in (1, 2, 3) for s in "ab"]),
        goal,
        storage=storage,
    )
    assert "no model yet" in fitter.slice("listed", "t")["error"]
    listed.run(lambda p: p["t"], 4, progress=False)
    recommended = fitter.summarise("listed").recommended
    assert recommended is not None
    assert recommended["mean"] == pytest.approx(listed.recommended.value, abs=0.5)
    made = fitter.slice("listed", "t", "s")
    assert (made["kind"], made["xs"]) == ("list", [1, 1, 2, 2, 3, 3])
    assert made["near"] == len(made["data"]["number"]) == 4  # every trial is one of its designs
    assert made["data"]["weight"] == [1.0] * 4
    assert all(
        low <= mean <= high
        for low, mean, high in zip(made["low"], made["mean"], made["high"], strict=True)
    )
    monkeypatch.setattr(presentation, "MAX_DESIGNS", 3)  # of a longer list some, spread evenly
    assert fitter.slice("listed", "s")["xs"] == ["a", "a", "b"]
    assert fitter.slice("listed", "t")["xs"] == [1, 2, 3]
    monkeypatch.undo()
    vector = nr.Study.create("vector", [(0, 1), (-5, 5)], goal, storage=storage)
    vector.run(lambda x: float(np.sum(x)), 8, progress=False)
    assert len(fitter.slice("vector", "x1")["xs"]) == 121
    random = nr.Study.create(
        "random", [(0, 1)], "maximize", strategy=nr.RandomSearch(), storage=storage
    )
    random.run(lambda x: float(x[0]), 3, progress=False)
    assert fitter.summarise("random").recommended is None
    assert fitter.summarise("random").next is not None


# -- pages --


@pytest.mark.parametrize("path", ["", "/trust", "/lab", "/trials/0", "/trials/11"])
def test_pages_answer_with_and_without_writing(clients: Any, path: str) -> None:
    for write in (True, False):
        page = clients(write=write).get(f"/studies/first{path}")
        assert page.status_code == 200
        assert ("read only" in page.text) is not write
        assert write or "data-post" not in page.text


def test_the_trial_page_says_why(browser: TestClient, storage: SQLStorage) -> None:
    trial = storage.trials("first")[11]
    text = browser.get("/studies/first/trials/11").text
    assert "upper confidence bound" in text or "survey" in text
    assert "β^½" in text
    assert f"{trial.decision.payload['beta_sqrt']:g}" in text
    assert "initial design" in browser.get("/studies/first/trials/0").text
    assert browser.get("/studies/first/trials/12").status_code == 404


def test_corrections_show_and_count_once(browser: TestClient) -> None:
    browser.post("/api/studies/first/trials/4/correct", json={"value": 77})
    text = browser.get("/studies/first").text
    assert re.search(r"<b>12</b> complete", text)
    assert 'class="big">77<' in text
    assert "corrects 4" in text
    assert "Corrected by" in browser.get("/studies/first/trials/4").text
    assert "correction of trial 4" in browser.get("/studies/first/trials/12").text


def test_problems_are_pages_for_people_and_json_for_programs(browser: TestClient) -> None:
    assert "Not found" in browser.get("/studies/nothing").text
    assert browser.get("/api/studies/nothing").json()["detail"].startswith("there is no study")
    assert browser.get("/nothing").status_code == 404
    assert browser.put("/api/studies").status_code == 405


# -- what a study may offer --


def test_importance_and_what_could_hide_are_shown(
    browser: TestClient, storage: SQLStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitter = Fitter(storage.url)
    made = fitter.summarise("first")
    study = nr.Study.open("first", storage=storage)
    expected = {each.name: (each.total, each.total_std) for each in study.importances()}
    found = {row["name"]: (row["share"], row["spread"]) for row in made.importance or ()}
    assert found == expected
    shares = [row["share"] for row in made.importance or ()]
    assert shares == sorted(shares, reverse=True)
    assert made.resolution == str(study.resolution())
    models = browser.app.state.models  # type: ignore[attr-defined]
    for answer, there in ((made, True), (replace(made, importance=None, resolution=None), False)):
        monkeypatch.setattr(models, "last", lambda *of, answer=answer: answer)
        text = browser.get("/studies/first").text
        assert ("Which inputs matter" in text) is there
        assert (f"{100 * shares[0]:.0f}%" in text) is there
        assert (str(study.resolution()) in text) is there


def test_slices_of_all_inputs_come_together(browser: TestClient) -> None:
    found = browser.get("/api/studies/first/slices").json()
    assert [each["x"] for each in found["slices"]] == ["x", "kind"]
    one = browser.get("/api/studies/first/slice", params={"x": "kind"}).json()
    assert found["slices"][1]["mean"] == one["mean"]
    through = browser.get("/api/studies/first/slices", params={"through": 3}).json()
    assert [each["through"] for each in through["slices"]] == [3, 3]
    assert browser.get("/api/studies/first/slices", params={"through": 999}).status_code == 422


def test_notes_are_written_and_taken_away(browser: TestClient, storage: SQLStorage) -> None:
    study = nr.Study.open("first", storage=storage)
    for where, path in (("", ""), ("/trials/2", "/trials/2")):
        sent = browser.post(
            f"/api/studies/first{where}/annotate", json={"note": "a <i>cold</i> day"}
        )
        assert sent.status_code == 204
        assert "a &lt;i&gt;cold&lt;/i&gt; day" in browser.get(f"/studies/first{path}").text
    assert (study.record().note, study.trials[2].note) == ("a <i>cold</i> day",) * 2
    before = browser.get("/api/studies/first/version").json()["version"]
    browser.post("/api/studies/first/trials/2/annotate", json={})
    assert study.trials[2].note is None
    assert browser.get("/api/studies/first/version").json()["version"] != before
    assert browser.post("/api/studies/first/trials/99/annotate", json={}).status_code == 404
    assert browser.post("/api/studies/first/annotate", json={"note": "\x00"}).status_code == 422


def test_a_study_has_words_and_units_of_its_own() -> None:
    plain = StudyRecord("lab", nr.Space({"t": nr.Float(0, 1)}), "minimize", nr.RandomSearch(), 0)
    attributes = {"value_name": "yield", "unit": "%", "units": {"t": "°C"}}
    assert words.Quantity.of(replace(plain, attributes=attributes)).label == "yield (%)"
    assert words.Quantity.of(replace(plain, attributes=attributes)).units == {"t": "°C"}
    assert words.Quantity.of(plain).label == "value, lower is better"


@pytest.mark.parametrize(
    ("value", "noise", "shown"),
    [
        (69.88345, 0.3, "69.9"),
        (69.88345, 0.04, "69.88"),
        (1234.5, 30.0, "1230"),
        (41.5, 0.001, "41.5"),  # not more than it has
        (-0.004, 0.1, "0.0"),
        (0.123456789, None, "0.123457"),
        (0.123456789, 1e-9, "0.123457"),
        (None, 0.3, "–"),
        (math.inf, 0.3, "inf"),
    ],
)
def test_as_many_digits_as_the_noise_justifies(
    value: float | None, noise: float | None, shown: str
) -> None:
    assert words.format_measured(value, noise) == shown


def test_a_study_is_deleted(browser: TestClient, clients: Any) -> None:
    assert with_csrf(clients(write=False)).delete("/api/studies/first").status_code == 403
    assert browser.delete("/api/studies/first").status_code == 204
    assert browser.get("/studies/first").status_code == 404
    assert browser.delete("/api/studies/first").status_code == 404
    assert browser.get("/api/studies").json() == []


def test_an_experiment_is_withdrawn(browser: TestClient) -> None:
    (asked,) = browser.post("/api/studies/first/ask", json={}).json()
    where = f"/api/studies/first/trials/{asked['number']}/withdraw"
    assert browser.post(where, json={"then": "later"}).json()["state"] == "waiting"
    (again,) = browser.post("/api/studies/first/ask", json={}).json()
    assert again["number"] == asked["number"]
    assert browser.post(where, json={"then": "never"}).json()["state"] == "withdrawn"
    (listed,) = [each for each in browser.get("/api/studies").json() if each["key"] == "first"]
    assert (listed["failed"], listed["withdrawn"]) == (0, 1)
    assert browser.post(where, json={"then": "later"}).status_code == 409
    assert browser.post(where, json={"then": "perhaps"}).status_code == 422
    nothing = "/api/studies/first/trials/99/withdraw"
    assert browser.post(nothing, json={"then": "never"}).status_code == 404


def test_notes_and_reasons_show_where_trials_have_them(
    browser: TestClient, storage: SQLStorage
) -> None:
    study = nr.Study.open("first", storage=storage)
    told = study.tell(
        study.ask(), state="failed", reason="it boiled over", note="the flask was <b>cold</b>"
    )
    for path in ("", "/lab", f"/trials/{told.number}"):
        text = browser.get(f"/studies/first{path}").text
        assert "boiled over" in text, path
        assert "&lt;b&gt;cold" in text, path


def test_the_server_proposes_for_the_study_that_has_the_name_now(
    browser: TestClient, storage: SQLStorage
) -> None:
    """Deleted and made anew with the same definition by another process: points encoded for the
    old one were taken for the new one's.
    """
    made = SQLStorage(storage.url)
    for name in ("twin", "control"):
        nr.Study.create(name, {"x": nr.Float(0, 1)}, "maximize", storage=made)
    old = nr.Study.open("twin", storage=made)
    for number in range(6):
        old.add({"x": number / 50}, 0.0)
    assert browser.post("/api/studies/twin/ask", json={}).status_code == 201
    made.delete("twin")
    nr.Study.create("twin", {"x": nr.Float(0, 1)}, "maximize", storage=made)
    for name in ("twin", "control"):
        study = nr.Study.open(name, storage=made)
        for number in range(6):
            study.add({"x": 1 - number / 7}, float(number))
    asked = [
        browser.post(f"/api/studies/{name}/ask", json={}).json() for name in ("twin", "control")
    ]
    assert asked[0][0]["params"] == asked[1][0]["params"]
    assert asked[0][0]["number"] == 6
    assert len(browser.get("/api/studies/twin/trials").json()) == 7


def test_a_failure_that_says_nothing_of_its_point_and_a_second_try(browser: TestClient) -> None:
    key = create(browser, "second")
    first = browser.post(f"/api/studies/{key}/ask", json={}).json()[0]
    base = f"/api/studies/{key}/trials"
    wrong = browser.post(f"{base}/0/tell", json={"value": 1, "transient": True})
    assert wrong.status_code == 409
    told = browser.post(f"{base}/0/tell", json={"state": "failed", "transient": True})
    assert told.json()["transient"] is True
    assert "for another reason, ignored" in browser.get(f"/studies/{key}/lab").text
    again = browser.post(f"{base}/0/retry")
    assert (again.status_code, again.json()["corrects"]) == (201, 0)
    assert again.json()["params"] == first["params"]
    assert browser.post(f"{base}/0/retry").status_code == 409
    assert "Tried again in" in browser.get(f"/studies/{key}/trials/0").text


def test_steps_and_ordered_levels_come_from_the_form_and_survive_deriving(
    browser: TestClient, storage: SQLStorage
) -> None:
    parameters = [
        {"kind": "float", "name": "temperature", "low": 20, "high": 90, "step": 5},
        {"kind": "float", "name": "x", "low": 0, "high": 1, "digits": 2},
        {"kind": "int", "name": "rounds", "low": 10, "high": 50, "step": 10},
        {"kind": "choice", "name": "speed", "options": ["slow", "fast"], "ordered": True},
    ]
    key = create(browser, "stepped", space={"kind": "box", "parameters": parameters})
    space = {
        "temperature": nr.Float(20, 90, step=5),
        "x": nr.Float(0, 1, digits=2),
        "rounds": nr.Int(10, 50, step=10),
        "speed": nr.Choice(["slow", "fast"], ordered=True),
    }
    study = nr.Study.open("stepped", storage=storage)
    assert dict(study.space.parameters) == space
    (asked,) = browser.post(f"/api/studies/{key}/ask", json={}).json()
    assert asked["params"]["temperature"] % 5 == 0
    study.tell(0, 3.0)
    wider = [{**parameters[0], "high": 120}, *parameters[1:]]
    more = {"kind": "float", "name": "pH", "low": 3, "high": 9}
    body = {
        "name": "wider",
        "goal": "minimize",
        "space": {"kind": "box", "parameters": [*wider, more]},
        "past": {"pH": 7},
    }
    assert browser.post(f"/api/studies/{key}/derive", json=body).status_code == 201
    made = nr.Study.open("wider", storage=storage)
    assert dict(made.space.parameters) == space | {
        "temperature": nr.Float(20, 120, step=5),
        "pH": nr.Float(3, 9),
    }
    assert (made.trials[0].value, made.trials[0].params["pH"]) == (3.0, 7.0)
    fewer = {**body, "name": "fewer", "past": {}, "space": {"kind": "box", "parameters": wider[:2]}}
    refused = browser.post(f"/api/studies/{key}/derive", json=fewer)
    assert refused.status_code == 422
    assert "fewer" not in storage.names()
    gone = {**body, "name": "again"}
    assert browser.post("/api/studies/nothing/derive", json=gone).status_code == 404
    odd = [{**parameters[0], "step": 7.3}]
    wrong = {"name": "odd", "goal": "minimize", "space": {"kind": "box", "parameters": odd}}
    assert browser.post("/api/studies", json=wrong).status_code == 422


def test_the_page_promises_what_the_strategy_does(storage: SQLStorage, browser: TestClient) -> None:
    for name, strategy in (
        ("default", nr.InsuredGPUCB()),
        ("bare", nr.InsuredGPUCB(insurance=0)),
        ("rigorous", nr.AdaptiveGPUCB.rigorous(0.1)),
    ):
        study = nr.Study.create(
            name, {"x": nr.Float(0, 1)}, "maximize", strategy=strategy, storage=storage
        )
        study.run(lambda p: p["x"], trials=9, progress=False)
    promised = {
        name: browser.get(f"/studies/{name}/trust").text.split('id="promise"')[1]
        for name in ("default", "bare", "rigorous")
    }
    said = {name: " ".join(text.partition("</p>")[0].split()) for name, text in promised.items()}
    assert "does not get stuck" in said["default"]
    assert "rules of thumb" in said["default"]
    assert "Nothing is guaranteed" in said["bare"]
    assert "A guarantee" in said["rigorous"]


def test_the_page_bounds_only_what_a_theorem_bounds(
    browser: TestClient, storage: SQLStorage
) -> None:
    """A bound by rule of thumb may be three times the range of f; a refuted one is none."""
    said = {}
    for name, strategy, scatter in (
        ("fixed", nr.GPUCB(0.3, noise_std=0.1), 0.0),
        ("sure", nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=5.0), 0.0),
        ("wrong", nr.AdaptiveGPUCB.rigorous(0.1, norm_bound=5.0), 3.0),
    ):
        study = nr.Study.create(name, [(0, 1)], "maximize", strategy, storage=storage)
        for i in range(8):
            study.add([0.25 * (i % 4)], 0.1 * (i % 4) + scatter * (i // 4))
        said[name] = model_of(browser, name)["certificate"], browser.get(f"/studies/{name}").text
    assert said["fixed"][0] is None
    assert "This method does not say." in said["fixed"][1]
    assert said["sure"][0]["refuted"] is False
    assert "Guaranteed, if the bounds" in said["sure"][1]
    assert said["wrong"][0] is None or said["wrong"][0]["refuted"]
    assert "Guaranteed, if the bounds" not in said["wrong"][1]
