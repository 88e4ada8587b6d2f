"""The log of injections in both databases: found by session, memory and time, bounded by age and number."""

from datetime import UTC, datetime, timedelta

import pytest

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Draft, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import classify_draft
from ragmem.storage.activity.injections import Injection, Retention
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.lifecycle_state import promoted_ids
from ragmem.storage.lifecycle.recent import MemoryFilter, latest

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture(params=["sqlite", "postgres"])
def catalog(request, tmp_path):
    if request.param == "sqlite":
        made = Catalog.at(tmp_path)
    else:
        from ragmem.storage.home.postgres import PostgresDatabase

        made = Catalog(PostgresDatabase(request.getfixturevalue("postgres"), tmp_path))
    made.prepare()
    yield made
    made.close()


def test_it_is_found_by_session_memory_and_time_latest_first(catalog):
    for day, session in enumerate(("alpha", "alps", "beta")):
        at = NOW + timedelta(days=day)
        rows = [
            Injection(at, session, "prompt", f"m{number}", score=0.5, detail={"shown": number})
            for number in range(2)
        ]
        catalog.injections.record(rows, now=at)
    log = catalog.injections
    assert [one.session for one in log.list(session="alp")] == ["alps", "alps", "alpha", "alpha"]
    assert [one.memory for one in log.list(limit=2)] == ["m0", "m1"]
    assert {one.session for one in log.list(memory="m1")} == {"alpha", "alps", "beta"}
    assert [one.session for one in log.list(since=NOW + timedelta(days=2))] == ["beta", "beta"]
    assert log.list(memory="m1")[0].detail == {"shown": 1}


def test_it_is_bounded_by_age_and_by_number(catalog):
    for day in range(10):
        at = NOW + timedelta(days=day)
        catalog.injections.record(
            [Injection(at, f"s{day}", "start", f"m{number}") for number in range(3)],
            now=at,
            kept=Retention(timedelta(days=4), 7),
        )
    assert catalog.injections.count() == 7
    later = NOW + timedelta(days=60)
    catalog.injections.record([Injection(later, "late", "start")], now=later)
    assert [one.session for one in catalog.injections.list()] == ["late"]


def test_a_session_is_asked_once_and_forgets_what_it_lost_sight_of(catalog):
    def keep(shown=(), **more):
        return catalog.sessions.keep("s", project="p", topic={"t": 1}, shown=shown, now=NOW, **more)

    assert not keep(["a"], asked="q")
    assert keep(["b"], asked="q") == {"q"}
    catalog.sessions.refuse("s", "a")
    catalog.sessions.refuse("s", "a")
    catalog.sessions.refuse("unknown", "a")
    assert not keep(["c"], anew=True)
    found = catalog.sessions.get("s")
    assert (found.shown, found.asked, found.unwanted) == (("c",), (), ("a",))
    assert catalog.sessions.get("unknown") is None


def test_what_is_promoted_and_what_is_latest_is_found(catalog):
    drafts = [
        Draft(
            source,
            f"/n/{number}",
            f"Note {number} of the quay.",
            event_time=NOW - timedelta(days=number),
            scope=Scope(project),
        )
        for number, (source, project) in enumerate(
            [("memory", "p"), ("notes", "p"), ("notes", "q"), ("sessions", "p")]
        )
    ]
    judged = [
        classify_draft(one, now=NOW, sizes=ChunkingSettings(), rule="off", redactor=DEFAULT) for one in drafts
    ]
    catalog.memories.accept([(one.memory, one.chunks) for one in judged])
    ids = [one.memory.id for one in judged]
    assert promoted_ids(catalog.database, projects=["p"], sources={"memory"}, sessions=3) == [ids[0]]
    catalog.lives.pin(ids[1], pinned=True, now=NOW)
    assert promoted_ids(catalog.database, projects=["p"], sources=(), sessions=3) == [ids[1]]
    catalog.lives.rate(ids[1], -1, now=NOW)
    catalog.lives.rate(ids[1], -1, now=NOW)
    assert catalog.lives.low_rated_ids(-2) == [ids[1]]

    def found(sort, projects):
        return [one.id for one in latest(catalog.database, sort, projects=projects, limit=2)]

    assert found(MemoryFilter(), ["p", "q"]) == [ids[0], ids[1]]
    assert found(MemoryFilter(), None) == [ids[0], ids[1]]
    assert found(MemoryFilter(sources=("sessions",)), ["p"]) == [ids[3]]
    assert found(MemoryFilter(other_than=("memory", "sessions")), ["p", "q"]) == [ids[1], ids[2]]


def test_the_paths_of_a_project_are_known(catalog):
    for root in ("/srv/quay", "/home/sam/quay"):
        catalog.projects.remember("p-quay", name="quay", root=root)
    assert catalog.projects.paths("p-quay") == ["/home/sam/quay", "/srv/quay"]
    assert catalog.projects.paths("p-other") == []
