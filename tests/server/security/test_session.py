"""Logging in with a browser: the cookie, the CSRF token, what needs neither, and the headers of answers."""

import asyncio
import json
import re

import httpx
import pytest
from starlette.responses import Response

from ragmem.server.security.guard import MAX_NESTING, Guard
from ragmem.server.security.origin import Names
from ragmem.server.security.rate_limit import MOST_NAMES, RateLimit
from ragmem.server.security.sessions import ABSOLUTE_S, IDLE_S, MOST, Sessions, cookie_name

TOKEN = "t" * 43
ANONYMOUS = {"Authorization": ""}
NOTE = json.dumps({"text": "We decided to keep sessions short, because browsers stay open.", "title": "s"})


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def cookie_of(answer):
    (value,) = answer.headers.get_list("set-cookie")
    return value


def log_in(client, **headers):
    answer = client.send("POST", "/session", json={"token": TOKEN}, headers=ANONYMOUS | headers)
    assert answer.status_code == 200, answer.text
    client.http.cookies.clear()
    return answer, {**ANONYMOUS, "Cookie": cookie_of(answer).partition(";")[0]}


def store(client, headers):
    return client.send(
        "POST", "/documents/text", content=NOTE, headers={"Content-Type": "application/json", **headers}
    )


def test_the_token_buys_a_cookie_that_scripts_and_other_sites_never_see(reader):
    answer, _ = log_in(reader)
    name, *attributes = [part.strip() for part in cookie_of(answer).split(";")]
    assert name.startswith(cookie_name(TOKEN) + "=")
    assert TOKEN not in cookie_of(answer)
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(attributes)
    assert "Secure" not in attributes
    assert answer.json()["authenticated"] is True
    assert len(answer.json()["csrf_token"]) >= 40


def test_behind_tls_the_cookie_is_secure(reader):
    answer, _ = log_in(reader, Origin="https://127.0.0.1:9622")
    assert "Secure" in cookie_of(answer)


def test_the_cookie_is_found_among_those_of_other_ports(reader):
    _, cookie = log_in(reader)
    others = "; ".join(f"app-{number}={'x' * 1_000}" for number in range(8))
    among = {**cookie, "Cookie": f"{others}; {cookie['Cookie']}; last=1"}
    assert reader.send("GET", "/session", headers=among).json()["authenticated"] is True


def test_the_cookie_opens_what_is_read_and_the_csrf_token_what_is_written(client):
    answer, cookie = log_in(client)
    assert client.send("GET", "/graph/label/list", headers=cookie).status_code == 200
    refused = store(client, cookie)
    assert (refused.status_code, "CSRF" in refused.json()["detail"]) == (403, True)
    assert store(client, {**cookie, "X-CSRF-Token": "x" * 43}).status_code == 403
    assert store(client, {**cookie, "X-CSRF-Token": answer.json()["csrf_token"]}).status_code == 200
    # The token needs none: no browser adds it by itself.
    assert store(client, {**cookie, "Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_a_question_by_post_needs_the_csrf_token_too(reader):
    _, cookie = log_in(reader)
    assert reader.send("POST", "/query", json={"query": "redis"}, headers=cookie).status_code == 403


def test_a_page_can_ask_whether_it_is_logged_in_and_log_out(reader):
    answer, cookie = log_in(reader)
    assert reader.send("GET", "/session", headers=ANONYMOUS).json()["authenticated"] is False
    told = reader.send("GET", "/session", headers=cookie).json()
    assert told["csrf_token"] == answer.json()["csrf_token"]
    assert 0 < told["expires_in"] <= IDLE_S
    assert reader.send("DELETE", "/session", headers=cookie).status_code == 403
    ended = reader.send("DELETE", "/session", headers={**cookie, "X-CSRF-Token": told["csrf_token"]})
    assert ended.json()["authenticated"] is False
    assert "Max-Age=0" in cookie_of(ended)
    assert reader.send("GET", "/session", headers=cookie).json()["authenticated"] is False
    assert reader.send("GET", "/graph/label/list", headers=cookie).status_code == 401
    assert reader.get("/session").json() | {"expires_in": 0} == {
        "authenticated": True,
        "csrf_token": "",
        "expires_in": 0,
        "by": "token",
        "member": "",
        "role": "admin",
    }


def test_logging_in_again_ends_the_session_before(reader):
    _, first = log_in(reader)
    _, second = log_in(reader, Cookie=first["Cookie"])
    assert reader.send("GET", "/session", headers=first).json()["authenticated"] is False
    assert reader.send("GET", "/session", headers=second).json()["authenticated"] is True


def test_wrong_tokens_are_told_to_wait_while_the_right_one_still_opens(client):
    def guess(token):
        return client.send("POST", "/session", json={"token": token}, headers=ANONYMOUS)

    answers = [guess(wrong) for wrong in ["", "x", TOKEN[:-1], TOKEN + "t", "ü" * 43, "x" * 512] * 6]
    assert [answer.status_code for answer in answers] == [401] * 30 + [429] * 6
    assert 1 <= int(answers[-1].headers["Retry-After"]) <= 2
    assert all("set-cookie" not in answer.headers for answer in answers)
    assert guess(TOKEN).status_code == 200
    assert guess("x" * 513).status_code == 422


@pytest.fixture
def hurried():
    """An application behind a guard that soon tells to wait."""

    async def answer(scope, receive, send):
        while (await receive())["more_body"]:
            pass
        await Response("done")(scope, receive, send)

    guarded = Guard(
        answer,
        token=TOKEN,
        names=Names("127.0.0.1"),
        sessions=Sessions(TOKEN),
        unauthorised=RateLimit(2),
        writes=RateLimit(2),
    )
    with asyncio.Runner() as runner:
        http = httpx.AsyncClient(transport=httpx.ASGITransport(guarded), base_url="http://127.0.0.1:9622")
        yield lambda *request, **options: runner.run(http.request(*request, **options))
        runner.run(http.aclose())


BEARER = {"X-API-Key": TOKEN}


def test_requests_without_the_token_are_told_to_wait_while_the_right_one_still_opens(hurried):
    assert [hurried("GET", "/graphs").status_code for _ in range(3)] == [401, 401, 429]
    assert hurried("GET", "/graphs", headers={"X-API-Key": "wrong"}).headers["Retry-After"] == "30"
    assert hurried("GET", "/graphs", headers=BEARER).status_code == 200


def test_who_writes_too_often_is_told_to_wait_and_may_still_read(hurried):
    answers = [hurried("POST", "/documents/text", headers=BEARER) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].headers["Retry-After"] == "30"
    assert "writes_per_minute" in answers[-1].json()["hint"]
    assert hurried("POST", "/query", headers=BEARER).status_code == 200
    assert hurried("GET", "/graphs", headers=BEARER).status_code == 200


@pytest.mark.parametrize("body", [b"[" * (MAX_NESTING + 1), b'{"a":' * MAX_NESTING + b"{"])
def test_a_body_of_very_many_lists_is_refused_before_it_is_read(reader, body):
    answer = reader.send("POST", "/query", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 413


def test_a_deeply_nested_body_is_refused(reader):
    body = b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    answer = reader.send("POST", "/query", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in {400, 422}
    assert len(answer.content) < 5_000


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:3000", "http://localhost:9622"]
)
def test_no_other_page_can_log_in_or_use_the_cookie(reader, origin):
    answer, cookie = log_in(reader)
    foreign = {**cookie, "Origin": origin, "X-CSRF-Token": answer.json()["csrf_token"]}
    for method, path in [("POST", "/session"), ("GET", "/session"), ("GET", "/graph/label/list")]:
        assert reader.send(method, path, headers=foreign).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Cross-Site"])
def test_what_another_page_loads_is_refused_even_without_an_origin(reader, site):
    _, cookie = log_in(reader)
    foreign = {**cookie, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
    assert reader.send("GET", "/graph/label/list", headers=foreign).status_code == 403
    visit = {**cookie, "Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert reader.send("GET", "/graph/label/list", headers=visit).status_code == 403
    assert reader.send("GET", "/", headers=visit).status_code != 403
    own = {**cookie, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
    assert reader.send("GET", "/graph/label/list", headers=own).status_code == 200


def test_every_answer_says_what_a_browser_may_not_do_with_it(reader):
    answers = [
        reader.get("/health"),
        reader.send("GET", "/graphs", headers=ANONYMOUS),
        reader.send("GET", "/health", headers={"Host": "evil.example"}),
        reader.send("GET", "/nothing/here"),
        reader.send("GET", "/assets/none.js"),
        reader.send("PUT", "/query"),
        reader.post("/query"),
        reader.get("/openapi.json"),
    ]
    assert [answer.status_code for answer in answers] == [200, 401, 403, 404, 404, 405, 422, 200]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-type"] == "application/json"
        assert "server" not in answer.headers


def test_no_page_runs_a_script_that_stands_in_it(reader):
    for path in ("/webui/", "/workspace/", "/webui/assets/none.js"):
        answer = reader.send("GET", path, headers=ANONYMOUS)
        (scripts,) = re.findall("script-src ([^;]*);", answer.headers["content-security-policy"])
        assert scripts == "'self'"
        assert not re.findall(r"<script>|\bon\w+=", answer.text)


def test_there_is_no_page_that_loads_scripts_from_elsewhere(reader):
    assert {reader.get(path).status_code for path in ("/docs", "/redoc")} == {404}


def test_two_homes_on_one_host_name_their_cookies_differently():
    assert cookie_name("a" * 43) != cookie_name("b" * 43)


def headers_for(sessions, identifier):
    return [(b"cookie", f"other=1; {sessions.cookie}={identifier}; more=2".encode())]


def test_a_session_ends_when_it_is_idle_and_at_the_latest_after_its_time():
    clock = Clock()
    sessions = Sessions(TOKEN, clock=clock)
    identifier, session = sessions.begin()
    headers = headers_for(sessions, identifier)
    for _ in range(int(ABSOLUTE_S / (IDLE_S - 1))):
        clock.now += IDLE_S - 1
        assert sessions.find(headers) is session
    clock.now = ABSOLUTE_S
    assert sessions.find(headers) is None
    second, _ = sessions.begin()
    clock.now += IDLE_S
    assert sessions.find(headers_for(sessions, second)) is None


def test_sessions_are_bounded_and_the_unused_one_goes_first():
    clock = Clock()
    sessions = Sessions(TOKEN, clock=clock)
    identifiers = []
    for _ in range(MOST):
        clock.now += 1
        identifiers.append(sessions.begin()[0])
    clock.now += 1
    assert sessions.find(headers_for(sessions, identifiers[0]))
    sessions.begin()
    assert sessions.find(headers_for(sessions, identifiers[0]))
    assert sessions.find(headers_for(sessions, identifiers[1])) is None


@pytest.mark.parametrize("value", [b"", b"=", b";;;", b"x" * 5_000, b"\xff=\xff", b"ragmem-", b"a=b; c"])
def test_cookies_of_chance_open_nothing(value):
    sessions = Sessions(TOKEN)
    sessions.begin()
    assert sessions.find([(b"cookie", value), (b"cookie", f"{sessions.cookie}=".encode() + value)]) is None


def test_a_pace_lets_a_burst_through_and_then_so_many_a_minute():
    clock = Clock()
    pace = RateLimit(60, clock=clock)
    assert [pace.wait("a") for _ in range(61)] == [0] * 60 + [1]
    assert pace.wait("b") == 0
    clock.now += 2
    assert [pace.wait("a") for _ in range(3)] == [0, 0, 1]
    slow = RateLimit(1, clock=clock)
    assert [slow.wait("a"), slow.wait("a")] == [0, 60]
    assert {RateLimit(0).wait("a") for _ in range(100)} == {0}


def test_a_pace_remembers_no_more_names_than_it_must():
    pace = RateLimit(1)
    for number in range(3 * MOST_NAMES):
        pace.wait(str(number))
    assert len(pace._left) == MOST_NAMES
