"""Stem the words of other languages than English by the Snowball algorithms.

English words keep the algorithm of `words.stem`. M. F. Porter, "Snowball: A language for stemming
algorithms", 2001.
"""

from functools import cache, lru_cache
from typing import Any

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


@lru_cache(maxsize=65_536)
def stem_in(language: str, word: str) -> str:
    """Return a folded word without its ending; the word itself in a language without an algorithm."""
    if language not in _ALGORITHMS or len(word) > LONGEST:
        return word
    stemmed: str = _stemmer(language).stemWord(word)
    return stemmed


@cache
def _stemmer(language: str) -> Any:
    import Stemmer  # noqa: PLC0415 - for texts in other languages only

    return Stemmer.Stemmer(_ALGORITHMS[language])
