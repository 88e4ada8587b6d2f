"""Blocks of postings: whatever is written is read again, term by term and as a whole, and damage is told."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.errors import StoreDamagedError
from ragmem.storage.fulltext.blocks import BLOCK_BYTES, Block, coding_of, encode

TOKEN = 7


def written(chunks, counts, seed=0):
    """Return counts, ordinals and frequencies of terms, and their blocks."""
    rng = np.random.default_rng(seed)
    counts = np.minimum(np.array(counts, dtype="<u4"), chunks)
    ordinals = [np.sort(rng.choice(chunks, count, replace=False)) for count in counts.tolist()]
    joined = np.concatenate(ordinals).astype("<u4")
    frequencies = np.minimum(rng.geometric(0.2, len(joined)), 255).astype("u1")
    terms = np.sort(rng.choice(1 << 62, len(counts), replace=False)).astype("<u8")
    blocks = list(encode(TOKEN, terms, counts, chunks=chunks, ordinals=joined, frequencies=frequencies))
    return terms, counts, joined, frequencies, blocks


@settings(max_examples=150, deadline=None)
@given(
    chunks=st.sampled_from([1, 7, 200, 256, 257, 3_000, 65_536, 65_537, 90_000]),
    counts=st.lists(st.integers(1, 40) | st.integers(1, 90_000), min_size=1, max_size=60),
    seed=st.integers(0, 99),
)
def test_postings_are_read_as_they_were_written(chunks, counts, seed):
    terms, counts, ordinals, frequencies, blocks = written(chunks, counts, seed)
    read = [Block(data, TOKEN, chunks) for _, data in blocks]
    assert np.array_equal(np.concatenate([block.terms for block in read]), terms)
    assert [first for first, _ in blocks] == [int(block.terms[0]) for block in read]
    for place, whole in enumerate((counts, ordinals, frequencies)):
        assert np.array_equal(np.concatenate([block.decode()[place] for block in read]), whole)
    begin = 0
    for block in read:
        for position, count in enumerate(block.decode()[0].tolist()):
            here = slice(begin, begin + count)
            mine, often = block.postings(position)
            assert np.array_equal(mine, ordinals[here])
            assert np.array_equal(often, frequencies[here])
            begin += count


def test_a_text_of_very_many_chunks_is_read_as_it_was_written():
    *_, ordinals, _, [(_, data)] = written(700_000, [66_000])
    assert np.array_equal(Block(data, TOKEN, 700_000).postings(0)[0], ordinals)


def test_a_block_of_many_terms_fills_a_page_and_no_more():
    *_, blocks = written(7_000, [1, 1, 1, 2, 3, 30, 90] * 300)
    sizes = [len(data) for _, data in blocks]
    assert max(sizes) <= BLOCK_BYTES
    assert min(sizes[:-1]) > 0.9 * BLOCK_BYTES


@pytest.mark.parametrize("chunks", [200, 3_000, 65_536, 90_000])
def test_each_number_of_postings_takes_the_shortest_form(chunks):
    coding = coding_of(chunks)
    plain = np.arange(1, chunks + 1)
    sizes = coding.sizes(plain).sum(axis=1)
    assert np.all(sizes <= coding.width * plain)
    assert sizes.max() <= coding.size


@pytest.mark.parametrize("damage", ["cut", "longer", "token", "codes"])
def test_a_damaged_block_is_told(damage):
    *_, [(_, data), *_] = written(3_000, [3, 500, 2, 1_900, 40])
    token = TOKEN
    if damage == "cut":
        data = data[:-1]
    elif damage == "longer":
        data += b"\0"
    elif damage == "token":
        token += 1
    else:
        data = data[:120] + bytes(len(data) - 120)
    with pytest.raises(StoreDamagedError, match="full text is damaged"):
        Block(data, token, 3_000).decode()
