"""Members of a team over the server, on real PostgreSQL: no route tells one what another keeps to itself."""

import asyncio
import json
import re
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fastapi.routing import iter_route_contexts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp_talk import BEGIN
from member_logins import make_login

from ragmem.api.memory import Ragmem
from ragmem.ports.principal import Principal, acting_as
from ragmem.server.app import create_app
from ragmem.server.security.members import Members
from ragmem.server.security.origin import Names
from ragmem.server.security.team import Team
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.vectors import member_store
from ragmem.storage.home.postgres_members import prepare_members

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'ragmem[postgres]'")
pytestmark = pytest.mark.slow

SECRETS = ("zebramark", "quillon", "xanthippe", "ypsilanti", "vermilion")
"""Words of ann's personal memories that no request has."""

PROBES = ("oolong", "lighthouse", "PostgreSQL", "Kubernetes", "ann", "notes")
"""Words of the same memories that requests have."""

BUS_TOOLS = {
    *("report_status", "list_agents", "send_to_agent", "check_messages", "acknowledge", "wait_for_events")
}
BUS = ("/agents", "/messages", "/events", "/signal", "/status", "/heartbeat", "/shutdown-check")
"""The paths of agents' messages, which are not in PostgreSQL."""

TOLD = {"ids", "query", "prompt", "confirm", "name", "label", "q", "path", "of", "doc_ids"}
"""Fields that a request has whether it must or not."""

MORE = {"session", "projects", "project", "limit", "nearest", "history", "all_tiers", "tags", "sources"}
"""Fields that it also has when it has all."""

STREAMS = {("GET", "/mcp"), ("GET", "/events"), ("GET", "/agents/events")}


@dataclass
class Served:
    """A server of a team; ann has memories that nobody else may see."""

    memory: Ragmem
    app: Any
    runner: asyncio.Runner
    http: httpx.AsyncClient
    tokens: dict[str, str]
    own: dict[str, str] = field(default_factory=dict)
    description: dict[str, Any] = field(default_factory=dict)

    def call(self, who: str, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {**options.pop("headers", {})}
        if who:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        return self.runner.run(self.http.request(method, path, headers=headers, **options))

    def tool(self, who: str, session: dict[str, str], name: str, arguments: dict[str, Any]) -> httpx.Response:
        asked = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        return self.call(who, "POST", "/mcp?profile=full", json=asked, headers=session)

    def session(self, who: str) -> dict[str, str]:
        accept = {"Accept": "application/json, text/event-stream"}
        begun = self.call(who, "POST", "/mcp?profile=full", json=BEGIN, headers=accept)
        return {**accept, "Mcp-Session-Id": begun.headers["mcp-session-id"]}

    def ids(self) -> list[str]:
        return [text for one in self.own.values() for text in (one, one[:12], one[:5])]


STABLE = (
    "/v1/memory/memories?limit=100",
    "/v1/memory/timeline",
    "/v1/memory/projects",
    "/v1/memory/lifecycle",
    "/v1/memory/archive",
    "/v1/memory/records",
    "/v1/memory/decay",
    "/v1/memory/progress",
    "/documents",
    "/documents/status_counts",
    "/health",
)
"""Answers in which nothing may change for bob when ann stores, or forgets, something personal."""


@contextmanager
def database_of(server: str):
    """Give the address of a new database for a login that is no superuser: those pass every policy."""
    name = f"rows_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        make_login(connection, "app_with_roles", may_make_roles=True)
        connection.execute(f"CREATE DATABASE {name} OWNER app_with_roles")
    url = server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION vector")
    try:
        yield url.replace("postgres@", "app_with_roles@")
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def served(postgres_server, tmp_path_factory):
    home = tmp_path_factory.mktemp("team")
    with database_of(postgres_server) as url:
        environ = {
            "HOME": str(home),
            "RAGMEM_HOME": str(home / "ragmem"),
            "RAGMEM_MODELS_BACKEND": "fake",
            "RAGMEM_STORE_PROFILE": "postgres",
            "RAGMEM_STORE_URL": url,
        }
        with Ragmem.open(environ=environ, home=home, cwd=home) as memory, serving(memory, home) as one:
            fill(one)
            yield one


@contextmanager
def serving(memory: Ragmem, home: Path):
    notes = home / "notes"
    notes.mkdir()
    (notes / ".ragmem.toml").touch()
    (notes / "deploy.md").write_text(
        "# Deploy\n\nWe decided to deploy PostgreSQL 16 with Kubernetes because the old host ran full.\n"
    )
    handed = memory.ingestion.draft([notes], DraftOptions())
    memory.ingest(handed.drafts, projects=handed.projects)
    prepare_members(memory.catalog.database)
    members = Members(memory.settings.places.state)
    roles = {"ann": "writer", "bob": "writer", "ron": "reader", "ada": "admin"}
    tokens = {name: members.add(name, role) for name, role in roles.items()}
    tokens["eve"] = members.add("eve", "writer", ["elsewhere"])
    app = create_app(memory, token="t" * 43, names=Names("127.0.0.1"), team=Team(members), warn=print)
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    with asyncio.Runner() as runner:
        life = app.router.lifespan_context(app)
        runner.run(life.__aenter__())
        http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:9622", timeout=120)
        try:
            yield Served(memory, app, runner, http, tokens)
        finally:
            runner.run(http.aclose())
            runner.run(life.__aexit__(None, None, None))


def store(served: Served, who: str, text: str, **more: Any) -> str:
    answer = served.call(who, "POST", "/v1/memory/memories", json={"text": text, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()["full_id"]


def fill(served: Served) -> None:
    store(served, "ann", "All of us decided to drink Sencha at the office in Hamburg.", audience="team")
    store(served, "ann", "We decided that the notes use Traefik because nginx was slow.", project="notes")
    store(served, "bob", "I, bob, prefer Marmalade over oolong because of the lighthouse.", title="bob")
    served.description = served.call("ada", "GET", "/openapi.json").json()
    served.own["plain"] = store(
        served,
        "ann",
        "We decided that the oolong of Zebramark uses PostgreSQL with Quillon because Kubernetes failed.",
        title="The Xanthippe lighthouse",
        uri="/home/ann/ypsilanti/lighthouse.md",
        tags=["vermilion"],
    )
    served.own["of a project"] = store(
        served,
        "ann",
        "Root cause: the Quillon of the lighthouse broke Zebramark, and the fix was Xanthippe in PostgreSQL.",
        project="notes",
        audience="personal",
        title="Vermilion error",
    )
    served.own["archived"] = store(served, "ann", "The oolong of Ypsilanti and Quillon went to Zebramark.")
    forgotten = served.call(
        "ann", "POST", "/v1/memory/forget", json={"ids": [served.own["archived"]], "confirm": True}
    )
    assert forgotten.json()["forgotten"] == 1, forgotten.text
    told = served.call(
        "ann",
        "POST",
        "/context",
        json={"prompt": "which oolong has Zebramark and Quillon?", "session": "ann-session"},
    )
    assert told.status_code == 200, told.text
    session = served.session("ann")
    for name, arguments in (
        ("remember", {"text": "The Quillon oolong of Zebramark is Vermilion.", "project": "user"}),
        ("search", {"query": "the oolong of Zebramark"}),
    ):
        assert '"isError":true' not in served.tool("ann", session, name, arguments).text
    found = served.call("ann", "POST", "/v1/memory/query", json={"query": "oolong of Zebramark"})
    assert len(found.json()["matches"]) >= 2, "ann does not find her own"


def answers_of(served: Served) -> dict[str, str]:
    return {path: _without_moments(served.call("bob", "GET", path).text) for path in STABLE}


def _without_moments(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)|\d+\.\d+", "...", text)


def leaks(answer: httpx.Response) -> list[str]:
    told = (answer.text + str(answer.headers)).lower()
    return [word for word in SECRETS if word in told]


def _value(schema: dict[str, Any], served: Served, word: str, name: str = "", *, whole: bool = False) -> Any:
    """Return a value that the schema allows, about ann's memories; `whole`: with fields that it may lack."""
    if "$ref" in schema:
        schema = served.description["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for choice in ("anyOf", "oneOf", "allOf"):
        if choice in schema:
            return _value(schema[choice][0], served, word, name, whole=whole)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {
            key: _value(one, served, word, key, whole=whole)
            for key, one in schema.get("properties", {}).items()
            if key in schema.get("required", ()) or key in TOLD or (whole and key in MORE)
        }
    if kind == "array":
        return [_value(schema.get("items", {}), served, word, name)]
    text = "2026-03-01T00:00:00Z" if "date" in schema.get("format", "") else word
    plain = {"integer": max(1, schema.get("minimum", 1)), "number": 1, "boolean": True}
    return schema.get("const", plain.get(kind, "user" if name in {"project", "projects"} else text))


def requests_of(served: Served, word: str, *, whole: bool = False):
    """Yield a request for each route of the application, with a word or an id in the place of each text."""
    described = served.description["paths"]
    for one in iter_route_contexts(served.app.routes):
        for method in sorted((one.methods or {"GET"}) - {"HEAD", "OPTIONS"}):
            if (method, one.path) in STREAMS or one.path.startswith(BUS):
                continue
            known = described.get(one.path, {}).get(method.lower(), {})
            path = re.sub(r"\{\w+(:path)?\}", quote(word, safe=""), one.path)
            params = {
                each["name"]: _value(each["schema"], served, word, each["name"], whole=whole)
                for each in known.get("parameters", [])
                if each["in"] == "query"
                and (each.get("required") or each["name"] in TOLD or (whole and each["name"] in MORE))
            }
            body = known.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
            options: dict[str, Any] = {"params": params}
            if body:
                options["json"] = _value(body, served, word, whole=whole)
            yield method, path, options


@pytest.mark.parametrize("who", ["bob", "ron", "eve", ""])
def test_no_route_tells_a_member_of_anothers_memories(served, who):
    statuses: dict[int, int] = {}
    # An id, and a word, of each sort is enough for those who may do less than bob.
    few = [served.own["plain"], "oolong", ""]
    more = [*list(served.own.values())[1:], few[0][:5], "PostgreSQL", "*"] if who == "bob" else []
    for word, whole in [(one, False) for one in few + more] + [(one, True) for one in few if more]:
        for method, path, options in requests_of(served, word, whole=whole):
            if (method, path) == ("POST", "/v1/memory/forget"):
                options["json"].pop("projects", None)
            answer = served.call(who, method, path, **options)
            assert leaks(answer) == [], (who, method, path, options, answer.text)
            statuses[answer.status_code] = statuses.get(answer.status_code, 0) + 1
    assert 500 not in statuses, statuses
    if who == "bob":
        assert statuses[200] > 100, statuses
    with acting_as(Principal("ann", "writer")):
        kept = served.memory.catalog.memories.ids()
    assert {served.own["plain"], served.own["of a project"]} <= kept


def test_the_requests_reach_what_there_is(served):
    """The same requests tell ann herself, so that silence towards others is none of the requests' making."""
    told = set()
    for word in (served.own["plain"], "oolong", ""):
        for method, path, options in requests_of(served, word):
            if method == "GET" or "query" in path or "context" in path:
                answer = served.call("ann", method, path, **options)
                told |= {(method, path.replace(word, "WORD") if word else path)} if leaks(answer) else set()
    # Alone they are ten; the other tests may have filled the first page of a list before.
    assert len(told) >= 8, told


@pytest.mark.parametrize("who", ["bob", "ron"])
def test_no_tool_tells_a_member_of_anothers_memories(served, who):
    session = served.session(who)
    listed = {"jsonrpc": "2.0", "id": 3, "method": "tools/list"}
    answer = served.call(who, "POST", "/mcp?profile=full", json=listed, headers=session)
    line = next(one for one in answer.text.splitlines() if one.startswith("data: {"))
    tools = json.loads(line[6:])["result"]["tools"]
    assert len(tools) > 10
    for word in (*served.ids()[:3], *PROBES[:3], "*"):
        for tool in (one for one in tools if one["name"] not in BUS_TOOLS):
            arguments = _value(tool["inputSchema"], served, word)
            answer = served.tool(who, session, tool["name"], arguments)
            assert leaks(answer) == [], (tool["name"], arguments, answer.text)
    for method, params in (
        ("resources/read", {"uri": "ragmem://status"}),
        ("prompts/get", {"name": "session_briefing", "arguments": {}}),
    ):
        asked = {"jsonrpc": "2.0", "id": 4, "method": method, "params": params}
        answer = served.call(who, "POST", "/mcp?profile=full", json=asked, headers=session)
        assert leaks(answer) == [], answer.text


def test_lists_and_counts_are_the_same_with_and_without_the_memories_of_others(served):
    before = answers_of(served)
    kept, gone = (
        store(served, "ann", f"We decided that Zebramark number {number} has the oolong of PostgreSQL.")
        for number in (1, 2)
    )
    store(served, "ann", "The bug of Quillon was fixed.", project="notes", audience="personal")
    served.call("ann", "PUT", f"/v1/memory/memories/{kept}/pin", json={"pinned": True})
    served.call("ann", "POST", "/v1/memory/forget", json={"ids": [gone], "confirm": True})
    after = answers_of(served)
    assert before.keys() == after.keys()
    for path in before:
        assert after[path] == before[path], path


texts = st.one_of(st.sampled_from(PROBES), st.text(max_size=12))


@settings(
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(data=st.data())
def test_no_filter_tells_of_anothers_memories(served, data):
    who = data.draw(st.sampled_from(["bob", "ron", "eve"]))
    ids = st.sampled_from(served.ids())
    listed = {
        "limit": data.draw(st.integers(1, 200)),
        "order": data.draw(st.sampled_from(["newest", "oldest", "stored"])),
        "project": data.draw(st.one_of(st.none(), st.sampled_from(["user", "notes", "unassigned"]))),
        "q": data.draw(texts),
        "tag": data.draw(st.one_of(st.none(), st.sampled_from(["vermilio", "decision"]))),
    }
    question = {
        "query": data.draw(texts) or "oolong",
        "limit": data.draw(st.integers(1, 50)),
        "nearest": data.draw(st.booleans()),
        "all_tiers": data.draw(st.booleans()),
        "history": data.draw(st.booleans()),
        "projects": data.draw(st.sampled_from([None, ["user"], ["notes"], ["notes", "user"]])),
    }
    mode = data.draw(st.sampled_from(["mix", "local", "global", "hybrid", "naive", "ragmem", "bypass"]))
    identifier = data.draw(ids)[: data.draw(st.integers(1, 26))]
    for method, path, options in (
        ("GET", "/v1/memory/memories", {"params": {k: v for k, v in listed.items() if v is not None}}),
        ("GET", f"/v1/memory/memories/{identifier}", {}),
        ("GET", f"/v1/memory/memories/{identifier}/history", {}),
        ("POST", "/v1/memory/query", {"json": {k: v for k, v in question.items() if v is not None}}),
        ("POST", "/query/data", {"json": {"query": f"{question['query']} oolong", "mode": mode}}),
        ("POST", "/context", {"json": {"prompt": question["query"], "session": "ann-session"}}),
    ):
        answer = served.call(who, method, path, **options)
        assert leaks(answer) == [], (who, method, path, options, answer.text)
        assert answer.status_code < 500, (path, options, answer.text)


def test_writers_change_nothing_of_others(served):
    for identifier in served.own.values():
        refused = [
            served.call("bob", "PUT", f"/v1/memory/memories/{identifier}/pin", json={"pinned": True}),
            served.call("bob", "POST", f"/v1/memory/memories/{identifier}/feedback", json={"verdict": "bad"}),
            served.call("bob", "POST", "/v1/memory/forget", json={"ids": [identifier], "confirm": True}),
            served.call("bob", "POST", f"/v1/memory/archive/{identifier}/restore"),
        ]
        assert [answer.status_code for answer in refused] == [404] * 4, [one.text for one in refused]
    catalog = served.memory.catalog
    assert not any(row.pinned or row.feedback for row in catalog.lives.of(served.own.values()).values())
    assert catalog.memories.get([served.own["plain"]])


def test_the_same_text_and_the_same_name_of_two_members_are_two_memories(served):
    text = "We decided that the harbour crane is called Perth because it was free."
    mine, others = (store(served, who, text, uri="/same/crane.md") for who in ("ann", "bob"))
    assert mine != others
    changed = store(served, "bob", text.replace("Perth", "Cadiz"), uri="/same/crane.md")
    assert changed == others
    assert "Perth" in served.call("ann", "GET", f"/v1/memory/memories/{mine}").json()["text"]


def test_what_a_member_stores_is_indexed_whatever_names_others_use(served):
    store(served, "ann", "The team runs Kubernetes (K8s) on Hetzner Cloud (HC) because of the price.")
    store(served, "bob", "We decided that K8s on HC is upgraded by bob because of the price of Kubernetes.")
    store(served, "ann", "Our Kubernetes Cluster (KC) of Hetzner Cloud was the root cause; the fix was HC.")
    assert served.call("bob", "GET", "/v1/memory/progress").json()["pending"] == 0
    assert served.memory.catalog.memories.pending_ids() == []


def test_an_audience_is_chosen_when_a_text_is_stored_and_by_its_owner_alone(served):
    text = "We decided that the ferry leaves at seven because of the tide."
    mine = store(served, "ann", text)
    refused = served.call("ann", "POST", "/v1/memory/memories", json={"text": text, "audience": "team"})
    assert (refused.status_code, "forget it" in refused.json()["hint"]) == (409, True)
    assert served.call("bob", "GET", f"/v1/memory/memories/{mine}").status_code == 404
    served.call("ann", "POST", "/v1/memory/forget", json={"ids": [mine], "confirm": True})
    assert store(served, "ann", text, audience="team") == mine
    assert served.call("bob", "GET", f"/v1/memory/memories/{mine}").status_code == 200


def test_a_member_of_another_project_neither_sees_nor_writes_this_one(served):
    found = served.call("eve", "GET", "/v1/memory/memories").json()["memories"]
    assert {one["project"] for one in found} == {"user"}
    refused = served.call(
        "eve", "POST", "/v1/memory/memories", json={"text": "We use Caddy now.", "project": "notes"}
    )
    assert refused.status_code in {403, 404}


def test_a_member_finds_its_own_behind_many_of_others(served, monkeypatch):
    for number in range(40):
        store(served, "ann", f"The sextant number {number} of the old captain was polished by hand.")
    mine = store(served, "bob", "The sextant of bob was polished by hand, and put on the shelf.")
    asked = {"query": "which sextant was polished by hand", "limit": 3}
    answer = served.call("bob", "POST", "/v1/memory/query", json=asked)
    assert mine in {match["full_id"] for match in answer.json()["matches"]}
    # Vectors are searched for as many as it takes, and so they are where all of a member's are compared.
    for few in (0, 2_000):
        monkeypatch.setattr(member_store, "FEW", few)
        with acting_as(Principal("bob", "writer")):
            hits = served.memory.store.search("the sextant was polished by hand", limit=3)
            assert mine in {hit.memory_id for hit in hits}
            assert served.memory.catalog.memories.ids() >= {hit.memory_id for hit in hits}


def test_an_admins_gc_sees_all_and_joins_no_two_members(served):
    text = "The boathouse of the harbour was painted green, and the old paint was thrown away."
    ids = {who: store(served, who, text) for who in ("ann", "bob")}
    again = store(served, "ann", f"{text}\n", uri="/ann/again.md")
    plan = served.call("ada", "POST", "/v1/memory/gc/plan", json={})
    assert plan.status_code == 200, plan.text
    items = {item.id: item for item in served.memory.gc.plan().items}
    assert ids.keys() == {"ann", "bob"}
    assert set(ids.values()) <= items.keys()
    assert items[ids["bob"]].action == "keep"
    duplicate = {key: items[key] for key in (ids["ann"], again) if items[key].action == "remove"}
    assert [one.rule for one in duplicate.values()] == ["duplicate"]
    assert all(set(one.others) <= {ids["ann"], again} for one in duplicate.values())
