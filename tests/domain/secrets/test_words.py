"""No string that a text has is ruled out by its words, whichever texts were read before."""

from hypothesis import given
from hypothesis import strategies as st

import ragmem.domain.secrets.search  # noqa: F401 - registers what is looked for
from ragmem.domain.secrets import words

SOUGHT = [
    (names, thing)
    for things in words._BY_KEY.values()
    for _, names, _, thing in things
    if isinstance(thing, bytes)
]

TEXTS = st.lists(
    st.one_of(
        st.sampled_from(sorted({thing.decode() for _, thing in SOUGHT})),
        st.text("aeknopstwy -_=.:\u00e9", max_size=6),
    ),
    max_size=6,
).map("".join)


@given(TEXTS)
def test_no_string_of_a_text_is_ruled_out(text):
    small = text.lower().encode("ascii", "replace")

    for names, thing in SOUGHT:
        if thing.lower() in small:
            assert thing in words.names_in(small, names)


@given(TEXTS)
def test_a_text_has_the_same_keys_whether_its_words_are_known_or_not(text):
    small = text.lower().encode("ascii", "replace")
    known = words.vocabulary(small)
    words._forget()

    new = words.vocabulary(small)
    words.vocabulary.cache_clear()

    assert new == known == words.vocabulary(small)
