"""Find the words that a wallet is made from, wherever they stand in a row."""

import re
from collections.abc import Iterator
from functools import cache

from ragmem.domain.secrets.values import Secret
from ragmem.domain.secrets.words import words_of

MIN_WORDS = 12
"""The shortest phrase of BIP-39; of prose no more than ten words in a row are in its list."""

MIN_DIFFERENT = 9
MOST_BETWEEN = 24
"""Characters between two words of a phrase: a blank, a number, the frame of a table."""

_WORD = re.compile(rb"[a-z]+")


@cache
def _seeds() -> frozenset[bytes]:
    from ragmem.domain.secrets.seed_words import ENGLISH  # noqa: PLC0415 two thousand words

    return frozenset(word.encode() for word in ENGLISH.split())


def seed_phrases(small: bytes) -> Iterator[Secret]:
    """Yield each row of twelve words or more that are all in the list of BIP-39."""
    seeds = _seeds()
    if b"\1" * MIN_WORDS not in bytes(map(seeds.__contains__, words_of(small))):
        return
    row: list[re.Match[bytes]] = []
    for word in _WORD.finditer(small):
        if row and (word[0] not in seeds or not _is_between(small, row[-1].end(), word.start())):
            yield from _phrase(row)
            row = []
        if word[0] in seeds:
            row.append(word)
    yield from _phrase(row)


_BETWEEN = b" \t\r\n0123456789.,;:|\"'`*->)\\"


def _is_between(small: bytes, start: int, end: int) -> bool:
    """Tell whether what stands between two words may stand between those of a phrase."""
    return end - start <= MOST_BETWEEN and not small[start:end].strip(_BETWEEN)


def _phrase(row: list[re.Match[bytes]]) -> Iterator[Secret]:
    if len(row) >= MIN_WORDS and len({word[0] for word in row}) >= MIN_DIFFERENT:
        yield Secret(row[0].start(), row[-1].end(), "seed phrase")
