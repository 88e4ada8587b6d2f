"""Headings come back from their places in a text as they were, wherever they stand and whatever they hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.storage.sql.rows import MARK, decode_heading, encode_headings

TEXT = "# Payments\n\nIntro.\n\n## Retries and back-off\n\nWait.\n\n## Limits\n\nNone.\n"
PATHS = ["Payments", "Payments > Retries and back-off", "Payments > Limits"]


def test_headings_of_a_text_are_stored_as_places():
    stored = encode_headings(TEXT, PATHS)
    assert [decode_heading(one, TEXT) for one in stored] == PATHS
    assert sum(map(len, stored)) < sum(map(len, PATHS)) / 2
    assert not any("Retries" in one for one in stored)


@pytest.mark.parametrize("before", [0xD800 - 40, 0xD800, 0xFFFF, 0x10FFFF, 1_200_000])
def test_a_heading_may_stand_anywhere_in_a_long_text(before):
    text = "x" * before + "## A title far down\n\nEnd."
    for at in range(60):
        (stored,) = encode_headings("y" * at + text, ["A title far down"])
        stored.encode()
        assert decode_heading(stored, "y" * at + text) == "A title far down"


@pytest.mark.parametrize(
    "heading", ["", " > ", "a > ", "no such title", MARK, f"{MARK}Payments", f"{MARK}{MARK}"]
)
def test_a_heading_that_is_not_in_the_text_comes_back_too(heading):
    (stored,) = encode_headings(TEXT, [heading])
    assert decode_heading(stored, TEXT) == heading


@pytest.mark.parametrize("length", [999, 1_000, 0xD7E0, 0xD800, 70_000])
def test_a_heading_may_be_long(length):
    (stored,) = encode_headings("# " + "x" * length, ["x" * length])
    assert decode_heading(stored, "# " + "x" * length) == "x" * length


@given(text=st.text(), data=st.data())
def test_any_heading_of_any_text_comes_back(text, data):
    cuts = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
    pieces = st.one_of(st.text(), cuts.map(lambda cut: text[min(cut) : max(cut)]))
    headings = data.draw(st.lists(st.lists(pieces, max_size=4).map(" > ".join), max_size=5))
    stored = encode_headings(text, headings)
    assert [decode_heading(one, text) for one in stored] == headings
