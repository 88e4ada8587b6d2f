"""A pattern of `ragmem.patterns` does what one of `re.compile` does, once it is used."""

import importlib
import pickle
import pkgutil
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragmem.domain
import ragmem.readers
from ragmem import patterns
from ragmem.patterns import lazy


def test_it_finds_splits_and_replaces_like_a_compiled_one():
    source = r"(?P<word>[a-z]+)-(\d+)"
    ours, theirs = lazy(source, re.IGNORECASE), re.compile(source, re.IGNORECASE)
    text = "see DATA-12 and api-7"

    assert ours.sub(r"\2", text) == theirs.sub(r"\2", text) == "see 12 and 7"
    assert ours.findall(text) == theirs.findall(text)
    assert [one.span() for one in ours.finditer(text, 5)] == [one.span() for one in theirs.finditer(text, 5)]
    assert ours.search(text)["word"] == "DATA"
    assert ours.match(text) is None
    assert ours.fullmatch("api-7").groups() == ("api", "7")
    assert ours.split(text) == theirs.split(text)
    assert ours.subn("", text) == theirs.subn("", text)
    assert (ours.pattern, ours.flags, ours.groups) == (theirs.pattern, theirs.flags, theirs.groups)


def test_it_is_compiled_once_and_not_before_it_is_used(monkeypatch):
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *given, kept=re.compile: compiled.append(given) or kept(*given))
    pattern = lazy("a+")
    assert compiled == []

    assert pattern.search("caat")[0] == "aa"
    assert pattern.match("aaa")[0] == "aaa"

    assert compiled == [("a+", 0)]


def test_another_process_gets_it_whole():
    assert pickle.loads(pickle.dumps(lazy("A+", re.IGNORECASE))).search("caat")[0] == "aa"


def test_a_mistake_is_reported_at_the_first_use():
    with pytest.raises(re.error, match="missing"):
        lazy("(").search("")


def test_every_pattern_of_the_package_compiles():
    found = [
        one
        for room in (ragmem.domain, ragmem.readers)
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}.")
        for one in vars(importlib.import_module(module.name)).values()
        if isinstance(one, patterns._Lazy)
    ]

    assert len(found) > 300
    for one in found:
        assert re.compile(one.pattern, one._flags)


NEEDY = [
    one
    for module in pkgutil.walk_packages(ragmem.domain.__path__, "ragmem.domain.")
    for thing in vars(importlib.import_module(module.name)).values()
    for one in (thing if isinstance(thing, tuple) else [thing])
    for one in (one if isinstance(one, tuple) else [one])
    if type(one) is patterns._GuardPattern
]


@pytest.mark.parametrize("pattern", NEEDY, ids=lambda pattern: pattern.pattern[:30])
def test_each_match_of_a_pattern_has_one_of_its_needs(pattern):
    compiled = re.compile(pattern.pattern, pattern.flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL))

    # Made once for a pattern: a strategy is slower to make than a text is to draw.
    @given(st.from_regex(compiled, alphabet=st.characters(codec="ascii")))
    def needs_are_met(text):
        assert compiled.search(text)
        assert pattern.may_match(text)

    needs_are_met()


def test_a_pattern_is_not_compiled_for_a_text_without_its_needs(monkeypatch):
    compiled = []
    monkeypatch.setattr(re, "compile", lambda *given, kept=re.compile: compiled.append(given) or kept(*given))
    pattern = lazy(r"(\w) (?:day|week)s?", re.IGNORECASE, needs="day|week")
    without = "no months"

    assert pattern.search(without) is pattern.match(without) is pattern.fullmatch(without) is None
    assert (pattern.findall(without), [*pattern.finditer(without)]) == ([], [])
    assert pattern.sub("x", without) == without
    assert compiled == []

    assert pattern.search("two WEEKS")[0] == "o WEEKS"
    assert pattern.search("two months") is None
    assert len(compiled) == 1
    assert pickle.loads(pickle.dumps(pattern)).sub("x", "a day") == "x"
