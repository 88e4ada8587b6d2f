"""Stem the words of other languages than English by the Snowball algorithms.

English words keep the algorithm of `words.stem`. M. F. Porter, "Snowball: A language for stemming
algorithms", 2001.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

from ragmem.heap import word_cache

_ALGORITHMS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hr": "serbian", "hu": "hungarian",
    "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian",
    "nl": "dutch", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sk": "czech", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish",
}  # fmt: skip

LONGEST = 64
"""Letters; a longer word is a hash or a blob without an ending."""


def has_stemmer(language: str) -> bool:
    """Return whether the words of a language, by its ISO 639-1 code, can be stemmed."""
    return language in _ALGORITHMS


@word_cache(8_192)
def stem_in(language: str, word: str) -> str:
    """Return a folded word without its ending; the word itself in a language without an algorithm."""
    return stem_each(language, [word])[0]


def stem_each(language: str, words: Sequence[str]) -> list[str]:
    """Return what `stem_in` gives for each of many words that are not asked for again."""
    if language not in _ALGORITHMS:
        return list(words)
    stemmer = _stemmer(language)
    return [word if len(word) > LONGEST else stemmer.stemWord(word) for word in words]


@cache
def _stemmer(language: str) -> Any:
    import Stemmer  # noqa: PLC0415 - for texts in other languages only

    return Stemmer.Stemmer(_ALGORITHMS[language], 0)  # without a cache of its own: `stem_in` has one
