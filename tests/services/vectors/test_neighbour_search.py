"""The nearest of many vectors, found by comparing all or by cells."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.services.vectors import near_vectors, neighbour_search
from ragmem.services.vectors.near_vectors import Space
from ragmem.services.vectors.neighbour_search import search

COUNT = 8


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def space():
    """Vectors around 80 middles, some of two specs."""
    chance = np.random.default_rng(3)
    middles = chance.standard_normal((80, 32))
    vectors = middles[chance.integers(80, size=3000)] + 0.6 * chance.standard_normal((3000, 32))
    return Space(unit(vectors), np.zeros(3000, np.int32))


def found_by(space, asked, **options):
    """Return row -> its columns, best first."""
    found = {}
    for near in search(space, np.array(asked), count=COUNT, bar=0.1, at_once=700, **options):
        assert len(near.places) == len(near.columns) == len(near.cosines)
        for place in range(len(near.asked)):
            found[int(near.asked[place])] = near.columns[near.places == place].tolist()
    return found


def plainly(space, row, allowed=None):
    products = space.matrix @ space.matrix[row]
    products[row] = -2
    if allowed is not None:
        products[~allowed] = -2
    return [n for n in np.argsort(-products, kind="stable")[:COUNT].tolist() if products[n] >= 0.1]


def test_comparing_all_finds_the_nearest_in_order(space):
    asked = list(range(0, 3000, 7))
    found = found_by(space, asked)
    assert list(found) == asked
    same = [found[row] == plainly(space, row) for row in asked]
    assert sum(same) >= 0.99 * len(same)  # equal to the sixth digit: either may come first
    assert all(row not in near for row, near in found.items())


def test_cells_find_nearly_all_of_them(space, monkeypatch):
    exact = found_by(space, range(3000), exact=True)
    monkeypatch.setattr(neighbour_search, "EXACT_PAIRS", 1000)
    by_cells = found_by(space, range(3000))
    assert sorted(by_cells) == list(range(3000))
    pairs = {frozenset((row, other)) for row, near in by_cells.items() for other in near}
    wanted = [frozenset((row, other)) for row, near in exact.items() for other in near]
    assert sum(pair in pairs for pair in wanted) / len(wanted) > 0.97


def test_cells_are_the_same_each_time(space, monkeypatch):
    monkeypatch.setattr(neighbour_search, "EXACT_PAIRS", 1000)
    assert found_by(space, range(500)) == found_by(space, range(500))


@pytest.mark.parametrize("limit", [10**9, 1000], ids=["all", "cells"])
def test_two_specs_are_never_near_each_other(space, monkeypatch, limit):
    monkeypatch.setattr(neighbour_search, "EXACT_PAIRS", limit)
    specs = np.arange(3000, dtype=np.int32) % 3
    found = found_by(Space(space.matrix, specs), range(3000))
    assert all(
        not specs[row] or not specs[other] or specs[row] == specs[other]
        for row, near in found.items()
        for other in near
    )
    assert any(near for near in found.values())


def test_nothing_is_near_a_vector_of_no_direction():
    space = Space(np.zeros((5, 4), np.float32), np.zeros(5, np.int32))
    assert found_by(space, [0, 3]) == {0: [], 3: []}
    assert found_by(space, []) == {}


@given(st.integers(1, 60), st.integers(1, 25), st.sampled_from([1, 3, 100]), st.booleans(), st.integers(0, 9))
def test_each_with_all_finds_what_some_with_all_do(size, at_once, count, by_spec, seed):
    chance = np.random.default_rng(seed)
    # Products of such vectors are exact, and many are equal.
    matrix = chance.choice([-0.5, 0.0, 0.5], size=(size, 4)).astype(np.float32)
    space = Space(matrix, chance.integers(3 if by_spec else 1, size=size).astype(np.int32))
    options = {"count": count, "bar": 0.0, "at_once": at_once}
    with pytest.MonkeyPatch.context() as patch:
        for name, few in (("ROWS", 7), ("COLUMNS", 16), ("FIRST", 5)):
            patch.setattr(near_vectors, name, few)
        together = list(search(space, np.arange(size), **options))
        alone = [near for row in range(size) for near in search(space, np.array([row]), **options)]
    assert [len(near.asked) for near in together[:-1]] == [at_once] * (len(together) - 1)
    assert np.concatenate([near.asked for near in together]).tolist() == list(range(size))
    for every in (together, alone):
        assert all((near.places[1:] >= near.places[:-1]).all() for near in every)
    assert _pairs(together) == _pairs(alone)


def _pairs(every):
    """Return (row, column, cosine) in the order in which they were found."""
    return [
        found
        for near in every
        for found in zip(near.asked[near.places].tolist(), near.columns.tolist(), near.cosines, strict=True)
    ]
