"""Translate dates of further languages into English by tables: Spanish, Russian, Chinese and others.

`date_phrases.tsv` has the words and phrases of each language; a further language needs only its rows.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType

from ragmem.domain.retrieval.date_words import (
    ENGLISH_DATE,
    ENGLISH_DATE_START,
    ENGLISH_MONTH,
    ENGLISH_YEAR,
    SPANISH_WEEKEND,
)
from ragmem.domain.text.language import ENGLISH, detect

EAST_ASIAN = "cjk"
"""Chinese and Japanese, which share most words of dates."""

_FILE = Path(__file__).with_suffix(".tsv")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_TENS_AND_ONES = "\u5341"
_ONES = ("", "\u4e00", "\u4e8c", "\u4e09", "\u56db", "\u4e94", "\u516d", "\u4e03", "\u516b", "\u4e5d")
_ACCENTS = {letter: f"[{letter}{unicodedata.normalize('NFD', letter)[0]}]" for letter in "áéíóúàèìòùâê"}
_NUMBERS = {
    "year": ENGLISH_YEAR,
    "d": r"\d{1,2}",
    "e": r"\d{1,2}",
    "mm": r"[0-5]\d",
    "said": ENGLISH_DATE,
}
_EAST_ASIAN_NUMBER = (
    rf"\d{{1,2}}|[{_ONES[2]}{_ONES[3]}]?{_TENS_AND_ONES}[{''.join(_ONES)}]?|[{''.join(_ONES)}]"
)
_WORDS = ("n", "nth", "unit", "day", "dow", "month", "season")
"""The kinds of words; `dow` is a day of the week behind the name of a week."""

_PLACE = re.compile(rf"<({'|'.join(_WORDS)}|year|d|e|mm|said)>")
_LONE = re.compile(
    "".join(rf"(?<!\b{word} )" for word in "since until before after to and early mid late last".split())
    + rf"(?<!\d )\b(?:(?:early |mid |late )?{ENGLISH_MONTH}|{ENGLISH_YEAR},)"
)
"""A month or year without another word that makes it a date."""

_Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]


def translate(text: str) -> str:
    """Return a text with the dates of its language in English; the text itself if it has none."""
    code = language_of(unicodedata.normalize("NFC", text))
    if code is None:
        return text
    text = unicodedata.normalize("NFKC" if code == EAST_ASIAN else "NFC", text)
    for pattern, replaced in _rules(code):
        text = pattern.sub(replaced, text)
    return text if code != EAST_ASIAN else _LONE.sub(r"in \g<0>", " ".join(text.split()))


@lru_cache(maxsize=64)
def language_of(text: str) -> str | None:
    """Return the language of a text that the tables have: that of a date in it, else the detected one."""
    found = detect(SPANISH_WEEKEND.sub("", text))
    if found == ENGLISH:
        return None
    if _EAST_ASIAN.search(text):
        return EAST_ASIAN
    # The function words of a short question may be those of a neighbour.
    sure = [code for code in _rows() if (pattern := _sure(code)) and pattern.search(text)]
    return found if found in _rows() and (found in sure or not sure) else next(iter(sure), None)


@cache
def _rows() -> Mapping[str, Mapping[str, tuple[tuple[str, str], ...]]]:
    """Return language -> kind of row -> pairs of a regular expression and its English, in order."""
    rows: dict[str, dict[str, tuple[tuple[str, str], ...]]] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        if line and line[0] != "#":
            code, kind, english, pattern = line.split("\t")
            kinds = rows.setdefault(code, {})
            kinds[kind] = (*kinds.get(kind, ()), (_with_plain_letters(pattern), english))
    return MappingProxyType(rows)


def _with_plain_letters(pattern: str) -> str:
    for letter, both in _ACCENTS.items():
        pattern = pattern.replace(letter, both)
    return pattern


@cache
def _sure(code: str) -> re.Pattern[str] | None:
    """Return the pattern of the dates that only this language has."""
    phrases = [pattern for pattern, _ in _rows()[code].get("sure", ())]
    return _pattern("|".join(phrases), code) if phrases else None


@cache
def _rules(code: str) -> tuple[_Rule, ...]:
    return tuple(
        (_pattern(phrase, code), _translation(english, code)) for phrase, english in _rows()[code]["phrase"]
    )


def _pattern(phrase: str, code: str) -> re.Pattern[str]:
    """Return the pattern of a phrase; the groups of its words are `unit_1`, `month_2` and so on."""
    spaced = code != EAST_ASIAN
    words = dict(_NUMBERS) if spaced else {**_NUMBERS, "d": _EAST_ASIAN_NUMBER, "e": _EAST_ASIAN_NUMBER}
    for kind in _WORDS:
        # Longer words first, because words that are not spaced may begin with one another.
        listed = (word for word, _ in _rows()[code].get(kind, ()))
        words[kind] = "|".join(sorted(listed, key=len, reverse=True))
    words["n"] = rf"(?<!\d)\d{{1,3}}|{words['n']}"
    count = 0

    def group(found: re.Match[str]) -> str:
        nonlocal count
        count += 1
        return f"(?P<{found[1]}_{count}>{words[found[1]]})"

    phrase = phrase.replace("@", f"(?={ENGLISH_DATE_START})").replace("<end>", r"(?=\s*[?.!,]|\s*$)")
    is_open = phrase.endswith(f"(?={ENGLISH_DATE_START})")
    written = _PLACE.sub(group, phrase.replace(" ", r"\s{1,3}" if spaced else r"\s{0,3}"))
    if spaced:
        written = rf"(?<![\w-])(?:{written})" + ("" if is_open else r"(?![\w-])")
    return re.compile(written, re.IGNORECASE)


def _translation(english: str, code: str) -> Callable[[re.Match[str]], str]:
    """Return the function that writes the English of what a phrase has matched."""
    tables = {
        kind: [(re.compile(word, re.IGNORECASE), meant) for word, meant in _rows()[code][kind]]
        for kind in _WORDS
        if f"<{kind}>" in english
    }

    def word(kind: str, found: re.Match[str]) -> str:
        key = next((key for key in found.groupdict() if key.rpartition("_")[0] == kind and found[key]), None)
        if key is None:
            return ""
        if kind in {"d", "e"}:
            return _number(found[key])
        # In its place, because a pattern may ask for the words before it.
        places = (
            (pattern.fullmatch(found.string, *found.span(key)), m) for pattern, m in tables.get(kind, ())
        )
        return next((meant for at, meant in places if at), found[key])

    def translated(found: re.Match[str]) -> str:
        text = _PLACE.sub(lambda place: word(place[1], found), english)
        if code == EAST_ASIAN:
            return f" {text} "
        return text if english.endswith(" ") else text.rstrip()

    return translated


def _number(text: str) -> str:
    """Return a number up to 39 in digits; it may be in Chinese ones."""
    if text.isdigit():
        return text
    tens, ten, ones = text.rpartition(_TENS_AND_ONES)
    return str((_ONES.index(tens) or 1) * 10 * bool(ten) + _ONES.index(ones))
