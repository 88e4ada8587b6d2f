"""The block of a memory file: what is outside stays byte for byte, broken marks change nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.injection.memory_block import (
    BEGIN,
    END,
    InvalidMarksError,
    find_block,
    outside,
    with_block,
    without_block,
)

LINES = ["# Memories", "", "- 2026-03-01 The importer retries. `abc`"]

texts = st.text(
    alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\r"), max_size=200
).filter(lambda text: "ragmem" not in text)


@given(texts)
def test_what_stood_in_a_file_stays_before_the_block(text):
    made = with_block(text, LINES)
    assert made.startswith(text)
    place = find_block(made)
    assert place is not None
    assert made[: place.start].startswith(text)
    assert place.end == len(made)


@given(texts, texts)
def test_what_is_around_a_block_stays_byte_for_byte(before, after):
    made = f"{before}\n{BEGIN}\nold\n{END}\n{after}"
    changed = with_block(made, LINES)
    place = find_block(changed)
    assert changed[: place.start] == f"{before}\n"
    assert changed[place.end :] == after
    assert outside(changed) == f"{before}\n{after}"


@given(texts)
def test_writing_twice_is_writing_once(text):
    once = with_block(text, LINES)
    assert with_block(once, LINES) == once


def test_the_line_ends_of_a_file_are_kept():
    made = with_block("# Notes\r\nmine\r\n", LINES)
    assert made.startswith("# Notes\r\nmine\r\n\r\n<!-- BEGIN ragmem")
    assert "\n" not in made.replace("\r\n", "")
    assert with_block(made, LINES) == made


def test_a_file_that_ends_with_the_mark_still_does():
    made = with_block(f"a\n{BEGIN}\nold\n{END}", LINES)
    assert made.endswith(END)
    assert with_block(made, LINES) == made


def test_marks_in_a_closed_fence_are_an_example():
    example = f"```\n{BEGIN}\n{END}\n```\n"
    assert find_block(example) is None
    made = with_block(example, LINES)
    assert made.startswith(example)
    assert with_block(made, LINES) == made


def test_a_fence_that_is_never_closed_hides_no_block():
    made = with_block("```\ncode without an end\n", LINES)
    assert with_block(made, ["x"]).count("BEGIN ragmem") == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"a\n{BEGIN}\nb\n", 2),
        (f"a\nb\n{END}\n", 3),
        (f"{BEGIN}\n{BEGIN}\n{END}\n", 2),
        (f"{BEGIN}\n{END}\n\n{BEGIN}\n{END}\n", 4),
        (f"{BEGIN}\n{END}\n{END}\n", 3),
    ],
)
def test_broken_marks_are_named_by_their_line(text, line):
    with pytest.raises(InvalidMarksError) as error:
        with_block(text, LINES)
    assert error.value.line == line


@pytest.mark.parametrize("prefix", ["", "> ", "    12\u2192", "  7: ", "| "])
def test_a_block_is_not_stored_however_it_is_shown(prefix):
    block = [BEGIN, *LINES, END]
    text = "mine\n" + "".join(f"{prefix}{line}\n" for line in block) + "and mine\n"
    assert without_block(text) == "mine\nand mine\n"


def test_a_text_that_speaks_of_the_marks_is_stored():
    text = f"We write between `{BEGIN}` and `{END}`.\n{BEGIN}\nno end here\n"
    assert without_block(text) == text


@given(texts)
def test_a_text_without_a_block_is_stored_as_it_is(text):
    assert without_block(text) == text
