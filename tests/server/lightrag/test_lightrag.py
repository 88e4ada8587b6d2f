"""LightRAG's routes in the shapes of its requests, without a socket; the graph has tests of its own."""

import asyncio
import io
import json
import threading
import time

import pytest

from ragmem.api.memory import Ragmem
from ragmem.server.http.workers import Workers
from ragmem.server.lightrag.pipeline import Job, Pipeline
from ragmem.server.lightrag.uploaded_files import plain_name
from ragmem.server.security.guest_auth import GUEST
from ragmem.services.ingestion.options import DraftOptions
from tests.server.conftest import TOKEN, client_of, environment, fill

QUESTION = "why did we deploy PostgreSQL with Kubernetes"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """One memory for all tests here: each that writes looks for nothing but what it wrote."""
    home = tmp_path_factory.mktemp("lightrag")
    with Ragmem.open(environ=environment(home), home=home, cwd=home) as memory:
        fill(home, memory)
        with client_of(memory) as made:
            made.home, made.memory = home, memory
            yield made


@pytest.fixture(scope="module")
def answering(tmp_path_factory):
    """One with a language model."""
    home = tmp_path_factory.mktemp("answering")
    variables = environment(home, RAGMEM_LANGUAGE_MODEL_BACKEND="fake", RAGMEM_LANGUAGE_MODEL_MODEL="valid")
    with Ragmem.open(environ=variables, home=home, cwd=home) as memory:
        fill(home, memory)
        with client_of(memory) as made:
            yield made


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """One whose language model never answers."""
    home = tmp_path_factory.mktemp("failing")
    variables = environment(home, RAGMEM_LANGUAGE_MODEL_BACKEND="fake", RAGMEM_LANGUAGE_MODEL_MODEL="down")
    with Ragmem.open(environ=variables, home=home, cwd=home) as memory:
        fill(home, memory)
        with client_of(memory) as made:
            yield made


def ok(response):
    assert response.status_code == 200, response.text
    return response.json()


def lines(response):
    assert response.status_code == 200, response.text
    assert response.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in response.text.splitlines()]


def test_a_stream_begins_with_the_references_and_its_parts_are_the_response(client):
    whole = ok(client.post("/query", query=QUESTION))
    first, *parts, last = lines(client.post("/query/stream", query=QUESTION, include_chunk_content=True))
    assert [one["file_path"] for one in first["references"]] == [
        one["file_path"] for one in whole["references"]
    ]
    assert first["references"][0]["content"]
    assert len(parts) > 1
    assert "".join(part["response"] for part in parts) == whole["response"]
    assert last == {"llm_generated": False}


def test_a_stream_can_be_one_line_and_tell_its_progress(client):
    (only,) = lines(client.post("/query/stream", query=QUESTION, stream=False))
    assert only.keys() == {"response", "llm_generated", "references"}
    first, *_, last = lines(
        client.post("/query/stream", query=QUESTION, include_progress=True, include_references=False)
    )
    assert first.keys() == {"progress"}
    assert last["response_time"] >= 0


def test_a_stream_that_cannot_begin_is_refused_as_any_request(client):
    refused = client.post("/query/stream", query=QUESTION, projects=["nowhere"])
    assert refused.status_code == 404
    assert refused.json()["hint"]


def test_a_language_model_answers_where_one_is_configured(answering):
    body = {"query": QUESTION, "conversation_history": [{"role": "user", "content": "about the host"}]}
    answer = ok(answering.post("/query", **body, user_prompt="be brief", response_type="List"))
    assert answer["llm_generated"] is True
    assert not answer["response"].startswith("<ragmem-memory>")
    assert answer["references"]
    context = ok(answering.post("/query", **body, only_need_context=True))
    assert context["response"].startswith("<ragmem-memory>")
    assert context["llm_generated"] is False
    asked = ok(answering.post("/query", **body, only_need_prompt=True))["response"]
    assert "about the host" in asked
    streamed = lines(answering.post("/query/stream", **body))
    assert "references" in streamed[0]
    assert all("response" in line for line in streamed[1:])
    assert ok(answering.post("/query", query="hi", mode="bypass"))["llm_generated"] is True


def test_where_the_language_model_fails_the_context_is_the_response_and_a_stream_says_so(failing):
    answer = ok(failing.post("/query", query=QUESTION))
    assert answer["response"].startswith("<ragmem-memory>")
    assert answer["llm_generated"] is False
    assert any("not answered by the language model" in note for note in answer["notes"])
    assert "error" in lines(failing.post("/query/stream", query=QUESTION))[-1]
    assert failing.post("/query", query="hi", mode="bypass").status_code == 503


def test_documents_come_in_pages_in_lightrags_shape(client):
    page = ok(client.post("/documents/paginated", page=1, page_size=200, sort_field="file_path"))
    (deploy,) = [one for one in page["documents"] if one["file_path"].endswith("deploy.md")]
    assert deploy.keys() == {
        *("id", "content_summary", "content_length", "status", "created_at", "updated_at", "track_id"),
        *("chunks_count", "error_msg", "metadata", "file_path"),
    }
    assert deploy["status"] == "processed"
    assert deploy["chunks_count"] >= 1
    assert "deploy PostgreSQL 16" in deploy["content_summary"]
    paths = [one["file_path"] for one in page["documents"]]
    assert paths == sorted(paths, reverse=True)
    assert page["pagination"]["total_count"] == page["status_counts"]["all"]
    assert page["status_counts"] == ok(client.get("/documents/status_counts"))["status_counts"]
    beyond = ok(client.post("/documents/paginated", page=99, page_size=10))
    assert beyond["documents"] == []
    assert not beyond["pagination"]["has_next"]


def test_pages_show_only_what_is_in_the_wanted_states(client):
    for wanted in ({"status_filter": "failed"}, {"status_filters": ["parsing", "pending"]}):
        assert ok(client.post("/documents/paginated", **wanted))["documents"] == []
    done = ok(client.post("/documents/paginated", status_filter="processed"))
    assert done["pagination"]["total_count"] == len(done["documents"]) >= 3
    assert {"processed"} == ok(client.get("/documents"))["statuses"].keys()


def upload(client, name, raw, **fields):
    return client.send("POST", "/documents/upload", files={"file": (name, raw)}, data=fields)


def test_an_uploaded_file_is_found_and_can_be_asked_about(client):
    text = (
        "# Quay\n\nWe decided that the container registry Quay keeps images for 90 days, as disks ran full."
    )
    answer = ok(upload(client, "quay.md", text.encode()))
    assert answer["status"] == "success"
    found = ok(client.post("/query", query="how long does Quay keep images", mode="ragmem"))
    assert found["references"][0]["file_path"] == "quay.md"
    for track_id in (answer["track_id"], f"insert_{answer['memory_ids'][0]}"):
        tracked = ok(client.get(f"/documents/track_status/{track_id}"))
        assert [one["file_path"] for one in tracked["documents"]] == ["quay.md"]
        assert tracked["status_summary"] == {"processed": 1}
    assert ok(upload(client, "quay.md", text.encode()))["status"] == "duplicated"


def test_nothing_is_told_of_what_was_deleted_as_lightrag_tells_nothing(client):
    (key,) = ok(upload(client, "gone.md", b"We decided that Quay keeps images for 90 days."))["memory_ids"]
    ok(client.send("DELETE", "/documents/delete_document", json={"doc_ids": [key]}))
    for track_id in (f"insert_{key}", "insert_nothing", "nothing"):
        assert ok(client.get(f"/documents/track_status/{track_id}")) == {
            "track_id": track_id,
            "documents": [],
            "total_count": 0,
            "status_summary": {},
        }


def test_a_file_of_the_same_name_takes_no_other_texts_place(client):
    first = ok(upload(client, "CONTRIBUTING.md", b"We decided that Quay keeps images for 90 days."))[
        "memory_ids"
    ]
    refused = upload(client, "docs/CONTRIBUTING.md", b"We decided that Redis keeps sessions for 3 days.")
    assert refused.status_code == 409
    assert first[0] in refused.json()["detail"]
    assert client.memory.memory(first[0]).text == "We decided that Quay keeps images for 90 days."
    ok(client.send("DELETE", "/documents/delete_document", json={"doc_ids": first}))
    ok(upload(client, "CONTRIBUTING.md", b"We decided that Redis keeps sessions for 3 days."))


def test_of_files_of_one_name_that_come_at_once_one_is_stored(client):
    texts = [b"We decided that shelf %d keeps the images for good." % number for number in range(6)]
    answers = client.together(
        *(("POST", "/documents/upload", {"files": {"file": ("README.md", text)}}) for text in texts)
    )
    assert sorted(one.status_code for one in answers) == [200, 409, 409, 409, 409, 409]
    (kept,) = [text for text, one in zip(texts, answers, strict=True) if one.status_code == 200]
    (key,) = next(one.json()["memory_ids"] for one in answers if one.status_code == 200)
    assert client.memory.memory(key).text == kept.decode()


PAGE = (
    "<html><head><title>Rotas</title><style>p{}</style><script>alert(1)</script></head>"
    "<body><h2>On call</h2><p>We decided that Ada is on call on Mondays &amp; Bob on Tuesdays.</p>"
    "<table><tr><th>Day</th><th>Who</th></tr><tr><td>Monday</td><td>Ada</td></tr></table></body></html>"
)
TABLE = 'quay;depth\n"North; outer";7 m\nSouth;9 m\n'


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("rota.html", PAGE.encode(), "Day: Monday; Who: Ada."),
        ("rota.htm", PAGE.encode("utf-16"), "Ada is on call on Mondays & Bob on Tuesdays"),
        ("quays.csv", TABLE.encode(), "quay: North; outer; depth: 7 m."),
        (
            "piers.csv",
            b"\xef\xbb\xbf" + TABLE.replace("North", "S\u00fcd").encode(),
            "| S\u00fcd; outer | 7 m |",
        ),
    ],
)
def test_a_web_page_and_a_table_are_read_as_ingest_reads_them(client, tmp_path, name, raw, said):
    (key,) = ok(upload(client, name, raw))["memory_ids"]
    stored = client.memory.memory(key)
    assert said in stored.text
    assert "alert" not in stored.text
    (tmp_path / name).write_bytes(raw)
    (draft,) = client.memory.ingestion.draft([tmp_path / name], DraftOptions(project="user")).drafts
    assert (stored.uri, stored.title, stored.text) == (name, draft.title, draft.text)


def test_an_uploaded_document_keeps_its_own_title_and_a_picture_its_name(client):
    from PIL import Image

    page = b"<html><head><title>How to upload</title></head><body><p>Put it on the quay.</p></body></html>"
    (key,) = ok(upload(client, "harbour.xhtml", page))["memory_ids"]
    assert client.memory.memory(key).title == "How to upload"

    raw, facts = io.BytesIO(), Image.Exif()
    facts[0x010E] = "The pilot boat at the northern quay."
    Image.new("RGB", (8, 8)).save(raw, "JPEG", exif=facts)
    (key,) = ok(upload(client, "pilot.jpg", raw.getvalue()))["memory_ids"]
    told = client.memory.memory(key)
    assert told.title.startswith("pilot")
    assert "northern quay" in told.text
    assert "uploaded" not in told.text


def test_what_of_an_uploaded_document_is_not_stored_is_told(client):
    table = "quay\tdepth\nNorth\t7 m\nSüd\t9 m\n".encode("cp1252")
    said = ok(upload(client, "quays.tsv", table))["message"]
    assert "quays.tsv: its letters are read as Windows-1252" in said
    page = b"<html><body><p>&lt;private&gt;The vault is below the quay.&lt;/private&gt;</p></body></html>"
    refused = upload(client, "vault.xhtml", page)
    assert refused.status_code == 400
    assert "vault.xhtml: the text is empty without its private parts" in refused.text


def test_of_an_uploaded_document_each_page_is_stored_under_its_name(client):
    from reportlab.pdfgen.canvas import Canvas

    sheet = io.BytesIO()
    canvas = Canvas(sheet, invariant=1)
    for line in ("The lantern of the lighthouse was renewed.", "The foghorn was taken down for good."):
        canvas.drawString(72, 700, line)
        canvas.showPage()
    canvas.save()
    keys = ok(upload(client, "/etc/lighthouse.pdf", sheet.getvalue()))["memory_ids"]
    told = [client.memory.memory(key) for key in keys]
    assert [one.uri for one in told] == ["lighthouse.pdf#page=1", "lighthouse.pdf#page=2"]
    assert [one.text for one in told][1] == "The foghorn was taken down for good."
    assert told[0].title == "lighthouse, page 1"
    assert ok(upload(client, "lighthouse.pdf", sheet.getvalue()))["status"] == "duplicated"
    refused = upload(client, "other.pdf", b"%PDF-1.7")
    assert refused.status_code == 400
    assert 'cannot read "other.pdf": the file is damaged or cut short' in refused.text.replace("\\", "")


@pytest.mark.parametrize(
    ("name", "raw", "status"),
    [
        ("report.pdf", b"%PDF-1.7", 400),
        ("report.exe", b"MZ", 415),
        ("noend", b"text", 415),
        ("image.md", b"\x89PNG\r\n\xff", 400),
        ("empty.md", b"  \n", 400),
        ("zero.txt", b"a\0b", 400),
        ("zero.csv", b"a\0b", 400),
        ("empty.html", b"", 400),
    ],
)
def test_a_file_that_is_no_text_is_refused_with_the_reason(client, name, raw, status):
    refused = upload(client, name, raw)
    assert refused.status_code == status
    assert refused.json()["detail"]


def test_the_name_of_a_file_is_a_name_and_never_a_path(client, tmp_path):
    text = "We decided that the traversal of ../../ is a name only, because names are not paths."
    ok(upload(client, f"../../..{tmp_path}/evil.md", text.encode()))
    assert not (tmp_path / "evil.md").exists()
    found = ok(client.post("/query", query="the traversal is a name only", mode="ragmem"))
    assert found["references"][0]["file_path"] == "evil.md"
    assert plain_name("C:\\notes\\a\x00b\x1b.md") == "ab.md"


def test_types_of_files_are_told(client):
    told = ok(client.get("/documents/supported_file_types"))
    assert {".md", ".txt", ".py", ".json", ".html"} <= set(told["supported_extensions"])
    assert {".pdf", ".docx", ".png"} <= set(told["supported_extensions"])
    assert told["engines"] == {"ragmem": told["supported_extensions"]}


def test_deleting_a_document_archives_it_and_leaves_files_alone(client):
    text = "We decided to drop Fluentd on the edge hosts, because Vector needs less memory there."
    (key,) = ok(client.post("/documents/text", text=text, file_source="fluentd"))["memory_ids"]
    gone = ok(
        client.send(
            "DELETE",
            "/documents/delete_document",
            json={"doc_ids": [key], "delete_file": True, "delete_llm_cache": True},
        )
    )
    assert gone["status"] == "deletion_started"
    assert gone["doc_id"] == key
    assert "no file was deleted" in gone["message"]
    assert ok(client.get(f"/documents/track_status/insert_{key}"))["documents"] == []
    client.memory.gc.undo(gone["run"])
    assert client.memory.memory(key).text == text


@pytest.mark.parametrize(("ids", "status"), [(["zzzzzzzzzzzz"], 404), ([], 422)])
def test_a_document_that_is_not_there_is_not_deleted(client, ids, status):
    refused = client.send("DELETE", "/documents/delete_document", json={"doc_ids": ids})
    assert refused.status_code == status


def test_clearing_takes_a_word_more_and_can_be_undone(open_memory, tmp_path):
    memory = open_memory()
    fill(tmp_path, memory)
    with client_of(memory) as own:
        refused = own.send("DELETE", "/documents")
        assert refused.status_code == 409
        assert "confirm=archive" in refused.json()["hint"]
        assert ok(own.get("/documents/status_counts"))["status_counts"]["all"] == 3
        cleared = ok(own.send("DELETE", "/documents?confirm=archive"))
        assert "ragmem forget --undo" in cleared["message"]
        assert ok(own.get("/documents/status_counts"))["status_counts"]["all"] == 0
        memory.gc.undo()
        assert ok(own.get("/documents/status_counts"))["status_counts"]["all"] == 3


def wait_for(client, track_id):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        job = ok(client.get(f"/documents/scan/status/{track_id}"))
        if job["status"] != "running":
            return job
        time.sleep(0.02)
    raise AssertionError(job)


def test_a_scan_reads_the_configured_sources_in_the_background(client):
    folder = client.home / ".claude" / "projects" / "-srv-shop" / "memory"
    folder.mkdir(parents=True)
    (folder / "note.md").write_text(
        "# Nginx\n\nWe decided on Nginx for the shop, because Apache ran out of memory."
    )
    begun = ok(client.post("/documents/scan"))
    assert begun["status"] == "scanning_started"
    job = wait_for(client, begun["track_id"])
    assert job["status"] == "completed"
    assert job["message"].startswith("1 new")
    status = ok(client.get("/documents/pipeline_status"))
    assert status["busy"] is False
    assert status["job_name"] == "scan"
    assert status["history_messages"][-1].endswith(job["message"])
    assert client.get("/documents/scan/status/scan_0").status_code == 404


def test_what_waits_for_vectors_gets_them_when_asked(client):
    (key,) = ok(
        client.post(
            "/documents/text", text="We decided that Loki keeps logs for a week, since disks are small."
        )
    )["memory_ids"]
    with client.memory.catalog.database.write() as connection:
        connection.execute("UPDATE memories SET state = 'pending' WHERE id = ?", [key])
    assert ok(client.get(f"/documents/track_status/insert_{key}"))["documents"][0]["status"] == "pending"
    assert ok(client.post("/documents/reprocess_failed"))["status"] == "reprocessing_started"
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if not ok(client.get("/documents/pipeline_status"))["busy"]:
            break
        time.sleep(0.02)
    assert ok(client.get(f"/documents/track_status/insert_{key}"))["documents"][0]["status"] == "processed"


def test_one_job_runs_at_a_time_and_ends_when_asked(client):
    async def one_after_the_other():
        workers, going = Workers(1), threading.Event()
        pipeline = Pipeline(client.memory, workers)

        def work(progress):
            progress.begin("steps", 1_000)
            while True:
                going.set()
                progress.advance()
                time.sleep(0.001)

        job = pipeline.begin("scan", work)
        assert pipeline.begin("scan", work) is None
        await asyncio.to_thread(going.wait)
        assert pipeline.cancel()
        async with pipeline.lifespan(None):
            pass
        workers.close()
        return job, pipeline.cancel()

    job, again = asyncio.run(one_after_the_other())
    assert isinstance(job, Job)
    assert job.state == "cancelled"
    assert not again


def test_the_end_of_the_server_cancels_the_job_that_runs(filled, connect, monkeypatch):
    cancelled = []

    def cancel(pipeline):
        cancelled.append(pipeline)

    monkeypatch.setattr(Pipeline, "cancel", cancel)
    with connect(filled):
        assert cancelled == []
    assert len(cancelled) == 1


@pytest.mark.parametrize(
    ("method", "path", "said"),
    [
        ("POST", "/documents/cancel_pipeline", {"status": "not_busy", "message": "nothing runs"}),
        ("GET", "/documents/source_conflicts", {"conflicts": [], "next_cursor": None}),
        ("GET", "/auth/verify", {"status": "ok"}),
        ("GET", "/api/version", {"version": "0.9.3"}),
    ],
)
def test_what_has_no_other_answer_here_has_this_one(client, method, path, said):
    assert ok(client.send(method, path)) == said


def test_what_makes_no_sense_here_says_so(client):
    assert ok(client.post("/documents/clear_cache"))["status"] == "success"
    assert ok(client.post("/documents/recovery/force_reset"))["status"] == "no_recovery_required"
    assert client.post("/documents/source_conflicts/repair").status_code == 404


def test_health_has_what_lightrags_page_reads(client):
    told = ok(client.get("/health"))
    assert told["configuration"]["max_graph_nodes"] == 1_000
    assert told["configuration"]["embedding_binding"] == "fake"
    assert told["configuration"]["force_llm_summary_on_merge"] == 0
    assert told["keyed_locks"]["current_status"].keys() == {"total_mp_locks", "total_async_locks"}
    assert told["auth_mode"] == "disabled"
    assert told["core_version"].startswith("1.5.")


def anonymous(client, method, path, **options):
    return client.send(method, path, **{"headers": {"Authorization": ""}} | options)


def test_lightrags_page_is_a_guest_who_is_asked_for_the_key(client):
    status = ok(anonymous(client, "GET", "/auth-status"))
    assert status["auth_configured"] is False
    assert status["access_token"] == GUEST
    guest = {"Authorization": f"Bearer {GUEST}"}
    for path in ("/documents", "/graph/label/popular", "/auth/verify"):
        refused = client.send("GET", path, headers=guest)
        assert (refused.status_code, refused.json()["detail"]) == (403, "API Key required")
        refused = client.send("GET", path, headers=guest | {"X-API-Key": "wrong"})
        assert (refused.status_code, refused.json()["detail"]) == (403, "Invalid API Key")
        ok(client.send("GET", path, headers=guest | {"X-API-Key": TOKEN}))
        assert anonymous(client, "GET", path).status_code == 401


def test_a_client_logs_in_with_the_token_as_its_password(client):
    def login(**form):
        return anonymous(client, "POST", "/login", data=form)

    known = ok(login(username="ada", password=TOKEN, grant_type="password"))
    assert known["token_type"] == "bearer"
    ok(client.send("GET", "/documents", headers={"Authorization": f"Bearer {known['access_token']}"}))
    assert ok(login(username="guest"))["access_token"] == GUEST
    assert login(username="ada", password="wrong").status_code == 401


def test_the_pages_of_the_package_are_served_and_nothing_else_of_it(client):
    page = anonymous(client, "GET", "/webui/")
    assert page.status_code == 200
    assert '<script src="/webui/config.js"></script>' in page.text
    assert "<script>" not in page.text
    assert "unsafe-inline" not in page.headers["content-security-policy"].partition("style-src")[0]
    assert '"webuiPrefix": "/webui/"' in anonymous(client, "GET", "/webui/config.js").text
    assert anonymous(client, "GET", "/webui").headers["location"] == "/webui/"
    script = next(part for part in page.text.split('"') if part.endswith(".js") and "index-" in part)
    found = anonymous(client, "GET", f"/webui/{script.removeprefix('./')}")
    assert "javascript" in found.headers["content-type"]
    assert "immutable" in found.headers["cache-control"]
    for path in ("workspace.html", "../routers/__init__.py", "%2e%2e/auth.py", "assets/", "nothing.js"):
        assert anonymous(client, "GET", f"/webui/{path}").status_code in {404, 401}
    assert anonymous(client, "GET", "/workspace/").status_code == 200
    assert ok(anonymous(client, "GET", "/ui/customization?locale=en"))["customized"] is False


def chat(client, text, **more):
    return client.post(
        "/api/chat", model="ragmem:latest", messages=[{"role": "user", "content": text}], **more
    )


@pytest.mark.parametrize("prefix", ["", "/context ", "/naive ", "/mix[as a list] ", "/localcontext "])
def test_a_program_that_knows_ollama_asks_the_memory(client, prefix):
    answer = ok(chat(client, f"{prefix}{QUESTION}", stream=False))
    assert answer["done"] is True
    assert "never resized" in answer["message"]["content"]
    assert ok(client.get("/api/tags"))["models"][0]["name"] == answer["model"]
    assert ok(client.get("/api/ps"))["models"][0]["name"] == answer["model"]
    streamed = lines(chat(client, f"{prefix}{QUESTION}"))
    assert [line["done"] for line in streamed] == [False] * (len(streamed) - 1) + [True]
    assert "".join(line["message"]["content"] for line in streamed) == answer["message"]["content"]
    assert streamed[-1]["eval_count"] > 0


def test_a_chat_without_a_question_and_a_prompt_without_a_model_are_refused(client, answering):
    assert chat(client, "/naive a").status_code == 400
    assert client.post("/api/chat", messages=[]).status_code == 422
    refused = client.post("/api/generate", prompt="hello")
    assert refused.status_code == 400
    assert "none is configured" in refused.json()["detail"]
    assert ok(answering.post("/api/generate", prompt="hello"))["response"]
    assert lines(answering.post("/api/generate", prompt="hello", stream=True))[-1]["done"]
