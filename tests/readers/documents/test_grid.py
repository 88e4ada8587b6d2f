"""Whatever a sheet looks like, each of its cells is told, and each row once."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.readers.documents.grid import Value, blocks, parts, pieces

WORDS = st.text("abcxyz", min_size=1, max_size=5).map(lambda text: f"w{text}")
NUMBERS = st.integers(0, 9_999).map(str)
CELLS = st.one_of(
    WORDS.map(Value),
    NUMBERS.map(lambda text: Value(text, is_text=False)),
)
ROWS = st.dictionaries(
    st.integers(1, 30), st.dictionaries(st.integers(1, 12), CELLS, min_size=1, max_size=6), max_size=12
).map(lambda found: sorted(found.items()))


def _told(rows, **more):
    return [piece for block in blocks(rows, **more) for piece in pieces(block, rows=3)]


@settings(max_examples=40)
@given(ROWS, st.booleans())
def test_each_cell_is_told(rows, cut):
    text = "\n".join(piece.text for piece in _told(rows, cut=cut))

    for _, cells in rows:
        for value in cells.values():
            assert value.text in text


@settings(max_examples=40)
@given(ROWS)
def test_no_value_is_told_more_often_than_it_stands_there_but_for_headings_and_sentences(rows):
    marked = [
        (number, {column: Value(f"v{number}c{column}e", is_text=False) for column in cells})
        for number, cells in rows
    ]

    text = "\n".join(piece.text for piece in _told(marked))

    # Without a word there is no heading, and so there are no sentences.
    counted = Counter(value.text for _, cells in marked for value in cells.values())
    assert all(text.count(value) == count for value, count in counted.items())


@settings(max_examples=40)
@given(ROWS)
def test_parts_keep_all_pieces_and_stay_near_their_size(rows):
    told = _told(rows)

    groups = parts(told, rows=5)

    assert sorted(id(piece) for group in groups for piece in group) == sorted(id(piece) for piece in told)
    assert all(sum(piece.count for piece in group) <= 5 for group in groups if len(group) > 1)


@settings(max_examples=40)
@given(ROWS)
def test_the_rows_of_a_piece_lie_between_its_ends(rows):
    numbers = {number for number, _ in rows}

    for piece in _told(rows):
        assert piece.first in numbers
        assert piece.first <= piece.last
        assert piece.last in numbers
