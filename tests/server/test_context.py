"""POST /context: what a session is told over HTTP, of its own projects, once."""

import os

import pytest

from ragmem.domain.injection.memory_frame import OPENING

PROMPT = "why do we deploy PostgreSQL with Kubernetes and who resized the full volume"


def test_a_session_is_told_at_its_start_and_at_a_new_topic_and_nothing_twice(client, tmp_path):
    def post(**body):
        return client.post("/context", session="s", cwd=str(tmp_path / "notes"), **body).json()

    begun = post()
    assert begun["context"].startswith(OPENING)
    assert begun["reason"] == "the session begins"
    assert begun["tokens"] > 0
    again = post()
    assert (again["context"], again["memory_ids"], again["tokens"]) == ("", [], 0)
    assert "already injected" in again["reason"]
    switched = post(prompt=PROMPT)
    assert not set(switched["memory_ids"]) & set(begun["memory_ids"])
    assert post(prompt=f"{PROMPT} please")["reason"].startswith("the topic has not changed")


def test_an_agent_research_and_a_session_that_forgot_are_told_by_themselves(client, tmp_path):
    def post(**body):
        return client.post("/context", session="s", cwd=str(tmp_path / "notes"), **body).json()

    begun = post(assistant="codex")
    assert post(event="start", again=True)["memory_ids"] == begun["memory_ids"]
    assert post(event="start", agent="tester")["memory_ids"] == begun["memory_ids"]
    asked = post(event="research", agent="searcher", prompt=PROMPT)
    assert (asked["reason"], bool(asked["memory_ids"])) == ("research begins", True)
    assert client.post("/context", session="s", event="end").status_code == 422


def test_the_folder_of_the_session_names_its_project(client, tmp_path):
    notes = client.post("/context", session="a", prompt=PROMPT, cwd=str(tmp_path / "notes" / "deep")).json()
    assert notes["memory_ids"]
    elsewhere = client.post("/context", session="b", prompt=PROMPT, cwd="/somewhere/else").json()
    assert elsewhere["memory_ids"] == []
    everywhere = client.post("/context", session="c", prompt=PROMPT).json()
    assert everywhere["memory_ids"] == notes["memory_ids"]
    named = client.post("/context", session="d", prompt=PROMPT, projects=["notes"], cwd="/elsewhere").json()
    assert named["memory_ids"] == notes["memory_ids"]


def test_without_a_session_a_task_is_answered_as_often_as_it_is_asked(client):
    first = client.post("/context", prompt="deploy PostgreSQL", max_total_tokens=400).json()
    assert first == client.post("/context", prompt="deploy PostgreSQL", max_total_tokens=400).json()
    assert 0 < first["tokens"] <= 400


@pytest.mark.parametrize("path", ["/context", "/v1/memory/context"])
@pytest.mark.parametrize("unknown", ["task", "budget"])
def test_a_task_under_another_name_is_refused_and_not_taken_for_a_start(client, path, unknown):
    refused = client.post(path, **{unknown: "900"})
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["loc"] == ["body", unknown]


def test_an_empty_home_has_nothing_to_tell(open_memory, connect):
    with connect(open_memory()) as client:
        answer = client.post("/context", session="s").json()
    assert (answer["context"], answer["reason"]) == ("", "nothing is stored yet")


def test_what_names_no_session_or_project_is_refused(client):
    assert client.post("/context", session="x" * 201).status_code == 422
    assert client.post("/context", session="a\nb").status_code == 422
    unknown = client.post("/context", session="s", projects=["nowhere"])
    assert unknown.status_code == 404
    assert "nowhere" in unknown.text


def test_a_folder_of_a_request_is_a_name_and_git_never_runs_in_it(client, tmp_path, monkeypatch):
    hostile, programs, witness = tmp_path / "hostile", tmp_path / "programs", tmp_path / "witness"
    (hostile / ".git").mkdir(parents=True)
    programs.mkdir()
    git = programs / "git"
    git.write_text(f"#!/bin/sh\necho x >> {witness}\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    for session in ("", "s1"):
        for cwd in (str(hostile), "/etc", "../../etc/passwd", "/proc/self/root"):
            answer = client.post("/context", prompt="why redis", cwd=cwd, session=session)
            assert answer.status_code == 200, answer.text
    assert not witness.exists()
