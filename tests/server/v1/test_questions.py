"""Questions over HTTP: every filter of the command line, and scores that say what they are made of."""

import uuid

import pytest


def ok(response):
    assert response.status_code == 200, response.text
    return response.json()


def titles(answer):
    return [one["title"] for one in answer["matches"]]


def test_a_question_finds_the_note_with_its_score_explained(api):
    answer = ok(api.post("query", query="why did we deploy PostgreSQL with Kubernetes", projects=["notes"]))
    first = answer["matches"][0]
    assert first["title"] == "Deploy"
    assert "the old host ran full" in first["text"]
    assert first["score"] == pytest.approx(first["terms"]["score"], abs=1e-3)
    assert first["explained"][0].startswith("found by ")
    assert "recency=" in first["explained"][1]
    assert "evidence" in answer
    assert answer["route"]["name"] == "knowledge"
    assert answer["seconds"] > 0


def test_without_explain_there_are_no_terms(api):
    answer = ok(api.post("query", query="Redis sessions Memcached", explain=False))
    assert "Cache" in titles(answer)
    assert not {"terms", "explained"} & answer["matches"][0].keys()
    assert "evidence" not in answer


def test_each_filter_of_a_question_lets_only_its_own_through(api):
    tag = uuid.uuid4().hex
    api.stored(
        "The copper kettle whistles at 96 degrees because the valve is worn.",
        title=f"old {tag}",
        tags=[tag],
        kind="error",
        event_time="2003-03-03T00:00:00Z",
    )
    api.stored("The copper kettle whistles since the valve was changed.", title=f"new {tag}", tags=[tag])

    def found(**filters):
        return set(titles(ok(api.post("query", query="copper kettle whistles valve", tags=[tag], **filters))))

    assert found() == {f"old {tag}", f"new {tag}"}
    assert found(kinds=["error"]) == {f"old {tag}"}
    assert found(since="2010-01-01") == {f"new {tag}"}
    assert found(until="2010-01-01") == {f"old {tag}"}
    assert found(since="2003-03-03", until="2003-03-04") == {f"old {tag}"}
    assert found(until="2003-03-03T00:00:00Z") == set()
    assert found(projects=["notes"]) == set()
    assert found(sources=["ingest"]) == {f"old {tag}", f"new {tag}"}
    assert found(spec="none of these") == set()
    assert found(types=["gotcha"]) == set()
    assert found(categories=["best_practice"]) == set()
    api.stored(
        "Gotcha: beware, the copper kettle whistles late, because its valve silently does not close.",
        title=f"gotcha {tag}",
        tags=[tag],
    )
    assert found(categories=["gotcha", "best_practice"]) == {f"gotcha {tag}"}
    assert len(found(limit=1)) == 1


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"projects": ["no such"]}, 404, "known projects"),
        ({"sources": ["no such"]}, 400, "sources:"),
        ({"mode": "mix", "route": "code"}, 400, "no route"),
        ({"since": "2026-02-31"}, 400, "write 2026-03-15"),
        ({"until": "2026-02-31"}, 400, "write 2026-03-15"),
        ({"query": "  "}, 400, ""),
        ({"query": ""}, 422, ""),
        ({"limit": 0}, 422, ""),
        ({"question": "why"}, 422, ""),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_with_the_next_step(api, body, status, said):
    response = api.post("query", **({"query": "why do we pin psycopg"} | body))
    assert response.status_code == status, response.text
    assert said in response.json()["hint"]


def test_nothing_is_found_where_nothing_answers_and_nearest_shows_what_is_near(api):
    asked = {"query": "quarterly dividend submarine", "projects": ["garden"]}
    assert titles(ok(api.post("query", **asked))) == []
    assert titles(ok(api.post("query", **asked, nearest=True))) == ["Garden"]


def test_a_mode_of_the_engine_brings_what_its_graph_adds(api):
    answer = ok(api.post("query", query="PostgreSQL Kubernetes", mode="local", projects=["notes"]))
    assert "Deploy" in titles(answer)
    assert answer["graph"].keys() >= {"entities", "relationships"}


def test_the_block_for_an_assistant_comes_with_the_matches(api):
    answer = ok(api.post("query", query="Redis sessions Memcached", context=True, max_chars=800))
    assert answer["context"].startswith("<ragmem-memory>")
    assert len(answer["context"]) <= 800


def test_what_a_session_was_shown_counts_as_recalled(api):
    stored = api.stored(f"The zinc bucket {uuid.uuid4().hex} leaks at the seam.", title="Zinc bucket")
    ok(api.post("query", query="zinc bucket leaks at the seam", session=uuid.uuid4().hex))
    history = api.read(f"memories/{stored}/history")["history"]
    assert "recalled" in {one["what"] for one in history}


def test_a_session_is_told_what_it_needs(api):
    told = ok(api.post("context", prompt="deploy PostgreSQL", projects=["notes"]))
    assert told["context"].startswith("<ragmem-memory>")
    assert told["memory_ids"]


def test_an_agent_at_work_answers_a_question_about_it(api):
    name = f"builder-{uuid.uuid4().hex[:8]}"
    beat = {"agent_id": name, "status": "working", "current_task": "the long quay"}
    ok(api.http.post("/heartbeat", json=beat))
    answer = ok(api.post("query", query=f"what is {name} working on?"))
    assert answer["route"]["name"] == "operational"
    assert any(note.startswith(f"agent {name}: working: the long quay") for note in answer["notes"])
    assert [fact["name"] for fact in answer["route"]["state"] if fact["name"] == f"agent {name}"]
