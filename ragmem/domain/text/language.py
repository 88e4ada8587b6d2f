"""Detect the language of a text by its script and its function words.

The result is None where too little speaks for one language: code, a list of names, a single word. Nothing
may depend on a language that is not detected.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType

from ragmem.domain.text.words import fold_words
from ragmem.patterns import lazy

ENGLISH = "en"

MAX_CHARS = 2000
"""Characters of a text that are read; more change nothing."""

OTHER_SCRIPT = 0.2
"""Least share of letters of another script than Latin; notes in any script hold Latin names and code."""

FEW_WORDS = 12
"""A text of fewer words is a question: one function word of its own may tell its language."""

LEAST_SHARE = 0.12
"""Least share of function words among the words of a longer text; prose in each language has 0.25 or more."""

MARGIN = 1.25
"""Factor by which the best language must exceed English, where no letter is one that English has not."""

_LETTERS = lazy(r"[^\W\d_]")
_NOT_ASCII = lazy(r"[^\x00-\x7f]")
_ACCENTED = lazy("[\u00c0-\u024f]")
_NOT_LATIN = lazy("[\u0370-\U0010ffff]")
_SCRIPTS = (
    ("ja", lazy("[\u3040-\u30ff\uff66-\uff9f]")),
    ("ko", lazy("[\uac00-\ud7af\u1100-\u11ff]")),
    ("zh", lazy("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")),
    ("th", lazy("[\u0e00-\u0e7f]")),
    ("cyrillic", lazy("[\u0400-\u04ff]")),
    ("el", lazy("[\u0370-\u03ff\u1f00-\u1fff]")),
    ("arabic", lazy("[\u0600-\u06ff]")),
    ("he", lazy("[\u0590-\u05ff]")),
    ("hi", lazy("[\u0900-\u097f]")),
    ("ta", lazy("[\u0b80-\u0bff]")),
    ("hy", lazy("[\u0530-\u058f]")),
)
_CYRILLIC = ("ru", "uk", "sr")
_UKRAINIAN = lazy("[\u0454\u0456\u0457\u0491]", re.IGNORECASE)
_SERBIAN = lazy("[\u0452\u0458-\u045b\u045f]", re.IGNORECASE)
_ARABIC = ("ar", "fa")
_OTHER_SCRIPTS = frozenset({*_CYRILLIC, *_ARABIC, "el", "hi", "hy"})

_COMMON = ("en", "de", "fr", "es", "pt", "it", "nl", "pl", "sv", "cs", "tr", "nb", "da", "fi", "hu", "ro")
"""Of languages with as much for them the first one counts, as the one with more texts about programs."""

_LETTERS_OF = (
    ("cs", lazy("[\u011b\u0159\u016f]", re.IGNORECASE)),
    ("hu", lazy("[\u0151\u0171]", re.IGNORECASE)),
    ("tr", lazy("[\u011e\u011f\u0131\u0130]")),
    ("pl", lazy("[\u0105\u0119\u0142\u0144\u015b\u017a]", re.IGNORECASE)),
    ("ro", lazy("[\u0103\u0219\u021b]", re.IGNORECASE)),
    ("pt", lazy("[\u00e3\u00f5]", re.IGNORECASE)),
    ("es", lazy("[\u00f1\u00bf\u00a1]", re.IGNORECASE)),
    ("de", lazy("\u00df")),
    ("vi", lazy("[\u01a1\u01b0\u0111\u1ea0-\u1ef9]", re.IGNORECASE)),
)
"""Letters that one language has of those that are told by words; together they count as a function word."""

_FILE = Path(__file__).with_name("function_words.tsv")


@cache
def function_words() -> Mapping[str, frozenset[str]]:
    """Return ISO 639-1 code -> the folded function words of a language."""
    rows = (line.split("\t") for line in _FILE.read_text(encoding="utf-8").splitlines() if line[:1] != "#")
    return MappingProxyType({code: frozenset(words.split()) for code, words in rows})


def _tells(word: str) -> bool:
    # Single letters occur in code and after apostrophes.
    return len(word) > 1 or not word.isascii()


@cache
def _owners() -> Mapping[str, tuple[tuple[str, float], ...]]:
    """Return word -> the languages that have it, each with its share of the word's weight."""
    owners: dict[str, list[str]] = {}
    for code, words in function_words().items():
        for word in filter(_tells, words):
            owners.setdefault(word, []).append(code)
    return {word: tuple((code, 1 / len(codes)) for code in codes) for word, codes in owners.items()}


@lru_cache(maxsize=64)
def detect(text: str) -> str | None:
    """Return the ISO 639-1 code of a text's language, "en" for English, None if it is unclear."""
    text = text[:MAX_CHARS]
    if text.isascii():
        return _by_words(fold_words(text), _latin())
    rare = "".join(_NOT_ASCII.findall(text))
    if _NOT_LATIN.search(rare) and (found := _by_script(text, rare)):
        return found
    own = (code for code, letters in _LETTERS_OF if letters.search(rare))
    margin = 1.0 if _ACCENTED.search(rare) else MARGIN
    return _by_words(fold_words(text), _latin(), own, margin)


def foreign_language(text: str) -> str | None:
    """Return the ISO 639-1 code of a text's language; None for English, and if it is unclear."""
    language = detect(text)
    return None if language == ENGLISH else language


def is_foreign(text: str) -> bool:
    """Return whether a text is surely in another language than English."""
    return foreign_language(text) is not None


def _rank(code: str) -> int:
    return _COMMON.index(code) if code in _COMMON else len(_COMMON)


def _by_script(text: str, rare: str) -> str | None:
    """Return the language of a text whose characters beyond ASCII are `rare`, if its script tells one."""
    counts = {name: len(pattern.findall(rare)) for name, pattern in _SCRIPTS}
    others = sum(counts.values())
    if not others or others < OTHER_SCRIPT * len(_LETTERS.findall(text)):
        return None
    # Japanese has Chinese letters beside its own, and never the other way round.
    if counts["ja"] * 10 >= counts["zh"] and counts["ja"]:
        return "ja"
    best = max(counts, key=lambda name: counts[name])
    if best == "cyrillic":
        # Russian has none of their letters.
        return "uk" if _UKRAINIAN.search(text) else "sr" if _SERBIAN.search(text) else "ru"
    if best == "arabic":
        return _by_words(fold_words(text), _ARABIC) or _ARABIC[0]
    return best


@cache
def _latin() -> frozenset[str]:
    return frozenset(function_words()) - _OTHER_SCRIPTS


def _by_words(
    words: list[str], among: Collection[str], own: Iterable[str] = (), margin: float = MARGIN
) -> str | None:
    owners = _owners()
    scores = dict.fromkeys(own, 1.0)
    hits = dict.fromkeys(scores, 1)
    for word in words:
        for code, weight in owners.get(word, ()):
            scores[code] = scores.get(code, 0.0) + weight
            hits[code] = hits.get(code, 0) + 1
    possible = [code for code in scores if code in among]
    if not possible:
        return None
    best = max(possible, key=lambda code: (scores[code], -_rank(code)))
    if best != ENGLISH and scores[best] < margin * scores.get(ENGLISH, 0.0):
        return ENGLISH if hits.get(ENGLISH, 0) >= LEAST_SHARE * len(words) else None
    if len(words) < FEW_WORDS:
        # A word of several languages identifies none; two words of one language do.
        return best if scores[best] >= 1 or hits[best] > 1 else None
    return best if hits[best] >= LEAST_SHARE * len(words) else None
