"""The trees of git are parsed, and broken ones are rejected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.readers.checkpoints.git_objects import parse_tree

MODES = st.sampled_from([b"100644", b"100755", b"120000", b"160000", b"40000"])
NAMES = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), min_size=1)


def encode(entries):
    return b"".join(mode + b" " + name.encode() + b"\0" + key for name, (mode, key) in entries.items())


@given(st.sampled_from([20, 32]), st.data())
def test_a_tree_is_read_as_it_was_written_and_no_part_of_it_passes_for_one(length, data):
    keys = st.binary(min_size=length, max_size=length)
    entries = data.draw(st.dictionaries(NAMES, st.tuples(MODES, keys), max_size=5))
    raw = encode(entries)
    assert parse_tree(raw, length) == {name: (mode, key.hex()) for name, (mode, key) in entries.items()}
    ends = {len(encode(dict(list(entries.items())[:number]))) for number in range(len(entries) + 1)}
    for cut in set(range(len(raw))) - ends:
        with pytest.raises(ValueError, match="broken"):
            parse_tree(raw[:cut], length)


@pytest.mark.parametrize(
    "raw",
    [
        b"rubbish",
        b"\0" * 21,
        b"100644\0" + b"k" * 20,
        b"100644 \0" + b"k" * 20,
        b" name\0" + b"k" * 20,
        b"-1 name\0" + b"k" * 20,
        b"100644 name\0" + b"k" * 19,
        b"100644 name\0" + b"k" * 20 + b"x",
    ],
)
def test_what_is_no_tree_is_rejected(raw):
    with pytest.raises(ValueError, match="broken"):
        parse_tree(raw, 20)
