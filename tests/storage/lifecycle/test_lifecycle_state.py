"""The lives of memories: what the rules see of them, and what is kept of what was decided."""

from datetime import UTC, datetime, timedelta

import pytest

from ragmem.domain.lifecycle.ageing import ages_of
from ragmem.domain.model.lifecycle import Decision, LifecyclePolicy, LifecycleState
from ragmem.storage.lifecycle.lifecycle_state import LifeRow

NOW = datetime(2026, 6, 1, tzinfo=UTC)
POLICY = LifecyclePolicy()


@pytest.fixture
def stored(catalog, make):
    """Three memories, one of a curated source and one of another project."""
    plain, curated, other = make("a"), make("b", "a file", source="memory"), make("c", project="other")
    catalog.memories.accept([plain, curated, other])
    return plain[0], curated[0], other[0]


def test_a_memory_without_a_row_is_in_the_buffer_unless_its_source_is_curated(catalog, stored):
    entries = catalog.lives.entries(policy=POLICY)
    assert [entry.memory for entry in entries] == list(stored)
    assert [entry.life for entry in entries] == [
        LifecycleState.BUFFER,
        LifecycleState.PROVEN,
        LifecycleState.BUFFER,
    ]
    assert [entry.curated for entry in entries] == [False, True, False]
    assert sorted(entry.number for entry in entries) == [entry.number for entry in entries]


def test_only_the_named_projects_are_read(catalog, stored):
    assert [entry.id for entry in catalog.lives.entries(["other"], policy=POLICY)] == [stored[2].id]
    assert catalog.lives.entries([], policy=POLICY) == []


def test_one_entry_is_what_all_entries_say_of_it(catalog, stored):
    catalog.lives.pin(stored[0].id, pinned=True, now=NOW)
    (first, *_) = catalog.lives.entries(policy=POLICY)
    assert catalog.lives.entry(stored[0].id, policy=POLICY) == first
    assert catalog.lives.entry("0" * 26, policy=POLICY) is None


def test_what_was_decided_of_a_life_is_seen_by_the_next_rules(catalog, stored):
    identifier = stored[0].id
    catalog.lives.change([Decision(identifier, "reprieve", "substance", "first", age=20)], now=NOW)
    catalog.lives.change([Decision(identifier, "reprieve", "substance", "second", age=41)], now=NOW)
    entry = catalog.lives.entry(identifier, policy=POLICY)
    assert (entry.reprieves, entry.checked_age, entry.life) == (2, 41, LifecycleState.BUFFER)
    catalog.lives.change(
        [Decision(identifier, "promote", "diamond", "third", life=LifecycleState.PERMANENT, age=70)], now=NOW
    )
    entry = catalog.lives.entry(identifier, policy=POLICY)
    assert (entry.reprieves, entry.checked_age, entry.life) == (2, 41, LifecycleState.PERMANENT)


def test_a_pinned_memory_is_permanent_until_it_is_unpinned_and_then_what_it_was(catalog, stored):
    identifier = stored[0].id
    catalog.lives.change(
        [Decision(identifier, "promote", "recalled", "", life=LifecycleState.PROVEN)], now=NOW
    )
    catalog.lives.pin(identifier, pinned=True, now=NOW)
    entry = catalog.lives.entry(identifier, policy=POLICY)
    assert (entry.life, entry.pinned, entry.is_protected) == (LifecycleState.PERMANENT, True, True)
    catalog.lives.pin(identifier, pinned=False, now=NOW)
    entry = catalog.lives.entry(identifier, policy=POLICY)
    assert (entry.life, entry.pinned) == (LifecycleState.PROVEN, False)


def test_feedback_adds_up(catalog, stored):
    for value in (1, 1, -1):
        catalog.lives.rate(stored[0].id, value, now=NOW)
    assert catalog.lives.entry(stored[0].id, policy=POLICY).feedback == 1


def test_a_life_outlasts_its_memory_until_it_is_forgotten(catalog, stored):
    identifier = stored[0].id
    catalog.lives.pin(identifier, pinned=True, now=NOW)
    catalog.memories.remove([identifier])
    assert catalog.lives.of([identifier, stored[1].id]) == {
        identifier: LifeRow(identifier, pinned=True, reason="pinned")
    }
    catalog.lives.forget([identifier])
    assert catalog.lives.all() == []


def test_rows_that_are_put_take_the_place_of_what_was_kept(catalog, stored):
    identifier = stored[0].id
    catalog.lives.rate(identifier, -1, now=NOW)
    row = LifeRow(identifier, LifecycleState.PROVEN, reprieves=2, checked_age=44, reason="imported")
    catalog.lives.put([row], now=NOW)
    assert catalog.lives.all() == [row]


def test_how_many_newer_there_are_is_what_the_rules_count_with_the_exchanges_of_a_session_as_one(
    catalog, make
):
    told = [
        ("notes", ""), ("transcripts", "a"), ("transcripts", "b"), ("transcripts", "a"), ("notes", "a"),
        ("transcripts", ""), ("transcripts", "b"), ("notes", "a"),
    ]  # fmt: skip
    made = [
        make(
            str(number),
            f"text {number}",
            source=source,
            metadata={"session": session} if session else {},
            event_time=NOW + timedelta(hours=number // 2),
        )
        for number, (source, session) in enumerate(told)
    ]
    catalog.memories.accept(made)
    ages = ages_of(catalog.lives.entries(policy=POLICY))
    assert [ages[memory.id] for memory, _ in made] == [5, 4, 4, 4, 3, 2, 1, 0]
    assert {memory.id: catalog.lives.count_newer(memory.id) for memory, _ in made} == ages
    catalog.lives.postpone([made[1][0].id], reason="handed in again", now=NOW)
    assert catalog.lives.of([made[1][0].id])[made[1][0].id].checked_age == 4
