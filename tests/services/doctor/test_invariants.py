"""A memory is told to be sound, and to be not, on the fake backends."""

import json

import pytest

from ragmem.domain.model import State
from ragmem.services.doctor.invariants import violations
from ragmem.storage.maintenance import invariants as of_catalog

A_CHUNK = "id = (SELECT id FROM chunks ORDER BY memory DESC, position DESC LIMIT 1)"
A_MEMORY = "(SELECT max(n) FROM memories)"

DAMAGES = {
    "UPDATE chunks SET memory = memory + 1000": "chunks belong to no memory",
    f"UPDATE memories SET state = 'archived' WHERE n = {A_MEMORY}": "have an invalid state",
    f"UPDATE chunks SET position = position + 1 WHERE {A_CHUNK}": "memories have chunks whose positions",
    f"DELETE FROM lexicon_memories WHERE memory = {A_MEMORY}": "chunks are missing from the full text",
    "INSERT INTO lexicon_memories VALUES (99, 1, 1)": "other chunks than their entry in the full text",
    "DELETE FROM lexicon_blocks WHERE n = (SELECT max(n) FROM lexicon_blocks)": (
        "segments of the full text lack blocks"
    ),
    "UPDATE lexicon_segments SET dead_chunks = dead_chunks + 1": "do not add up to its memories",
    "DELETE FROM archive WHERE id IN (SELECT min(id) FROM archive)": "runs in the archive are incomplete",
}

DEEP_DAMAGES = {
    f"UPDATE memories SET text = text || ' more' WHERE n = {A_MEMORY}": "texts of memories do not match",
    f"UPDATE chunks SET end_at = end_at - 3 WHERE {A_CHUNK}": "have chunks that do not rebuild",
    f"UPDATE chunks SET heading = 'other' WHERE {A_CHUNK}": "do not fit their chunks",
    f"UPDATE lexicon_memories SET version = version + 1 WHERE memory = {A_MEMORY}": "do not fit their chunks",
    "UPDATE archive SET memory = '{}'": "runs in the archive have memories that cannot be restored",
    "UPDATE lexicon_blocks SET data = zeroblob(length(data))": "the full text is damaged",
    "UPDATE lexicon_segments SET token = token + 1": "the full text is damaged",
}


@pytest.fixture
def seeded(memory):
    memory.seed()
    first, second, *_ = sorted(memory.catalog.memories.ids())
    memory.forget([first, second])
    memory.gc.undo()
    memory.forget([first])
    memory.gc.undo()
    memory.forget(sorted(memory.catalog.memories.ids())[:2])
    return memory


def told(memory, *, deep=False):
    return violations(memory.catalog, memory.store, deep=deep)


def damage(memory, statement):
    with memory.catalog.database.connection() as connection:
        connection.execute("PRAGMA foreign_keys=OFF")
        assert connection.execute(statement).rowcount > 0


def test_a_memory_that_was_seeded_and_weeded_is_sound(seeded):
    assert told(seeded) == []
    assert told(seeded, deep=True) == []


@pytest.mark.parametrize("statement", DAMAGES)
def test_damage_of_the_catalog_is_told(seeded, statement):
    damage(seeded, statement)
    assert any(DAMAGES[statement] in line for line in told(seeded))


@pytest.mark.parametrize("statement", DEEP_DAMAGES)
def test_a_deep_look_reads_every_text(seeded, statement):
    damage(seeded, statement)
    assert told(seeded) == []
    assert any(DEEP_DAMAGES[statement] in line for line in told(seeded, deep=True))


def test_an_indexed_memory_that_the_store_lost_is_told(seeded):
    (identifier, *_) = sorted(seeded.catalog.memories.ids(states=[State.INDEXED]))
    seeded.store.delete([identifier])
    assert told(seeded) == [f"indexed memories are not in the store: 1 ({identifier})"]


def test_a_memory_that_only_the_store_has_is_told(seeded):
    (identifier, *_) = sorted(seeded.catalog.memories.ids(states=[State.INDEXED]))
    seeded.catalog.memories.remove([identifier])
    assert told(seeded) == [f"memories in the store are not indexed in the catalog: 1 ({identifier})"]


def test_a_pending_memory_may_be_in_the_store_or_not(seeded):
    (identifier, *_) = sorted(seeded.catalog.memories.ids(states=[State.INDEXED]))
    seeded.catalog.memories.mark([identifier], State.PENDING)
    assert told(seeded, deep=True) == []
    seeded.store.delete([identifier])
    assert told(seeded, deep=True) == []


def test_chunks_that_the_store_has_otherwise_are_told(seeded):
    with seeded.catalog.database.write() as connection:
        rows = connection.execute("SELECT memory_id, entry FROM fake_entries ORDER BY position").fetchall()
        for number, (key, text) in enumerate(rows):
            entry = json.loads(text)
            entry["chunk_ids"] = [f"x{chunk}" for chunk in entry["chunk_ids"]]
            if not number:
                entry["chunk_ids"] += entry["chunk_ids"]
                entry["vectors"] += entry["vectors"]
            connection.execute(
                "UPDATE fake_entries SET entry = ? WHERE memory_id = ?", (json.dumps(entry), key)
            )
    assert any("the store has" in line for line in told(seeded))
    assert any("not found by their own text" in line for line in told(seeded, deep=True))


def test_the_catalog_alone_can_be_asked(seeded):
    assert of_catalog.violations(seeded.catalog, deep=True) == []
