"""Memories of a time that a question names: "what did we do last week"."""

from collections.abc import Sequence

from ragmem.catalog.catalog import Catalog
from ragmem.catalog.latest import within
from ragmem.domain.model import Hit
from ragmem.domain.spans import Span, short


def dated(
    catalog: Catalog, spans: Sequence[Span], *, projects: Sequence[str] | None, limit: int
) -> list[Hit]:
    """Return the first chunks of memories that happened within any of the spans, the newest first.

    A span that is open, or longer than five weeks, leads to none. A hit's score falls from 1 for the newest
    to a half for the last one of so many.
    """
    found = within(catalog.database, short(spans), projects=projects, limit=limit)
    return [
        Hit(chunk_id, memory_id, rank, 1 - (rank - 1) / (2 * limit))
        for rank, (memory_id, chunk_id) in enumerate(found, start=1)
    ]
