"""Convert memories and chunks to rows, and rows to memories and chunks.

Headings of chunks are stored as places in the text of their memory, where nearly all of them stand.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import orjson

from ragmem.domain.model import Category, Chunk, Kind, Memory, Scope, State, Tier
from ragmem.errors import StoreDamagedError
from ragmem.storage.sql.database import Connection

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _MICROSECOND

_WRONG = (ValueError, TypeError, OverflowError)

RESTORE = "restore a backup: `ragmem doctor` names the newest; --repair saves readable memories"

MEMORY_COLUMNS = (
    "id", "source", "uri", "project", "spec", "title", "text", "summary", "kind", "category", "tier",
    "state", "protected", "tags", "metadata", "content_hash", "recalls", "event_at", "created_at",
    "updated_at", "clean_hash",
)  # fmt: skip
OUTLINE_COLUMNS = ("id", "source", "project", "spec", "kind", "category", "state", "tags", "event_at")
SELECT_OUTLINE = ", ".join(f"m.{column}" for column in OUTLINE_COLUMNS)
SELECT_MEMORY = ", ".join(f"m.{column}" for column in MEMORY_COLUMNS)

_KINDS: Mapping[str, Kind] = {kind.value: kind for kind in Kind}
_CATEGORIES: Mapping[str, Category] = {category.value: category for category in Category}
_TIERS: Mapping[str, Tier] = {tier.value: tier for tier in Tier}
_STATES: Mapping[str, State] = {state.value: state for state in State}
# A mapping is looked up in a third of the time that an enum takes to be called.


class Outline(NamedTuple):
    """The fields of a memory that ranking needs, without its text, which may be large."""

    id: str
    source: str
    project: str
    spec: str
    kind: Kind
    category: Category
    state: State
    tags: tuple[str, ...]
    event_time: datetime


def to_stamp(moment: datetime) -> int:
    """Return microseconds since 1970 in UTC, exactly.

    A time zone can shift a moment outside the years 1 to 9999: it is clamped to this range.
    """
    return min(max((moment - _EPOCH) // _MICROSECOND, _FIRST), _LAST)


def from_stamp(stamp: int) -> datetime:
    """Return the timezone-aware moment of a stamp; raises StoreDamagedError for an invalid one."""
    try:
        return _EPOCH + timedelta(microseconds=stamp)
    except (TypeError, OverflowError) as error:
        raise StoreDamagedError(f'the database contains the invalid time "{stamp}"', hint=RESTORE) from error


def memory_values(memory: Memory) -> tuple[Any, ...]:
    """Return a memory's values in the order of MEMORY_COLUMNS."""
    return (
        memory.id,
        memory.source,
        memory.uri,
        memory.scope.project,
        memory.scope.spec,
        memory.title,
        memory.text,
        memory.summary,
        memory.kind.value,
        memory.category.value,
        memory.tier.value,
        memory.state.value,
        int(memory.protected),
        orjson.dumps(list(memory.tags)).decode(),
        orjson.dumps(dict(memory.metadata)).decode(),
        memory.content_hash,
        memory.recalls,
        to_stamp(memory.event_time),
        to_stamp(memory.created_at),
        to_stamp(memory.updated_at),
        memory.clean_hash,
    )


def memory_from(row: Sequence[Any]) -> Memory:
    """Return the memory of a row in the order of MEMORY_COLUMNS.

    Raises StoreDamagedError for values that ragmem never writes.
    """
    try:
        return _memory(row)
    except _WRONG as error:
        raise _damage_error(row[0], error) from error


def outline_from(row: Sequence[Any]) -> Outline:
    """Return the outline of a row in the order of OUTLINE_COLUMNS; raises StoreDamagedError."""
    identifier, source, project, spec, kind, category, state, tags, event_at = row
    # A hundred of them are read for a question, and most have no tags.
    try:
        return Outline(
            identifier,
            source,
            project,
            spec,
            _KINDS.get(kind) or Kind(kind),
            _CATEGORIES.get(category) or Category(category),
            _STATES.get(state) or State(state),
            () if tags == "[]" else tuple(orjson.loads(tags)),
            from_stamp(event_at),
        )
    except _WRONG as error:
        raise _damage_error(identifier, error) from error


def _damage_error(identifier: str, error: Exception) -> StoreDamagedError:
    """Return the error for a row that holds what ragmem never wrote."""
    return StoreDamagedError(f'the memory "{identifier}" is damaged: {error}', hint=RESTORE)


def _memory(row: Sequence[Any]) -> Memory:
    # A hundred thousand of them are read at once: what most have is not parsed, nor looked up by name.
    (
        identifier, source, uri, project, spec, title, text, summary, kind, category, tier, state, protected,
        tags, metadata, content_hash, recalls, event_at, created_at, updated_at, clean_hash,
    ) = row  # fmt: skip
    created = from_stamp(created_at)
    return Memory(
        identifier,
        source,
        uri,
        text,
        title,
        created if event_at == created_at else from_stamp(event_at),
        created,
        created if updated_at == created_at else from_stamp(updated_at),
        content_hash,
        Scope(project, spec),
        _KINDS.get(kind) or Kind(kind),
        _CATEGORIES.get(category) or Category(category),
        _TIERS.get(tier) or Tier(tier),
        _STATES.get(state) or State(state),
        bool(protected),
        summary,
        () if tags == "[]" else tuple(orjson.loads(tags)),
        {} if metadata == "{}" else orjson.loads(metadata),
        recalls,
        clean_hash,
    )


def chunk_from(memory: Memory, row: tuple[str, int, str, int, int]) -> Chunk:
    """Return the chunk of a row (id, position, heading, begin_at, end_at) of this memory."""
    identifier, position, heading, begin, end = row
    text = memory.indexed_text
    return Chunk(identifier, memory.id, position, text[begin:end], decode_heading(heading, text), begin, end)


MARK = "\x1f"
"""Begins a heading of places: two characters for each part of its path, its beginning and its length.
Twice, it begins a heading that is stored as it is, but begins with this character itself."""

_JOINT = " > "

_ZERO = 32
"""The character of zero: those before it are control characters."""

_SURROGATES, _BEHIND = 0xD800, 0xE000
"""Code points that no text may have."""

_MOST_PLACES, _MOST_LETTERS = 1_000_000, 1_000
"""Places and lengths from here on are not written as characters."""


def encode_headings(text: str, headings: Iterable[str]) -> list[str]:
    """Return the headings of a text's chunks, in order, as they are stored.

    One with a part that the text does not have is stored as it is, and so is a short one.
    """
    places: dict[str, int] = {}
    known: dict[str, str] = {}
    stored = []
    last = 0
    for heading in headings:
        if heading not in known:
            parts = heading.split(_JOINT)
            for part in parts:
                if part not in places:
                    # Parts come in the order of the text, which is searched once then.
                    at = text.find(part, last)
                    places[part] = at if at >= 0 else text.find(part, 0, last + len(part))
                    last = max(last, at)
            known[heading] = _encode_heading(heading, [(places[part], len(part)) for part in parts])
        stored.append(known[heading])
    return stored


def _encode_heading(heading: str, parts: list[tuple[int, int]]) -> str:
    if all(0 <= at < _MOST_PLACES and length < _MOST_LETTERS for at, length in parts):
        codes = ((at + _ZERO, length + _ZERO) for at, length in parts)
        coded = MARK + "".join(
            chr(at if at < _SURROGATES else at + _BEHIND - _SURROGATES) + chr(length) for at, length in codes
        )
        if heading.startswith(MARK) or len(coded.encode()) < len(heading.encode()):
            return coded
    return 2 * MARK + heading if heading.startswith(MARK) else heading


def decode_heading(stored: str, text: str) -> str:
    """Return the heading of a chunk from what is stored, and the text of its memory."""
    if not stored.startswith(MARK):
        return stored
    if stored.startswith(MARK, 1):
        return stored[2:]
    parts = []
    codes = map(ord, stored[1:])
    for code, length in zip(codes, codes, strict=False):
        at = code - _ZERO if code < _SURROGATES else code - _ZERO - _BEHIND + _SURROGATES
        parts.append(text[at : at + length - _ZERO])
    return _JOINT.join(parts)


def place_headings(connection: Connection) -> None:
    """Write the headings of all chunks as places."""
    numbers = connection.execute("SELECT DISTINCT memory FROM chunks WHERE heading <> ''").fetchall()
    for (number,) in numbers:
        row = connection.execute(
            "SELECT CASE WHEN summary <> '' THEN summary ELSE text END FROM memories WHERE n = ?", (number,)
        ).fetchone()
        if row is None:
            continue  # a chunk without a memory: doctor tells of it
        found: defaultdict[str, list[int]] = defaultdict(list)
        for position, heading in connection.execute(
            "SELECT position, heading FROM chunks WHERE memory = ? ORDER BY position", (number,)
        ).fetchall():
            found[heading].append(position)
        connection.executemany(
            "UPDATE chunks SET heading = ? WHERE memory = ? AND position = ?",
            [
                (stored, number, position)
                for heading, stored in zip(found, encode_headings(row[0], found), strict=True)
                for position in found[heading]
            ],
        )
