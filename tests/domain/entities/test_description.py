"""What is said of a thing that many texts name."""

from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.entities.description import MAX_CHARS, MAX_SENTENCES, NEWEST, summary

SENTENCES = st.lists(
    st.text("abcAB .`", max_size=40) | st.sampled_from([f"`x{n}` calls `y{n}`" for n in range(20)]),
    max_size=60,
)


@given(SENTENCES)
def test_a_description_is_bounded_and_of_the_sentences_that_were_given(sentences):
    found = summary(sentences)

    assert set(found) <= set(sentences)
    assert len(found) <= MAX_SENTENCES
    assert sum(map(len, found)) <= MAX_CHARS
    assert [one for one in reversed(sentences) if one][:1] == found[-1:]


@given(SENTENCES)
def test_to_choose_from_what_was_chosen_changes_nothing(sentences):
    assert summary(summary(sentences)) == summary(sentences)


@given(SENTENCES, st.sampled_from([" again", "!"]))
def test_a_description_says_nothing_twice(sentences, ending):
    found = summary([*sentences, *(one + ending for one in sentences)])

    assert len({one.rstrip("!").casefold() for one in found}) == len(found)


def test_a_sentence_that_names_much_outlasts_many_that_name_nothing():
    telling = "`harbourd` keeps tides in pier.db and tells QuayMaster by gRPC-Web."
    later = [f"{word} {word}ed the {word}ing of {word}s" for word in "ab cd ef gh ij kl mn op qr".split()]
    description: list[str] = []
    for sentence in [telling, *later]:
        description = summary([*description, sentence])

    assert description[0] == telling
    assert description[-NEWEST:] == summary(later)[-NEWEST:]


def test_a_long_newest_sentence_stays_whole():
    long = "word " * MAX_CHARS

    assert summary(["old", long])[-1] == long


def test_of_two_sentences_that_say_nearly_the_same_the_newer_stays():
    older, newer = "Redis holds the sessions of the shop", "Redis holds the sessions of the new shop"

    assert summary([older, newer]) == [newer]
