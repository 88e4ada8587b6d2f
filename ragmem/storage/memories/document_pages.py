"""Sorted pages of all memories with their numbers of chunks; no whole text is read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import orjson

from ragmem.storage.sql.batches import marks
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.rows import from_stamp

Order = Literal["created_at", "updated_at", "id", "uri"]

BEGINNING = 240
"""Characters of a text that are read."""

_COLUMNS = (
    f"m.id, m.source, m.uri, m.project, m.kind, m.state, m.title, substr(m.text, 1, {BEGINNING}),"
    " length(m.text), m.created_at, m.updated_at, m.event_at, m.tags, m.protected,"
    " (SELECT count(*) FROM chunks c WHERE c.memory = m.n)"
)


@dataclass(frozen=True, slots=True)
class Document:
    """A memory with only the first characters of its text."""

    id: str
    source: str
    uri: str
    project: str
    kind: str
    state: str
    title: str
    beginning: str
    characters: int
    created: str
    updated: str
    happened: str
    tags: tuple[str, ...]
    protected: bool
    chunks: int


def page(
    database: Database,
    *,
    states: Sequence[str] | None = None,
    order: Order = "updated_at",
    descending: bool = True,
    limit: int,
    offset: int = 0,
) -> list[Document]:
    """Return a page of the memories in these states (None: in any); equal ones are sorted by id."""
    direction = "DESC" if descending else "ASC"
    where = "" if states is None else f"WHERE m.state IN ({marks(states)})"
    if states is not None and not states:
        return []
    order_by = f"ORDER BY m.{order} {direction}, m.id {direction}"
    # Sort all rows first, and read the columns of this page only.
    chosen = f"SELECT m.n FROM memories m {where} {order_by} LIMIT ? OFFSET ?"
    rows = database.select(
        f"SELECT {_COLUMNS} FROM memories m WHERE m.n IN ({chosen}) {order_by}",
        (*(states or ()), limit, offset),
    )
    return [_document(row) for row in rows]


def counts(database: Database) -> dict[str, int]:
    """Return how many memories there are in each state."""
    return dict(database.select("SELECT state, count(*) FROM memories GROUP BY 1"))


def documents(database: Database, ids: Iterable[str]) -> list[Document]:
    """Return those of the memories that exist."""
    rows = database.select_in(f"SELECT {_COLUMNS} FROM memories m WHERE m.id IN ({{}})", dict.fromkeys(ids))
    return [_document(row) for row in rows]


def _document(row: Sequence[Any]) -> Document:
    *told, created, updated, happened, tags, protected, chunks = row
    dates = (from_stamp(stamp).isoformat() for stamp in (created, updated, happened))
    values = [*told, *dates, tuple(orjson.loads(tags)), bool(protected), chunks]
    return Document(*values)
