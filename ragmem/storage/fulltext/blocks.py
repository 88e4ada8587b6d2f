"""The postings of some sorted terms as bytes that fill two pages of the database.

A posting is the ordinal of a chunk with a frequency. The ordinals of a term are a piece: those of a rare term
as they are, those of a frequent one as Elias-Fano codes (Vigna, "Quasi-succinct indices", 2013) with the low
eight bits in bytes of their own, those of a very frequent one as a bit for each chunk. How many there are
decides. Frequencies take four bits.
"""

import struct
from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.errors import StoreDamagedError
from ragmem.frozen import dataclass

Array = NDArray[Any]

BLOCK_BYTES = 4053
"""A row of so many bytes fills two pages of 2 KiB, or one of 4 KiB: a search reads no more for a term."""

_BLOCK = struct.Struct("<QIIHHI")
"""Token, terms, postings, terms whose piece is coded, high frequencies, bytes of the pieces."""

_LOW = 8
"""Bits of an ordinal that are written as a byte of their own."""

_TALL = 15
"""Frequencies from here on are written as bytes, with their places."""

_NIBBLES = np.array([[value & 15, value >> 4] for value in range(256)], dtype="u1").view("<u2")[:, 0]
"""The two halves of a byte as two bytes."""

_RARE, _CODES, _BITS, _BITMAP = range(4)
"""What a byte of a piece is."""


def damage_error(what: str) -> StoreDamagedError:
    """Return the error for bytes that are not what was written."""
    return StoreDamagedError(f"the full text is damaged: {what}", hint="ragmem doctor --repair")


def _check(found: int, stated: int) -> None:
    if found != stated:
        raise damage_error("a block does not have its postings")


@dataclass(frozen=True, slots=True)
class Coding:
    """How the ordinals of a segment are written.

    Terms with fewer than `codes` postings as numbers of `width` bytes, those with `bitmaps` or more as
    bitmaps of `size` bytes, the others as codes, with one of `zeros` high parts.
    """

    width: int
    zeros: int
    codes: int
    bitmaps: int
    size: int

    def sizes(self, counts: Array) -> Array:
        """Return how many bytes of each type the pieces of terms with so many postings have, a row each."""
        coded = (counts >= self.codes) & (counts < self.bitmaps)
        found = np.zeros((len(counts), 4), dtype=np.int64)
        found[:, _RARE] = np.where(counts < self.codes, self.width * counts, 0)
        found[:, _CODES] = np.where(coded, counts, 0)
        found[:, _BITS] = np.where(coded, (counts + self.zeros + 7) // 8, 0)
        found[:, _BITMAP] = np.where(counts >= self.bitmaps, self.size, 0)
        return found


@lru_cache
def coding_of(chunks: int) -> Coding:
    """Return the coding of a segment with so many chunks, the smallest for each number of postings."""
    width = 1 if chunks <= 1 << _LOW else 2 if chunks <= 1 << 2 * _LOW else 4
    size = (chunks + 7) // 8
    zeros = (max(chunks, 1) - 1 >> _LOW) + 1
    if width == 1:
        return Coding(width, zeros, size + 1, size + 1, size)
    codes = (zeros + 7) // (8 * width - _LOW - 1) + 1
    return Coding(width, zeros, codes, max(codes, (8 * size - zeros) // (_LOW + 1) + 1), size)


def encode(
    token: int, terms: Array, counts: Array, *, chunks: int, ordinals: Array, frequencies: Array
) -> Iterator[tuple[int, bytes]]:
    """Yield the first term and the bytes of each block; `counts` as in a segment."""
    coding = coding_of(chunks)
    counts = counts.astype(np.int64)
    ends = np.cumsum(counts)
    owners = np.repeat(np.arange(len(counts)), counts)
    tall = np.bincount(owners[frequencies >= _TALL], minlength=len(counts))
    # In half bytes, because that is what a frequency takes.
    sizes = np.cumsum(
        2 * (10 + coding.sizes(counts).sum(axis=1) + 4 * (counts >= coding.codes) + 5 * tall) + counts
    )
    start = 0
    while start < len(counts):
        room = 2 * (BLOCK_BYTES - _BLOCK.size) - 1 + (int(sizes[start - 1]) if start else 0)
        end = max(start + 1, int(np.searchsorted(sizes, room, side="right")))
        here = slice(int(ends[start] - counts[start]), int(ends[end - 1]))
        block = _encode_block(
            token,
            coding,
            terms[start:end],
            counts[start:end],
            ordinals=ordinals[here],
            frequencies=frequencies[here],
        )
        yield int(terms[start]), block
        start = end


def _encode_block(
    token: int, coding: Coding, terms: Array, counts: Array, *, ordinals: Array, frequencies: Array
) -> bytes:
    coded = np.flatnonzero(counts >= coding.codes)
    if len(coded):
        sizes = coding.sizes(counts)
        starts = (np.cumsum(sizes.sum(axis=1)) - sizes.sum(axis=1))[coded]
        pieces = _encode_pieces(coding, counts, sizes, ordinals).tobytes()
    else:
        # As in the segment of a single memory.
        starts, pieces = coded, ordinals.astype(f"<u{coding.width}").tobytes()
    tall = np.flatnonzero(frequencies >= _TALL)
    nibbles = np.zeros(len(frequencies) + len(frequencies) % 2, dtype="u1")
    nibbles[: len(frequencies)] = np.minimum(frequencies, _TALL)
    return b"".join(
        (
            _BLOCK.pack(token, len(terms), len(ordinals), len(coded), len(tall), len(pieces)),
            terms.astype("<u8").tobytes(),
            np.cumsum(counts).astype(_type_of_ends(len(ordinals))).tobytes(),
            coded.astype("<u2").tobytes(),
            starts.astype("<u2").tobytes(),
            pieces,
            (nibbles[0::2] | nibbles[1::2] << 4).tobytes(),
            tall.astype("<u4").tobytes(),
            frequencies[tall].astype("u1").tobytes(),
        )
    )


def _type_of_ends(postings: int) -> str:
    return "<u2" if postings < 1 << 16 else "<u4"


def _encode_pieces(coding: Coding, counts: Array, sizes: Array, ordinals: Array) -> Array:
    sorts = np.repeat(np.tile(np.arange(4), len(counts)), sizes.reshape(-1))
    pieces = np.empty(len(sorts), dtype="u1")
    ordinals = ordinals.astype(np.int64)
    coded = sizes[:, _CODES] > 0
    rare, codes, frequent = (np.repeat(kind, counts) for kind in _kinds(coding, counts))
    pieces[sorts == _RARE] = ordinals[rare].astype(f"<u{coding.width}").view("u1")
    pieces[sorts == _CODES] = (ordinals[codes] & (1 << _LOW) - 1).astype("u1")
    bits = np.zeros(8 * int(sizes[:, _BITS].sum()), dtype="u1")
    bits[(ordinals[codes] >> _LOW) + _places_of_codes(counts[coded], sizes[coded, _BITS])] = 1
    pieces[sorts == _BITS] = np.packbits(bits, bitorder="little")
    maps = np.zeros((int((sizes[:, _BITMAP] > 0).sum()), 8 * coding.size), dtype="u1")
    maps[np.repeat(np.arange(len(maps)), counts[counts >= coding.bitmaps]), ordinals[frequent]] = 1
    pieces[sorts == _BITMAP] = np.packbits(maps, bitorder="little")
    return pieces


def _kinds(coding: Coding, counts: Array) -> tuple[Array, Array, Array]:
    rare, frequent = counts < coding.codes, counts >= coding.bitmaps
    return rare, ~(rare | frequent), frequent


def _places_of_codes(counts: Array, sizes: Array) -> Array:
    """Return where the bit of each code would be if its high part were 0."""
    starts = 8 * (np.cumsum(sizes) - sizes) - (np.cumsum(counts) - counts)
    places: Array = np.repeat(starts, counts) + np.arange(counts.sum())
    return places


class Block:
    """The terms of a block; their postings are decoded when they are asked for."""

    __slots__ = ("_coded", "_coding", "_data", "_ends", "_nibbles", "_offsets", "_pieces", "_tall", "terms")

    def __init__(self, data: bytes, token: int, chunks: int) -> None:
        try:
            written, terms, postings, coded, tall, pieces = _BLOCK.unpack_from(data)
            if written != token:
                raise damage_error("a block belongs to another segment")
            place = _BLOCK.size
            self.terms: Array = np.frombuffer(data, "<u8", terms, place)
            place += 8 * terms
            self._ends: Array = np.frombuffer(data, _type_of_ends(postings), terms, place)
            place += self._ends.nbytes
            self._coded: Array = np.frombuffer(data, "<u2", coded, place)
            self._offsets: Array = np.frombuffer(data, "<u2", coded, place + 2 * coded)
            self._pieces = place + 4 * coded
            self._nibbles = self._pieces + pieces
            self._tall = (self._nibbles + (postings + 1) // 2, tall)
        except (ValueError, struct.error) as error:
            raise damage_error(f"a block: {error}") from error
        _check(len(data), self._tall[0] + 5 * tall)
        self._data = data
        self._coding = coding_of(chunks)

    def postings(self, position: int) -> tuple[Array, Array]:
        """Return the ordinals and frequencies of the term at a position."""
        begin, end = int(self._ends[position - 1]) if position else 0, int(self._ends[position])
        try:
            return self._ordinals(position, begin, end), self._frequencies(begin, end)
        except (ValueError, IndexError) as error:
            raise damage_error(f"a block: {error}") from error

    def _ordinals(self, position: int, begin: int, end: int) -> Array:
        coding, count = self._coding, end - begin
        if count < coding.codes:
            return np.frombuffer(
                self._data, f"<u{coding.width}", count, self._pieces + self._offset(position, begin)
            )
        place = self._pieces + int(self._offsets[bisect_left(self._coded, position)])
        if count >= coding.bitmaps:
            found = self._bits(place, coding.size)
            _check(len(found), count)
            return found
        found = self._bits(place + count, (count + coding.zeros + 7) // 8)
        _check(len(found), count)
        found -= np.arange(count)
        found <<= _LOW
        found += np.frombuffer(self._data, "u1", count, place)
        return found

    def _offset(self, position: int, begin: int) -> int:
        """Return where the piece of a rare term begins: after those of the rare terms since a coded one."""
        before = bisect_left(self._coded, position)
        if not before:
            return self._coding.width * begin
        coded = int(self._coded[before - 1])
        end = int(self._ends[coded])
        count = end - (int(self._ends[coded - 1]) if coded else 0)
        bits = (count + self._coding.zeros + 7) // 8
        size = count + bits if count < self._coding.bitmaps else self._coding.size
        return int(self._offsets[before - 1]) + size + self._coding.width * (begin - end)

    def _bits(self, place: int, size: int) -> Array:
        """Return which bits of some bytes are set."""
        raw = np.frombuffer(self._data, "u1", size, place)
        return np.unpackbits(raw, bitorder="little").nonzero()[0]

    def _frequencies(self, begin: int, end: int) -> Array:
        size = (end + 1) // 2 - begin // 2
        raw = np.frombuffer(self._data, "u1", size, self._nibbles + begin // 2)
        found: Array = _NIBBLES[raw].view("u1")[begin % 2 : begin % 2 + end - begin]
        place, tall = self._tall
        if tall:
            places = np.frombuffer(self._data, "<u4", tall, place)
            # Not searchsorted, which would convert the few places first.
            one, other = bisect_left(places, begin), bisect_left(places, end)
            found[places[one:other] - begin] = np.frombuffer(self._data, "u1", tall, place + 4 * tall)[
                one:other
            ]
        return found

    def decode(self) -> tuple[Array, Array, Array]:
        """Return the numbers of postings, and all ordinals and frequencies in the order of the terms."""
        try:
            return self._decode()
        except (ValueError, IndexError) as error:
            raise damage_error(f"a block: {error}") from error

    def _decode(self) -> tuple[Array, Array, Array]:
        coding = self._coding
        counts: Array = np.diff(self._ends.astype(np.int64), prepend=0)
        if not len(self._coded):
            plain = np.frombuffer(self._data, f"<u{coding.width}", int(self._ends[-1]), self._pieces)
            return counts, plain.astype("<u4"), self._frequencies(0, len(plain))
        sizes = coding.sizes(counts)
        pieces = np.frombuffer(self._data, "u1", self._nibbles - self._pieces, self._pieces)
        sorts = np.repeat(np.tile(np.arange(4), len(counts)), sizes.reshape(-1))
        rare, codes, frequent = (np.repeat(kind, counts) for kind in _kinds(coding, counts))
        coded = sizes[:, _CODES] > 0
        ordinals = np.empty(len(rare), dtype="<u4")
        ordinals[rare] = pieces[sorts == _RARE].view(f"<u{coding.width}")
        high = np.unpackbits(pieces[sorts == _BITS], bitorder="little").nonzero()[0]
        high -= _places_of_codes(counts[coded], sizes[coded, _BITS])
        ordinals[codes] = (high << _LOW) + pieces[sorts == _CODES]
        maps = np.unpackbits(pieces[sorts == _BITMAP], bitorder="little").reshape(-1, 8 * coding.size)
        owners, places = np.nonzero(maps)
        for count, stated in zip(
            np.bincount(owners, minlength=len(maps)), counts[counts >= coding.bitmaps], strict=True
        ):
            _check(int(count), int(stated))
        ordinals[frequent] = places
        return counts, ordinals, self._frequencies(0, len(rare))
