"""A segment of the lexicon: which terms the chunks of some memories have, as sorted arrays and as bytes.

A chunk is an ordinal within its segment; a memory's chunks follow each other. A posting is an ordinal with a
term's weighted frequency there. Nothing depends on other segments, so they are merged by sorting.
"""

import struct
from collections.abc import Mapping, Sequence

import numpy as np
import orjson

from ragmem.frozen import dataclass
from ragmem.storage.fulltext.blocks import Array, Block, damage_error, encode

MOST_FREQUENT = 255
LONGEST = 65_535
"""Caps of a term's weighted frequency in a chunk, and of a chunk's words: no ranking depends on more."""

_HEADER = struct.Struct("<QIIII")


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory to be searched; of each chunk how many words, and term -> weighted frequency."""

    version: int
    number: int
    id: str
    project: str
    chunks: Sequence[tuple[int, Mapping[int, int]]]


@dataclass(frozen=True, slots=True)
class Documents:
    """The memories of a segment in the order of their versions, and the lengths of their chunks in words.

    `order` breaks ties between equal scores; it comes from their ids, so it is the same everywhere.
    """

    versions: Array
    numbers: Array
    order: Array
    counts: Array
    projects: Array
    names: tuple[str, ...]
    lengths: Array


@dataclass(frozen=True, slots=True)
class Header:
    """What must be known of a segment before its blocks are read; `first_terms` has one for each block."""

    token: int
    documents: Documents
    first_terms: Array


@dataclass(frozen=True, slots=True)
class Segment:
    """Documents with their postings: `counts` of them for each of the sorted terms, ordinals ascending."""

    documents: Documents
    terms: Array
    counts: Array
    ordinals: Array
    frequencies: Array


def build_segment(entries: Sequence[Entry]) -> Segment:
    """Return the segment of some memories, whose versions must ascend."""
    names = tuple(dict.fromkeys(entry.project for entry in entries))
    code = {name: place for place, name in enumerate(names)}
    documents = Documents(
        versions=np.array([entry.version for entry in entries], dtype="<i8"),
        numbers=np.array([entry.number for entry in entries], dtype="<i8"),
        order=np.array([_order(entry.id) for entry in entries], dtype="<u8"),
        counts=np.array([len(entry.chunks) for entry in entries], dtype="<u4"),
        projects=np.array([code[entry.project] for entry in entries], dtype="<u2"),
        names=names,
        lengths=np.array(
            [min(length, LONGEST) for entry in entries for length, _ in entry.chunks], dtype="<u2"
        ),
    )
    chunks = [terms for entry in entries for _, terms in entry.chunks]
    total = sum(map(len, chunks))
    terms = np.fromiter((term for chunk in chunks for term in chunk), dtype="<u8", count=total)
    weights = np.fromiter((often for chunk in chunks for often in chunk.values()), dtype="<u8", count=total)
    sizes = np.fromiter(map(len, chunks), dtype=np.intp, count=len(chunks))
    known, ranks = np.unique(terms, return_inverse=True)
    keys = _keys(ranks, np.repeat(np.arange(len(chunks)), sizes), np.minimum(weights, MOST_FREQUENT))
    return _segment_of_keys(documents, known, keys)


def _order(identifier: str) -> int:
    return int.from_bytes(identifier.encode()[:8].ljust(8, b"\0"), "big")


def _keys(ranks: Array, ordinals: Array, frequencies: Array) -> Array:
    """Return numbers that sort as (term, ordinal) does and carry the frequency."""
    keys: Array = ranks.astype("<u8") << np.uint64(40)
    keys |= ordinals.astype("<u8") << np.uint64(8)
    keys |= frequencies.astype("<u8")
    return keys


def _segment_of_keys(documents: Documents, terms: Array, keys: Array) -> Segment:
    # The keys of each segment are sorted: a stable sort finds these runs, and merges them.
    keys.sort(kind="stable")
    counts = np.bincount((keys >> np.uint64(40)).astype(np.intp), minlength=len(terms))
    return Segment(
        documents,
        terms[counts > 0],
        counts[counts > 0].astype("<u4"),
        ((keys >> np.uint64(8)) & np.uint64(0xFFFFFFFF)).astype("<u4"),
        (keys & np.uint64(0xFF)).astype("u1"),
    )


def distinct(values: Array) -> Array:
    """Return the values ascending, each once."""
    # Not `unique`, which takes longer on few values, and imports masked arrays: 11 ms of a new process.
    ordered = np.sort(values)
    return ordered[np.concatenate(([True], ordered[1:] != ordered[:-1]))[: len(ordered)]]


def merge_segments(segments: Sequence[Segment], alive: Sequence[Array]) -> Segment:
    """Return one segment of those memories of several that are alive; the order of versions is kept."""
    terms = distinct(np.concatenate([segment.terms for segment in segments]))
    keys = []
    base = 0
    for segment, kept in zip(segments, alive, strict=True):
        ranks = np.repeat(np.searchsorted(terms, segment.terms), segment.counts)
        if kept.all():
            keys.append(_keys(ranks, segment.ordinals + np.uint32(base), segment.frequencies))
            base += len(segment.documents.lengths)
            continue
        stays = np.repeat(kept, segment.documents.counts)
        place = base + np.cumsum(stays) - 1
        base += int(stays.sum())
        chosen = stays[segment.ordinals]
        ordinals = place[segment.ordinals[chosen]]
        keys.append(_keys(ranks[chosen], ordinals, segment.frequencies[chosen]))
    documents = _concatenate([segment.documents for segment in segments], alive)
    return _segment_of_keys(documents, terms, np.concatenate(keys))


def _concatenate(parts: Sequence[Documents], alive: Sequence[Array]) -> Documents:
    used = [
        part.names[code]
        for part, kept in zip(parts, alive, strict=True)
        for code in dict.fromkeys(part.projects[kept].tolist())
    ]
    names = tuple(dict.fromkeys(used))
    code = {name: place for place, name in enumerate(names)}
    projects = [
        np.array([code.get(name, 0) for name in part.names], dtype="<u2")[part.projects[kept]]
        for part, kept in zip(parts, alive, strict=True)
    ]
    lengths = [part.lengths[np.repeat(kept, part.counts)] for part, kept in zip(parts, alive, strict=True)]
    pairs = list(zip(parts, alive, strict=True))
    return Documents(
        versions=np.concatenate([part.versions[kept] for part, kept in pairs]),
        numbers=np.concatenate([part.numbers[kept] for part, kept in pairs]),
        order=np.concatenate([part.order[kept] for part, kept in pairs]),
        counts=np.concatenate([part.counts[kept] for part, kept in pairs]),
        projects=np.concatenate(projects),
        names=names,
        lengths=np.concatenate(lengths),
    )


def equal(one: Segment, other: Segment) -> bool:
    """Return whether two segments say the same of the same memories, whatever their versions are."""
    a, b = one.documents, other.documents
    same = [a.names[code] for code in a.projects.tolist()] == [b.names[code] for code in b.projects.tolist()]
    pairs = (
        (a.numbers, b.numbers),
        (a.order, b.order),
        (a.counts, b.counts),
        (a.lengths, b.lengths),
        (one.terms, other.terms),
        (one.counts, other.counts),
        (one.ordinals, other.ordinals),
        (one.frequencies, other.frequencies),
    )
    return same and all(np.array_equal(left, right) for left, right in pairs)


def pack(segment: Segment, token: int) -> list[bytes]:
    """Return a segment as bytes: its header, then its blocks. `token` distinguishes it from every other."""
    documents = segment.documents
    chunks = len(documents.lengths)
    found = list(
        encode(
            token,
            segment.terms,
            segment.counts,
            chunks=chunks,
            ordinals=segment.ordinals,
            frequencies=segment.frequencies,
        )
    )
    blocks = [data for _, data in found]
    names = orjson.dumps(documents.names)
    header = b"".join(
        (
            _HEADER.pack(token, len(documents.versions), chunks, len(blocks), len(names)),
            documents.versions.astype("<i8").tobytes(),
            documents.numbers.astype("<i8").tobytes(),
            documents.order.astype("<u8").tobytes(),
            np.array([first for first, _ in found], dtype="<u8").tobytes(),
            documents.counts.astype("<u4").tobytes(),
            documents.projects.astype("<u2").tobytes(),
            documents.lengths.astype("<u2").tobytes(),
            names,
        )
    )
    return [header, *blocks]


def header_of(data: bytes, token: int) -> Header:
    """Return the header that `pack` made; raises StoreDamagedError."""
    try:
        written, memories, chunks, blocks, size = _HEADER.unpack_from(data)
        if written != token:
            raise damage_error("a header belongs to another segment")
        place = _HEADER.size

        def read(dtype: str, count: int) -> Array:
            nonlocal place
            found = np.frombuffer(data, dtype, count, place)
            place += found.nbytes
            return found

        versions, numbers, order = read("<i8", memories), read("<i8", memories), read("<u8", memories)
        first_terms = read("<u8", blocks)
        counts, projects, lengths = read("<u4", memories), read("<u2", memories), read("<u2", chunks)
        names = tuple(orjson.loads(data[place : place + size]))
    except (ValueError, TypeError, struct.error) as error:
        raise damage_error(f"a header: {error}") from error
    if int(counts.sum()) != chunks or (memories and int(projects.max()) >= len(names)):
        raise damage_error("a header does not match its segment")
    documents = Documents(versions, numbers, order, counts, projects, names, lengths)
    return Header(token, documents, first_terms)


def read_block(data: bytes, header: Header) -> Block:
    """Return a block of a segment; raises StoreDamagedError."""
    return Block(data, header.token, len(header.documents.lengths))


def unpack(header: Header, blocks: Sequence[bytes]) -> Segment:
    """Return the segment of a header and all its blocks; raises StoreDamagedError."""
    if len(blocks) != len(header.first_terms):
        raise damage_error("a segment lacks blocks")
    parts = [read_block(data, header) for data in blocks]
    decoded = [part.decode() for part in parts]
    segment = Segment(
        header.documents,
        np.concatenate([np.empty(0, "<u8"), *(part.terms for part in parts)]),
        *(
            np.concatenate([np.empty(0, dtype), *columns])
            for dtype, columns in (
                ("<i8", [counts for counts, _, _ in decoded]),
                ("<u4", [ordinals for _, ordinals, _ in decoded]),
                ("u1", [frequencies for _, _, frequencies in decoded]),
            )
        ),
    )
    whole = (
        all(int(counts.min()) > 0 for counts, _, _ in decoded)
        and int(segment.counts.sum()) == len(segment.ordinals)
        and bool(np.all(segment.terms[1:] > segment.terms[:-1]))
        and (not len(segment.ordinals) or int(segment.ordinals.max()) < len(header.documents.lengths))
    )
    if not whole:
        raise damage_error("a segment's postings are not in order")
    return segment
