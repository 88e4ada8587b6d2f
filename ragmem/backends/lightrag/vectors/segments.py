"""Arrays of quantised vectors and their search: sign bits select, int8 rescores."""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.frozen import dataclass

EXACT_LIMIT = 1500
"""Up to this many vectors, all are compared and no sign bits are written to files."""

PRESELECT = 800
"""Fewest candidates by sign bits. Among 63,000 real vectors, 400 candidates keep 99.5 % of the ten nearest by
int8, and 800 keep 99.9 % for a third of a millisecond more."""

PRESELECT_FACTOR = 10
"""Candidates per wanted hit, if that is more."""

PRESELECT_SHARE = 300
"""One of this many rows is a candidate, if that is more: signs distinguish dense vectors less well."""

_BLOCK = 8192
"""Rows that are compared at a time, so that intermediate arrays stay in the processor's cache."""

_SAMPLE = 1024
"""Rows for estimating the share of the wanted workspaces."""

_BROAD = 0.25
"""Share of the wanted workspaces from which all rows are compared and then filtered."""

_RESERVE = 1.3
"""Factor of extra candidates for that filter."""

_GATHERED = 512
"""Rows of a mapped file that are read before its memory is released."""

COPIED = 30_000
"""Rows up to which the numbers of a mapped file are copied to be searched: that takes a tenth of the time."""

_FEW_WORKSPACES = 8

Row = tuple[int, str, float, bytes]
"""Sequence number, workspace, scale and int8 vector of a row in the database."""

FetchCodes = Callable[[Sequence[int]], Mapping[int, bytes]]
"""Sequence numbers -> int8 vectors of those rows that the database has."""


def quantise(vector: NDArray[np.float32]) -> tuple[float, bytes]:
    """Return the scale and the int8 form of a vector: value = code * scale."""
    peak = float(np.abs(vector).max(initial=0.0))
    scale = peak / 127.0 or 1.0
    return scale, np.rint(vector / scale).astype(np.int8).tobytes()


def restore(scale: float, codes: bytes) -> NDArray[np.float32]:
    """Return the vector from its quantised form."""
    return np.frombuffer(codes, np.int8).astype(np.float32) * np.float32(scale)


def cosines(
    scales: Sequence[float], codes: Sequence[bytes], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of each quantised vector to `query`, which has unit length."""
    matrix = np.frombuffer(b"".join(codes), np.int8).reshape(len(codes), len(query)).astype(np.float32)
    found: NDArray[np.float32] = (matrix @ query) * np.array(scales, np.float32)
    return found


def workspace_number(workspace: str) -> int:
    """Return a 32-bit hash of a workspace; hits are verified in the database anyway."""
    return int.from_bytes(hashlib.blake2b(workspace.encode(), digest_size=4).digest(), "little")


def sign_bits(codes: NDArray[np.int8]) -> NDArray[np.uint64]:
    """Return the signs of each row, 64 to a word."""
    packed = np.packbits(codes > 0, axis=1)
    spare = -packed.shape[1] % 8
    if spare:
        packed = np.pad(packed, ((0, 0), (0, spare)))
    return np.ascontiguousarray(packed).view(np.uint64)


if hasattr(np, "bitwise_count"):
    _ones = np.bitwise_count
else:  # numpy < 2
    _BYTE_ONES = np.array([value.bit_count() for value in range(256)], np.uint8)

    def _ones(words: NDArray[np.uint64]) -> NDArray[np.uint8]:  # type: ignore[misc]
        counts: NDArray[np.uint8] = (
            _BYTE_ONES[words.view(np.uint8)].reshape(*words.shape, 8).sum(-1, np.uint8)
        )
        return counts


class OtherVectorsError(Exception):
    """The database has other vectors than those whose signs were written to files."""


class StoredCodes:
    """The codes of mapped rows, (n, dimensions): read from the database where they are compared, then kept.

    Safe to use from several threads: a row never changes.
    """

    def __init__(
        self, seqs: NDArray[np.integer[Any]], bits: NDArray[np.uint64], dimensions: int, fetch: FetchCodes
    ) -> None:
        self._seqs = seqs
        self._bits = bits
        self._dimensions = dimensions
        self._fetch = fetch
        # Zeroed memory takes no space until it is written to.
        self._kept = np.zeros((len(seqs), dimensions), np.int8)
        self._is_kept = np.zeros(len(seqs), np.bool_)

    def take(self, rows: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return the codes of some rows; zeros for those that the database has no more.

        Raises OtherVectorsError where the signs of a row are not those of the files.
        """
        missing = rows[~self._is_kept[rows]]
        if len(missing):
            codes, there = self._read(missing)
            self._kept[missing[there]] = codes[there]
            self._is_kept[missing[there]] = True
        # Twice as fast as fancy indexing.
        return self._kept.take(rows, axis=0)

    def _read(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.int8], NDArray[np.bool_]]:
        seqs = self._seqs[rows].tolist()
        found = self._fetch(seqs)
        gone = bytes(self._dimensions)
        codes = np.frombuffer(b"".join(found.get(seq, gone) for seq in seqs), np.int8)
        codes = codes.reshape(len(rows), self._dimensions)
        there = np.fromiter((seq in found for seq in seqs), np.bool_, len(seqs))
        if (sign_bits(codes) != self._bits[rows])[there].any():
            raise OtherVectorsError
        return codes, there


@dataclass(frozen=True, slots=True)
class Segment:
    """Some vectors in order of their sequence numbers: n rows, `codes` (n, dimensions), `bits` (n, words)."""

    seqs: NDArray[np.integer[Any]]
    workspaces: NDArray[np.uint32]
    scales: NDArray[np.float32]
    codes: NDArray[np.int8] | StoredCodes
    bits: NDArray[np.uint64]
    release: Callable[[], None] | None = None
    """Releases the memory of mapped codes, which stay readable."""

    def codes_of(self, rows: NDArray[np.intp]) -> NDArray[np.int8]:
        """Return a copy of the codes of some rows; raises OtherVectorsError."""
        if isinstance(self.codes, StoredCodes):
            return self.codes.take(rows)
        if self.release is None:
            # Twice as fast as fancy indexing.
            return self.codes.take(rows, axis=0)
        found = np.empty((len(rows), self.codes.shape[1]), np.int8)
        # The system loads 64 KB around each row: at a million rows, nearly the whole file.
        for start in range(0, len(rows), _GATHERED):
            part = rows[start : start + _GATHERED]
            np.take(self.codes, part, axis=0, out=found[start : start + len(part)])
            self.release()
        return found

    def places_of(self, seqs: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the sorted indices of these sequence numbers; unknown ones are left out."""
        seqs = np.sort(seqs)
        last = len(self) - 1
        if len(self) <= COPIED:
            places = np.minimum(np.searchsorted(self.seqs, seqs), last)
            near: NDArray[np.intp] = places[self.seqs[places] == seqs]
            return near
        # A binary search, because numpy's searchsorted copies all numbers of a mapped file.
        before = np.full(len(seqs), -1, np.intp)
        for power in reversed(range(last.bit_length())):
            probed = before + (1 << power)
            smaller = (probed <= last) & (self.seqs[np.minimum(probed, last)] < seqs)
            before[smaller] = probed[smaller]
        places = np.minimum(before + 1, last)
        found: NDArray[np.intp] = places[self.seqs[places] == seqs]
        return found

    def __len__(self) -> int:
        return len(self.seqs)

    @property
    def last(self) -> int:
        """The highest sequence number, 0 where there is none."""
        return int(self.seqs[-1]) if len(self.seqs) else 0

    def agrees(self, rows: Sequence[Row]) -> bool:
        """Return whether the segment has all of the rows with the same scales and signs."""
        for seq, _, scale, codes in rows:
            # Not searchsorted, which would copy all numbers of a mapped file each time.
            place = bisect_left(self.seqs, seq)
            if place == len(self) or self.seqs[place] != seq or self.scales[place] != np.float32(scale):
                return False
            if (self.bits[place] != sign_bits(np.frombuffer(codes, np.int8).reshape(1, -1))).any():
                return False
        return True


def empty(dimensions: int) -> Segment:
    """Return a segment without vectors."""
    return from_rows([], dimensions)


def from_rows(rows: Sequence[Row], dimensions: int) -> Segment:
    """Return the rows as arrays."""
    codes = np.frombuffer(b"".join(row[3] for row in rows), np.int8).reshape(len(rows), dimensions)
    numbers = {workspace: workspace_number(workspace) for workspace in {row[1] for row in rows}}
    return Segment(
        seqs=np.array([row[0] for row in rows], np.int64),
        workspaces=np.array([numbers[row[1]] for row in rows], np.uint32),
        scales=np.array([row[2] for row in rows], np.float32),
        codes=codes,
        bits=sign_bits(codes),
    )


def join(segments: Sequence[Segment]) -> Segment:
    """Return the segments as one, in memory."""
    if len(segments) == 1:
        return segments[0]
    return Segment(
        seqs=np.concatenate([segment.seqs for segment in segments]),
        workspaces=np.concatenate([segment.workspaces for segment in segments]),
        scales=np.concatenate([segment.scales for segment in segments]),
        codes=np.concatenate([segment.codes_of(np.arange(len(segment))) for segment in segments]),
        bits=np.concatenate([segment.bits for segment in segments]),
    )


def scores(
    segment: Segment,
    query: NDArray[np.float32],
    *,
    count: int,
    workspaces: Collection[str] | None,
) -> list[tuple[float, int]]:
    """Return (cosine, sequence number) of the best `count` rows, best first; deleted rows may be among them.

    `query` has unit length. Beyond EXACT_LIMIT rows, only the best by sign bits are compared. Raises
    OtherVectorsError.
    """
    wanted = None if workspaces is None else [workspace_number(name) for name in workspaces]
    preselect = max(PRESELECT, PRESELECT_FACTOR * count, len(segment) // PRESELECT_SHARE)
    if len(segment) > max(EXACT_LIMIT, preselect):
        chosen = _nearest_by_sign(segment, query, wanted, preselect)
    elif wanted is None:
        chosen = np.arange(len(segment))
    else:
        chosen = np.flatnonzero(_are_in(segment.workspaces, wanted))
    if not len(chosen):
        return []
    cosines = (segment.codes_of(chosen).astype(np.float32) @ query) * segment.scales[chosen]
    best = _largest(cosines, count)
    return list(zip(cosines[best].tolist(), segment.seqs[chosen[best]].tolist(), strict=True))


def scores_of(
    segment: Segment,
    query: NDArray[np.float32],
    seqs: NDArray[np.int64],
    *,
    workspaces: Collection[str] | None,
) -> dict[int, float]:
    """Return sequence number -> cosine of the rows in this segment and these workspaces.

    Raises OtherVectorsError.
    """
    places = segment.places_of(seqs)
    if workspaces is not None:
        wanted = [workspace_number(name) for name in workspaces]
        places = places[_are_in(segment.workspaces[places], wanted)]
    if not len(places):
        return {}
    cosines = (segment.codes_of(places).astype(np.float32) @ query) * segment.scales[places]
    return dict(zip(segment.seqs[places].tolist(), cosines.tolist(), strict=True))


def _are_in(workspaces: NDArray[np.uint32], wanted: Sequence[int]) -> NDArray[np.bool_]:
    if len(wanted) > _FEW_WORKSPACES:
        return np.isin(workspaces, np.array(wanted, np.uint32))
    found = np.zeros(len(workspaces), np.bool_)
    for number in wanted:
        found |= workspaces == np.uint32(number)
    return found


def _nearest_by_sign(
    segment: Segment, query: NDArray[np.float32], wanted: Sequence[int] | None, preselect: int
) -> NDArray[np.intp]:
    """Return the indices of at least `preselect` rows with the nearest signs, or all of few rows."""
    signs = sign_bits(np.sign(query).astype(np.int8).reshape(1, -1))
    if wanted is None:
        return _smallest(_differences(segment.bits, signs), preselect)
    sample = segment.workspaces[:: -(-len(segment) // _SAMPLE)]
    share = np.count_nonzero(_are_in(sample, wanted)) / len(sample)
    if share >= _BROAD:
        near = _smallest(_differences(segment.bits, signs), int(preselect / share * _RESERVE))
        near = near[_are_in(segment.workspaces[near], wanted)]
        if len(near) >= preselect:
            return near
    rows = np.flatnonzero(_are_in(segment.workspaces, wanted))
    if len(rows) <= max(EXACT_LIMIT, preselect):
        return rows
    return rows[_smallest(_differences(segment.bits, signs, rows), preselect)]


def _differences(
    bits: NDArray[np.uint64], signs: NDArray[np.uint64], rows: NDArray[np.intp] | None = None
) -> NDArray[np.uint16]:
    """Return the number of different bits of each row, or of some rows."""
    count = len(bits) if rows is None else len(rows)
    words = bits.shape[1]
    result = np.zeros(count, np.uint16)
    # As one long row, because numpy is slow over many short rows.
    repeated = np.tile(signs.reshape(-1), min(_BLOCK, count))
    for start in range(0, count, _BLOCK):
        part = slice(start, start + _BLOCK)
        block = (bits[part] if rows is None else bits.take(rows[part], axis=0)).reshape(-1)
        ones = _ones(block ^ repeated[: len(block)]).reshape(-1, words)
        # Sum three columns (of at most 64 each) in a byte: four times as fast as a sum over short rows.
        for first in range(0, words, 3):
            some = ones[:, first]
            for column in range(first + 1, min(first + 3, words)):
                some = some + ones[:, column]
            result[part] += some
    return result


def _smallest(distances: NDArray[np.uint16], count: int) -> NDArray[np.intp]:
    """Return the sorted indices of the smallest values; of equal ones the first."""
    if count >= len(distances):
        return np.arange(len(distances))
    # Few values differ, so counting them is faster than partitioning.
    worst = int(np.searchsorted(np.cumsum(np.bincount(distances)), count))
    chosen = distances < worst
    ties = np.flatnonzero(distances == worst)[: count - np.count_nonzero(chosen)]
    chosen[ties] = True
    return np.flatnonzero(chosen)


def _largest(cosines: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    """Return the indices of the largest values, descending; of equal ones the first, which is the oldest."""
    # Rounded, because cosines of equal vectors may differ in the last bit.
    distances = -cosines.round(6)
    if count >= len(distances):
        return np.argsort(distances, kind="stable")
    near = np.flatnonzero(distances <= np.partition(distances, count - 1)[count - 1])
    return near[np.argsort(distances[near], kind="stable")[:count]]
