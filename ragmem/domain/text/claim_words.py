"""The words by which claims are compared: stems and parts of names, without stop words."""

import re
from functools import lru_cache
from itertools import chain

from ragmem.domain.text.keywords import is_stop_word

_TOKEN = re.compile(r"[^\s,;:()\"'`!?*=|\u2026]+")
_EDGES = ".,;:()[]\"'`!?*"
_PIECE = re.compile(r"[A-Z]{2,}(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d[\w.]*")
_IGNORED_WORDS = frozenset(
    """
    no longer any more anymore now nowadays instead rather than moved move renamed rename replaced replace
    replaces switched switch changed change gone removed remove dropped drop deleted fixed fix used formerly
    previously former old new not never isn't aren't wasn't doesn't don't cannot can't neither nor decision
    decided user note yet still already only also every each one
    path copy approach way option thing variant support
    """.split()
)
"""Words about a change or its author, but not about its subject."""


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return a lower-case word without its inflection."""
    if len(word) <= 3 or not word.isalpha():
        return word
    for ending, rest in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ing", ""),
        ("ied", "y"),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)] + rest
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


@lru_cache(maxsize=65536)
def stem_of(token: str) -> str:
    """Return the stem of a token in any case."""
    return stem(token.lower())


def tokens(text: str) -> list[str]:
    """Return the words and names of a text without surrounding punctuation."""
    return [token for raw in _TOKEN.findall(text) if (token := raw.strip(_EDGES))]


def words_of(text: str) -> frozenset[str]:
    """Return the stems of the words of a text without stop words, and of the parts of its names."""
    return frozenset(chain.from_iterable(map(stems, tokens(text))))


@lru_cache(maxsize=65536)
def stems(token: str) -> tuple[str, ...]:
    """Return the stem of a token, and those of its parts if it is a name."""
    lowered = token.lower()
    if lowered in _IGNORED_WORDS or is_stop_word(lowered):
        return ()
    if token.isalpha() and (token.islower() or token.istitle() or token.isupper()):
        return (stem(lowered),)
    parts = [stem(piece.lower()) for piece in _PIECE.findall(token)]
    if "/" in token:
        parts.append(lowered.rstrip("/").rpartition("/")[2])
    kept = dict.fromkeys(part for part in parts if part not in _IGNORED_WORDS and not is_stop_word(part))
    return (lowered, *(part for part in kept if part != lowered))
