"""Find the words by which texts in other languages than English state a decision, a ban or a rule.

`rule_words.tsv` lists them by language. All languages are looked for in each text, because a note may mix
two; no word of the list is an English one. A wrong one only costs space.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

WORDS = Path(__file__).with_name("rule_words.tsv")
"""A `~` ends a word of which only the beginning counts; `*` stands for up to MOST_BETWEEN characters."""

MOST_BETWEEN = 60

_ACCENTS = lazy("[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652\u0670]")
"""Accents, and the vowel signs that Arabic and Hebrew mostly leave out."""

_NO_WORD = lazy("[^\\w\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff]+")
"""What separates words, beside underscores; the vowel signs of Indian and Thai scripts are parts of words."""

_UNSPACED = lazy("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")
"""Scripts without spaces, and Hangul, which joins particles to its words."""

_JOINED = lazy(" [\u0648\u0641\u05d5\u05d4\u05d1\u05dc\u05e9\u05db](\\S{3,})(?= )")
"""A word of Arabic or Hebrew to which a letter is joined: and, so, the, in, to, that, as."""

_QUESTION_MARKS = "?\uff1f\u061f"
_QUESTION = lazy(
    f"(?:^|(?<=[.!{_QUESTION_MARKS}\u3002\n]))[^.!{_QUESTION_MARKS}\u3002\n]*[{_QUESTION_MARKS}]"
)
"""A question rules nothing."""

_COLON = "[:\uff1a]"


@dataclass(frozen=True, slots=True)
class _Words:
    """Folded words and phrases by how they are found; a phrase is enclosed in spaces."""

    phrases: Mapping[str, tuple[str, ...]]
    """The first word of a phrase -> the phrases that begin with it."""
    beginnings: tuple[str, ...]
    parts: tuple[str, ...]
    gaps: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class _Lists:
    """The words that ban or decide, those that say always or must, and the names of decisions and rules."""

    strong: _Words
    weak: _Words
    names: frozenset[str]
    label: re.Pattern[str]


def rule_words(text: str, *, strong: bool = False) -> tuple[str, ...]:
    """Return the distinct words that state a rule or a decision, folded; empty if there are none.

    With `strong` only bans and decisions count, and labels such as "Regel:": never, forbidden, we decided.
    Without it "always" and "must" count as well. Questions are not read. The time is linear.
    """
    lists = _load()
    told = _QUESTION.sub(" ", text) if any(map(text.__contains__, _QUESTION_MARKS)) else text
    found = dict.fromkeys(_find(told, (lists.strong,) if strong else (lists.strong, lists.weak)))
    found.update((label[1], None) for label in lists.label.finditer(told.lower()))
    return tuple(found)


def names_a_rule(word: str) -> bool:
    """Return whether a word of metadata is the name of a decision or a rule, such as "Entscheidung"."""
    return _fold(word) in _load().names


def _find(text: str, every: tuple[_Words, ...]) -> list[str]:
    folded = f" {_fold(text)} "
    words = set(folded.split())
    if not folded.isascii():
        # A space before each letter that is joined to a word, beside the text itself.
        folded += _JOINED.sub(r" \1", folded)
        words.update(folded.split())
    has_parts = _UNSPACED.search(folded) is not None
    found: list[str] = []
    for one in every:
        for first in sorted(words & one.phrases.keys()):
            found += [phrase.strip() for phrase in one.phrases[first] if phrase in folded]
        found += sorted(word for word in words if word.startswith(one.beginnings))
        found += [match.group() for match in one.gaps.finditer(folded)]
        if has_parts:
            found += [part for part in one.parts if part in folded]
    return found


def _fold(text: str) -> str:
    """Return the words of a text in lower case without accents, with a space between them."""
    low = text.casefold()
    if not low.isascii():
        low = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", low)))
    return _NO_WORD.sub(" ", low.replace("_", " ")).strip()


@cache
def _load() -> _Lists:
    _, *rows = (line.split("\t") for line in WORDS.read_text(encoding="utf-8").splitlines())
    columns = [[one for row in rows for one in row[number].split(", ")] for number in (1, 2, 3)]
    names = sorted(set(columns[2]), key=lambda name: (-len(name), name))
    item = r"^[ \t]{0,12}(?:[-*+]|\d{1,3}[.)])?[ \t]{0,4}[*#]{0,6}[ \t]?"
    label = rf"{item}({'|'.join(names)})(?!\w)[^\n]{{0,12}}?{_COLON}"
    return _Lists(
        _sort(columns[0]), _sort(columns[1]), frozenset(map(_fold, names)), re.compile(label, re.MULTILINE)
    )


def _sort(given: list[str]) -> _Words:
    unspaced = {one for one in given if _UNSPACED.search(one)}
    spaced = sorted(set(given) - unspaced)
    phrases: dict[str, tuple[str, ...]] = {}
    for one in spaced:
        if "~" not in one and "*" not in one:
            folded = _fold(one)
            first = folded.split()[0]
            phrases[first] = (*phrases.get(first, ()), f" {folded} ")
    gaps = [[_fold(part) for part in one.split("*")] for one in spaced if "*" in one]
    between = "|".join(rf"{first} .{{0,{MOST_BETWEEN}}}?\b{last}" for first, last in gaps)
    return _Words(
        phrases,
        tuple(_fold(one) for one in spaced if one.endswith("~")),
        tuple(sorted(map(_fold, unspaced))),
        re.compile(rf"\b(?:{between})\b" if between else r"(?!)"),
    )
