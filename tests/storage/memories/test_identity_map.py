"""A question reads each row of a memory once while nothing is written, and again after a write."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Draft, State, Supersession
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.model.supersession import PERHAPS_OUTDATED, RESTATED
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import chunks_of, classify_draft
from ragmem.storage.lifecycle.lifecycle_state import LifeRow
from ragmem.storage.memories import identity_map
from ragmem.storage.memories.identity_map import KeptRows

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SIZES = ChunkingSettings(max_chars=60, min_chars=10)


def accept(catalog, name, text="The lock was stale. "):
    draft = Draft("notes", name, text * 20, title=name)
    memory = classify_draft(draft, now=NOW, sizes=SIZES, redactor=DEFAULT).memory
    memory = replace(memory, state=State.PENDING, summary="")
    chunks = chunks_of(memory, SIZES, redactor=DEFAULT)
    catalog.memories.accept([(memory, chunks)])
    return memory, chunks


@pytest.fixture
def selected(catalog, monkeypatch):
    """The statements that read rows by their ids."""
    asked = []
    select_in = type(catalog.database).select_in

    def recorded(database, sql, values, *parameters):
        asked.append(sql)
        return select_in(database, sql, values, *parameters)

    monkeypatch.setattr(type(catalog.database), "select_in", recorded)
    return asked


def read(catalog, memory, chunks):
    with catalog.database.read():
        memories = catalog.for_question().memories
        keys = [chunk.id for chunk in chunks]
        return [
            memories.get([memory.id, "nobody"]),
            memories.outlines([memory.id, "nobody"]),
            memories.places([memory.id]),
            memories.some_chunks([*keys, "nothing"]),
            memories.passages([keys[-1], "nothing"]),
        ]


def test_it_tells_what_the_catalog_tells(catalog):
    memory, chunks = accept(catalog, "a")
    plain = catalog.memories
    keys = [chunk.id for chunk in chunks]
    assert read(catalog, memory, chunks) == [
        {memory.id: memory},
        plain.outlines([memory.id]),
        plain.places([memory.id]),
        dict(zip(keys, chunks, strict=True)),
        plain.passages(keys[-1:]),
    ]


def test_nothing_is_read_again_while_nothing_is_written(catalog, selected):
    memory, chunks = accept(catalog, "a")
    first = read(catalog, memory, chunks)
    selected.clear()
    again = read(catalog, memory, chunks)
    assert again == first
    # Only what is not there is asked for again.
    assert len(selected) == len(["nobody", "nobody's outline", "nothing", "nothing's passage"])


def test_what_was_written_meanwhile_is_found(catalog):
    memory, chunks = accept(catalog, "a")
    read(catalog, memory, chunks)
    memory, chunks = accept(catalog, "a", "The lock is gone. ")
    assert read(catalog, memory, chunks)[0][memory.id].text.startswith("The lock is gone.")
    catalog.memories.remove([memory.id])
    assert read(catalog, memory, chunks) == [{}, {}, {}, {}, {}]


def test_what_is_not_committed_is_not_kept(catalog):
    memory, chunks = accept(catalog, "a")
    with suppress(ZeroDivisionError), catalog.database.write():
        accept(catalog, "a", "The lock is gone. ")
        assert catalog.for_question().memories.get([memory.id])[memory.id].text != memory.text
        raise ZeroDivisionError
    assert read(catalog, memory, chunks)[0] == {memory.id: memory}


def test_what_was_kept_first_makes_room(catalog, monkeypatch):
    monkeypatch.setattr(identity_map, "MOST_CHARACTERS", 500)
    monkeypatch.setattr(identity_map, "MOST_OUTLINES", 1)
    monkeypatch.setattr(identity_map, "MOST_CHUNKS", 1)
    kept = KeptRows()
    memories = [accept(catalog, name) for name in ("a", "b")]
    for memory, chunks in memories:
        kept.add({memory.id: memory})
        kept.outlines |= catalog.memories.outlines([memory.id])
        kept.chunks |= catalog.memories.chunks_by_id([chunks[0].id])
    kept.shorten()
    last, chunks = memories[-1]
    assert (list(kept.memories), list(kept.outlines)) == ([last.id], [last.id])
    assert list(kept.chunks) == [chunks[0].id]
    assert kept.characters == len(last.text)


def link(catalog, older, newer, rule):
    catalog.supersessions.put([Supersession(older, newer, NOW, NOW, rule, "gave way", NOW)])


@pytest.mark.parametrize("most", [1, 1_000])
def test_supersessions_and_states_are_those_of_the_catalog_however_many_there_are(catalog, monkeypatch, most):
    monkeypatch.setattr(identity_map, "MOST_LINKED", most)
    ids = [accept(catalog, name)[0].id for name in "abcde"]
    link(catalog, ids[0], ids[1], RESTATED)
    link(catalog, ids[1], ids[2], RESTATED)
    link(catalog, ids[3], ids[0], PERHAPS_OUTDATED)
    catalog.lives.put(
        [LifeRow(ids[0], approval=Approval.PROPOSED), LifeRow(ids[4], approval=Approval.REJECTED)], now=NOW
    )
    with catalog.database.read():
        known = catalog.for_question()
        for _ in range(2):
            assert known.supersessions.in_force(ids) == catalog.supersessions.in_force(ids)
            assert known.supersessions.perhaps_outdated(ids) == catalog.supersessions.perhaps_outdated(ids)
            assert known.supersessions.replaced_by(ids) == catalog.supersessions.replaced_by(ids)
            assert known.lives.of(ids) == catalog.lives.of(ids)
        assert set(known.supersessions.in_force(ids)) == {ids[0], ids[1]}
        assert known.supersessions.perhaps_outdated(ids)[ids[3]].newer == ids[2]


def test_a_supersession_that_was_written_meanwhile_counts(catalog):
    older, newer = (accept(catalog, name)[0].id for name in "ab")

    def told():
        with catalog.database.read():
            known = catalog.for_question()
            return known.supersessions.in_force([older]), known.lives.of([older])

    assert told() == ({}, {})
    link(catalog, older, newer, RESTATED)
    catalog.lives.put([LifeRow(older, approval=Approval.PROPOSED)], now=NOW)
    links, lives = told()
    assert links[older].newer == newer
    assert lives[older].approval is Approval.PROPOSED


def test_of_memories_without_one_no_supersession_is_read(catalog):
    if catalog.database.dialect != "sqlite":
        pytest.skip("a server would keep rows for each member")
    ids = [accept(catalog, name)[0].id for name in "ab"]
    with catalog.database.read() as connection:
        known = catalog.for_question()
        known.supersessions.in_force(ids)
        statements = []
        connection.set_trace_callback(statements.append)
        assert known.supersessions.in_force(ids) == {}
        assert known.supersessions.perhaps_outdated(ids) == {}
        connection.set_trace_callback(None)
    assert statements == []
