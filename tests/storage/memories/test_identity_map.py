"""A question reads each row of a memory once while nothing is written, and again after a write."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Draft, State
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import chunks_of, classify_draft
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
