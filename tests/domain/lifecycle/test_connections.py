"""The scale of cosines: bounded, monotone, and careful where there is little to go by."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.lifecycle.connections import (
    FEWEST,
    MOST,
    NARROWEST,
    RARE,
    Scale,
    is_due,
    known_scale,
    memories_sharing_names,
    scale_from,
    strongest,
)

BUNDLED = "all-MiniLM-L6-v2-int8-1"
cosines = st.lists(st.floats(-1, 1), min_size=1, max_size=60)


@given(random=cosines, nearest=cosines, memories=st.integers(FEWEST, 10**6), known=st.booleans())
def test_related_memories_are_always_nearer_than_unrelated_ones(random, nearest, memories, known):
    scale = scale_from(random, nearest, memories=memories, known=known_scale(BUNDLED) if known else None)
    assert -1 <= scale.unrelated < scale.related <= 1
    assert scale.related - scale.unrelated >= NARROWEST * 0.999
    assert scale.normalize(scale.unrelated) == 0
    assert scale.normalize(scale.related) == pytest.approx(1)


@given(random=cosines, nearest=cosines, one=st.floats(-1, 1), other=st.floats(-1, 1))
def test_a_nearer_pair_never_stands_lower(random, nearest, one, other):
    scale = scale_from(random, nearest, memories=500)
    low, high = sorted((one, other))
    assert 0 <= scale.normalize(low) <= scale.normalize(high)


@given(random=cosines, nearest=cosines)
def test_the_order_of_the_pairs_says_nothing(random, nearest):
    forwards = scale_from(random, nearest, memories=100)
    assert forwards == scale_from(random[::-1], sorted(nearest), memories=100)


def test_an_unknown_model_has_no_scale_in_a_store_of_a_few_memories():
    assert scale_from([0.7], [0.9], memories=FEWEST - 1) is None
    assert scale_from([0.7], [0.9], memories=FEWEST) is not None
    assert scale_from([], [], memories=500) is None
    assert known_scale("another-model") is None


def test_a_small_store_says_little_of_a_known_model():
    known = known_scale(BUNDLED)
    assert scale_from([], [], memories=1, known=known) == known
    odd = [0.8] * 50
    small = scale_from(odd, odd, memories=10, known=known)
    large = scale_from(odd, odd, memories=10_000, known=known)
    assert abs(small.unrelated - known.unrelated) < 0.1 < abs(large.unrelated - known.unrelated)


def test_the_nearest_of_strangers_are_not_called_related():
    strangers = [n / 100 for n in range(-20, 61)]
    scale = scale_from(strangers, [0.3] * 50, memories=1000)
    assert scale.related > 0.6


def test_a_store_of_versions_does_not_ask_for_versions():
    apart = [0.1 + n / 1000 for n in range(-100, 101)]
    scale = scale_from(apart, [0.94] * 50, memories=1000)
    assert scale.related < 0.6


def test_a_scale_holds_until_the_store_has_grown_by_half():
    scale = Scale(0.2, 0.5, memories=100)
    assert is_due(None, 0)
    assert not is_due(scale, 140)
    assert is_due(scale, 150)
    assert is_due(scale, 60)


def test_a_scale_explains_itself():
    assert "0.20" in known_scale(BUNDLED).explanation()
    assert "1,234 pairs" in Scale(0.1, 0.6, 500, 1234).explanation()


@dataclass(frozen=True)
class Link:
    low: int
    high: int
    strength: float
    cosine: float = 0.5


@given(st.dictionaries(st.tuples(st.integers(0, 30), st.integers(31, 60)), st.floats(0.5, 1)))
def test_each_end_keeps_its_strongest_links(strengths):
    links = {pair: Link(*pair, strength) for pair, strength in strengths.items()}
    best = strongest(links, of=range(61))
    for end, kept in best.items():
        every = [one for pair, one in links.items() if end in pair]
        assert len(kept) == min(MOST, len(every))
        weakest = min(links[pair].strength for pair in kept)
        dropped = [one.strength for one in every if (one.low, one.high) not in kept]
        assert weakest >= max(dropped, default=0)


def test_a_rare_name_makes_neighbours_and_a_hub_none():
    hub = [(n, {"the-service"}) for n in range(RARE + 1)]
    assert memories_sharing_names(hub) == {}
    assert memories_sharing_names([*hub, (50, {"pg_wal_level"}), (60, {"pg_wal_level"})]) == {
        50: {60},
        60: {50},
    }
