"""Memories that say the same as one text."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ragmem.domain.lifecycle.consolidation import MergedMemory, merge, normalize, statements_of
from ragmem.domain.model import Memory, Scope, content_hash
from ragmem.domain.model.lifecycle import Entry, EntryType
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.domain.text.blocks import blocks

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def entry(number: int, text: str, *, title: str = "", kind: str = "") -> Entry:
    at = NOW + timedelta(days=number)
    name = f"m{number}"
    metadata = {"type": kind} if kind else {}
    memory = Memory(name, "note", name, text, title, at, at, at, content_hash(text), Scope("shop"))
    return Entry(replace(memory, metadata=metadata, tags=(f"tag{number % 2}",)), number)


def merged(*texts: str) -> MergedMemory:
    return merge([entry(number, text) for number, text in enumerate(texts)], redactor=DEFAULT)


def test_what_holds_comes_by_time_under_its_date() -> None:
    assert merged("The kiln is fired at 900 degrees.", "Glaze runs above 940.").text == (
        "2026-03-01: The kiln is fired at 900 degrees.\n\n2026-03-02: Glaze runs above 940."
    )


def test_memories_of_one_day_need_no_dates() -> None:
    one, other = entry(0, "The kiln is fired at 900."), entry(0, "Glaze runs above 940.")
    text = merge([one, Entry(replace(other.memory, id="m9"), 9)], redactor=DEFAULT).text
    assert text == "The kiln is fired at 900.\n\nGlaze runs above 940."


def test_a_statement_that_was_made_twice_comes_once() -> None:
    found = merged(
        "The door sensor sticks when it is wet. Dry it first.",
        "**The door sensor** sticks, when it is wet! Cold makes it worse.",
    )
    assert found.text.count("door sensor") == 1
    assert found.text.endswith("2026-03-02: Cold makes it worse.")


def test_a_short_statement_stays_where_it_stands() -> None:
    assert (
        merged("The fan was swapped. It works now.", "The fuse was swapped. It works now.").text.count(
            "It works"
        )
        == 2
    )


def test_a_flag_is_not_the_same_flag_in_small_letters() -> None:
    assert "-d" in merged("Run the tool with -D always.", "Run the tool with -d always.").text


def test_a_list_keeps_its_form() -> None:
    found = merged("Steps for a firing:\n\n- load the shelves\n- close the vent", "The vent sticks.")
    assert "- load the shelves\n- close the vent" in found.text


def test_a_title_that_says_more_than_the_text_is_kept() -> None:
    entries = [entry(0, "It sticks when wet.", title="Vent of kiln 2"), entry(1, "Dry it first.")]
    assert "Vent of kiln 2: It sticks when wet." in merge(entries, redactor=DEFAULT).text


def test_the_type_is_that_of_most() -> None:
    entries = [entry(0, "It stalls.", kind="error"), entry(1, "a"), entry(2, "b", kind="error")]
    assert merge(entries, redactor=DEFAULT).type is EntryType.ERROR


def test_it_tells_where_it_comes_from() -> None:
    found = merged("one", "two")
    assert found.metadata["merged_from"] == "m0 m1"
    assert found.metadata["merged_dates"] == "2026-03-01 2026-03-02"
    assert found.tags == ("tag0", "tag1")
    assert found.event_time == NOW + timedelta(days=1)


def test_the_title_is_the_sentence_that_says_most_of_what_they_share() -> None:
    found = merged("The kiln vent sticks.", "Our kiln has a vent of brass.", "A kiln fires at 900.")
    assert found.title == "Our kiln has a vent of brass"


def test_a_heading_of_what_they_share_goes_before_a_sentence() -> None:
    found = merged("The kiln vent sticks when wet.", "## Vent of the kiln\n\nThe kiln has a vent of brass.")
    assert found.title == "Vent of the kiln"


def test_a_title_of_calls_and_listings_has_no_stop_words() -> None:
    found = merged(
        "Edit: False | shop/kiln.toml | Let = 900 | The = 1",
        "Edit: False | shop/kiln.toml | Let = 910 | The = 2",
    )
    assert "shop/kiln.toml" in found.title
    assert not {"False", "The", "Let"}.intersection(found.title.split(", "))


def test_a_long_title_is_cut_between_words() -> None:
    long = "The kiln vent sticks " + "very " * 30 + "often."
    found = merged(long, "The kiln vent of brass sticks " + "quite " * 30 + "often.")
    assert found.title.endswith("e\u2026")
    assert len(found.title) <= 81


def test_a_title_has_no_secret_and_no_part_of_one() -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    lines = [f"The kiln vent of {'brass ' * n}opens with the token {secret} only." for n in range(1, 9)]
    for one, other in itertools.pairwise(lines):
        assert "aB3d" not in merged(one, other).title


def test_code_that_is_never_closed_does_not_swallow_what_follows() -> None:
    found = merged(
        "Settings of the kiln:\n```toml\nvent = 1", "The kiln vent sticks when wet.", "~~~\nx\n~~~"
    )
    assert [block.form for block in blocks(found.text)] == [
        "paragraph",
        "fence",
        "paragraph",
        "paragraph",
        "fence",
    ]
    assert found.text.count("```") == 2
    assert found.text.count("~~~") == 2


words = st.sampled_from(
    "The vent sticks at 900 degrees -d -D kiln.toml not NOT is glaze, ok # - | ``` 1.".split()
)
sentences = st.lists(words, min_size=1, max_size=7).map(lambda found: " ".join(found) + ".")
texts = st.lists(sentences, min_size=1, max_size=4).flatmap(
    lambda found: st.sampled_from([" ", "\n", "\n\n", "\n- "]).map(lambda between: between.join(found))
)


@settings(deadline=None, max_examples=150)
@example(["The.", "900.\nThe.", "The."], [0, 1, 2, 3, 4])
@given(
    st.lists(texts, min_size=1, max_size=5),
    st.permutations(range(5)),
)
def test_no_statement_is_lost_in_whatever_order(found: Sequence[str], order: Sequence[int]) -> None:
    entries = [entry(number, text) for number, text in enumerate(found)]
    text = merge(entries, redactor=DEFAULT).text
    whole = " ".join(" ".join(one) for one in sorted(statements_of(text)))
    # "900." alone reads as the number of an item, before a sentence as a part of it: its words stand there.
    plain = " ".join(normalize(text))
    for one in entries:
        for statement in statements_of(one.text):
            assert " ".join(statement) in whole or " ".join(statement) in plain
    assert merge([entries[at] for at in order if at < len(entries)], redactor=DEFAULT).text == text
