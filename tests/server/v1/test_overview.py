"""The memory as a whole over HTTP: counts, time, sources, health, log, what assistants were given."""

import asyncio
import threading
import uuid

import pytest

from ragmem.api.memory import Ragmem
from ragmem.server.http import workers
from ragmem.server.v1 import overview


def ok(response):
    assert response.status_code == 200, response.text
    return response.json()


def test_stats_count_what_the_list_has(api):
    stats = api.read("stats")
    assert stats["catalog"]["total"]["memories"] == api.read("memories", limit=1)["total"]
    assert stats["store"]["entities"] > 0


def test_stats_that_one_has_are_not_sent_again_until_they_change(api):
    tag = api.get("stats").headers["ETag"]
    assert api.http.get("/v1/memory/stats", headers={"If-None-Match": tag}).status_code == 304
    api.stored(f"Tin {uuid.uuid4().hex}.")
    assert api.http.get("/v1/memory/stats", headers={"If-None-Match": tag}).status_code == 200


@pytest.mark.parametrize(
    ("by", "starts"),
    [
        ("day", ["1987-06-28", "1987-07-01", "1987-07-31"]),
        ("week", ["1987-06-22", "1987-06-29", "1987-07-27"]),
        ("month", ["1987-06-01", "1987-07-01"]),
        ("year", ["1987-01-01"]),
    ],
)
def test_the_timeline_counts_each_memory_once_by_span_and_kind(api, by, starts):
    tag = uuid.uuid4().hex
    for day, kind in (("06-28", "error"), ("07-01", "error"), ("07-01", "general"), ("07-31", "error")):
        api.stored(f"Tin of {day} {kind} {tag}.", tags=[tag], kind=kind, event_time=f"1987-{day}T12:00:00Z")
    timeline = api.read("timeline", by=by, tag=tag)
    assert [one["start"] for one in timeline["buckets"]] == starts
    assert sum(one["total"] for one in timeline["buckets"]) == timeline["total"] == 4
    assert all(sum(one["kinds"].values()) == one["total"] for one in timeline["buckets"])
    assert (timeline["first"], timeline["last"]) == ("1987-06-28T12:00:00Z", "1987-07-31T12:00:00Z")
    july = api.read("memories", tag=tag, since="1987-07-01", until="1987-07-02")
    assert july["total"] == 2
    assert api.read("timeline", by=by, tag=tag, kind="general")["total"] == 1


def test_events_before_1970_stand_on_their_day(api):
    tag = uuid.uuid4().hex
    api.stored(f"Lead {tag}.", tags=[tag], event_time="1969-12-31T23:59:59Z")
    assert [one["start"] for one in api.read("timeline", tag=tag)["buckets"]] == ["1969-12-31"]


def test_sources_and_projects_tell_what_is_stored(api):
    sources = {one["source"]: one for one in api.read("sources")["sources"]}
    assert sources["ingest"]["memories"] > 0
    assert sources["ingest"]["enabled"] is None
    assert sources["memory"]["globs"]
    projects = {one["name"]: one["memories"] for one in api.read("projects")["projects"]}
    assert projects["garden"] == 1


def test_health_tells_what_doctor_finds_and_writes_nothing(api):
    before = api.read("stats")["catalog"]["total"]["memories"]
    health = api.read("health")
    assert health["status"] in {"ok", "warning"}
    assert sum(health["counts"].values()) == len(health["checks"])
    assert {"home", "disk"} <= {one["name"] for one in health["checks"]}
    assert api.read("health")["checked_at"] == health["checked_at"]
    assert api.read("stats")["catalog"]["total"]["memories"] == before


def test_all_who_ask_for_the_health_wait_in_one_thread(open_memory, connect, monkeypatch):
    examined, answered, times = overview._examine, threading.Event(), []

    def examined_late(memory):
        times.append(answered.wait(20))
        return examined(memory)

    monkeypatch.setattr(overview, "_examine", examined_late)
    with connect(open_memory()) as client:

        async def ask_meanwhile():
            asked = [
                asyncio.create_task(client.http.get("/v1/memory/health"))
                for _ in range(2 * (workers.QUICK_THREADS + workers.QUERY_THREADS))
            ]
            for _ in range(5):
                assert (await client.http.get("/documents/status_counts")).status_code == 200
            answered.set()
            return await asyncio.gather(*asked)

        answers = client.runner.run(ask_meanwhile())
    assert times == [True]
    assert {one.status_code for one in answers} == {200}
    assert len({one.json()["checked_at"] for one in answers}) == 1


def test_the_log_tells_what_was_done_without_texts(api):
    secretly = uuid.uuid4().hex
    api.stored(f"Nickel {secretly}.")
    response = api.get("log", limit=1)
    assert ok(response)["log"][0]["operation"] == "ingest"
    assert secretly not in response.text


def test_injections_tell_who_was_given_what_and_why(api):
    session = uuid.uuid4().hex
    told = ok(api.post("context", session=session, event="start", projects=["notes"]))
    assert told["context"], told["reason"]
    found = api.read("injections", session=session)["injections"]
    assert found
    assert {one["session"] for one in found} == {session}
    assert all(one["reason"] for one in found)
    by_memory = api.read("injections", memory=found[0]["memory"][:12])["injections"]
    assert session in {one["session"] for one in by_memory}
    assert api.get("injections", memory="zzzzzzzz").status_code == 404


def test_records_are_listed_by_type(api):
    word = uuid.uuid4().hex
    with Ragmem.open(environ=api.environ, home=api.home, cwd=api.home / "notes") as beside:
        beside.records.add_gotcha(f"psycopg resets {word}", trigger="a load balancer", solution="pin 3.2")
    found = api.read("records", type="gotcha", project="notes")["records"]
    assert any(word in str(one["fields"]) for one in found)
    assert api.read("records", type="pattern", project="garden")["records"] == []


def test_the_impact_of_unknown_code_is_refused_with_the_next_step(api):
    response = api.get("impact", symbol="deploy.run", project="notes")
    assert response.status_code in {400, 404}
    assert "ragmem ingest --code" in response.json()["hint"]


def test_what_was_not_read_is_listed_with_why_and_the_command_that_reads_it(
    open_memory, connect, tmp_path, monkeypatch
):
    monkeypatch.delenv("CODEX_HOME", raising=False)
    for name, content in {
        ".claude/CLAUDE.md": b"Run the tests before a commit.",
        ".codex/AGENTS.md": b"\x00\x01",
        "Documents/tide.pdf": b"%PDF",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_bytes(content)
    memory = open_memory()
    with connect(memory) as client:
        before = ok(client.get("/v1/memory/unread"))["unread"]
    memory.seed()
    (tmp_path / ".claude" / "CLAUDE.md").write_text("Run the linter before a commit.")
    with connect(memory) as client:
        after = ok(client.get("/v1/memory/unread"))["unread"]

    commands = ["ragmem seed --source instructions", "ragmem seed --source documents"]
    assert [(one["files"], one["command"]) for one in before] == [(2, commands[0]), (1, commands[1])]
    new, failed, documents = after
    assert [one["files"] for one in after] == [1, 1, 1]
    assert "they have changed since the last seed, or are new" in new["reason"]
    assert "could not read them" in failed["reason"]
    assert (documents["places"], documents["bytes"]) == (["~/Documents/tide.pdf"], 4)
    assert all("\x00" not in str(one) for one in after)


def test_the_progress_of_a_seed_is_told_while_it_runs_and_not_afterwards(open_memory, connect, tmp_path):
    (tmp_path / ".claude" / "agent-memory").mkdir(parents=True)
    for number in range(3):
        path = tmp_path / ".claude" / "agent-memory" / f"tide-{number}.md"
        path.write_text(f"Read tide table {number} because the harbour needs it.")
    asked = []
    with connect(open_memory()) as client:

        class Asking:
            def begin(self, label, total, *, unit=""):
                asked.append(ok(client.get("/v1/memory/progress")))

            def advance(self, steps=1, *, told=""):
                pass

        open_memory().seed(progress=Asking())
        after = ok(client.get("/v1/memory/progress"))
    words = next(one for one in asked if one["operation"]["phase"] == "seed")
    vectors = next(one for one in asked if one["operation"]["phase"] == "vectors")
    assert (words["operation"]["name"], words["operation"]["total"], words["memories"]) == ("seed", 3, 0)
    assert (vectors["memories"], vectors["pending"], vectors["indexed"]) == (3, 3, 0)
    assert after == {"operation": None, "memories": 3, "indexed": 3, "pending": 0}


EMPTY = [
    "memories",
    "graph",
    "entities",
    "communities",
    "archive",
    "gc/runs",
    "stats",
    "sources",
    "unread",
    "progress",
    "projects",
    "timeline",
    "log",
    "injections",
    "records",
    "decay",
]


def test_what_is_empty_is_listed_as_such_and_nothing_is_created(open_memory, connect, tmp_path):
    with connect(open_memory()) as client:
        for path in EMPTY:
            assert client.get(f"/v1/memory/{path}").status_code == 200, path
        assert client.get("/v1/memory/memories/abcdefgh").status_code == 404
        assert ok(client.post("/v1/memory/query", query="anything at all"))["matches"] == []
        assert client.get("/v1/memory/lifecycle").status_code == 404
    assert not list((tmp_path / "ragmem").rglob("memory.db"))


def test_a_project_is_renamed_and_joined(api):
    one, other = (f"tank-{uuid.uuid4().hex[:8]}" for _ in range(2))
    for name in (one, other):
        api.stored(f"The {name} is deep because of the pump.", project=name)

    planned = ok(api.post("projects", operation="join", project=one, to=other, dry_run=True))
    assert (planned["memories"], planned["dry_run"]) == (1, True)
    renamed = ok(api.post("projects", operation="rename", project=one, to=f"{one} anew"))
    assert renamed["name"] == f"{one} anew"
    joined = ok(api.post("projects", operation="join", project=f"{one} anew", to=other))

    listed = {project["name"]: project["memories"] for project in api.read("projects")["projects"]}
    assert joined["name"] == other
    assert listed[other] == 2
    assert f"{one} anew" not in listed


@pytest.mark.parametrize("operation", ["rename", "join"])
def test_a_project_that_nobody_knows_is_not_found(api, operation):
    answer = api.post("projects", operation=operation, project="nowhere-at-all", to="somewhere")
    assert answer.status_code == 404
    assert "nowhere-at-all" in answer.json()["detail"]
