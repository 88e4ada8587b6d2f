"""A pattern of `ragmem.patterns` does what one of `re.compile` does, once it is used."""

import importlib
import pickle
import pkgutil
import re
import re._constants as sre
from re import _parser

import pytest

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


_OF_CATEGORY = {sre.CATEGORY_DIGIT: "1", sre.CATEGORY_SPACE: " ", sre.CATEGORY_NOT_WORD: "-"}


def texts_of(tree) -> list[str]:
    """Return a shortest text of a parsed pattern first, then one for each further choice within it."""
    parts = [texts_of_node(*node) for node in tree]
    first = [one for one, *_ in parts]
    varied = [[*first[:at], one, *first[at + 1 :]] for at, (_, *others) in enumerate(parts) for one in others]
    return ["".join(words) for words in (first, *varied)]


def texts_of_node(kind, value) -> list[str]:
    match kind:
        case sre.LITERAL:
            texts = [chr(value)]
        case sre.IN if value[0][0] is not sre.NEGATE:
            texts = [text for member in value for text in texts_of_node(*member)]
        case sre.RANGE:
            texts = [chr(value[0])]
        case sre.CATEGORY:
            texts = [_OF_CATEGORY.get(value, "x")]
        case sre.BRANCH:
            texts = [text for branch in value[1] for text in texts_of(branch)]
        case sre.SUBPATTERN | sre.ASSERT:
            texts = texts_of(value[-1])
        case sre.MAX_REPEAT | sre.MIN_REPEAT:
            least, _, tree = value
            texts = [text * least for text in texts_of(tree)] if least else ["", *texts_of(tree)]
        case sre.IN | sre.NOT_LITERAL | sre.ANY:
            texts = ["x"]
        case sre.AT | sre.ASSERT_NOT:
            texts = [""]
        case _:
            raise AssertionError(kind)
    return texts


@pytest.mark.parametrize("pattern", NEEDY, ids=lambda pattern: pattern.pattern[:30])
def test_each_match_of_a_pattern_has_one_of_its_needs_and_none_is_listed_in_vain(pattern):
    flags = pattern.flags & (re.IGNORECASE | re.MULTILINE | re.DOTALL)
    search = re.compile(pattern.pattern, flags).search
    texts = [one for one in texts_of(_parser.parse(pattern.pattern, flags)) if search(one)]
    found = [
        [need for need in pattern.needs.split("|") if need in text.lower()]
        for text in texts
        if text.isascii()
    ]

    assert all(map(pattern.may_match, texts))
    assert {needs[0] for needs in found if len(needs) == 1} == set(pattern.needs.split("|"))


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
