"""How alike two memories are, next to how alike those of their project are anyhow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.connections import Scale
from ragmem.domain.likeness import by_words, likeness, usual_of, word_weights

SCALE = Scale(0.2, 0.5)
COSINES = st.lists(st.floats(-1, 1), max_size=40)


def test_the_same_cosine_stands_out_less_where_all_are_near() -> None:
    near = usual_of([0.2, 0.25, 0.3, 0.35, 0.4] * 8, SCALE, memories=40)
    far = usual_of([0.0, 0.05, 0.1, 0.15, 0.2] * 8, SCALE, memories=40)
    assert near.standing_out(0.45) < far.standing_out(0.45)
    assert near.standing_out(0.1) == 0.0
    assert far.standing_out(1.0) == 1.0


def test_a_few_memories_are_judged_by_the_scale_of_the_store() -> None:
    alone = usual_of([], SCALE, memories=0)
    assert alone.middle == pytest.approx(0.2)
    three = usual_of([0.8, 0.8, 0.8], SCALE, memories=3)
    assert three.standing_out(0.8) > 0.5


@given(COSINES, st.floats(-1, 1), st.floats(-1, 1))
def test_nearer_vectors_never_stand_out_less(cosines: list[float], one: float, other: float) -> None:
    usual = usual_of(cosines, SCALE, memories=len(cosines))
    assert usual.spread > 0
    low, high = sorted((one, other))
    assert 0 <= usual.standing_out(low) <= usual.standing_out(high) <= 1


def test_a_word_weighs_the_more_the_fewer_have_it() -> None:
    weights = word_weights([[1, 2, 3], [1, 2], [1], [1]])
    assert weights[3] > weights[2] > weights[1] > 0


def test_neither_words_nor_vectors_say_all() -> None:
    assert likeness(1.0, by_words(0.0)) < 0.5
    assert likeness(0.0, by_words(1.0)) < 0.65
    assert likeness(1.0, by_words(1.0)) == pytest.approx(1.0, abs=0.01)
