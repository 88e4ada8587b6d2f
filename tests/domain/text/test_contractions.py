"""Contractions and elisions are no names, whichever apostrophe they are written with."""

import pytest

from ragmem.domain.text.word_shapes import shape_of


@pytest.mark.parametrize("mark", ["'", "\u2019"])
@pytest.mark.parametrize(
    "word", ["I{0}m", "I{0}ve", "Don{0}t", "It{0}s", "We{0}re", "They{0}ll", "C{0}est", "J{0}ai"]
)
def test_a_contraction_names_nothing(word, mark):
    shape = shape_of(word.format(mark))
    assert not shape.text or shape.common or not shape.capital


@pytest.mark.parametrize("mark", ["'", "\u2019"])
@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("L{0}API", "API"),
        ("d{0}Anna", "Anna"),
        ("l{0}API", "API"),
        ("Anna{0}s", "Anna"),
        ("O{0}Reilly", "O{0}Reilly"),
    ],
)
def test_the_name_in_it_stays(word, name, mark):
    assert shape_of(word.format(mark)).text == name.format(mark)
