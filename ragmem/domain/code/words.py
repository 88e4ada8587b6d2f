"""Find the words of code and of questions about it, and the chunks and definitions of a file by its words.

An identifier counts as its parts and as all of its letters: `getUserName` is get, user, name and getusername.
A term is the CRC-32 of a stem, so that no text of a file is stored.
"""

import re
import struct
import sys
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import PurePosixPath

from ragmem.domain.code.code import Symbol, SymbolKind
from ragmem.domain.text.words import fold_words, pairs, stem
from ragmem.frozen import dataclass

CHUNK_CHARS = 1_500
"""Characters of a chunk at most; it ends at a blank line once it has half of them."""

MOST_FREQUENT = 255
MOST_PLACES = 65_535
"""Caps of a term's frequency in a chunk, and of the chunks and definitions of a file."""

LONGEST_WORD = 64
"""Characters of a word; a longer one is data."""

HEADER = struct.Struct("<IIIII")
"""Lines of the file, chunks, postings, definitions and postings of definitions."""

MOST_KEPT = 65_536
"""Words whose parts, stems and terms are kept."""

_WORD = re.compile(r"\w+")
_GAPS = {code: " " for code in range(128) if not _WORD.match(chr(code))}
"""The other characters of ASCII; a text without them is split in two thirds of the time."""

_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+|[^\W\d_A-Za-z]+")
_NAME = re.compile(r"[A-Za-z_]\w*[!?]?")


def term_of(stemmed: str) -> int:
    """Return the term of a stem."""
    return zlib.crc32(stemmed.encode("utf-8", "surrogatepass"))


def name_term(name: str) -> int:
    """Return the term of a whole name as it is written, which no word has."""
    return term_of(f"={name}")


def parts_of(word: str) -> list[str]:
    """Return the parts of a word in lower case; none of a word that is data."""
    if len(word) > LONGEST_WORD:
        return []
    found = [part.lower() for part in _PART.findall(word)]
    return found if word.isascii() else [one for part in found for one in fold_words(part)]


@lru_cache(maxsize=MOST_KEPT)
def stems_of(word: str) -> tuple[str, ...]:
    """Return the stems of the parts of a word, and all of its letters if it has several parts."""
    parts = parts_of(word)
    stems = [stem(part) for part in parts if len(part) > 1 or not part.isdigit()]
    return (*stems, "".join(parts)) if len(parts) > 1 else tuple(stems)


class _Terms(dict[str, tuple[int, ...]]):
    """The terms of words, kept like `lru_cache` keeps them, but found in a third of its time."""

    def __missing__(self, word: str) -> tuple[int, ...]:
        if len(self) >= MOST_KEPT:
            self.clear()
        found = self[word] = tuple(map(term_of, stems_of(word)))
        return found


_terms_of = _Terms().__getitem__


def count_terms(text: str) -> Counter[int]:
    """Return the terms of a text and how often each occurs."""
    if text.isascii():
        return Counter(chain.from_iterable(map(_terms_of, text.translate(_GAPS).split())))
    found = Counter(chain.from_iterable(map(_terms_of, _WORD.findall(text))))
    found.update(map(term_of, pairs(text)))
    return found


@dataclass(frozen=True, slots=True)
class PathWords:
    """The distinct stems of a file name without endings, its letters, and the stems of the folders."""

    name: tuple[str, ...]
    letters: str
    folders: tuple[str, ...]


def words_of_path(path: str) -> PathWords:
    """Return the words of a relative path with slashes."""
    pure = PurePosixPath(path)
    parts = [
        part for word in _WORD.findall(pure.name.lstrip(".").partition(".")[0]) for part in parts_of(word)
    ]
    folders = [one for word in _WORD.findall(pure.parent.as_posix()) for one in stems_of(word)]
    return PathWords(tuple(dict.fromkeys(map(stem, parts))), "".join(parts), tuple(dict.fromkeys(folders)))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines `first` to `last` of a file, counted from 1."""

    first: int
    last: int
    text: str


def chunks_of(text: str) -> Iterator[Chunk]:
    """Yield the parts of a text that are about CHUNK_CHARS long; none is blank."""
    lines: list[str] = []
    size, first = 0, 1
    for number, line in enumerate(text.split("\n"), 1):
        full = size + len(line) > CHUNK_CHARS or (size > CHUNK_CHARS / 2 and not line.strip())
        if lines and full:
            if size > len(lines):
                yield Chunk(first, number - 1, "\n".join(lines))
            lines, size, first = [], 0, number
        lines.append(line)
        size += len(line) + 1
    whole = "\n".join(lines)
    if whole.strip():
        yield Chunk(first, first + len(lines) - 1, whole)


def pack_words(text: str, symbols: Iterable[Symbol]) -> bytes:
    """Return the words of a file and of its definitions as little-endian arrays.

    After HEADER: first lines (u4), last lines (u4) and words (u2) of the chunks; terms (u4), chunks (u2) and
    frequencies (u1) of the postings; lines (u4) and words (u1) of the definitions; terms (u4) and definitions
    (u2) of their postings.
    """
    firsts, lasts, lengths = array("I"), array("I"), array("H")
    terms, places, frequencies = array("I"), array("H"), array("B")
    for place, chunk in zip(range(MOST_PLACES), chunks_of(text), strict=False):
        counted = count_terms(chunk.text)
        firsts.append(chunk.first)
        lasts.append(chunk.last)
        often = list(counted.values())
        lengths.append(min(sum(often), MOST_PLACES))
        terms.extend(counted)
        places.extend([place] * len(often))
        frequencies.extend(
            often if max(often, default=0) <= MOST_FREQUENT else [min(one, MOST_FREQUENT) for one in often]
        )
    lines, sizes, names, owners = array("I"), array("B"), array("I"), array("H")
    for place, (name, line) in zip(range(MOST_PLACES), _definitions(symbols), strict=False):
        found = [*dict.fromkeys(_terms_of(name)), name_term(name)]
        lines.append(line)
        sizes.append(min(max(len(found) - 2, 1), MOST_FREQUENT))
        names.extend(found)
        owners.extend([place] * len(found))
    header = HEADER.pack(text.count("\n") + 1, len(firsts), len(terms), len(lines), len(names))
    arrays = (firsts, lasts, lengths, terms, places, frequencies, lines, sizes, names, owners)
    return header + b"".join(map(_little_endian, arrays))


def _definitions(symbols: Iterable[Symbol]) -> Iterator[tuple[str, int]]:
    seen = set()
    for one in symbols:
        if one.kind is not SymbolKind.MODULE and one.name not in seen and _NAME.fullmatch(one.name):
            seen.add(one.name)
            yield one.name, one.line


def _little_endian(values: "array[int]") -> bytes:
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def names_in(words: Sequence[str]) -> list[str]:
    """Return the words that are written like names of code, which no sentence has."""
    return [word for word in words if word.isidentifier() and ("_" in word.strip("_") or _is_mixed(word))]


def _is_mixed(word: str) -> bool:
    return any(letter.isupper() for letter in word[1:]) and any(letter.islower() for letter in word)
