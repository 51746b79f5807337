"""Who gets in, and what hostile input does: nothing."""

import hmac
import json
import re
import time
from typing import Any

import pytest
from starlette.testclient import TestClient

import noregret as nr
from noregret.errors import ConfigurationError
from noregret.storage import SQLStorage
from noregret.web import security
from noregret.web.schemas import decode_key, encode_name
from noregret.web.security import LARGEST_BODY, Access
from tests.web.conftest import HERE, TOKEN, Clients, with_csrf

ASK = "/api/studies/first/ask"
PARAMETER = {"kind": "float", "name": "x", "low": 0, "high": 1}
SPACE = {"kind": "box", "parameters": [PARAMETER]}
BEARER = {"Authorization": f"Bearer {TOKEN}"}
SCRIPT = "<script>alert('x')</script>"
HOSTILE = [
    SCRIPT,
    '"><img src=x onerror=alert(1)>',
    "{{ 7*7 }}",
    "../../etc/passwd",
    "..",
    ".",
    "a/b",
    "a?b#c",
    "%2e%2e%2f",
    "~",
    "ü 漢 🎲",
    "'; DROP TABLE x; --",
    " ",
    "a" * 200,
]


# -- the door --


def test_reading_needs_nothing_on_loopback_and_writing_is_refused(
    clients: Clients, storage: SQLStorage
) -> None:
    client = with_csrf(clients(write=False))
    assert client.get("/studies/first").status_code == 200
    for path, body in (
        (ASK, {}),
        ("/api/studies", {}),
        ("/api/studies/first/trials/0/tell", {"value": 1}),
        ("/api/studies/first/import", {}),
    ):
        answer = client.post(path, json=body)
        assert (answer.status_code, "--write" in answer.json()["detail"]) == (403, True)
    assert len(storage.trials("first")) == 12


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.0.7", "lab.example.org", "::"])
def test_other_interfaces_need_a_token(host: str) -> None:
    with pytest.raises(ConfigurationError, match="lets others in"):
        Access(host=host)
    assert Access(host=host, token=TOKEN).token == TOKEN


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.9.9.9"])
def test_loopback_needs_none(host: str) -> None:
    assert Access(host=host).token is None


@pytest.mark.parametrize(
    "token", ["short", "x" * 15, "with\nnewline-and-more", "ümlaut-ümlaut-ümlaut"]
)
def test_weak_tokens_are_refused(token: str) -> None:
    with pytest.raises(ConfigurationError, match="at least 16"):
        Access(token=token)


def test_without_the_token_nothing_is_seen(clients: Clients) -> None:
    client = clients(token=TOKEN)
    assert client.get("/studies/first").headers["location"] == "/login?next=/studies/first"
    for path in (
        "/api/studies",
        "/api/openapi.json",
        "/api/studies/first/export/csv",
        "/api/studies/nothing",
    ):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert client.post(ASK, json={}).status_code == 401
    assert "first" not in client.get("/").text
    assert client.get("/static/page.css").status_code == 200


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {TOKEN}",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        "Bearer ÿÿ",
    ],
)
def test_wrong_tokens(clients: Clients, given: str) -> None:
    assert (
        clients(token=TOKEN)
        .get("/api/studies", headers={b"Authorization": given.encode("latin-1")})
        .status_code
        == 401
    )


def test_a_script_reads_and_writes_with_the_token(clients: Clients) -> None:
    client = clients(token=TOKEN)
    assert client.get("/api/studies", headers=BEARER).json()[0]["name"] == "first"
    assert client.post(ASK, json={}, headers=BEARER).status_code == 201


def test_log_in_and_out(clients: Clients) -> None:
    client = clients(token=TOKEN)
    wrong = client.post("/login", data={"token": "not-the-token-at-all", "next": "/"})
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    right = client.post("/login", data={"token": TOKEN, "next": "/studies/first"})
    assert (right.status_code, right.headers["location"]) == (303, "/studies/first")
    cookie = right.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert TOKEN not in cookie
    assert client.get("/studies/first").status_code == 200
    assert client.post(ASK, json={}).status_code == 403  # a cookie alone writes nothing
    with_csrf(client)
    assert client.post(ASK, json={}).status_code == 201
    assert "Max-Age=0" in client.post("/logout").headers["set-cookie"]
    client.cookies.clear()
    assert client.get("/studies/first").status_code == 303


def test_without_a_token_nobody_logs_others_out(browser: TestClient) -> None:
    assert browser.post("/logout").status_code == 204
    assert with_csrf(browser).post(ASK, json={}).status_code == 201


@pytest.mark.parametrize(
    "goal",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a\r\nSet-Cookie: x=1",
        "",
    ],
)
def test_the_log_in_leads_nowhere_else(clients: Clients, goal: str) -> None:
    client = clients(token=TOKEN)
    assert client.post("/login", data={"token": TOKEN, "next": goal}).headers["location"] == "/"
    assert "evil" not in client.get("/login", params={"next": goal}).text


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[Any] = []
    real = hmac.compare_digest

    def noted(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return real(a, b)

    monkeypatch.setattr(hmac, "compare_digest", noted)
    assert not Access(token=TOKEN).knows("guess")
    assert compared == [(b"guess", TOKEN.encode())]


def test_sessions_are_those_of_this_server_and_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    access, other = Access(token=TOKEN), Access(token=TOKEN)
    cookie = access.new_session()
    assert access.session(cookie) == cookie
    assert other.session(cookie) is None
    assert access.csrf(cookie) != other.csrf(cookie)
    for forged in ("", "local", cookie[:-1], f"{cookie}x", "ÿ.1.2"):
        assert access.session(forged) is None
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + security.SESSION_SECONDS + 1)
    assert access.session(cookie) is None
    access.new_session()
    assert len(access.sessions) == 1  # the one that ran out is forgotten


# -- other sites --


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Origin": "http://127.0.0.1:8080.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": HERE, "Sec-Fetch-Site": "cross-site"},
    ],
)
def test_forged_origins(browser: TestClient, storage: SQLStorage, headers: dict[str, str]) -> None:
    assert browser.post(ASK, json={}, headers=headers).status_code == 403
    assert len(storage.trials("first")) == 12
    assert (
        browser.post(
            ASK, json={}, headers={"Origin": HERE, "Sec-Fetch-Site": "same-origin"}
        ).status_code
        == 201
    )


@pytest.mark.parametrize("sent", ["", "0" * 64, "ÿ"])
def test_writes_need_the_csrf_token_of_the_cookie(clients: Clients, sent: str) -> None:
    client = with_csrf(clients())
    mine = client.headers.pop("X-CSRF-Token")
    assert (
        client.post(ASK, json={}, headers={b"X-CSRF-Token": sent.encode("latin-1")}).status_code
        == 403
    )
    assert client.post(ASK, json={}).status_code == 403
    client.cookies.clear()
    assert client.post(ASK, json={}, headers={"X-CSRF-Token": mine}).status_code == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8080",
        "127.0.0.1.evil.example",
        "",
        "[",
        "169.254.169.254",
        "[::1].evil.example",
        "[::1]evil.example:8080",
        "evil.example@127.0.0.1",
        "127.0.0.1/.evil.example",
        "127.0.0.1:80.evil.example",
        "[[::1]]",
    ],
)
def test_a_name_rebound_to_this_machine_is_refused(clients: Clients, host: str) -> None:
    assert clients().get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080"])
def test_names_of_this_machine(clients: Clients, host: str) -> None:
    assert clients().get("/", headers={"Host": host}).status_code == 200


def test_a_form_of_another_content_type_changes_nothing(
    browser: TestClient, storage: SQLStorage
) -> None:
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ):
        assert (
            browser.post(ASK, content=b'{"count": 1}', headers={"Content-Type": kind}).status_code
            == 422
        )
    assert len(storage.trials("first")) == 12


# -- what leaves --


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/new",
        "/login",
        "/studies/first",
        "/studies/first/lab",
        "/api/studies",
        "/nothing",
        "/static/page.css",
        "/api/openapi.json",
    ],
)
def test_every_answer_carries_the_policy(clients: Clients, path: str) -> None:
    headers = clients().get(path).headers
    policy = headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")
    assert headers["cache-control"].startswith(("private", "public"))


def test_refusals_carry_it_too(clients: Clients) -> None:
    assert "content-security-policy" in clients(write=False).post(ASK, json={}).headers
    assert "content-security-policy" in clients(token=TOKEN).get("/api/studies").headers


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/new",
        "/login",
        "/studies/first",
        "/studies/first/trust",
        "/studies/first/lab",
        "/studies/first/trials/11",
    ],
)
def test_pages_have_no_inline_script_or_style_and_nothing_from_elsewhere(
    clients: Clients, path: str
) -> None:
    text = clients().get(path).text
    assert not re.search(r"<script(?![^>]*\bsrc=)", text)
    assert not re.search(r"\son\w+\s*=|\sstyle\s*=|<style", text)
    assert not re.search(r"""(?:src|href)=["'](?!/|#|\?)""", text)


# -- hostile names, values, bodies, paths --


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_data(browser: TestClient, name: str) -> None:
    space = {
        "kind": "box",
        "parameters": (
            [
                {"kind": "float", "name": name, "low": 0, "high": 1},
                {"kind": "choice", "name": "c", "options": [name, SCRIPT, None, True]},
            ]
            if name != SCRIPT
            else [{"kind": "float", "name": name, "low": 0, "high": 1}]
        ),
    }
    made = browser.post("/api/studies", json={"name": name, "goal": "maximize", "space": space})
    assert made.status_code == 201, made.text
    key = made.json()["key"]
    assert decode_key(key) == name
    asked = browser.post(f"/api/studies/{key}/ask", json={"count": 2}).json()
    assert (
        browser.post(
            f"/api/studies/{key}/trials/{asked[0]['number']}/tell", json={"value": 1.5}
        ).status_code
        == 200
    )
    for path in ("", "/trust", "/lab", "/trials/0"):
        page = browser.get(f"/studies/{key}{path}")
        assert page.status_code == 200
        assert "<script>alert" not in page.text
        assert "<img src=x" not in page.text
        assert "49" not in re.findall(r"<h1>(.*?)</h1>", page.text, flags=re.DOTALL)
    assert "<script>alert" not in browser.get("/").text
    assert browser.get(f"/api/studies/{key}/export/csv").status_code == 200


@pytest.mark.parametrize(
    "name", ["", "\x00", "a\nb", "\ud800", "a" * 201, "\x7f", "\u202e\x1b[31m"]
)
def test_names_that_no_page_could_show_are_refused(browser: TestClient, name: str) -> None:
    whole = json.dumps({"name": name, "goal": "maximize", "space": SPACE})
    part = json.dumps(
        {
            "name": "ok",
            "goal": "maximize",
            "space": {"kind": "box", "parameters": [{**PARAMETER, "name": name}]},
        }
    )
    for body in (whole, part):
        assert (
            browser.post(
                "/api/studies", content=body, headers={"Content-Type": "application/json"}
            ).status_code
            == 422
        )


@pytest.mark.parametrize("name", [*HOSTILE, "", "\x00", "a\nb", "\ud800", "~2E", "%7E", "..."])
def test_keys_are_one_plain_segment_and_lead_back(name: str) -> None:
    key = encode_name(name)
    assert re.fullmatch(r"[A-Za-z0-9._~-]+", key)
    assert key.strip(".")
    assert decode_key(key) == name


@pytest.mark.parametrize(
    "key",
    ["~2e", "~41", "a%2Fb", "~FF", "~", "~~", "nothing", "first~00", "~2E~2E~2Ffirst", "a" * 2000],
)
@pytest.mark.parametrize(
    "path", ["/api/studies/{}", "/studies/{}", "/api/studies/{}/trials", "/studies/{}/lab"]
)
def test_paths_that_name_no_study(browser: TestClient, key: str, path: str) -> None:
    assert browser.get(path.format(key)).status_code in (404, 422)


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fapp.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/templates/base.html",
        "/static/",
    ],
)
def test_static_files_stay_in_their_folder(browser: TestClient, path: str) -> None:
    assert browser.get(path).status_code in (404, 405)


def test_huge_bodies_are_not_read(browser: TestClient) -> None:
    pieces = (
        b" " * 2**18 for _ in range(LARGEST_BODY // 2**18 + 1)
    )  # without a length: counted as it comes
    assert (
        browser.post(ASK, content=pieces, headers={"Content-Type": "application/json"}).status_code
        == 413
    )
    assert (
        browser.post(
            ASK, content=b"x" * (LARGEST_BODY + 1), headers={"Content-Type": "application/json"}
        ).status_code
        == 413
    )
    assert (
        browser.post(
            "/api/studies/first/import",
            content=b"x",
            headers={"Content-Type": "text/csv", "Content-Length": "9" * 30},
        ).status_code
        == 413
    )


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nul",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"count":' + b"9" * 5000 + b"}",
        b'{"count": NaN}',
        b'{"count": 1e999}',
        b'{"count": "1"}',
        b'{"count": true}',
        b'{"count": 1.5}',
        b'{"count": 0}',
        b'{"count": 21}',
        b'{"count": null}',
        b"[]",
        b'"x"',
        b'{"count": 1, "other": 2}',
        b'{"fixed": []}',
        b'{"fixed": {"x": {}}}',
        b'{"fixed": {"nothing": 1}}',
        b'{"fixed": {"x": 7}}',
        b'{"fixed": {"\\ud800": 1}}',
        b'{"fixed": {"x": "\\u0000"}}',
    ],
)
def test_malformed_bodies(browser: TestClient, storage: SQLStorage, body: bytes) -> None:
    answer = browser.post(ASK, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["detail"]
    assert len(storage.trials("first")) == 12


@pytest.mark.parametrize(
    "body",
    [
        {"value": "1"},
        {"value": True},
        {"value": [1]},
        {"value": {}},
        {"value": 1, "noise_std": 0},
        {"value": 1, "noise_std": -1},
        {"value": 1, "state": "running"},
        {"value": 1, "state": "failed"},
        {},
        {"value": 10**400},
        {"value": SCRIPT},
        {"state": "failed", "noise_std": "x"},
    ],
)
def test_wrong_types_of_values(
    browser: TestClient, storage: SQLStorage, body: dict[str, Any]
) -> None:
    number = browser.post(ASK, json={}).json()[0]["number"]
    assert browser.post(f"/api/studies/first/trials/{number}/tell", json=body).status_code in (
        409,
        422,
    )
    assert storage.trials("first")[number].state == "running"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe\x00",
        b"x,kind\n1,a\n",
        b"x,kind,value\n0.5,a,nan\n",
        b"x,kind,value\n2,a,1\n",
        b"x,kind,value\n0.5,c,1\n",
        b'x,kind,value\n"0.5,a,1\n',
        b"x,kind,value\n0.5,a,1\n0.6,a\n",
        b"\x00\x00",
        b"x,kind,value\n0.5,a,1,2,3\n",
        b"value,value,x,kind\n",
        b"x,kind,value\n0.5,a," + b"9" * 200_000,
    ],
)
def test_hostile_csv_files_import_nothing(
    browser: TestClient, storage: SQLStorage, text: bytes
) -> None:
    answer = browser.post(
        "/api/studies/first/import", content=text, headers={"Content-Type": "text/csv"}
    )
    assert answer.status_code in (201, 409, 422), answer.text
    assert len(storage.trials("first")) == 12


def test_numbers_beyond_every_range(browser: TestClient) -> None:
    for path in (
        "/api/studies/first/trials/9007199254740993/why",
        "/studies/first/trials/99999999999999999999",
        "/studies/first?page=0",
        "/studies/first/trials/-1",
    ):
        assert browser.get(path).status_code in (404, 422)
    assert browser.post("/api/studies/first/trials/999/tell", json={"value": 1}).status_code == 404
    assert browser.get("/studies/first?page=999999").status_code == 200


def test_text_that_a_spreadsheet_would_run_is_quoted(
    browser: TestClient, storage: SQLStorage
) -> None:
    study = nr.Study.create("formula", {"=1+1": nr.Float(0, 1)}, "maximize", storage=storage)
    study.run(lambda p: p["=1+1"], 6, progress=False)
    assert "'=1+1 in force" in browser.get("/api/studies/formula/charts/lengthscales/csv").text
