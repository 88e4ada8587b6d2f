"""Tokenize texts for full text search as SQLite's FTS5 does.

The result is that of the tokenizer `porter unicode61 remove_diacritics 2`: runs of letters and digits,
folded, without accents and English endings (M. F. Porter, "An algorithm for suffix stripping", 1980). The
only difference: in scripts without spaces each letter is a word, because a run of letters is a whole
sentence.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Mapping
from functools import cache

from ragmem.heap import word_cache
from ragmem.patterns import lazy

_NOT_ASCII = lazy(r"[^\x00-\x7f]")
_SEPARATOR = " "
_COMBINING = range(0x300, 0x332)
"""Combining accents; others separate words, as in SQLite."""

# Thai, Lao, Burmese, Hangul, Khmer, Kana, Han; Hangul has spaces, but joins particles to its nouns.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3130-\u318f\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f"
    "\U00020000-\U0003ffff"
)

_IDEOGRAPHS = lazy("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+")
_KANA = lazy("[\u3041-\u30ff\u31f0-\u31ff]+")
_KATAKANA = lazy("[\u30a1-\u30ff\u31f0-\u31ff]+")

SHORTEST_STEMMED = 3
LONGEST_STEMMED = 64
"""Bytes; a longer word is a hash or a blob without an ending."""

# Suffix -> replacement; in each step the first matching suffix counts, so longer ones come first.
_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize",
    "logi": "log", "bli": "ble", "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous",
    "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al", "iveness": "ive",
    "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "",
    "ness": "",
}  # fmt: skip
_STEP_4 = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism",
    "ate", "iti", "ous", "ive", "ize",
)  # fmt: skip


_UNSPACED_FROM, _UNSPACED_TO = _UNSPACED[::3], _UNSPACED[2::3]


def _is_unspaced_letter(letter: str) -> bool:
    place = bisect_right(_UNSPACED_FROM, letter) - 1
    return place >= 0 and letter <= _UNSPACED_TO[place]


@cache
def _unspaced_pattern(count: str) -> re.Pattern[str]:
    # This large set of letters takes milliseconds to compile; an English question does not need it.
    return re.compile(f"[{_UNSPACED}]{count}")


class _FoldTable(dict[int, str]):
    """Code point -> its replacement: a folded letter, nothing for an accent, a space between words."""

    def __missing__(self, code: int) -> str:
        self[code] = folded = _fold(chr(code))
        return folded


_FOLDING = _FoldTable()
_ASCII_FOLDING = bytes(ord(chr(n).lower()) if n < 128 and chr(n).isalnum() else 32 for n in range(256))
"""The same as a table of bytes; it folds most texts in a third of the time."""


def _fold(letter: str) -> str:
    category = unicodedata.category(letter)
    if category[0] not in "LN" and category != "Co":
        return "" if ord(letter) in _COMBINING else _SEPARATOR
    if _is_unspaced_letter(letter):
        return f"{_SEPARATOR}{letter}{_SEPARATOR}"
    # Letters that fold into two, such as the German sharp s, stay as they are.
    folded = next((form for form in (letter.casefold(), letter.lower()) if len(form) == 1), letter)
    base = unicodedata.normalize("NFD", folded)[0]
    return base.lower() if base.isascii() and base.isalpha() else folded


def words_of(text: str) -> list[str]:
    """Return the stems of the words of a text, in order."""
    return [stem(word) for word in fold_words(text)]


def fold_words(text: str) -> list[str]:
    """Return the words of a text in order, folded, with their endings."""
    # Most texts are then ASCII: their only other characters are curly quotes and accents.
    plain = text if text.isascii() else _NOT_ASCII.sub(lambda found: _FOLDING[ord(found[0])], text)
    if plain.isascii():
        return plain.encode().translate(_ASCII_FOLDING).decode().split()
    return [word for word in text.translate(_FOLDING).split(_SEPARATOR) if word]


def pairs(text: str) -> list[str]:
    """Return the letter bigrams in scripts without spaces, where a single letter means little."""
    if text.isascii() or not any(map(_is_unspaced_letter, set(_NOT_ASCII.findall(text)))):
        return []
    runs = _unspaced_pattern("{2,}").findall(text)
    return [run[place : place + 2] for run in runs for place in range(len(run) - 1)]


def unspaced_runs(text: str) -> list[str]:
    """Return the runs of letters in scripts without spaces."""
    return [] if text.isascii() else _unspaced_pattern("+").findall(text)


def count_words(text: str) -> int:
    """Return the number of words of a text.

    In Chinese and Japanese two ideographs, or a run of katakana, count as one; hiragana mostly are endings.
    """
    if text.isascii():
        return len(text.split())
    ideographs = sum((len(run) + 1) // 2 for run in _IDEOGRAPHS.findall(text))
    spaced = _IDEOGRAPHS.sub(" ", _KANA.sub(" ", text)).split()
    return ideographs + len(_KATAKANA.findall(text)) + sum(any(map(str.isalnum, word)) for word in spaced)


def is_unspaced(text: str) -> bool:
    """Return whether a text begins with a letter of a script without spaces."""
    return _is_unspaced_letter(text[:1])


def is_pair(word: str) -> bool:
    """Return whether a word is one of `pairs`; it may span two words."""
    return pairs(word) == [word]


@word_cache(2048)
def stem(word: str) -> str:
    """Return a folded word without its English ending: "connections" and "connected" are "connect"."""
    if not SHORTEST_STEMMED <= len(word.encode()) <= LONGEST_STEMMED:
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_ending(word, _STEP_2)
    word = _replace_ending(word, _STEP_3)
    word = _bare(word)
    return _without_e(word)


_SHAPES = {code: "v" if chr(code) in "aeiou" else "c" for code in range(128)}


def _shape(stem: str) -> str:
    """Return v for each vowel and c for each consonant; a y is a vowel behind a consonant."""
    if "y" not in stem and stem.isascii():
        return stem.translate(_SHAPES)
    shape = ""
    for letter in stem:
        vowel = letter in "aeiou" or (letter == "y" and shape.endswith("c"))
        # As many as it has bytes: SQLite counts those.
        shape += "v" if vowel else "c" * len(letter.encode())
    return shape


def _measure(stem: str) -> int:
    """Return how often a consonant follows a vowel: the syllables, as the algorithm counts them."""
    return _shape(stem).count("vc")


def _has_vowel(stem: str) -> bool:
    return "v" in _shape(stem)


def _short(stem: str) -> bool:
    """Return whether a stem ends like "hop": consonant, vowel, consonant other than w, x and y."""
    return _shape(stem).endswith("cvc") and stem[-1] not in "wxy"


def _plural(word: str) -> str:
    for suffix, replacement in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):
        if word.endswith(suffix) and word != suffix:
            return word.removesuffix(suffix) + replacement
    return word


def _past(word: str) -> str:
    if word.endswith("eed") and word != "eed":
        return word[:-1] if _measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        stem = word.removesuffix(suffix)
        if stem != word and _has_vowel(stem):
            if stem.endswith(("at", "bl", "iz")):
                return stem + "e"
            if stem[-1].isascii() and stem[-1:] == stem[-2:-1] and stem[-1] not in "aeioulsz":
                return stem[:-1]
            return stem + "e" if _measure(stem) == 1 and _short(stem) else stem
    return word


def _replace_ending(word: str, endings: Mapping[str, str]) -> str:
    if not word.endswith(tuple(endings)):  # most words, told at once
        return word
    for suffix, replacement in endings.items():
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return stem + replacement if _measure(stem) else word
    return word


def _bare(word: str) -> str:
    if not word.endswith(_STEP_4):
        return word
    for suffix in _STEP_4:
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            kept = suffix == "ion" and not stem.endswith(("s", "t"))
            return word if kept or _measure(stem) < 2 else stem
    return word


def _without_e(word: str) -> str:
    if word.endswith("e"):
        stem = word[:-1]
        if _measure(stem) > 1 or (_measure(stem) == 1 and not _short(stem)):
            word = stem
    if word.endswith("ll") and _measure(word) > 1:
        return word[:-1]
    return word
