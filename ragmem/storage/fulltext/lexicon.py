"""The lexicon: the index of full text, as segments of postings in the database of the chunks.

A write appends a small segment, within the transaction of its chunks; neighbours of a size are merged into a
larger one, so that a search reads few of them and each posting is written a few times only. A memory that
goes, or is replaced, is marked in its segment and left out when that is merged.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from ragmem.domain.text.language import is_foreign
from ragmem.storage.fulltext.terms import Analysed, analyse
from ragmem.storage.sql.batches import batches, marks
from ragmem.storage.sql.database import Connection, delete_in, select_in
from ragmem.storage.sql.rows import decode_heading

if TYPE_CHECKING:
    from ragmem.storage.fulltext.segments import Header, Segment

Searchable = tuple[int, str, str, Sequence[Analysed]]
"""A memory's number, id and project, and its analysed chunks in their order."""

LEVELS = (16, 128, 512, 2048, 8192, 32_768)
"""Chunks of a segment, from level to level."""

LARGEST = 2 * LEVELS[-1]
"""Chunks of a segment at most, unless one memory has more: merging as many takes about 0.5 s."""

FREE = 2 * LEVELS[3]
SHARE = 128
"""A write merges at most so many chunks, or so many for each that it adds: storing a chunk costs more than
merging 128, and nobody who adds one memory waits for 0.5 s. What is larger waits for a larger write."""

BUILT_AT_ONCE = 512
"""Chunks; sorting small parts and merging them is quicker than sorting all, and takes less memory."""

MEMORIES_AT_ONCE = 50
"""Read at a time while the index is built; texts may be large."""


def add(connection: Connection, memories: Iterable[Searchable]) -> None:
    """Make memories searchable; none of them is so far."""
    (last,) = connection.execute("SELECT max(last) FROM lexicon_segments").fetchone()
    parts: list[Segment] = []
    added = 0
    for segment in _build_segments(memories, after=last or 0):
        parts.append(segment)
        added += len(segment.documents.lengths)
        if sum(len(part.documents.lengths) for part in parts) >= LEVELS[-1]:
            _append(connection, parts)
            parts = []
    if parts:
        _append(connection, parts)
    settle(connection, added)


def _build_segments(memories: Iterable[Searchable], *, after: int) -> "Iterator[Segment]":
    """Yield the segments of memories, small ones; their versions follow the given one."""
    from ragmem.storage.fulltext.segments import Entry, build_segment  # noqa: PLC0415 - numpy, for those who write only

    waiting: list[Entry] = []
    size = 0
    for version, (number, identifier, project, chunks) in enumerate(
        (memory for memory in memories if memory[3]), start=after + 1
    ):
        waiting.append(Entry(version, number, identifier, project, chunks))
        size += len(chunks)
        if size >= BUILT_AT_ONCE:
            yield build_segment(waiting)
            waiting, size = [], 0
    if waiting:
        yield build_segment(waiting)


def _append(connection: Connection, parts: "Sequence[Segment]") -> None:
    segment = _whole(parts)
    _store(connection, segment)
    documents = segment.documents
    connection.executemany(
        "INSERT INTO lexicon_memories (memory, version, chunks) VALUES (?,?,?)",
        zip(documents.numbers.tolist(), documents.versions.tolist(), documents.counts.tolist(), strict=True),
    )


def _whole(parts: "Sequence[Segment]") -> "Segment":
    import numpy as np  # noqa: PLC0415 - only those who write need it

    from ragmem.storage.fulltext.segments import merge_segments  # noqa: PLC0415 - numpy

    if len(parts) == 1:
        return parts[0]
    return merge_segments(parts, [np.ones(len(part.documents.versions), dtype=bool) for part in parts])


def _store(connection: Connection, segment: "Segment") -> None:
    import secrets  # noqa: PLC0415 - a question needs none

    from ragmem.storage.fulltext.segments import pack  # noqa: PLC0415 - numpy

    token = secrets.randbits(63)
    rows = pack(segment, token)
    (block,) = connection.execute("SELECT max(n) FROM lexicon_blocks").fetchone()
    block = (block or 0) + 1
    documents = segment.documents
    connection.execute(
        "INSERT INTO lexicon_segments (last, token, chunks, dead_chunks, block, blocks, dead)"
        " VALUES (?,?,?,0,?,?,?)",
        (int(documents.versions[-1]), token, len(documents.lengths), block, len(rows), b""),
    )
    connection.executemany(
        "INSERT INTO lexicon_blocks (n, data) VALUES (?,?)", list(enumerate(rows, start=block))
    )


def drop(connection: Connection, numbers: Sequence[int]) -> None:
    """Remove memories from the index; those that are not in it do not matter."""
    rows = select_in(connection, "SELECT version FROM lexicon_memories WHERE memory IN ({})", numbers)
    versions = [int(version) for (version,) in rows]
    delete_in(connection, "lexicon_memories", "memory", numbers)
    if not versions:
        return
    lasts = [last for (last,) in connection.execute("SELECT last FROM lexicon_segments ORDER BY last")]
    found: dict[int, list[int]] = defaultdict(list)
    for version in versions:
        place = bisect_left(lasts, version)
        if place < len(lasts):  # else the index is damaged: doctor says so, and a removal need not fail
            found[lasts[place]].append(version)
    for last, gone in found.items():
        _bury(connection, last, gone)


def _bury(connection: Connection, last: int, versions: Sequence[int]) -> None:
    """Mark memories of a segment as gone; a segment of which none is left goes as a whole."""
    import numpy as np  # noqa: PLC0415 - only those who write need it

    header, dead = load(connection, last)
    documents = header.documents
    dead[np.isin(documents.versions, versions)] = True
    if dead.all():
        _remove(connection, last)
        return
    connection.execute(
        "UPDATE lexicon_segments SET dead = ?, dead_chunks = ? WHERE last = ?",
        (np.packbits(dead).tobytes(), int(documents.counts[dead].sum()), last),
    )


def load(connection: Connection, last: int) -> "tuple[Header, Any]":
    """Return a segment's header and which of its memories are gone; raises StoreDamagedError."""
    from ragmem.storage.fulltext.blocks import damage_error  # noqa: PLC0415 - numpy
    from ragmem.storage.fulltext.segments import header_of  # noqa: PLC0415 - numpy

    row = connection.execute(
        "SELECT s.token, s.dead, b.data FROM lexicon_segments s JOIN lexicon_blocks b ON b.n = s.block"
        " WHERE s.last = ?",
        (last,),
    ).fetchone()
    if row is None:
        raise damage_error("a segment has no header")
    token, dead, data = row
    header = header_of(data, token)
    return header, dead_flags(dead, len(header.documents.versions))


def dead_flags(dead: bytes, memories: int) -> Any:
    """Return which memories of a segment are gone, as a fresh boolean array; raises StoreDamagedError."""
    import numpy as np  # noqa: PLC0415 - only those who write or search need it

    from ragmem.storage.fulltext.blocks import damage_error  # noqa: PLC0415 - numpy

    if not dead:
        return np.zeros(memories, dtype=bool)
    if len(dead) != (memories + 7) // 8:
        raise damage_error("a segment's deletions do not match it")
    return np.unpackbits(np.frombuffer(dead, "u1"), count=memories).astype(bool)


def settle(connection: Connection, changed: int) -> None:
    """Merge segments once, where there are enough of a size; a later write merges the next ones.

    `changed` is how many chunks, or memories, the write adds or removes: larger writes merge larger segments.
    """
    rows = connection.execute(
        "SELECT last, chunks, dead_chunks FROM lexicon_segments ORDER BY last"
    ).fetchall()
    chosen = to_merge([(chunks, dead) for _, chunks, dead in rows], changed)
    if chosen is not None:
        _merge(connection, [last for last, _, _ in rows[chosen]])


def to_merge(sizes: Sequence[tuple[int, int]], changed: int) -> slice | None:
    """Return which segments, given as (chunks, dead chunks) in their order, are to become one.

    The newest that are smaller than a level and together reach it, so that a chunk is written anew once for
    each level; else one of which more than half is gone. No more chunks than suit a write that changed so
    many of them.
    """
    most = min(max(FREE, SHARE * changed), LARGEST)
    for limit in reversed(LEVELS):
        start, total = len(sizes), 0
        while start and sizes[start - 1][0] < limit and total + sizes[start - 1][0] <= most:
            start -= 1
            total += sizes[start][0]
        if total >= limit:
            return slice(start, len(sizes))
    for place, (chunks, dead) in enumerate(sizes):
        if LEVELS[0] <= chunks <= most and dead * 2 > chunks:
            return slice(place, place + 1)
    return None


def merge_all(connection: Connection) -> None:
    """Merge segments into as few as possible, without deleted entries."""
    waiting: list[tuple[int, int]] = []
    for last, chunks, dead in connection.execute(
        "SELECT last, chunks, dead_chunks FROM lexicon_segments ORDER BY last"
    ).fetchall():
        if waiting and sum(size for _, size in waiting) + chunks > LARGEST:
            _merge(connection, [one for one, _ in waiting])
            waiting = []
        if waiting or dead or chunks < LARGEST:
            waiting.append((last, chunks))
    if waiting:
        _merge(connection, [one for one, _ in waiting])


def forget_dead(connection: Connection) -> None:
    """Rewrite the segments that still contain words of deleted memories."""
    rows = connection.execute("SELECT last FROM lexicon_segments WHERE dead <> ?", (b"",)).fetchall()
    for (last,) in rows:
        _merge(connection, [last])


def _merge(connection: Connection, lasts: Sequence[int]) -> None:
    from ragmem.storage.fulltext.segments import merge_segments  # noqa: PLC0415 - numpy

    whole = [read_segment(connection, last) for last in lasts]
    segment = merge_segments([segment for segment, _ in whole], [~dead for _, dead in whole])
    for last in lasts:
        _remove(connection, last)
    _store(connection, segment)


def read_segment(connection: Connection, last: int) -> "tuple[Segment, Any]":
    """Return a segment and which of its memories are gone; raises StoreDamagedError."""
    from ragmem.storage.fulltext.segments import unpack  # noqa: PLC0415 - numpy

    header, dead = load(connection, last)
    rows = connection.execute(
        "SELECT b.data FROM lexicon_segments s JOIN lexicon_blocks b"
        " ON b.n > s.block AND b.n < s.block + s.blocks WHERE s.last = ? ORDER BY b.n",
        (last,),
    ).fetchall()
    return unpack(header, [data for (data,) in rows]), dead


def _remove(connection: Connection, last: int) -> None:
    (block, blocks) = connection.execute(
        "SELECT block, blocks FROM lexicon_segments WHERE last = ?", (last,)
    ).fetchone()
    connection.execute("DELETE FROM lexicon_blocks WHERE n >= ? AND n < ?", (block, block + blocks))
    connection.execute("DELETE FROM lexicon_segments WHERE last = ?", (last,))


def build(connection: Connection) -> None:
    """Rebuild the index from the memories and their chunks."""
    for table in ("lexicon_segments", "lexicon_blocks", "lexicon_memories"):
        connection.execute(f"DELETE FROM {table}")
    numbers = [number for (number,) in connection.execute("SELECT n FROM memories ORDER BY n").fetchall()]
    add(connection, memories_of(connection, numbers))


def index_other_languages(connection: Connection) -> None:
    """Make memories in other languages than English searchable by their stems and their English words.

    Their vectors must be recomputed as well, so they are pending again.
    """
    numbers = [number for (number,) in connection.execute("SELECT n FROM memories ORDER BY n").fetchall()]
    for batch in batches(numbers, MEMORIES_AT_ONCE):
        foreign = _in_other_languages(connection, batch)
        drop(connection, foreign)
        add(connection, memories_of(connection, foreign))
        connection.executemany(
            "UPDATE memories SET state = 'pending' WHERE n = ? AND state = 'indexed'",
            [(number,) for number in foreign],
        )


def _in_other_languages(connection: Connection, numbers: Sequence[int]) -> list[int]:
    """Return those of the memories that have a chunk in another language than English."""

    def texts(number: int) -> list[Any]:
        return connection.execute(
            "SELECT substr(CASE WHEN m.summary <> '' THEN m.summary ELSE m.text END,"
            " CAST(c.begin_at + 1 AS INTEGER), CAST(c.end_at - c.begin_at AS INTEGER))"
            " FROM chunks c JOIN memories m ON m.n = c.memory WHERE c.memory = ?",
            (number,),
        ).fetchall()

    return [number for number in numbers if any(is_foreign(text) for (text,) in texts(number))]


def memories_of(connection: Connection, numbers: Sequence[int]) -> Iterator[Searchable]:
    """Yield what is to be searchable of the memories with these numbers that are there, in their order."""
    for batch in batches(numbers, MEMORIES_AT_ONCE):
        chunks: dict[int, list[tuple[str, int, int]]] = defaultdict(list)
        for memory, heading, begin, end in connection.execute(
            f"SELECT memory, heading, begin_at, end_at FROM chunks WHERE memory IN ({marks(batch)})"
            " ORDER BY memory, position",
            batch,
        ).fetchall():
            chunks[memory].append((heading, begin, end))
        for number in batch:
            # One at a time, because fifty of the largest texts would fill the memory.
            for identifier, project, uri, title, text, tags in connection.execute(
                "SELECT id, project, uri, title, CASE WHEN summary <> '' THEN summary ELSE text END, tags"
                " FROM memories WHERE n = ?",
                (number,),
            ).fetchall():
                frame = (title, " ".join(orjson.loads(tags)), uri)
                yield (
                    number,
                    identifier,
                    project,
                    [
                        analyse(text[begin:end], decode_heading(heading, text), frame)
                        for heading, begin, end in chunks[number]
                    ],
                )


def unsound(connection: Connection) -> list[str]:
    """Compare the index with the chunks; return what does not fit, a name for each segment."""
    from ragmem.storage.fulltext.segments import equal, merge_segments  # noqa: PLC0415 - numpy

    wrong = []
    for (last,) in connection.execute("SELECT last FROM lexicon_segments ORDER BY last").fetchall():
        segment, dead = read_segment(connection, last)
        kept = merge_segments([segment], [~dead])
        numbers = kept.documents.numbers.tolist()
        versions: dict[int, int] = dict(
            select_in(
                connection, "SELECT memory, version FROM lexicon_memories WHERE memory IN ({})", numbers
            )
        )
        parts = list(_build_segments(memories_of(connection, numbers), after=0))
        right = [versions.get(number) for number in numbers] == kept.documents.versions.tolist()
        if not right or not parts or not equal(kept, _whole(parts)):
            wrong.append(f"segment {last}")
    return wrong
