"""Memories of one session that say the same once more."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle.near_copies import near_copies
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.domain.model.lifecycle import Entry

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SENTENCES = (
    "The ferry board reads its times from the tide importer.",
    "The tide importer retries five times and then gives up.",
    "Ana restarts the importer on host pier-4 by hand.",
    "Nightly import run 12 finished at 02:15 after 3 s.",
)


def entry(number: int, text: str, session: str = "s1") -> Entry:
    at = NOW + timedelta(minutes=number)
    name = f"m{number}"
    memory = Memory(name, "transcripts", name, text, "", at, at, at, content_hash(text), Scope("shop"))
    return Entry(replace(memory, metadata={"session": session}), number)


def found(*texts: str) -> list[list[str]]:
    entries = [entry(number, text) for number, text in enumerate(texts)]
    return [[one.id for one in group] for group in near_copies(entries, minimum=3)]


def test_one_that_says_all_that_two_others_say_takes_them_in() -> None:
    whole = " ".join(SENTENCES)
    assert found(" ".join(SENTENCES[:2]), whole, " ".join(SENTENCES[2:])) == [["m0", "m1", "m2"]]


def test_the_marks_of_a_run_make_no_difference() -> None:
    runs = (SENTENCES[3].replace("12", str(n)).replace("02:15", f"0{n}:15") for n in range(3))
    assert found(*runs) == [["m0", "m1", "m2"]]


def test_what_is_left_out_between_two_statements_makes_a_difference() -> None:
    gap = f"{SENTENCES[0]} {SENTENCES[2]}"
    assert not found(" ".join(SENTENCES), gap, gap)


def test_short_remarks_say_nothing_by_themselves() -> None:
    assert not found(f"{SENTENCES[0]} It works now.", "It works now.", "It works now.")


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4),
    st.sampled_from(["not", "Bernd", "8", "pier-5", "/srv/tides", "v2"]),
    st.data(),
)
def test_a_memory_of_which_one_word_differs_joins_no_group(
    said: list[str], other: str, data: st.DataObject
) -> None:
    words = " ".join(said).split()
    at = data.draw(st.integers(0, len(words) - 1))
    changed = " ".join([*words[:at], *([words[at], other] if other == "not" else [other]), *words[at + 1 :]])
    groups = found(" ".join(said), " ".join(said), changed, " ".join(said))
    # The number of a run may be another number.
    if other != "8":
        assert not [group for group in groups if "m2" in group]
