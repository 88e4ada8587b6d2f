"""Memories of a time that a question names: "what did we do last week"."""

from collections.abc import Sequence
from datetime import UTC, datetime

from ragmem.domain.model import Hit
from ragmem.domain.retrieval.question import Asked
from ragmem.domain.text.spans import short
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.recent import within

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


def dated(catalog: Catalog, asked: Asked, *, projects: Sequence[str] | None, limit: int) -> list[Hit]:
    """Return the first chunks of memories that happened when the question says, the newest first.

    A span that is open, or longer than five weeks, leads to none, unless nothing but times is asked for.
    Behind those of a time of day stand the others of that day. A hit's score falls from 1 for the newest to a
    half for the last one of so many.
    """
    spans = short(asked.times)
    if asked.only_times:
        spans = [(start or FIRST, end or LAST) for start, end in asked.times]
    found = within(catalog.database, spans, projects=projects, limit=limit)
    if asked.days and len(found) < limit:
        rest = within(catalog.database, short(asked.days), projects=projects, limit=limit)
        found = list(dict.fromkeys((*found, *rest)))[:limit]
    return [
        Hit(chunk_id, memory_id, rank, 1 - (rank - 1) / (2 * limit))
        for rank, (memory_id, chunk_id) in enumerate(found, start=1)
    ]
