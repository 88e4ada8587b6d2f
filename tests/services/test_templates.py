"""Memories that were written from one template."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle import Entry, Life
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.services.templates import masked_words, template_families

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def entry(number: int, text: str, project: str = "shop", *, protected: bool = False) -> Entry:
    at = NOW + timedelta(hours=number)
    name = f"m{number}"
    memory = Memory(
        name, "note", name, text, "", at, at, at, content_hash(text), Scope(project), protected=protected
    )
    return Entry(memory, number)


def backup(number: int) -> str:
    digest = format(number * 7919 + 4096, "07x")
    return (
        f"nightly backup {digest} of the order table ended after {number} s, {number * 3} rows, no warnings"
    )


def found(entries: list[Entry]) -> list[tuple[str, list[str]]]:
    return [
        (one.keeper.id, [other.id for other in one.others]) for one in template_families(entries, overlap=0.8)
    ]


def test_memories_that_differ_in_numbers_and_ids_are_a_family_of_which_the_newest_is_kept() -> None:
    assert found([entry(number, backup(number)) for number in range(4)]) == [("m3", ["m2", "m1", "m0"])]


def test_two_alike_may_be_two_facts() -> None:
    assert not found([entry(number, backup(number)) for number in range(2)])


def test_a_row_of_short_facts_is_no_template() -> None:
    assert not found([entry(number, f"p95 is {number} ms at {number}k orders") for number in range(9)])


def test_sentences_of_other_words_are_no_family() -> None:
    texts = [
        "The billing page reads its rates from the ledger at start, so a new rate wants a restart",
        "The stock page reads its counts from the shelf scanner at noon, so a new count wants a day",
        "The login page reads its themes from the design folder at start, so a theme wants a restart",
    ]
    assert not found([entry(number, text) for number, text in enumerate(texts)])


@pytest.mark.parametrize("why", ["protected", "pinned", "curated", "proven"])
def test_what_must_stay_is_of_no_family(why: str) -> None:
    last = entry(3, backup(3), protected=why == "protected")
    kept = Entry(
        last.memory,
        3,
        life=Life.PROVEN if why == "proven" else Life.BUFFER,
        pinned=why == "pinned",
        curated=why == "curated",
    )
    rest = [entry(number, backup(number)) for number in range(3)]
    assert found([*rest, kept]) == [("m2", ["m1", "m0"])]


def test_a_family_does_not_reach_beyond_its_project() -> None:
    entries = [entry(number, backup(number), ("shop", "pub")[number % 2]) for number in range(6)]
    assert found(entries) == [("m4", ["m2", "m0"]), ("m5", ["m3", "m1"])]


@settings(deadline=None, max_examples=50)
@given(st.permutations(range(8)))
def test_the_order_of_the_memories_does_not_matter(order: list[int]) -> None:
    entries = [entry(number, backup(number) if number % 3 else f"unlike {number}") for number in range(8)]
    assert found([entries[number] for number in order]) == found(entries)


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=80), st.integers(0, 10**9), st.integers(0, 10**9))
def test_numbers_make_no_difference(text: str, one: int, other: int) -> None:
    assert masked_words(f"{text} {one}") == masked_words(f"{text} {other}")
