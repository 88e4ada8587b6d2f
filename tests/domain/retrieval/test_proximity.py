"""Proximity: words of a question that stand together in a text count more than scattered ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.retrieval.proximity import Proximity

WORDS = {"invoice": 0.01, "export": 0.01, "timeout": 0.01}
FILLER = " ".join(["and the rest of the day went by"] * 20)


def test_words_in_one_sentence_are_nearer_than_words_in_different_paragraphs():
    near = Proximity(WORDS)
    together = near.of("The invoice export timeout was raised.")
    apart = near.of(f"The invoice came late. {FILLER} The export waited. {FILLER} There was a timeout.")
    assert together == pytest.approx(1.0)
    assert 0 < apart < 0.3


def test_their_order_counts():
    near = Proximity(WORDS)
    assert near.of("invoice export timeout") > near.of("timeout export invoice") > 0


def test_rare_words_weigh_more_than_common_ones():
    near = Proximity({"invoice": 0.001, "export": 0.9})
    assert near.of("the invoice") > near.of("the export")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("migrate", "We migrated it."),
        ("happy", "The users were HAPPY."),
        ("users", "one user"),
        ("数据", "在数据库里"),
    ],
)
def test_a_word_is_found_in_its_other_forms(word, text):
    assert Proximity({word: 0.1}).of(text) > 0


def test_a_word_is_not_found_within_another():
    assert Proximity({"port": 0.1}).of("a report of transport") == 0


def test_of_words_that_overlap_the_first_one_counts():
    near = Proximity({"gate": 0.01, "gateway": 0.01, "way": 0.01})
    assert near.of("the gateway") == near.of("the gate") > 0


def test_words_that_nobody_or_everybody_wrote_say_nothing():
    assert Proximity({}).of("anything") == 0
    assert Proximity({"ghost": 0.0, "the": 1.0}).of("the ghost") == 0


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.floats(0, 1), max_size=60), st.text(max_size=400))
def test_it_is_a_share_for_any_words_and_any_text(words, text):
    assert 0 <= Proximity(words).of(text) <= 1.0000001
