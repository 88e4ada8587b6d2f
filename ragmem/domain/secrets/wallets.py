"""Find seed phrases of wallets: words of the BIP-39 list in a row."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ragmem.domain.secrets.values import Secret
from ragmem.domain.secrets.words import words_of
from ragmem.patterns import lazy

SEED_WORDS = Path(__file__).with_name("seed_words.txt")
"""The English words of BIP-39, in the standard order."""

MIN_WORDS = 12
"""The shortest phrase of BIP-39; prose has at most ten words of the list in a row."""

MIN_DIFFERENT = 9
MOST_BETWEEN = 24
"""Maximum characters between two words of a phrase: a blank, a number, the frame of a table."""

_WORD = lazy(rb"[a-z]+")


@cache
def _seeds() -> frozenset[bytes]:
    return frozenset(SEED_WORDS.read_bytes().split())


def find_seed_phrases(small: bytes) -> Iterator[Secret]:
    """Yield each run of twelve or more words of the BIP-39 list."""
    seeds = _seeds()
    words = words_of(small)
    # Of so many in a row one is at such a place, and most words are at none.
    if not any(
        words[place] in seeds and _is_in_row(words, place, seeds)
        for place in range(MIN_WORDS - 1, len(words), MIN_WORDS)
    ):
        return
    row: list[re.Match[bytes]] = []
    for word in _WORD.finditer(small):
        if row and (word[0] not in seeds or not _is_between(small, row[-1].end(), word.start())):
            yield from _phrase(row)
            row = []
        if word[0] in seeds:
            row.append(word)
    yield from _phrase(row)


def _is_in_row(words: tuple[bytes, ...], place: int, seeds: frozenset[bytes]) -> bool:
    """Return whether enough words beside each other, this one among them, are in the list."""
    first, last = place, place + 1
    while first > 0 and words[first - 1] in seeds:
        first -= 1
    while last < len(words) and words[last] in seeds:
        last += 1
    return last - first >= MIN_WORDS


_BETWEEN = b" \t\r\n0123456789.,;:|\"'`*->)\\"


def _is_between(small: bytes, start: int, end: int) -> bool:
    """Return whether the text between two words may separate words of a phrase."""
    between = small[start:end]
    # A colon follows a number; behind a word it makes a name of it, in YAML or JSON.
    named = b":" in between and not between[: between.index(b":")].rstrip()[-1:].isdigit()
    return len(between) <= MOST_BETWEEN and not named and not between.strip(_BETWEEN)


def _phrase(row: list[re.Match[bytes]]) -> Iterator[Secret]:
    if len(row) >= MIN_WORDS and len({word[0] for word in row}) >= MIN_DIFFERENT:
        yield Secret(row[0].start(), row[-1].end(), "seed phrase")
