"""Memories: accepted once however often, found by any unambiguous prefix, whole in every table."""

import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ragmem.config.settings import ChunkingSettings
from ragmem.domain.model import Chunk, Draft, Memory, Scope, State
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.errors import NotFoundError
from ragmem.services.ingestion.classify import chunks_of, classify_draft
from ragmem.storage.fulltext.fulltext import search
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.lifecycle_state import Recall
from ragmem.storage.lifecycle.recent import MemoryFilter, latest
from ragmem.storage.maintenance.invariants import violations
from ragmem.storage.memories.edits import edits_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SIZES = ChunkingSettings(max_chars=60, min_chars=10)
LONG = "The lock was stale. " * 20


def made(uri: str, text: str) -> tuple[Memory, tuple[Chunk, ...]]:
    draft = Draft("notes", uri, text, title=f"title of {uri}", scope=Scope())
    memory = replace(
        classify_draft(draft, now=NOW, sizes=SIZES, redactor=DEFAULT).memory,
        state=State.PENDING,
        summary="",
    )
    return memory, tuple(chunks_of(memory, SIZES, redactor=DEFAULT))


def rows(catalog: Catalog, table: str) -> set[int]:
    column = "memory" if table in {"chunks", "lexicon_memories"} else "n"
    with catalog.database.read() as connection:
        return {number for (number,) in connection.execute(f"SELECT {column} FROM {table}")}


def test_accepting_twice_is_accepting_once(catalog, make):
    item = make("a", LONG)
    catalog.memories.accept([item])
    first = (
        list(catalog.memories.each()),
        len(rows(catalog, "chunks")),
        len(rows(catalog, "lexicon_memories")),
    )
    catalog.memories.accept([item])
    again = (
        list(catalog.memories.each()),
        len(rows(catalog, "chunks")),
        len(rows(catalog, "lexicon_memories")),
    )
    assert again == first


@pytest.mark.parametrize(
    ("year", "day", "hours"),
    [(1, (1, 1, 0), timedelta(hours=14)), (9999, (12, 31, 23), timedelta(hours=-14))],
)
def test_a_moment_that_its_zone_puts_outside_of_all_years_can_be_read_again(catalog, make, year, day, hours):
    memory, chunks = make("a", LONG)
    moment = datetime(year, *day, tzinfo=timezone(hours))
    catalog.memories.accept([(replace(memory, event_time=moment), chunks)])
    assert [found.event_time.year for found in catalog.memories.each()] == [year]


def test_what_is_accepted_comes_back_as_it_was(catalog, make):
    memory, chunks = make("a", LONG, tags=("x", "y"), metadata={"k": "v"})
    catalog.memories.accept([(memory, chunks)])
    assert catalog.memories.get([memory.id]) == {memory.id: memory}
    assert catalog.memories.chunks(memory) == chunks
    assert len(chunks) > 1


def test_a_replaced_memory_keeps_its_first_day_and_its_recalls(catalog, make):
    memory, chunks = make("a")
    catalog.memories.accept([(memory, chunks)])
    catalog.lives.add_recalls([Recall(memory.id, "5f2c", NOW)])
    later = replace(
        memory, text="new", created_at=NOW + timedelta(days=3), updated_at=NOW + timedelta(days=3)
    )
    catalog.memories.accept([(later, chunks_of(later, SIZES, redactor=DEFAULT))])
    found = catalog.memories.get([memory.id])[memory.id]
    assert (found.text, found.recalls) == ("new", 1)
    assert found.created_at == memory.created_at
    assert found.updated_at == NOW + timedelta(days=3)


def test_an_acceptance_that_fails_leaves_nothing(catalog, make):
    good, chunks = make("a")
    broken = replace(good, id="b" * len(good.id), title=None)
    with pytest.raises(Exception, match=r"(?i)not.null"):
        catalog.memories.accept([(good, chunks), (broken, ())])
    assert catalog.memories.ids() == set()
    assert rows(catalog, "lexicon_memories") == set()


def test_every_prefix_from_four_characters_on_names_the_memory(catalog, make):
    memory, chunks = make("a")
    catalog.memories.accept([(memory, chunks)])
    for length in range(4, len(memory.id) + 1):
        assert catalog.memories.resolve(memory.id[:length]).id == memory.id
    assert catalog.memories.resolve(f"  {memory.id.upper()} ").id == memory.id


@pytest.mark.parametrize("prefix", ["", "ab", "abc", "a" * 99, "ab%d", "ab_d", "a b c d", "'; --"])
def test_what_cannot_be_an_id_is_refused(catalog, prefix):
    with pytest.raises(NotFoundError, match="is not a memory id"):
        catalog.memories.resolve(prefix)


def test_an_unknown_and_an_ambiguous_prefix_are_told_apart(catalog, make):
    memory, _ = make("a")
    catalog.memories.accept(
        [(replace(memory, id=f"aaaa{n}" + memory.id[5:], uri=str(n)), ()) for n in range(2, 4)]
    )
    with pytest.raises(NotFoundError, match="no memory has the id"):
        catalog.memories.resolve("zzzz")
    with pytest.raises(NotFoundError, match="several memories"):
        catalog.memories.resolve("aaaa")
    assert catalog.memories.resolve("aaaa2").uri == "2"


def test_memories_may_be_written_while_all_are_read(catalog, make):
    catalog.memories.accept([make(str(n)) for n in range(450)])
    seen = set()
    for memory in catalog.memories.each():
        seen.add(memory.id)
        if len(seen) % 100 == 0:
            catalog.memories.mark([memory.id], State.INDEXED)
    assert len(seen) == 450


def test_marking_and_removing_unknown_ids_does_nothing(catalog):
    catalog.memories.mark(["x"], State.INDEXED)
    assert catalog.memories.remove(["x"]) == 0
    assert catalog.memories.ids() == set()


@settings(max_examples=25, stateful_step_count=20, deadline=None)
class Sequences(RuleBasedStateMachine):
    """Whatever is accepted, replaced, marked and removed in whatever order, the tables agree."""

    places = st.sampled_from("abcdef")
    texts = st.text('abc .\n#"*é', min_size=1, max_size=300).filter(str.strip)

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.catalog = Catalog.at(Path(self.folder.name))
        self.catalog.prepare()
        self.expected: dict[str, str] = {}

    @rule(items=st.lists(st.tuples(places, texts), min_size=1, max_size=4))
    def accept(self, items):
        self.catalog.memories.accept([made(uri, text) for uri, text in items])
        self.expected |= {made(uri, text)[0].id: text for uri, text in items}

    @rule(uri=places)
    def remove(self, uri):
        identifier = made(uri, "x")[0].id
        removed = self.catalog.memories.remove([identifier])
        assert removed == (self.expected.pop(identifier, None) is not None)

    @rule(uri=places, text=texts)
    def fail(self, uri, text):
        def write_and_fail():
            with self.catalog.database.write():
                self.catalog.memories.accept([made(uri, text)])
                self.catalog.memories.remove(list(self.expected))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            write_and_fail()

    @invariant()
    def the_memories_are_those_expected(self):
        assert {memory.id: memory.text for memory in self.catalog.memories.each()} == self.expected

    @invariant()
    def full_text_fits_the_chunks(self):
        assert violations(self.catalog, deep=True) == []

    @invariant()
    def chunks_are_the_parts_of_their_memory(self):
        for memory in self.catalog.memories.each():
            assert self.catalog.memories.chunks(memory) == tuple(chunks_of(memory, SIZES, redactor=DEFAULT))

    @invariant()
    def what_is_found_is_there(self):
        found = {hit.memory_id for hit in search(self.catalog.database, "a b c title", limit=100).hits}
        assert found == set(self.expected)

    def teardown(self):
        self.catalog.close()
        self.folder.cleanup()


TestSequences = Sequences.TestCase


def test_no_project_has_no_edits_and_nothing_latest(catalog, make):
    catalog.memories.accept([make("a", metadata={"files": "a.py"})])
    for projects, count in ((None, 1), (["user"], 1), ([], 0)):
        assert len(edits_of(catalog.database, "a.py", projects=projects)) == count
        assert len(latest(catalog.database, MemoryFilter(), projects=projects, limit=3)) == count
