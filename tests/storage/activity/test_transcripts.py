"""How far each transcript was read is kept with what was read, and on each machine for itself."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.model import State, Tier
from ragmem.storage.activity.transcripts import Transcript

NOW = datetime(2026, 6, 1, tzinfo=UTC)
READ = Transcript("/t/a.jsonl", "claude", "s1", "p", "head", 900, 10**18, 800, 3, '{"number":3}', "r1", NOW)


@pytest.fixture
def transcripts(catalog):
    return catalog.transcripts


def test_what_was_kept_of_a_transcript_comes_back(transcripts):
    assert transcripts.get(READ.path) is None
    assert transcripts.last_read_at() is None
    transcripts.keep(READ)
    assert transcripts.get(READ.path) == READ
    moved = replace(READ, position=900, exchanges=4, read_at=NOW + timedelta(hours=1))
    transcripts.keep(moved)
    assert transcripts.all() == [moved]


def test_a_transaction_that_fails_leaves_the_position_where_it_was(transcripts, catalog):
    transcripts.keep(READ)

    def fail() -> None:
        with catalog.database.write():
            transcripts.keep(replace(READ, position=900))
            raise RuntimeError("killed")

    with pytest.raises(RuntimeError, match="killed"):
        fail()
    assert transcripts.get(READ.path) == READ


def test_the_last_one_read_comes_first_and_each_assistant_has_its_own_last_time(transcripts):
    later = replace(READ, path="/t/b.jsonl", assistant="codex", read_at=NOW + timedelta(days=1))
    transcripts.keep(later)
    transcripts.keep(READ)
    assert [one.path for one in transcripts.all()] == ["/t/b.jsonl", "/t/a.jsonl"]
    assert transcripts.last_read_at() == later.read_at
    assert transcripts.last_read_at("claude") == NOW
    assert transcripts.last_read_at("gemini") is None
    transcripts.keep(replace(READ, path="entire:tide/1/0", assistant="gemini"))
    assert transcripts.last_read_at("gemini") is None


def test_a_forgotten_transcript_was_never_read(transcripts):
    transcripts.keep(READ)
    transcripts.forget([READ.path, "/t/none.jsonl"])
    assert transcripts.all() == []


def test_what_waits_for_vectors_comes_by_worth_and_then_latest_first(catalog, make):
    items = []
    for number, (uri, tier) in enumerate(
        (("old", Tier.INGEST), ("new", Tier.INGEST), ("thin", Tier.SUMMARIZE), ("done", Tier.INGEST))
    ):
        items.append(make(uri, f"text {uri}", tier=tier, event_time=NOW + timedelta(days=number)))
    catalog.memories.accept(items)
    catalog.memories.mark([items[3][0].id], State.INDEXED)
    ids = {memory.uri: memory.id for memory, _ in items}
    assert catalog.memories.pending_ids() == [ids["new"], ids["old"], ids["thin"]]
    assert catalog.memories.pending_ids(most=1) == [ids["new"]]
    assert catalog.memories.pending_ids(without=["notes", "others"]) == []
    assert catalog.overview.count_pending("notes") == 3
