"""Memories of one session that say nothing of their own beside another one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle.folds import contained
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.domain.model.lifecycle import Entry

NOW = datetime(2026, 3, 1, tzinfo=UTC)
SENTENCES = (
    "The ferry board reads its times from the tide importer.",
    "The tide importer retries five times and then gives up.",
    "Ana restarts the importer on host pier-4 by hand.",
    "Nightly import run 12 finished at 02:15 after 3 s.",
)
WHOLE = " ".join(SENTENCES)


def entry(number: int, text: str, session: str = "s1", title: str = "") -> Entry:
    at = NOW + timedelta(minutes=number)
    name = f"m{number}"
    memory = Memory(name, "transcripts", name, text, title, at, at, at, content_hash(text), Scope("shop"))
    return Entry(replace(memory, metadata={"session": session}), number)


def found(*texts: str) -> list[tuple[str, list[str]]]:
    entries = [entry(number, text) for number, text in enumerate(texts)]
    return [(fold.keeper.id, [one.id for one in fold.others]) for fold in contained(entries)]


def exchange(asked: str, *answered: str) -> str:
    return "\n\n".join((f"User: {asked}", "Assistant:", *answered))


def test_what_another_one_says_whole_folds_behind_it() -> None:
    assert found(" ".join(SENTENCES[:2]), WHOLE, " ".join(SENTENCES[2:])) == [("m1", ["m2", "m0"])]


def test_of_equal_ones_the_newest_stays() -> None:
    assert found(WHOLE, WHOLE, WHOLE) == [("m2", ["m1", "m0"])]


def test_two_measurements_of_a_session_are_two() -> None:
    runs = (SENTENCES[3].replace("12", str(n)).replace("02:15", f"0{n}:15") for n in range(3))
    assert not found(*runs)


def test_what_is_left_out_between_two_statements_makes_a_difference() -> None:
    assert not found(WHOLE, f"{SENTENCES[0]} {SENTENCES[2]}")


def test_short_remarks_say_nothing_by_themselves() -> None:
    assert not found(f"{SENTENCES[0]} It works now.", "It works now.", "It works now.")


def test_a_memory_folds_behind_the_longest_one_and_never_behind_one_that_folds() -> None:
    texts = [" ".join(SENTENCES[:size]) for size in (1, 2, 3, 4)]
    assert found(*texts) == [("m3", ["m2", "m1", "m0"])]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # The same prompt, headings and labels of the reader, about two things.
        (exchange("go on with the next one", "# Result", SENTENCES[0]),
         exchange("go on with the next one", "# Result", SENTENCES[1])),
        # The same answer to another question.
        (exchange("what does staging do", WHOLE), exchange("what does production do", WHOLE)),
        # The same statement under another heading.
        (f"## Staging\n\n{WHOLE}", f"## Production\n\n{WHOLE}"),
        # A heading that says something by itself.
        (f"{WHOLE}\n\n## The port is 5433", f"{WHOLE} {SENTENCES[0]}"),
    ],
    ids=["prompt", "question", "heading", "bare heading"],
)  # fmt: skip
def test_what_stands_around_a_statement_makes_no_two_alike_and_tells_them_apart(one: str, other: str) -> None:
    assert not found(one, other)


def test_labels_and_headings_of_the_reader_tell_nothing_apart() -> None:
    part = exchange("why is the board empty", "# Research", WHOLE)
    more = "The board shows all again."
    whole = exchange("why is the board empty (part 2)", "# Plan", WHOLE, "# Result", more)
    assert found(part, whole) == [("m1", ["m0"])]


def test_another_session_is_another_story() -> None:
    assert not contained([entry(0, SENTENCES[0]), entry(1, WHOLE, session="s2")])


@settings(max_examples=200)
@given(
    st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4),
    st.sampled_from(["not", "Bernd", "8", "pier-5", "/srv/tides", "v2"]),
    st.data(),
)
def test_a_memory_of_which_one_word_differs_never_folds(
    said: list[str], other: str, data: st.DataObject
) -> None:
    words = " ".join(said).split()
    at = data.draw(st.integers(0, len(words) - 1))
    changed = " ".join([*words[:at], *([words[at], other] if other == "not" else [other]), *words[at + 1 :]])
    for keeper, others in found(" ".join(said), " ".join(said), changed, " ".join(said)):
        assert keeper != "m2"
        assert "m2" not in others


@settings(max_examples=100)
@given(st.lists(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=4), min_size=2, max_size=7))
def test_each_one_that_folds_is_said_by_one_that_stays(many: list[list[str]]) -> None:
    texts = [" ".join(said) for said in many]
    folds = found(*texts)
    gone = {one for _, others in folds for one in others}
    for keeper, others in folds:
        assert keeper not in gone
        assert all(texts[int(one[1:])] in texts[int(keeper[1:])] for one in others)
