"""A server for a team: members' tokens, roles, sessions of the page, MCP, streams, limits, the audit log."""

import asyncio
import json
import re
from contextlib import contextmanager

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from mcp_talk import ACCEPT, BEGIN

from ragmem.errors import ConfigError, ConflictError, NotFoundError, UsageError
from ragmem.ports.principal import current_principal
from ragmem.server.security.access import ADMINS, READERS, UNMATCHED, WRITERS, role_for
from ragmem.server.security.audit import FILE_NAME as AUDIT_NAME
from ragmem.server.security.members import Members
from ragmem.server.security.team import Team

TEXT = "We decided to name the harbour crane Quillon, because Perth was taken."


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def members(filled):
    return Members(filled.settings.places.state)


@pytest.fixture
def tokens(members):
    return {
        name: members.add(name, role)
        for name, role in (("ann", "writer"), ("bob", "reader"), ("cy", "admin"))
    }


@pytest.fixture
def team(filled, members, tokens, connect):
    with connect(filled, team=Team(members)) as client:
        del client.http.headers["Authorization"]
        yield client


def lines_of(text):
    return [tuple(line.split(" ", 1)) for line in text.split("\n") if line]


def concrete(path):
    return re.sub(r"\{\w+(:path)?\}", "abc123", path)


def test_every_route_has_its_role_and_every_role_its_route(team):
    routes = {
        (method, one.path)
        for one in iter_route_contexts(team.app.routes)
        for method in (one.methods or {"GET"}) - {"HEAD"}
        # Files of pages are the same for everybody.
        if not one.path.startswith(("/webui", "/workspace", "/assets/"))
    }
    named = lines_of(READERS + WRITERS + ADMINS)
    assert len(named) == len(set(named))
    assert routes - set(named) == set()
    pages = ("/favicon", "/webui", "/workspace", "/assets/")
    assert {one for one in named if not one[1].startswith(pages)} - routes == set()
    assert all(role_for(method, concrete(path))[1] in {path, concrete(path)} for method, path in named)
    assert role_for("GET", "/v1/memory/anything/new") == ("admin", UNMATCHED)


@pytest.mark.parametrize("name", ["ann", "bob"])
def test_a_role_that_does_not_suffice_is_refused_by_the_name_of_the_one_that_does(team, tokens, name):
    refused = [("admin", *one) for one in lines_of(ADMINS)]
    refused += [("writer", *one) for one in lines_of(WRITERS)] if name == "bob" else []
    for role, method, path in refused:
        answer = team.send(method, concrete(path), headers=bearer(tokens[name]), json={})
        assert (answer.status_code, path) == (403, path)
        assert f"needs the role {role}; {name} is" in answer.json()["detail"]


def test_roles_that_suffice_get_through(team, tokens):
    for method, path in lines_of(WRITERS):
        answer = team.send(method, concrete(path), headers=bearer(tokens["ann"]), json={})
        assert (answer.status_code == 403, path) == (False, path)
    for path in ("/v1/memory/log", "/v1/memory/sources", "/metrics", "/v1/memory/gc/runs"):
        assert team.send("GET", path, headers=bearer(tokens["cy"])).status_code == 200
    found = team.send("POST", "/query/data", headers=bearer(tokens["bob"]), json={"query": "why redis 7"})
    assert found.json()["data"]["chunks"]


def test_the_hooks_of_the_machine_are_its_owners_alone(team, tokens):
    path = "/v1/memory/hooks/claude-code/UserPromptSubmit"
    answer = team.send("POST", path, headers=bearer(tokens["cy"]), json={"session_id": "s", "prompt": "why"})
    assert (answer.status_code, answer.json()["detail"]) == (403, "hooks are for the owner of this machine")


@pytest.mark.parametrize(
    "token", ["", "ragmem_" + "x" * 43, "ragmem_", "é", "x" * 9_000, "a.b.c", "ragmem_" + "x" * 43 + "\x00"]
)
def test_what_is_no_token_of_a_member_opens_nothing(team, token):
    raw = {b"X-API-Key": token.encode()}
    assert team.send("GET", "/v1/memory/stats", headers=raw).status_code == 401
    assert team.send("GET", "/health", headers=raw).status_code == 200


def test_without_a_team_no_member_gets_in(client, members, tokens):
    assert client.send("GET", "/v1/memory/stats", headers=bearer(tokens["cy"])).status_code == 401
    assert client.get("/v1/memory/stats").status_code == 200


def test_the_next_request_knows_of_a_change(team, tokens, members):
    def status(token):
        return team.send("GET", "/v1/memory/memories", headers=bearer(token)).status_code

    assert status(tokens["ann"]) == 200
    renewed = members.rotate("ann")
    assert (status(tokens["ann"]), status(renewed)) == (401, 200)
    members.remove("ann")
    assert (status(renewed), status(tokens["bob"])) == (401, 200)
    members.path.chmod(0o644)
    assert status(tokens["bob"]) == 401
    members.path.chmod(0o600)
    assert status(tokens["bob"]) == 200
    members.path.unlink()
    assert status(tokens["bob"]) == 401


def test_members_hear_nothing_of_the_machine(team, tokens, filled):
    folder = str(filled.settings.places.data.parent)
    for path in ("/health", "/v1/memory/stats", "/v1/memory/progress", "/v1/memory/projects", "/agents"):
        assert folder not in team.send("GET", path, headers=bearer(tokens["ann"])).text
    assert folder in team.send("GET", "/health", headers=bearer(tokens["cy"])).text


@contextmanager
def acting(memory):
    """Give the list of who acted at each transaction of the catalog."""
    database = memory.catalog.database
    kind = type(database)
    seen = []

    class Watched(kind):
        def read(self):
            seen.append(current_principal.get())
            return super().read()

        def write(self, **options):
            seen.append(current_principal.get())
            return super().write(**options)

    database.__class__ = Watched
    try:
        yield seen
    finally:
        database.__class__ = kind


@pytest.mark.parametrize(
    ("request_line", "body"),
    [
        ("GET /v1/memory/memories", None),
        ("POST /v1/memory/query", {"query": "why redis 7"}),
        ("POST /query", {"query": "why redis 7"}),
        ("POST /query/stream", {"query": "why redis 7"}),
        ("POST /api/chat", {"messages": [{"role": "user", "content": "why redis 7"}]}),
        ("POST /v1/memory/memories", {"text": TEXT}),
        ("POST /documents/text", {"text": TEXT, "file_source": "q.md"}),
    ],
)
def test_each_transaction_of_a_request_is_the_members(team, tokens, filled, request_line, body):
    method, path = request_line.split()
    with acting(filled) as seen:
        answer = team.send(method, path, headers=bearer(tokens["ann"]), json=body)
    assert answer.status_code == 200, answer.text
    # The owner's inbox is emptied on the way.
    assert {one.member for one in seen if one is not None} == {"ann"}
    with acting(filled) as seen:
        team.send("GET", "/v1/memory/memories", headers=bearer("t" * 43))
        assert team.send("GET", "/health").status_code == 200
    assert set(seen) == {None}


def log_in(client, token):
    answer = client.send("POST", "/session", json={"token": token})
    client.http.cookies.clear()
    if answer.status_code != 200:
        return answer, {}
    return answer, {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_the_page_is_the_members(team, tokens, members, filled):
    answer, cookie = log_in(team, tokens["bob"])
    told = team.send("GET", "/session", headers=cookie).json()
    assert (told["member"], told["role"], told["by"]) == ("bob", "reader", "session")
    csrf = {**cookie, "X-CSRF-Token": answer.json()["csrf_token"]}
    refused = team.send("POST", "/v1/memory/memories", headers=csrf, json={"text": TEXT})
    assert (refused.status_code, "writer" in refused.json()["detail"]) == (403, True)
    with acting(filled) as seen:
        assert team.send("GET", "/v1/memory/memories", headers=cookie).status_code == 200
    assert {one.member for one in seen} == {"bob"}
    members.remove("bob")
    assert team.send("GET", "/v1/memory/memories", headers=cookie).status_code == 401
    assert team.send("GET", "/session", headers=cookie).json()["authenticated"] is False
    assert log_in(team, tokens["bob"])[0].status_code == 401
    as_password = team.send("POST", "/login", data={"password": tokens["cy"]}).json()
    assert as_password["access_token"] == tokens["cy"]


def test_a_member_without_the_csrf_token_changes_nothing(team, tokens):
    answer, cookie = log_in(team, tokens["ann"])
    stored = {"json": {"text": TEXT}}
    assert team.send("POST", "/v1/memory/memories", headers=cookie, **stored).status_code == 403
    csrf = {**cookie, "X-CSRF-Token": answer.json()["csrf_token"]}
    assert team.send("POST", "/v1/memory/memories", headers=csrf, **stored).status_code == 200
    # A header of its own counts before the cookie of somebody else.
    other = team.send("GET", "/session", headers={**cookie, **bearer(tokens["bob"])}).json()
    assert (other["member"], other["by"], other["csrf_token"]) == ("bob", "member", "")


def test_sessions_of_one_member_push_out_none_of_another(team, tokens):
    _, kept = log_in(team, tokens["bob"])
    _, first = log_in(team, tokens["ann"])
    for _ in range(64):
        log_in(team, tokens["ann"])
    assert team.send("GET", "/session", headers=kept).json()["member"] == "bob"
    assert team.send("GET", "/session", headers=first).json()["authenticated"] is False


class Talk:
    """One session over MCP."""

    def __init__(self, client, token):
        self.client, self.headers = client, {**ACCEPT, **bearer(token)}
        begun = client.send("POST", "/mcp", headers=self.headers, json=BEGIN)
        self.session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, message, headers=None):
        return self.client.send(
            "POST", "/mcp", headers=(headers or self.headers) | self.session, json=message
        )

    def call(self, name, headers=None, **arguments):
        params = {"name": name, "arguments": arguments}
        answer = self.post({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}, headers)
        if answer.status_code != 200:
            return answer
        data = next(line for line in answer.text.splitlines() if line.startswith("data: {"))
        return json.loads(data[6:])["result"]


def test_a_tool_acts_for_the_member_who_calls_it(team, tokens, filled):
    ann, bob = Talk(team, tokens["ann"]), Talk(team, tokens["bob"])
    with acting(filled) as seen:
        assert not ann.call("remember", text=TEXT)["isError"]
    assert {one.member for one in seen if one is not None} == {"ann"}
    with acting(filled) as seen:
        assert "Redis" in bob.call("search", query="why redis 7", project="*")["content"][0]["text"]
    assert {one.member for one in seen if one is not None} == {"bob"}
    # A role is asked for at each call, not only when the session begins.
    with acting(filled) as seen:
        refused = bob.call("remember", text=TEXT + " Again.")
    assert refused["isError"]
    assert "remember needs the role writer; bob is reader" in refused["content"][0]["text"]
    assert seen == []


def test_the_sdks_clients_of_two_members_act_each_for_its_own(team, tokens, filled):
    async def remember(mode, name):
        from mcp.client.client import Client
        from mcp.client.streamable_http import streamable_http_client

        transport = httpx.ASGITransport(app=team.app)
        async with (
            httpx.AsyncClient(transport=transport, headers=bearer(tokens[name]), timeout=60) as http,
            Client(streamable_http_client("http://127.0.0.1:9622/mcp", http_client=http), mode=mode) as one,
        ):
            return await one.call_tool("remember", {"text": f"{TEXT} So said {name} by {mode}."})

    async def both(mode):
        return await asyncio.gather(remember(mode, "ann"), remember(mode, "bob"), remember(mode, "cy"))

    for mode in ("legacy", "auto"):
        with acting(filled) as seen:
            told = team.runner.run(both(mode))
        assert [one.is_error for one in told] == [False, True, False]
        assert {one.member for one in seen if one is not None} == {"ann", "cy"}


def test_nobody_speaks_in_the_session_of_another(team, tokens):
    ann = Talk(team, tokens["ann"])
    for token in (tokens["bob"], tokens["cy"]):
        assert ann.call("search", {**ACCEPT, **bearer(token)}, query="redis").status_code == 404
        gone = team.send("DELETE", "/mcp", headers={**ACCEPT, **bearer(token), **ann.session})
        assert gone.status_code == 404
    assert not ann.call("search", query="redis")["isError"]


def test_a_stream_ends_with_the_member(team, tokens, members):
    async def listen():
        return await team.http.get("/agents/events", params={"seconds": 20}, headers=bearer(tokens["ann"]))

    async def remove_then_publish():
        await asyncio.sleep(0.3)
        members.remove("ann")
        for number in range(2):
            event = {"type": f"secret_{number}", "agent_id": "x"}
            await team.http.post("/events", json=event, headers=bearer("t" * 43))

    async def both():
        return await asyncio.gather(listen(), remove_then_publish())

    heard, _ = team.runner.run(both())
    assert heard.status_code == 200
    assert "open" in heard.text
    assert "secret_" not in heard.text


def test_one_members_requests_use_up_nobody_elses(filled, members, tokens, connect):
    with connect(filled, team=Team(members, requests_per_minute=3)) as client:
        del client.http.headers["Authorization"]

        def status(token):
            return client.send("GET", "/v1/memory/projects", headers=bearer(token)).status_code

        assert [status(tokens["ann"]) for _ in range(4)] == [200, 200, 200, 429]
        assert [status(tokens["bob"]), status("t" * 43)] == [200, 200]


def test_the_audit_log_says_which_member(team, tokens, filled):
    team.send("POST", "/v1/memory/memories", headers=bearer(tokens["ann"]), json={"text": TEXT})
    team.send("POST", f"/v1/memory/memories/{'x' * 8}/feedback", headers=bearer(tokens["bob"]), json={})
    team.send("GET", "/v1/memory/log/Quillon", headers=bearer(tokens["bob"]))
    Talk(team, tokens["ann"]).call("remember", text=TEXT + " It stands in the north.")
    log = filled.settings.places.state / AUDIT_NAME
    told = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(one["who"], one["member"], one["method"], one["route"], one["status"]) for one in told] == [
        ("member", "ann", "POST", "/v1/memory/memories", 200),
        ("member", "bob", "POST", "/v1/memory/memories/{identifier}/feedback", 403),
        ("member", "bob", "GET", UNMATCHED, 403),
        ("member", "ann", "MCP", "remember", "done"),
    ]
    assert "Quillon" not in log.read_text()


def test_the_file_of_members_holds_no_token_and_is_private(members, tokens):
    text = members.path.read_text()
    assert not [token for token in tokens.values() if token in text]
    assert members.path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(ConflictError, match="ann"):
        members.add("ann", "admin")
    for name in ("", "Ann", "../x", "a b", "nobody", "x" * 65, "é"):
        with pytest.raises(UsageError):
            members.add(name, "reader")
    for change in (members.remove, members.rotate):
        with pytest.raises(NotFoundError, match="zoe"):
            change("zoe")


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"schema": 2, "members": []}', '{"schema": 1, "members": [{"name": "ann"}]}', "null"],
)
def test_a_damaged_file_of_members_lets_nobody_in_and_is_told(filled, tokens, connect, content):
    said = []
    members = Members(filled.settings.places.state, warn=said.append)
    members.path.write_text(content)
    with connect(filled, team=Team(members)) as client:
        assert client.send("GET", "/v1/memory/stats", headers=bearer(tokens["cy"])).status_code == 401
        assert client.send("GET", "/v1/memory/stats", headers=bearer(tokens["cy"])).status_code == 401
    assert len(said) == 1
    with pytest.raises(ConfigError, match=re.escape(str(members.path))):
        members.add("zoe", "reader")


def test_members_that_are_added_at_once_are_all_there(filled):
    from concurrent.futures import ThreadPoolExecutor

    state = filled.settings.places.state
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: Members(state).add(f"m{number}", "reader", ["p"]), range(24)))
    found = Members(state).all()
    assert len(found) == 24
    assert {one.principal.projects for one in found} == {frozenset({"p"})}


def test_the_command_line_adds_serves_and_removes(run, start, tmp_path, postgres):
    store = {"RAGMEM_STORE_PROFILE": "postgres", "RAGMEM_STORE_URL": postgres}
    added = run("serve", "members", "add", "ann", "--role", "reader", **store)
    assert (added.returncode, added.stdout.strip() in added.stderr) == (0, False)
    token = added.stdout.strip()
    with start(tmp_path, "--team", **store) as server:

        def status(method, path):
            url, own = server.url + path, bearer(token)
            return httpx.request(method, url, headers=own, json={"text": TEXT}, timeout=60).status_code

        assert (status("GET", "/v1/memory/memories"), status("POST", "/v1/memory/memories")) == (200, 403)
        assert "ann" in run("serve", "members", **store).stdout
        assert run("serve", "members", "remove", "ann", **store).returncode == 0
        assert status("GET", "/v1/memory/memories") == 401
        assert server.end() == 0
    assert token not in "".join(server.said)
    log = (tmp_path / "ragmem" / "state" / AUDIT_NAME).read_text()
    assert [json.loads(line)["route"] for line in log.splitlines()] == [
        "serve members add",
        "/v1/memory/memories",
        "serve members remove",
    ]
