"""All that is searched, at one moment: the segments' memories in one row, and the postings of terms there."""

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragmem.catalog.batches import batches, marks
from ragmem.catalog.database import Connection, Database
from ragmem.catalog.lexicon import buried
from ragmem.catalog.segments import Array, Header, damaged, header_of, read_block


@dataclass(frozen=True, slots=True)
class Part:
    """A segment in the row: its first chunk is `base`, its first block of postings `block`."""

    header: Header
    base: int
    block: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """The memories and chunks of a database by their places in the order of the versions.

    Of each memory: number, order among equals, project, first chunk, chunks, whether it is there; of each
    chunk its memory and its words; `words` sums these up, from 0.
    """

    parts: tuple[Part, ...]
    numbers: Array
    order: Array
    projects: Array
    names: tuple[str, ...]
    firsts: Array
    counts: Array
    alive: Array
    memory_of: Array
    lengths: Array
    words: Array

    def searched(self, projects: Sequence[str] | None) -> Array:
        """Return which memories are searched for these projects (None: all)."""
        if projects is None:
            return self.alive
        wanted = np.array([name in projects for name in self.names] or [False])
        searched: Array = self.alive & wanted[self.projects]
        return searched

    def places(self, numbers: Sequence[int]) -> dict[int, int]:
        """Return the places of memories, by their numbers, that are there."""
        sought = np.asarray(numbers, dtype=np.int64)
        places = np.flatnonzero(self.alive & np.isin(self.numbers, sought))
        return dict(zip(self.numbers[places].tolist(), places.tolist(), strict=True))


_held: "weakref.WeakKeyDictionary[Database, tuple[object, Corpus]]" = weakref.WeakKeyDictionary()


def corpus_of(database: Database, connection: Connection) -> Corpus:
    """Return what can be searched in the connection's snapshot; raises StoreDamagedError.

    What was read for the question before is used again as far as it still holds: a segment never changes,
    and its token is that of no other.
    """
    rows = connection.execute(
        "SELECT token, dead, chunks, block, blocks FROM lexicon_segments ORDER BY last"
    ).fetchall()
    state = tuple((token, bytes(dead)) for token, dead, *_ in rows)
    held = _held.get(database)
    if held is not None and held[0] == state:
        return held[1]
    known = {part.header.token: part.header for part in held[1].parts} if held is not None else {}
    blocks = _read(connection, [block for token, _, _, block, _ in rows if token not in known])
    parts, base = [], 0
    for token, _, chunks, block, count in rows:
        header = known.get(token) or header_of(blocks.get(block, b""), token)
        if len(header.first_terms) != count - 1 or len(header.documents.lengths) != chunks:
            raise damaged("a header does not fit its segment")
        parts.append(Part(header, base, block + 1))
        base += chunks
    corpus = _joined(parts, [dead for _, dead in state])
    _held[database] = (state, corpus)
    return corpus


def _read(connection: Connection, numbers: Sequence[int]) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    for batch in batches(numbers):
        found.update(
            connection.execute(
                f"SELECT n, data FROM lexicon_blocks WHERE n IN ({marks(batch)})", batch
            ).fetchall()
        )
    return found


def _joined(parts: Sequence[Part], dead: Sequence[bytes]) -> Corpus:
    documents = [part.header.documents for part in parts]
    names = tuple(dict.fromkeys(name for part in documents for name in part.names))
    code = {name: place for place, name in enumerate(names)}
    empty = np.empty(0, dtype=np.int64)
    counts = np.concatenate([empty, *(part.counts for part in documents)])
    projects = [
        np.array([code[name] for name in part.names], dtype=np.int64)[part.projects] for part in documents
    ]
    gone = [buried(bits, len(part.numbers)) for bits, part in zip(dead, documents, strict=True)]
    lengths = np.concatenate([empty, *(part.lengths for part in documents)])
    return Corpus(
        tuple(parts),
        numbers=np.concatenate([empty, *(part.numbers for part in documents)]),
        order=np.concatenate([empty.astype("u8"), *(part.order for part in documents)]),
        projects=np.concatenate([empty, *projects]),
        names=names,
        firsts=np.cumsum(counts) - counts,
        counts=counts,
        alive=~np.concatenate([empty.astype(bool), *gone]),
        memory_of=np.repeat(np.arange(len(counts), dtype=np.int32), counts),
        lengths=lengths.astype(np.float32),
        words=np.concatenate([[0], np.cumsum(lengths)]),
    )


def places_of(connection: Connection, corpus: Corpus, chunks: Sequence[str]) -> dict[str, int]:
    """Return chunk id -> place of those that are there."""
    rows: list[tuple[str, int, int]] = []
    for batch in batches(chunks):
        rows += connection.execute(
            f"SELECT id, memory, position FROM chunks WHERE id IN ({marks(batch)})", batch
        ).fetchall()
    memories = corpus.places([memory for _, memory, _ in rows])
    return {
        chunk: int(corpus.firsts[memories[memory]]) + position
        for chunk, memory, position in rows
        if memory in memories and position < corpus.counts[memories[memory]]
    }


@dataclass(frozen=True, slots=True)
class Postings:
    """The chunks that have terms: those of the term i are `chunks[bounds[i] : bounds[i + 1]]`."""

    bounds: Array
    chunks: Array
    frequencies: Array

    def of(self, place: int) -> Array:
        """Return the chunks that have a term."""
        found: Array = self.chunks[self.bounds[place] : self.bounds[place + 1]]
        return found

    def counts(self) -> Array:
        """Return how many chunks have each term."""
        return np.diff(self.bounds)

    def terms(self) -> Array:
        """Return of each posting the place of its term."""
        return np.repeat(np.arange(len(self.bounds) - 1), self.counts())

    def only(self, chosen: Array | None) -> "Postings":
        """Return the postings of the chosen chunks; None chooses all."""
        if chosen is None:
            return self
        kept = chosen[self.chunks]
        bounds = np.concatenate([[0], np.cumsum(kept)])[self.bounds]
        return Postings(bounds, self.chunks[kept], self.frequencies[kept])

    def at(self, places: Sequence[int]) -> "Postings":
        """Return the postings of some of the terms."""
        pieces = [slice(self.bounds[place], self.bounds[place + 1]) for place in places]
        sizes = [piece.stop - piece.start for piece in pieces]
        return Postings(
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
            np.concatenate([self.chunks[:0], *(self.chunks[piece] for piece in pieces)]),
            np.concatenate([self.frequencies[:0], *(self.frequencies[piece] for piece in pieces)]),
        )


def postings(connection: Connection, corpus: Corpus, terms: Sequence[int]) -> Postings:
    """Return the postings of distinct terms in their order; raises StoreDamagedError."""
    return _collected(corpus, terms, _found(connection, corpus.parts, terms))


def count_in_largest(connection: Connection, corpus: Corpus, terms: Sequence[int]) -> dict[int, int]:
    """Return how many chunks of the largest segment have each of the terms that are there."""
    if not corpus.parts:
        return {}
    largest = max(corpus.parts, key=lambda part: len(part.header.documents.lengths))
    return {term: len(chunks) for _, term, chunks, _ in _found(connection, [largest], terms)}


def _found(
    connection: Connection, parts: Sequence[Part], terms: Sequence[int]
) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield (place of the part, term, chunks within the part, frequencies)."""
    sought = np.sort(np.array(terms, dtype="<u8"))
    wanted: list[tuple[int, int, Array]] = []
    for place, part in enumerate(parts):
        blocks = np.searchsorted(part.header.first_terms, sought, side="right") - 1
        edges = np.flatnonzero(np.diff(blocks, prepend=-2)).tolist()
        for start, end in zip(edges, [*edges[1:], len(sought)], strict=True):
            if blocks[start] >= 0:
                wanted.append((place, part.block + int(blocks[start]), sought[start:end]))
    data = _read(connection, [block for _, block, _ in wanted])
    for place, block, here in wanted:
        if block not in data:
            raise damaged("a segment lacks blocks")
        known, ends, chunks, frequencies = read_block(data[block], parts[place].header)
        for term, position in zip(here, np.searchsorted(known, here).tolist(), strict=True):
            if position < len(known) and known[position] == term:
                piece = slice(int(ends[position - 1]) if position else 0, int(ends[position]))
                yield place, int(term), chunks[piece], frequencies[piece]


def _collected(
    corpus: Corpus, terms: Sequence[int], found: Iterator[tuple[int, int, Array, Array]]
) -> Postings:
    pieces: Mapping[int, list[tuple[Array, Array]]] = {term: [] for term in terms}
    for place, term, chunks, frequencies in found:
        pieces[term].append((chunks + np.int32(corpus.parts[place].base), frequencies))
    sizes = [sum(len(chunks) for chunks, _ in pieces[term]) for term in terms]
    every = [piece for term in terms for piece in pieces[term]]
    chunks = np.concatenate([np.empty(0, np.int32), *(chunks for chunks, _ in every)])
    if len(chunks) and int(chunks.max()) >= len(corpus.lengths):
        raise damaged("a posting names a chunk that is not there")
    return Postings(
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp),
        chunks,
        np.concatenate([np.empty(0, "u1"), *(frequencies for _, frequencies in every)]),
    )
