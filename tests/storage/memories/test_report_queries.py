"""What plots count: the same in both databases, of some projects or of all."""

from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.model import State, Tier
from ragmem.domain.model.lifecycle import LifecycleState
from ragmem.storage.activity.injections import Injection
from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Recall
from ragmem.storage.lifecycle.supersessions import Supersession
from ragmem.storage.memories.report_queries import Figures, InjectionUse
from ragmem.storage.names.node_names import NameStatements
from ragmem.storage.sql.rows import to_stamp

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = 86_400_000_000


@pytest.fixture
def filled(catalog, make):
    """Six memories: an hour, a day, ten days old and so on, the last in another project."""
    made = [
        make(
            f"m{number}",
            f"text {number}",
            project="p" if number < 5 else "q",
            event_time=NOW - timedelta(hours=hours),
            tier=Tier.DISCARD if number == 4 else Tier.INGEST,
            state=State.PENDING if number == 3 else State.INDEXED,
            source="files" if number == 2 else "notes",
        )
        for number, hours in enumerate([1, 24, 240, 2400, 24000, 24000])
    ]
    catalog.memories.accept(made)
    ids = [memory.id for memory, _ in made]
    catalog.lives.put(
        [LifeRow(ids[0], life=LifecycleState.PROVEN, feedback=1), LifeRow(ids[4], pinned=True, feedback=-2)],
        now=NOW,
    )
    catalog.lives.add_recalls([Recall(ids[0], "a", NOW), Recall(ids[0], "b", NOW), Recall(ids[1], "a", NOW)])
    catalog.supersessions.put([Supersession(ids[1], ids[0], NOW, NOW, "value", "newer", NOW)])
    catalog.injections.record(
        [Injection(NOW, "a", "prompt", ids[number], tokens=7, project="p") for number in (0, 1, 4)]
        + [Injection(NOW, "b", "start", ids[1], tokens=3, project="p")],
        now=NOW,
    )
    catalog.names.learn([NameStatements(ids[number], "p", 0, {"Reef": "code"}) for number in (0, 1)])
    with catalog.database.write() as connection:
        connection.execute(
            "INSERT INTO connections (low, high, cosine, shared, strength)"
            " SELECT min(n), max(n), 0.5, 0.5, 0.5 FROM memories WHERE id IN (?, ?)",
            (ids[0], ids[2]),
        )
    return catalog, ids


def test_counts_are_those_of_the_memories(filled):
    catalog, _ = filled
    every, here = Figures(catalog.database), Figures(catalog.database, ["p"])
    assert (every.total(), here.total(), Figures(catalog.database, []).total()) == (6, 5, 0)
    assert every.tiers() == {("files", "ingest"): 1, ("notes", "discard"): 1, ("notes", "ingest"): 4}
    assert list(every.by_project().items()) == [("p", 5), ("q", 1)]
    edges = [to_stamp(NOW - timedelta(days=days)) for days in (2, 200)]
    assert here.ages(edges) == {("files", 1): 1, ("notes", 0): 2, ("notes", 1): 1, ("notes", 2): 1}
    assert here.spans("event_at", DAY, origin=to_stamp(NOW - timedelta(days=2))) == {-1: 3, 1: 2}
    assert every.extent("event_at") == (
        to_stamp(NOW - timedelta(hours=24000)),
        to_stamp(NOW - timedelta(hours=1)),
    )
    assert here.middle("event_at") == to_stamp(NOW - timedelta(hours=240))
    assert [(one.source, one.memories) for one in every.sources()] == [("notes", 5), ("files", 1)]
    assert sum(one.characters for one in every.sources()) == 6 * len("text 0")


def test_each_memory_has_one_state_and_any_number_of_reasons(filled):
    catalog, _ = filled
    figures = Figures(catalog.database, ["p"])
    assert figures.states([]) == {"proven": 1, "superseded": 1, "buffer": 1, "waiting": 1, "permanent": 1}
    assert figures.states(["files"])["proven"] == 2
    kept = figures.retention_counts(["files"])
    assert (kept["pinned"], kept["proven"], kept["curated"], kept["connected"]) == (1, 1, 1, 2)
    assert set(Figures(catalog.database, []).retention_counts([]).values()) == {0}


def test_connections_recalls_injections_and_names_are_counted(filled):
    catalog, _ = filled
    figures = Figures(catalog.database, ["p"])
    assert figures.connection_histogram() == {0: 3, 1: 2}
    assert figures.recall_histogram() == {0: 3, 1: 1, 2: 1}
    assert figures.injection_uses() == [
        InjectionUse("prompt", 3, 21, 1, 1, 0),
        InjectionUse("start", 1, 3, 0, 0, 1),
    ]
    assert figures.top_entities(5) == [("Reef", 2)]
    assert Figures(catalog.database, ["q"]).top_entities(5) == []
    assert len(figures.titles(2)) == 2
    assert figures.titles(9) == Figures(catalog.database, ["p"]).titles(9)


def test_nothing_is_counted_as_nothing(catalog):
    figures = Figures(catalog.database)
    assert figures.total() == 0
    assert (figures.extent("created_at"), figures.middle("event_at")) == (None, None)
    assert (figures.states(["x"]), figures.connection_histogram(), figures.injection_uses()) == ({}, {}, [])
    assert figures.ages([0]) == figures.spans("event_at", DAY) == {}
