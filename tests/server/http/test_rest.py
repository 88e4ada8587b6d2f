"""The REST interface without a socket: shapes, scopes, refusals, failures."""

import fcntl
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from ragmem.domain.model import Draft, Scope, Supersession
from ragmem.domain.model.supersession import PERHAPS_OUTDATED
from ragmem.server.http.workers import LONG_THREADS, QUERY_THREADS, QUICK_THREADS
from ragmem.server.lightrag import responses
from ragmem.server.security.guard import MAX_BODY
from ragmem.storage.activity.model_record import ACTIVE

FILE_TOKEN = re.compile(r"\bm-[a-z2-7]{26}\b")
NOTE = (
    "We decided to keep secrets in Vault 1.15, because the environment files were committed by mistake."
    " Root cause: no rule in `.gitignore`. The fix is a hook that scans each commit."
)
MODES = ["local", "global", "hybrid", "naive", "mix", "ragmem"]


def ok(response):
    assert response.status_code == 200, response.text
    return response.json()


def test_a_query_answers_with_the_context_and_its_references(reader):
    answer = ok(reader.post("/query", query="why did we deploy PostgreSQL with Kubernetes"))
    assert answer.keys() == {"response", "references", "response_time", "llm_generated", "notes"}
    assert answer["response"].startswith("<ragmem-memory>")
    assert "the volume was never resized" in answer["response"]
    assert answer["llm_generated"] is False
    first = answer["references"][0]
    assert first.keys() == {"reference_id", "file_path", "memory_id"}
    assert first["reference_id"] == "1"
    assert first["file_path"] == str(reader.home / "notes" / "deploy.md")


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_finds_the_note_and_never_shows_a_file_token(reader, mode):
    body = {"query": "PostgreSQL Kubernetes deploy", "mode": mode}
    answer = reader.post("/query", **body)
    assert str(reader.home / "notes" / "deploy.md") in [one["file_path"] for one in ok(answer)["references"]]
    data = reader.post("/query/data", **body)
    assert ok(data)["metadata"]["query_mode"] == mode
    assert not FILE_TOKEN.search(answer.text + data.text)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "ragmem"])
def test_a_mode_of_lightrag_that_finds_nothing_says_so_in_its_own_words(reader, mode):
    body = {"query": "xylophone quasar", "mode": mode}
    answer = ok(reader.post("/query", **body))
    assert answer["response"].endswith("[no-context]")
    assert answer["references"] == []
    data = ok(reader.post("/query/data", **body))
    assert data["status"] == "failure"
    assert not any(data["data"].values())
    assert "[no-context]" in reader.post("/query/stream", **body).text


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "ragmem"])
def test_every_way_to_ask_in_a_mode_gives_the_order_and_the_scores_of_query_mode(
    tmp_path, open_memory, connect, run, mode
):
    real = {"RAGMEM_STORE_BACKEND": "lightrag"}
    memory = open_memory(**real)
    drafts = [
        Draft(
            "notes",
            f"/notes/{number}.md",
            f"{said} So `{name}` stays on PostgreSQL {12 + number}, since the driver of Kubernetes reset it.",
            title=f"What {name} runs on",
            scope=Scope(f"project{number % 2}"),
            event_time=datetime(2026, 1 + number, 3, tzinfo=UTC),
        )
        for number, (name, said) in enumerate(
            [
                ("Quay", "We decided on a pool of 20 connections because the pool of 5 was exhausted."),
                ("Ferry", "The connection pool was never exhausted."),
                ("Gauge", "Root cause of the reset: a proxy closed idle connections of the pool."),
                ("Board", "Nobody asked for more connections."),
                ("Tide", "The fix was a pool for each worker, because connections were exhausted at night."),
            ]
        )
    ]
    memory.ingest(drafts, rule="off")
    asked = "why was the connection pool of PostgreSQL exhausted"
    command = run("query", "--all", "--mode", mode, "--json", asked, **real)
    assert command.returncode == 0, command.stderr
    expected = [(one["full_id"], one["score"]) for one in json.loads(command.stdout)["matches"]]
    ids = [key for key, _ in expected]
    assert len(ids) >= 2
    with connect(memory) as client:
        # The fields that LightRAG's page sends.
        body = {"query": asked, "mode": mode, "top_k": 40, "chunk_top_k": 20, "enable_rerank": True}
        chunks = ok(client.post("/query/data", **body))["data"]["chunks"]
        ours = ok(client.post("/v1/memory/query", query=asked, mode=mode))["matches"]
        references = ok(client.post("/query", **body))["references"]
        streamed = client.post("/query/stream", **body).text.splitlines()[0]
        talk = client.post(
            "/api/chat", messages=[{"role": "user", "content": f"/{mode} {asked}"}], stream=False
        )
    for found in (
        [(one["memory_id"], one["score"]) for one in chunks],
        [(one["full_id"], one["score"]) for one in ours],
    ):
        assert [key for key, _ in found] == ids
        # Each of them is some seconds older than in the answer before.
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=2e-4)
    assert [one["memory_id"] for one in references] == ids
    assert [one["memory_id"] for one in json.loads(streamed)["references"]] == ids
    said = ok(talk)["message"]["content"]
    # The context stands under headings, each in this order.
    uris = memory.catalog.memories.uris(ids)
    assert {draft.uri for draft in drafts if draft.uri in said} == {uris[key] for key in ids}


def test_every_field_of_lightrag_is_accepted(reader):
    ok(
        reader.post(
            "/query",
            query="PostgreSQL Kubernetes",
            mode="mix",
            only_need_context=True,
            only_need_prompt=False,
            response_type="Bullet Points",
            top_k=5,
            chunk_top_k=3,
            max_entity_tokens=100,
            max_relation_tokens=100,
            max_total_tokens=4000,
            hl_keywords=["deployment"],
            ll_keywords=["PostgreSQL"],
            conversation_history=[{"role": "user", "content": "hello"}],
            user_prompt="be brief",
            enable_rerank=True,
            include_references=True,
            include_chunk_content=True,
            stream=True,
            a_field_of_tomorrow=1,
        )
    )


def test_references_can_be_left_out_or_carry_their_texts(reader):
    question = {"query": "PostgreSQL Kubernetes deploy"}
    assert ok(reader.post("/query", **question, include_references=False))["references"] is None
    with_texts = ok(reader.post("/query", **question, include_chunk_content=True))["references"]
    assert any("Kubernetes" in text for one in with_texts for text in one["content"])


def test_a_prompt_ends_with_the_question(reader):
    answer = ok(
        reader.post(
            "/query",
            query="PostgreSQL deploy",
            only_need_prompt=True,
            user_prompt="be brief",
            response_type="List",
        )
    )
    assert answer["response"].startswith("<ragmem-memory>")
    assert answer["response"].endswith(
        "be brief\n\nAnswer in this form: List\n\n<question>\nPostgreSQL deploy\n</question>"
    )
    assert answer["llm_generated"] is False


def test_the_context_stays_within_its_tokens_and_cites_what_it_shows(reader):
    answer = ok(reader.post("/query", query="PostgreSQL psycopg Redis Kubernetes", max_total_tokens=150))
    assert len(answer["response"]) <= 600
    assert len(answer["references"]) == answer["response"].count("\n[")


def test_chunk_top_k_bounds_the_answer(reader):
    wide = ok(reader.post("/query/data", query="PostgreSQL psycopg Redis Kubernetes"))["data"]["chunks"]
    one = ok(reader.post("/query/data", query="PostgreSQL psycopg Redis Kubernetes", chunk_top_k=1))
    assert len(wide) > 1
    assert len(one["data"]["chunks"]) == 1


def test_nothing_found_is_said_with_no_references(reader):
    body = {"query": "xylophone quasar", "mode": "ragmem"}
    answer = ok(reader.post("/query", **body))
    assert answer["response"] == "Nothing in memory bears on this question."
    assert answer["references"] == []
    data = ok(reader.post("/query/data", **body))
    assert data["status"] == "failure"
    assert data["metadata"]["failure_reason"] == "no_results"
    assert data["data"] == {"entities": [], "relationships": [], "chunks": [], "references": []}


def test_query_data_is_lightrags_document_with_our_fields_in_chunks(reader):
    document = ok(reader.post("/query/data", query="PostgreSQL Kubernetes deploy"))
    assert document.keys() == {"status", "message", "data", "metadata"}
    assert document["status"] == "success"
    assert document["data"].keys() == {"entities", "relationships", "chunks", "references"}
    chunk = document["data"]["chunks"][0]
    assert chunk.keys() >= {"reference_id", "content", "file_path", "chunk_id"}
    assert chunk.keys() >= {"memory_id", "score", "event_time", "source"}
    assert chunk["file_path"] == str(reader.home / "notes" / "deploy.md")
    assert 0 < chunk["score"] <= 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", chunk["event_time"])
    assert chunk["source"] == "ingest"
    assert document["data"]["references"][0]["file_path"] == chunk["file_path"]
    assert document["metadata"]["keywords"].keys() == {"high_level", "low_level"}


def test_a_question_takes_the_route_that_the_command_line_takes(reader, ragmem):
    asked = "when did we deploy PostgreSQL with Kubernetes"
    home = {"HOME": str(reader.home), "RAGMEM_HOME": str(reader.home / "ragmem")}
    told = json.loads(ragmem("query", asked, "--all", "--json", **home).stdout)
    given = ok(reader.post("/query/data", query=asked, mode="ragmem"))
    assert given["metadata"]["route"] == told["route"]
    assert told["route"]["name"] == "episode"
    assert [chunk["memory_id"] for chunk in given["data"]["chunks"]] == [
        match["full_id"] for match in told["matches"]
    ]
    assert "route" not in ok(reader.post("/query/data", query=asked))["metadata"]


def test_the_state_now_is_told_where_that_route_is_asked_for(reader):
    answer = ok(reader.post("/query", query="what is pending", mode="ragmem", route="operational"))
    assert any(note.startswith("indexed: ") for note in answer["notes"])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"query": "deploy", "route": "episode"},
        {"query": "deploy", "mode": "ragmem", "route": "scenic"},
        {"query": ""},
        {"query": "ab"},
        {"query": "  a  "},
        {"query": 7},
        {"query": "deploy", "mode": "telepathy"},
        {"query": "", "mode": "bypass"},
        {"query": "deploy", "top_k": 0},
        {"query": "deploy", "chunk_top_k": 100_000},
        {"query": "de\ud800ploy"},
    ],
)
@pytest.mark.parametrize("path", ["/query", "/query/data"])
def test_a_question_that_cannot_be_asked_is_unprocessable(reader, path, body):
    response = reader.post(path, **body)
    assert response.status_code == 422
    assert response.json()["detail"][0]["msg"]
    assert "input" not in response.json()["detail"][0]


def test_bypass_is_refused_with_the_reason(reader):
    refused = reader.post("/query", query="deploy", mode="bypass")
    assert refused.status_code == 400
    assert "none is configured" in refused.json()["detail"]
    assert "[language_model]" in refused.json()["hint"]
    assert ok(reader.post("/query/data", query="deploy", mode="bypass"))["data"]["chunks"] == []


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b'"query"', b"\xff\xfe", b"[" * 100_000])
def test_a_body_that_is_no_request_is_refused(reader, raw):
    response = reader.send("POST", "/query", content=raw, headers={"Content-Type": "application/json"})
    assert response.status_code in {400, 422}
    assert "detail" in response.json()


def test_a_very_long_question_is_refused_with_a_hint(reader):
    response = reader.post("/query", query="word " * 10_000)
    assert response.status_code == 400
    assert response.json()["hint"]


def test_projects_bound_a_question(client, tmp_path):
    (project,) = [one["project"] for one in chunks(client, "PostgreSQL psycopg") if one][:1]
    ok(
        client.post(
            "/documents/text", text="PostgreSQL and psycopg for everyone, we decided.", file_source="u"
        )
    )
    assert {one["project"] for one in chunks(client, "PostgreSQL psycopg")} == {project, "user"}
    assert {one["project"] for one in chunks(client, "PostgreSQL psycopg", projects=["user"])} == {"user"}
    assert {one["project"] for one in chunks(client, "PostgreSQL psycopg", projects=[project])} == {project}
    unknown = client.post("/query", query="PostgreSQL", projects=["nowhere"])
    assert unknown.status_code == 404
    assert unknown.json()["hint"]


def test_what_answers_a_session_counts_as_recalled_by_it(client, filled):
    for mode in ("ragmem", "mix"):
        client.post("/query", query="why do we pin psycopg 3.2", mode=mode, session=f"of {mode}")
    client.post("/query", query="why do we pin psycopg 3.2", mode="ragmem")
    filled.recalls.absorb()
    assert {recall.session for recall in filled.catalog.lives.recalls()} == {"of ragmem"}


def chunks(client, text, **more):
    return ok(client.post("/query/data", query=text, mode="ragmem", **more))["data"]["chunks"]


def test_a_text_is_found_as_soon_as_it_is_stored(client):
    text = "We decided to use Grafana for dashboards, because Kibana was slow on the cluster."
    answer = ok(client.post("/documents/text", text=text, file_source="dash.md", tags=["ops"]))
    assert answer.keys() == {"status", "message", "track_id", "memory_ids"}
    assert answer["status"] == "success"
    found = ok(client.post("/query", query="Grafana dashboards Kibana"))
    assert found["references"][0]["file_path"] == "dash.md"
    assert found["references"][0]["memory_id"] == answer["memory_ids"][0]


def test_no_answer_shows_a_secret_of_what_is_stored(client):
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    text = f"We decided that `Deploybot` pushes to Harbour with {key}, because the error came from SSH keys."
    ok(client.post("/documents/text", text=text, title=f"Deploybot {key}", file_source=f"notes/{key}.md"))
    question = {"query": "how does Deploybot push to Harbour", "include_chunk_content": True}
    for mode in MODES:
        answers = (
            client.post("/query", **question, mode=mode),
            client.post("/query/data", **question, mode=mode),
        )
        for answer in answers:
            assert "[redacted: GitHub token]" in json.dumps(ok(answer))
            assert key not in answer.text
    graph = client.get("/graphs", label="*")
    assert "Deploybot" in json.dumps(ok(graph))
    assert key not in graph.text
    assert key not in client.get("/graph/label/list").text


def test_the_same_text_again_is_duplicated_and_a_changed_one_replaces_it(client):
    first = ok(
        client.post("/documents/text", text="We decided for Vault 1.15 to keep secrets.", file_source="v")
    )
    again = ok(
        client.post("/documents/text", text="We decided for Vault 1.15 to keep secrets.", file_source="v")
    )
    other = ok(
        client.post("/documents/text", text="We decided for SOPS 3.9 to keep secrets.", file_source="v")
    )
    assert [one["status"] for one in (first, again, other)] == ["success", "duplicated", "success"]
    assert first["memory_ids"] == again["memory_ids"] == other["memory_ids"]
    answer = client.post("/query", query="what keeps secrets Vault SOPS").json()["response"]
    assert 'no memory mentions "Vault"' in answer
    assert "Vault 1.15" not in answer


def test_a_text_without_a_source_is_known_by_its_content(client):
    texts = ["We decided to use Terraform 1.9 for the network.", "We decided to use Ansible for the hosts."]
    first = ok(client.post("/documents/texts", texts=texts))
    assert first["status"] == "success"
    assert len(set(first["memory_ids"])) == 2
    again = ok(client.post("/documents/texts", texts=[*texts, "We decided to use Packer for the images."]))
    assert again["status"] == "success"
    assert again["message"].startswith("1 stored, 2 there already")
    assert ok(client.post("/documents/texts", texts=texts))["status"] == "duplicated"


def test_an_event_time_without_a_zone_is_utc(client):
    ok(
        client.post(
            "/documents/text",
            text="We decided to use Nomad for batch jobs.",
            file_source="nomad",
            event_time="2026-03-15T10:00:00",
        )
    )
    (chunk,) = [one for one in chunks(client, "Nomad batch jobs") if one["file_path"] == "nomad"]
    assert chunk["event_time"] == "2026-03-15T10:00:00Z"


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/documents/text", {"text": ""}, 422),
        ("/documents/text", {"text": "  \n"}, 400),
        ("/documents/text", {"text": "a\0b"}, 400),
        ("/documents/text", {"text": "x\ud800"}, 422),
        ("/documents/text", {"text": "fine", "file_source": "a\nb"}, 422),
        ("/documents/text", {"text": "fine", "file_source": "\ud800"}, 422),
        ("/documents/text", {"text": "fine", "project": "../etc"}, 400),
        ("/documents/text", {"text": "word " * 2_000_000}, 400),
        ("/documents/texts", {"texts": []}, 422),
        ("/documents/texts", {"texts": ["one", "two"], "file_sources": ["one"]}, 400),
    ],
)
def test_a_text_that_cannot_be_stored_is_refused_and_nothing_is_stored(reader, path, body, status):
    before = ok(reader.get("/documents/status_counts"))
    response = reader.post(path, **body)
    assert response.status_code == status, response.text
    assert ok(reader.get("/documents/status_counts")) == before


def test_a_file_source_is_a_name_and_never_read(client, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the launch code is 0000")
    ok(client.post("/documents/text", text="We decided to rotate codes weekly.", file_source=str(secret)))
    assert "0000" not in client.post("/query", query="launch code rotate codes").text


def test_the_graph_around_a_label_has_lightrags_shape(reader):
    graph = ok(reader.get("/graphs", label="PostgreSQL", max_depth=1, max_nodes=50))
    assert graph.keys() == {"nodes", "edges", "is_truncated"}
    names = {name for node in graph["nodes"] for name in node["labels"]}
    assert "PostgreSQL" in names
    assert all(node.keys() == {"id", "labels", "properties"} for node in graph["nodes"])
    assert all(edge.keys() == {"id", "type", "source", "target", "properties"} for edge in graph["edges"])
    ids = {node["id"] for node in graph["nodes"]}
    assert {edge[end] for edge in graph["edges"] for end in ("source", "target")} <= ids


def test_an_unknown_label_gives_an_empty_graph(reader):
    empty = {"nodes": [], "edges": [], "is_truncated": False}
    assert ok(reader.get("/graphs", label="Nowhere")) == empty


def test_the_star_is_the_whole_graph_and_no_entity(reader):
    assert ok(reader.get("/graphs", label="*"))["nodes"]
    assert ok(reader.get("/graph/entity/exists", name="*")) == {"exists": False}


@pytest.mark.parametrize(
    "params", [{}, {"label": "a", "max_depth": 0}, {"label": "a", "max_nodes": 0}, {"label": "a" * 2_000}]
)
def test_a_graph_that_cannot_be_asked_for_is_unprocessable(reader, params):
    assert reader.get("/graphs", **params).status_code == 422


def test_labels_are_listed_ranked_searched_and_known(reader):
    names = ok(reader.get("/graph/label/list"))
    assert names == sorted(names)
    assert "PostgreSQL" in names
    popular = ok(reader.get("/graph/label/popular", limit=3))
    assert len(popular) == 3
    assert set(popular) <= set(names)
    assert "PostgreSQL" in ok(reader.get("/graph/label/search", q="postgresql"))
    assert "PostgreSQL" in ok(reader.get("/graph/label/search", q="GRESQL"))
    assert ok(reader.get("/graph/label/search", q=" ")) == []
    assert ok(reader.get("/graph/entity/exists", name="PostgreSQL")) == {"exists": True}
    assert ok(reader.get("/graph/entity/exists", name="postgres")) == {"exists": False}


def test_a_graph_can_be_one_projects(reader):
    assert ok(reader.get("/graph/label/list", project="user")) == []
    assert ok(reader.get("/graph/entity/exists", name="PostgreSQL", project="user")) == {"exists": False}
    assert reader.get("/graph/label/list", project="nowhere").status_code == 404


def test_health_reveals_nothing_without_the_token(client, filled):
    public = client.send("GET", "/health", headers={"Authorization": "Bearer wrong"})
    told = ok(public)
    assert not {"counts", "states", "backends", "configuration", "working_directory"} & told.keys()
    assert str(filled.settings.places.data) not in public.text
    private = ok(client.get("/health"))
    assert private["status"] == "healthy"
    assert private["counts"]["memories"] == 3
    assert private["counts"]["entities"] > 0
    assert private["backends"] == {"models": "fake", "store": "fake"}


def test_health_counts_what_was_written_since_by_whomever(client, open_memory):
    def memories():
        return ok(client.get("/health"))["counts"]["memories"]

    assert memories() == 3
    ok(client.post("/documents/text", text="We keep the harbour log in Tromso.", file_source="harbour"))
    # Each of the threads counts for itself.
    assert {memories() for _ in range(5)} == {4}
    with open_memory() as other:
        other.ingest([Draft("notes", "quay", "The quay of Bergen was rebuilt in 1998.")])
    assert {memories() for _ in range(5)} == {5}
    stored = ok(client.get("/v1/memory/memories"))["memories"]
    ok(client.send("DELETE", "/documents/delete_document", json={"doc_ids": [stored[0]["id"]]}))
    assert {memories() for _ in range(5)} == {4}


def test_health_asks_a_store_that_is_no_part_of_the_catalog_each_time(open_memory, connect, monkeypatch):
    memory, vectors, within = open_memory(RAGMEM_STORE_PROFILE="json"), [1, 2], []
    memory.ingest([Draft("notes", "quay", "The quay of Bergen was rebuilt in 1998.")])

    def statistics(_):
        # LightRAG opens a storage of its own only where no transaction is open.
        within.append(memory.catalog.database.connection().in_transaction)
        return {"vectors": vectors.pop(0)}

    monkeypatch.setattr(type(memory.store), "statistics", statistics)
    with connect(memory) as client:
        counts = [ok(client.get("/health"))["counts"] for _ in range(2)]
    assert [one["vectors"] for one in counts] == [1, 2]
    assert {one["memories"] for one in counts} == {1}
    assert within == [False, False]


PATHS = [
    ("POST", "/query"),
    ("POST", "/query/data"),
    ("POST", "/documents/text"),
    ("GET", "/graphs"),
    ("GET", "/graph/label/list"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/nowhere"),
    ("OPTIONS", "/query"),
    ("GET", "/health/"),
    ("GET", "/health/../graphs"),
]


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic dDp0"])
def test_every_path_but_health_wants_the_token(reader, given):
    for method, path in PATHS:
        response = reader.send(method, path, headers={"Authorization": given})
        assert response.status_code == 401, path
        assert response.headers["www-authenticate"] == "Bearer"
        assert "access-control-allow-origin" not in response.headers


@pytest.mark.parametrize("path", ["/health", "/graph/label/list"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "evil.example:9622"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "http://localhost:3000"},
        {"Origin": "null"},
    ],
)
def test_foreign_names_are_refused_even_with_the_token(reader, path, headers):
    assert reader.send("GET", path, headers=headers).status_code == 403


def test_our_own_page_may_ask_and_nobody_may_cache(reader):
    response = reader.send("GET", "/graph/label/list", headers={"Origin": "http://127.0.0.1:9622"})
    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-content-type-options"] == "nosniff"


def test_a_large_body_is_refused_whether_announced_or_not(client):
    async def parts():
        for _ in range(17):
            yield b" " * 1024 * 1024

    announced = client.send("POST", "/query", content=b" " * (MAX_BODY + 1))
    assert announced.status_code == 413
    unannounced = client.send("POST", "/documents/text", content=parts())
    assert unannounced.status_code == 413
    assert "larger than" in unannounced.json()["detail"]


def test_an_empty_home_answers_that_nothing_is_stored_and_stays_empty(open_memory, connect):
    memory = open_memory()
    with connect(memory) as client:
        answer = ok(client.post("/query", query="anything at all"))
        assert answer["references"] == []
        assert "ragmem seed" in answer["notes"][0]
        assert ok(client.get("/graphs", label="*"))["nodes"] == []
        assert ok(client.get("/graph/label/list")) == []
        assert ok(client.get("/graph/entity/exists", name="x")) == {"exists": False}
        assert ok(client.get("/health"))["projects"] == 0
        assert not memory.catalog.exists()
        ok(client.post("/documents/text", text=NOTE))
        assert ok(client.post("/query", query="Vault keeps secrets"))["references"]


def test_a_busy_store_asks_to_come_back(filled, open_memory, connect):
    memory = open_memory(RAGMEM_WRITE_BUSY_TIMEOUT_S="0.1")
    with connect(memory) as client:
        lock = os.open(memory.catalog.database.home / "write.lock", os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            busy = client.post("/documents/text", text="We decided to wait.")
            assert ok(client.post("/query", query="PostgreSQL Kubernetes"))["references"]
        finally:
            os.close(lock)
        assert busy.status_code == 503
        assert int(busy.headers["retry-after"]) > 0
        assert busy.json().keys() == {"detail", "hint"}
        ok(client.post("/documents/text", text="We decided to wait."))


def test_a_missing_backend_leaves_the_model_of_the_vectors_and_says_so(filled, open_memory, connect):
    warnings = []
    with connect(open_memory(RAGMEM_MODELS_BACKEND="missing"), warn=warnings.append) as client:
        assert any('no backend "missing"' in line for line in warnings)
        for mode in ("ragmem", "mix"):
            answer = ok(client.post("/query", query="PostgreSQL Kubernetes", mode=mode))
            assert (bool(answer["references"]), answer["notes"]) == (True, [])


def test_a_missing_backend_leaves_full_text_and_says_so(filled, open_memory, connect):
    # As in a home of an earlier release: nothing says how to open the model of its vectors.
    filled.catalog.models.write(ACTIVE, None)
    warnings = []
    with connect(open_memory(RAGMEM_MODELS_BACKEND="missing"), warn=warnings.append) as client:
        assert any('no backend "missing"' in line for line in warnings)
        answer = ok(client.post("/query", query="PostgreSQL Kubernetes", mode="ragmem"))
        assert answer["references"]
        assert "full text only" in answer["notes"][0]
        mixed = ok(client.post("/query", query="PostgreSQL Kubernetes", mode="mix"))
        assert mixed["references"]
        assert 'no backend "missing"' in mixed["notes"][0]


def test_a_damaged_database_is_a_clear_500(open_memory, connect):
    memory = open_memory()
    folder = memory.catalog.database.home
    folder.mkdir(parents=True)
    memory.catalog.database.path.write_bytes(b"no database " * 500)
    with connect(memory) as client:
        response = client.post("/query", query="PostgreSQL Kubernetes")
        assert response.status_code == 500
        assert "damaged" in response.json()["detail"]
        assert response.json()["hint"]


def test_a_bug_shows_no_traceback(client, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(responses, "respond", broken)
    response = client.post("/query", query="PostgreSQL")
    assert response.status_code == 500
    assert response.json()["detail"] == "this is a bug in ragmem"
    assert "secret of the house" not in response.text
    assert "Traceback" not in response.text


def test_many_requests_at_once_open_no_more_connections_than_threads(client, filled):
    question = ("POST", "/query", {"json": {"query": "PostgreSQL Kubernetes"}})
    for _ in range(3):
        assert {response.status_code for response in client.together(*[question] * 40)} == {200}
    assert len(filled.catalog.database._all) <= QUICK_THREADS + QUERY_THREADS + LONG_THREADS + 1


def test_two_threads_open_one_store(open_memory):
    memory = open_memory()
    with ThreadPoolExecutor(8) as pool:
        stores = set(pool.map(lambda _: id(memory.store), range(32)))
    assert len(stores) == 1


def test_what_is_superseded_is_hidden_unless_history_is_asked_for(client, filled):
    texts = {
        "2026-01-01T00:00:00Z": "The gulls are counted from the north pier with binoculars.",
        "2026-02-01T00:00:00Z": "The gulls are counted from the south pier with a camera.",
    }
    ids = [
        ok(client.post("/documents/text", text=text, file_source=f"{at}.md", event_time=at))["memory_ids"][0]
        for at, text in texts.items()
    ]
    before, since = (datetime.fromisoformat(at) for at in texts)
    filled.catalog.supersessions.put([Supersession(*ids, before, since, "declared", "said", since)])
    question = "where are the gulls counted from, north pier"
    (shown,) = (one for one in chunks(client, question) if one["memory_id"] in ids)
    assert (shown["memory_id"], shown["superseded_by"]) == (ids[1], None)
    assert [(one["full_id"], one["until"]) for one in shown["replaced"]] == [(ids[0], "2026-02-01T00:00:00Z")]
    both = {one["memory_id"]: one for one in chunks(client, question, history=True)}
    assert both[ids[0]]["superseded_by"]["full_id"] == ids[1]
    told = ok(client.post("/query", query=question, mode="ragmem", history=True))["response"]
    assert "superseded by" in told
    filled.catalog.supersessions.put([Supersession(*ids, before, since, PERHAPS_OUTDATED, "said", since)])
    newer, older = (
        one for one in chunks(client, "where are the gulls counted from") if one["memory_id"] in ids
    )
    assert (newer["memory_id"], newer["perhaps_outdated"]) == (ids[1], None)
    assert (older["superseded_by"], older["perhaps_outdated"]["full_id"]) == (None, ids[1])


@pytest.mark.parametrize(
    ("method", "path", "options", "status", "hint"),
    [
        ("POST", "/v1/memory/query", {"content": b'{"query": "x"}'}, 422, "Content-Type: application/json"),
        ("POST", "/v1/memory/query", {"data": {"query": "x"}}, 422, "Content-Type: application/json"),
        ("POST", "/v1/memory/query", {"json": {"query": 1}}, 422, "GET /openapi.json"),
        (
            "POST",
            "/query",
            {"content": b"\xff", "headers": {"Content-Type": "application/json"}},
            400,
            "UTF-8 JSON",
        ),
        ("GET", "/v1/memory/memory", {}, 404, "GET /openapi.json"),
        ("PUT", "/v1/memory/query", {}, 405, "GET /openapi.json"),
    ],
)
def test_a_request_that_nothing_understands_is_told_what_to_send(
    reader, *, method, path, options, status, hint
):
    refused = reader.send(method, path, **options)
    assert refused.status_code == status
    assert hint in refused.json()["hint"]
