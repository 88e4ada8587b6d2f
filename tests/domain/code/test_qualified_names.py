"""Qualified names, whatever a language puts between their parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragmem.domain.code.qualified_names import ends_with, inside, is_constructor, is_within, parts_of

NAMES = st.lists(st.sampled_from(["a", "ab", "run", "_x"]), min_size=1, max_size=4)
MARKS = st.sampled_from([".", "::", "#", "/", "\\"])


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("app.config.load", ["app", "config", "load"]),
        ("crate::heat::Oven", ["crate", "heat", "Oven"]),
        ("Kiln::Oven#fire", ["Kiln", "Oven", "fire"]),
        ("src/config.Config.get", ["src", "config", "Config", "get"]),
        (r"Kiln\Oven::fire", ["Kiln", "Oven", "fire"]),
        ("", []),
    ],
)
def test_a_name_is_made_of_parts(name, parts):
    assert parts_of(name) == parts


@given(NAMES, NAMES, MARKS)
def test_what_lies_in_a_name_is_what_follows_it(outer, rest, mark):
    name, around = mark.join([*outer, *rest]), mark.join(outer)
    assert is_within(name, around)
    assert inside(name, around) == mark.join(rest)
    assert ends_with(name, rest)
    assert ends_with(name, [*outer, *rest])
    assert not ends_with(name, ["other", *rest])


@pytest.mark.parametrize(
    ("name", "outer"), [("app.configure", "app.config"), ("app", "app"), ("app", "app.x")]
)
def test_a_longer_word_does_not_lie_in_a_shorter_one(name, outer):
    assert not is_within(name, outer)
    assert inside(name, outer) == name


@pytest.mark.parametrize(
    ("name", "owner", "is_one"),
    [
        ("com.acme.Kiln.Kiln", "com.acme.Kiln", True),
        ("acme::Kiln::Kiln", "acme::Kiln", True),
        ("src/kiln.Kiln.constructor", "src/kiln.Kiln", True),
        ("Acme::Kiln#initialize", "Acme::Kiln", True),
        ("kiln.Kiln.__init__", "kiln.Kiln", False),
        ("com.acme.Kiln.Builder.Builder", "com.acme.Kiln", False),
        ("com.acme.Kiln", "com.acme.Kiln", False),
    ],
)
def test_the_constructor_of_a_class_is_told_by_its_name(name, owner, is_one):
    assert is_constructor(name, owner) is is_one
