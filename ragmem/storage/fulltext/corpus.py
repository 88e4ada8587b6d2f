"""All that is searched at one moment: the segments' memories in one row, and the postings of terms there."""

import itertools
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ragmem.frozen import dataclass
from ragmem.ports.principal import Principal, confined_member
from ragmem.storage.fulltext.blocks import Array, damage_error
from ragmem.storage.fulltext.lexicon import dead_flags
from ragmem.storage.fulltext.segments import Header, header_of, read_block
from ragmem.storage.sql.batches import PARAMETERS, batches, padded
from ragmem.storage.sql.database import Connection, Database, select_in

MOST_KEPT = 4_000_000
"""Postings of former questions that are kept: 48 MB."""

MOST_IDENTITIES = 50_000
"""Chunks of former questions whose ids are kept: some 15 MB."""

MOST_MEMBERS = 64
"""Members whose searchable memories are kept: a byte for each memory."""

FEW_NUMBERS = 5_000
"""New memories that are looked up one by one, so that a write costs the next question of a member little."""

_NOTHING = (np.empty(0, np.intp), np.empty(0, np.float32))


@dataclass(frozen=True, slots=True)
class Part:
    """A segment in the row: its first chunk is `base`, its first block of postings `block`."""

    header: Header
    base: int
    block: int


Found = tuple[Array, Array]
"""The chunks that have a term, ascending, and its weighted frequency in each."""


class Memo:
    """The postings that were read for former questions, and of how many of the first segments they are.

    Most words of a question are asked again, and the common ones are the ones that cost.
    """

    def __init__(self) -> None:
        self._found: dict[int, tuple[int, Found]] = {}
        self._postings = 0
        self._guard = threading.Lock()

    def get(self, term: int) -> tuple[int, Found]:
        """Return the postings in so many of the first segments."""
        return self._found.get(term, (0, _NOTHING))

    def put(self, term: int, parts: int, found: Found) -> None:
        """Keep the postings in the first segments; the oldest make room for them."""
        with self._guard:
            self._postings += len(found[0]) - len(self.get(term)[1][0])
            self._found[term] = (parts, found)
            while self._postings > MOST_KEPT and len(self._found) > 1:
                _, (chunks, _) = self._found.pop(next(iter(self._found)))
                self._postings -= len(chunks)

    def until(self, parts: int, base: int) -> "Memo":
        """Return what holds of the first segments, which end before the chunk `base`."""
        kept = Memo()
        for term, (covered, (chunks, frequencies)) in list(self._found.items()):
            if covered > parts:
                end = int(np.searchsorted(chunks, base))
                kept.put(term, parts, (chunks[:end], frequencies[:end]))
            else:
                kept.put(term, covered, (chunks, frequencies))
        return kept


class Identities:
    """The ids of chunks and memories by the places of the chunks, as far as former questions read them."""

    def __init__(self) -> None:
        self._at: dict[int, tuple[str, str]] = {}
        self._places: dict[str, int] = {}

    def at(self, places: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Return place -> (chunk id, memory id) of those that were kept."""
        known = self._at
        return {place: ids for place in places if (ids := known.get(place)) is not None}

    def places(self, chunks: Iterable[str]) -> dict[str, int]:
        """Return chunk -> the last place that was kept for it; its memory may have moved since."""
        known = self._places
        return {chunk: place for chunk in chunks if (place := known.get(chunk)) is not None}

    def put(self, place: int, chunk: str, memory: str) -> None:
        """Keep the ids of a place; too many make room for new ones all at once."""
        if len(self._at) >= MOST_IDENTITIES:
            self._at, self._places = {}, {}
        self._at[place] = (chunk, memory)
        self._places[chunk] = place

    def until(self, base: int) -> "Identities":
        """Return those of the places before `base`."""
        kept = Identities()
        for place, (chunk, memory) in list(self._at.items()):
            if place < base:
                kept.put(place, chunk, memory)
        return kept


@dataclass(frozen=True, slots=True)
class Corpus:
    """The memories and chunks of a database by their places in the order of the versions.

    Of each memory: version, ascending, number, order among equals, project, first chunk, chunks, whether it
    is there; of each chunk its memory and its words; `words` sums these up, from 0.
    """

    parts: tuple[Part, ...]
    memo: Memo
    identities: Identities
    versions: Array
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
        searched: Array = self.alive & self.of_projects(projects)
        return searched

    def of_projects(self, projects: Sequence[str] | None) -> Array:
        """Return which memories are of these projects (None: all), there or not, seen or not."""
        if projects is None:
            return np.ones(len(self.versions), dtype=bool)
        wanted: Array = np.array([name in projects for name in self.names] or [False])[self.projects]
        return wanted


_held: "weakref.WeakKeyDictionary[Database, tuple[object, Corpus]]" = weakref.WeakKeyDictionary()


@dataclass(frozen=True, slots=True)
class _View:
    """What a member of a team may search of a corpus: which of its memories the member sees, by version."""

    of: Corpus
    seen: Array
    corpus: Corpus


_views: "weakref.WeakKeyDictionary[Database, dict[Principal, _View]]" = weakref.WeakKeyDictionary()


def corpus_of(database: Database, connection: Connection) -> Corpus:
    """Return what can be searched in the connection's snapshot; raises StoreDamagedError.

    For a member of a team, what it may not see is as good as gone: it counts for no frequency either.
    """
    whole = _whole_corpus(database, connection)
    member = confined_member()
    if member is None or database.dialect != "postgres":
        return whole
    views = _views.setdefault(database, {})
    view = views.get(member)
    if view is None or view.of is not whole:
        seen = _seen(connection, whole, view)
        view = _View(whole, seen, replace(whole, alive=whole.alive & seen))
        if len(views) >= MOST_MEMBERS:
            views.clear()
        views[member] = view
    return view.corpus


def _seen(connection: Connection, corpus: Corpus, known: _View | None) -> Array:
    """Return which memories of a corpus the connection's role sees; who sees a version never changes."""
    seen = np.zeros(len(corpus.versions), dtype=bool)
    fresh = np.ones(len(corpus.versions), dtype=bool)
    if known is not None and len(known.of.versions):
        places = np.minimum(np.searchsorted(known.of.versions, corpus.versions), len(known.seen) - 1)
        fresh = known.of.versions[places] != corpus.versions
        seen[~fresh] = known.seen[places[~fresh]]
    numbers = corpus.numbers[fresh]
    if len(numbers) <= FEW_NUMBERS:
        rows = select_in(connection, "SELECT n FROM memories WHERE n IN ({})", numbers.tolist())
        found = np.array([number for (number,) in rows], dtype=np.int64)
    else:
        # One value: half a million rows of their own would take a second.
        (packed,) = connection.execute("SELECT string_agg(int8send(n), ''::bytea) FROM memories").fetchone()
        found = np.frombuffer(packed or b"", ">i8").astype(np.int64)
    seen[fresh] = np.isin(numbers, found)
    return seen


def _whole_corpus(database: Database, connection: Connection) -> Corpus:
    """Return what all may search together.

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
            raise damage_error("a header does not match its segment")
        parts.append(Part(header, base, block + 1))
        base += chunks
    same = 0
    if held is not None:
        tokens = [part.header.token for part in held[1].parts]
        same = next((n for n, row in enumerate(rows[: len(tokens)]) if row[0] != tokens[n]), len(rows))
        same = min(same, len(tokens))
    end = parts[same].base if same < len(parts) else base
    memo = held[1].memo.until(same, end) if held else Memo()
    identities = held[1].identities.until(end) if held else Identities()
    corpus = _concatenate(parts, [dead for _, dead in state], memo, identities)
    _held[database] = (state, corpus)
    return corpus


def _read(connection: Connection, numbers: Sequence[int]) -> dict[int, bytes]:
    return dict(select_in(connection, "SELECT n, data FROM lexicon_blocks WHERE n IN ({})", numbers))


def _concatenate(parts: Sequence[Part], dead: Sequence[bytes], memo: Memo, identities: Identities) -> Corpus:
    documents = [part.header.documents for part in parts]
    names = tuple(dict.fromkeys(name for part in documents for name in part.names))
    code = {name: place for place, name in enumerate(names)}
    empty = np.empty(0, dtype=np.int64)
    counts = np.concatenate([empty, *(part.counts for part in documents)])
    projects = [
        np.array([code[name] for name in part.names], dtype=np.int64)[part.projects] for part in documents
    ]
    gone = [dead_flags(bits, len(part.numbers)) for bits, part in zip(dead, documents, strict=True)]
    lengths = np.concatenate([empty, *(part.lengths for part in documents)])
    return Corpus(
        tuple(parts),
        memo,
        identities,
        versions=np.concatenate([empty, *(part.versions for part in documents)]),
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


def places_of(connection: Connection, corpus: Corpus, chunks: Iterable[str]) -> dict[str, int]:
    """Return chunk id -> place of those that are there."""
    chunks = list(chunks)
    found = corpus.identities.places(chunks)
    alive = corpus.alive[corpus.memory_of[list(found.values())]].tolist()
    found = {chunk: place for (chunk, place), there in zip(found.items(), alive, strict=True) if there}
    if not (unknown := [chunk for chunk in chunks if chunk not in found]):
        return found
    rows = select_in(
        connection,
        "SELECT c.id, m.id, c.position, l.version FROM chunks c JOIN memories m ON m.n = c.memory"
        " JOIN lexicon_memories l ON l.memory = c.memory WHERE c.id IN ({})",
        unknown,
    )
    memories = np.searchsorted(corpus.versions, [version for *_, version in rows]).tolist()
    for (chunk, identifier, position, version), memory in zip(rows, memories, strict=True):
        if (
            memory < len(corpus.versions)
            and corpus.versions[memory] == version
            and position < corpus.counts[memory]
        ):
            found[chunk] = place = int(corpus.firsts[memory]) + position
            corpus.identities.put(place, chunk, identifier)
    return found


def identities_of(
    connection: Connection, corpus: Corpus, places: Sequence[int]
) -> dict[int, tuple[str, str]]:
    """Return place -> (chunk id, memory id); raises StoreDamagedError."""
    found = corpus.identities.at(places)
    if not (unknown := [place for place in places if place not in found]):
        return found
    memories = corpus.memory_of[unknown]
    positions = (np.asarray(unknown, dtype=np.int64) - corpus.firsts[memories]).tolist()
    keys = dict(zip(zip(corpus.numbers[memories].tolist(), positions, strict=True), unknown, strict=True))
    for batch in map(padded, batches(keys, PARAMETERS // 2)):
        given = ",".join(["(?,?)"] * len(batch))
        for memory, position, chunk, identifier in connection.execute(
            f"WITH given (memory, position) AS (VALUES {given})"
            " SELECT c.memory, c.position, c.id, m.id FROM given JOIN chunks c"
            " ON c.memory = given.memory AND c.position = given.position JOIN memories m ON m.n = c.memory",
            [value for key in batch for value in key],
        ).fetchall():
            place = keys[memory, position]
            found[place] = (chunk, identifier)
            corpus.identities.put(place, chunk, identifier)
    if len(found) < len(places):
        raise damage_error("it refers to missing chunks")
    return found


def postings(connection: Connection, corpus: Corpus, terms: Iterable[int]) -> dict[int, Found]:
    """Return term -> its postings, in the order of the terms; raises StoreDamagedError."""
    known = {term: corpus.memo.get(term) for term in terms}
    pieces: dict[int, list[Found]] = {term: [found] for term, (_, found) in known.items()}
    for covered in sorted({covered for covered, _ in known.values()}):
        new = corpus.parts[covered:]
        asked = [term for term, (parts, _) in known.items() if parts == covered]
        for place, term, chunks, frequencies in _read_postings(connection, new, asked) if new else ():
            # As numpy indexes, which would convert them at each use.
            pieces[term].append((chunks + np.intp(new[place].base), frequencies.astype(np.float32)))
    found: dict[int, Found] = {}
    for term, parts in pieces.items():
        chunks, frequencies = parts[0]
        if len(parts) > 1:
            chunks = np.concatenate([chunks for chunks, _ in parts])
            frequencies = np.concatenate([frequencies for _, frequencies in parts])
        if len(chunks) and int(chunks[-1]) >= len(corpus.lengths):
            raise damage_error("a posting refers to a missing chunk")
        if known[term][0] < len(corpus.parts):
            corpus.memo.put(term, len(corpus.parts), (chunks, frequencies))
        found[term] = (chunks, frequencies)
    return found


def places_in(
    connection: Connection, corpus: Corpus, terms: Sequence[int], searched: Array
) -> dict[int, Array]:
    """Return the places of the searched chunks that have each of the terms; keep nothing in memory."""
    chosen = searched[corpus.memory_of]
    found: dict[int, Array] = {}
    for place, term, chunks, _ in _read_postings(connection, corpus.parts, terms):
        places = chunks + np.intp(corpus.parts[place].base)
        if len(places := places[chosen[places]]):
            found[term] = np.concatenate([found[term], places]) if term in found else places
    return found


def count_in_largest(connection: Connection, corpus: Corpus, terms: Sequence[int]) -> dict[int, int]:
    """Return how many chunks of the largest segment have each of the terms that are there."""
    if not corpus.parts:
        return {}
    largest = max(corpus.parts, key=lambda part: len(part.header.documents.lengths))
    return {term: len(chunks) for _, term, chunks, _ in _read_postings(connection, [largest], terms)}


def _read_postings(
    connection: Connection, parts: Sequence[Part], terms: Sequence[int]
) -> Iterator[tuple[int, int, Array, Array]]:
    """Yield (place of the part, term, chunks within the part, frequencies)."""
    sought = np.sort(np.array(terms, dtype="<u8"))
    wanted: list[tuple[int, int, Array]] = []
    for place, part in enumerate(parts):
        blocks = np.searchsorted(part.header.first_terms, sought, side="right").tolist()
        start = 0
        for block, same in itertools.groupby(blocks):
            end = start + len(list(same))
            # Terms before the first block are in none.
            if block:
                wanted.append((place, part.block + block - 1, sought[start:end]))
            start = end
    data = _read(connection, [block for _, block, _ in wanted])
    for place, block, here in wanted:
        if block not in data:
            raise damage_error("a segment lacks blocks")
        found = read_block(data[block], parts[place].header)
        known = found.terms
        for term, position in zip(here, np.searchsorted(known, here).tolist(), strict=True):
            if position < len(known) and known[position] == term:
                yield place, int(term), *found.postings(position)
