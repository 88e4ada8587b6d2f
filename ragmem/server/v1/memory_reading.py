"""What the routes on memories answer that only read."""

from contextlib import suppress
from typing import Annotated, Any

from fastapi import Query

from ragmem.api.memory import Ragmem
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.errors import NotFoundError, RagmemError
from ragmem.server.v1.fields import IdInPath
from ragmem.server.v1.memory_models import Connections, History, LifeAnswer, MemoryDetail, MemoryPage
from ragmem.server.v1.preconditions import cursor, format_moment, is_stored, place_of, require
from ragmem.server.v1.selection import Listing
from ragmem.services.code.links import code_of
from ragmem.services.code.shapes import links_shape
from ragmem.services.lifecycle.feedback import life_shape
from ragmem.services.reporting.memory_history import happenings
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.services.retrieval.superseding import first_line, former_shapes, standing, superseded_shape
from ragmem.storage.memories.listing import count_memories, list_page
from ragmem.storage.names.mentions import Mentions

NEAREST = 100
"""Connections that are shown with a memory; the route of the connections has all."""

Fields = dict[str, Any]


def page(memory: Ragmem, asked: Annotated[Listing, Query()]) -> MemoryPage:
    """Return memories a page at a time, of all projects unless some are named.

    What is stored between two pages moves nothing from one to the other.
    """
    behind = place_of(asked.cursor, str, int, str)
    if not is_stored(memory):
        return MemoryPage(memories=[], total=0, next=None)
    database, wanted = memory.catalog.database, asked.filter(memory)
    found, rest = list_page(
        database,
        wanted,
        order=asked.order,
        # A cursor of another order leads nowhere: it begins anew.
        after=(behind[1], behind[2]) if behind is not None and behind[0] == asked.order else None,
        limit=asked.limit,
    )
    return MemoryPage.model_validate(
        {
            "memories": [
                memory_shape(one, redactor=memory.redactor)
                | {"excerpt": first_line(one.text, redactor=memory.redactor)}
                for one in found
            ],
            "total": count_memories(database, wanted),
            "next": cursor(asked.order, *rest) if rest else None,
        }
    )


def whole(memory: Ragmem, identifier: IdInPath) -> MemoryDetail:
    """Return a memory: text, where it comes from, chunks, life, connections, what it replaced."""
    require(memory)
    found = memory.memory(identifier)
    catalog = memory.catalog
    superseded, replaced = standing(catalog, found)
    return MemoryDetail.model_validate(
        memory_shape(found, redactor=memory.redactor)
        | {
            "text": memory.redactor.redact(found.text)[0],
            "summary": memory.redactor.redact(found.summary)[0],
            "chunks": memory.redactor.redact_document(
                [
                    {"id": chunk.id, "heading": chunk.heading, "start": chunk.start, "end": chunk.end}
                    for chunk in catalog.memories.chunks(found)
                ]
            ),
            "entities": memory.redactor.redact_document(Mentions(catalog.database).names(found.id)),
            "code": links_shape(code_of(catalog, found)),
            "superseded_by": superseded_shape(superseded, redactor=memory.redactor),
            "replaced": former_shapes(replaced, redactor=memory.redactor),
            "merged_from": list(catalog.gc_runs.originals([found.id]).get(found.id, ())),
            "life": life_shape(memory.lifecycle.status(found.id)),
            "connections": _links(memory, found.id)[:NEAREST],
        }
    )


def connections(
    memory: Ragmem, identifier: IdInPath, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> Connections:
    """Return the memories that it is connected with, strongest first."""
    require(memory)
    found = memory.memory(identifier)
    links = _links(memory, found.id)
    return Connections.model_validate(
        {"id": found.short_id, "total": len(links), "connections": links[:limit]}
    )


def _links(memory: Ragmem, identifier: str) -> list[Fields]:
    found = memory.catalog.connections.neighbours(identifier)
    others = {one.second if one.first == identifier else one.first: one for one in found}
    known = memory.catalog.memories.get(others)
    return [
        {
            "id": other[:SHORT_ID_LENGTH],
            "title": memory.redactor.redact(known[other].title or known[other].uri)[0],
            "strength": round(link.strength, 4),
            "cosine": round(link.cosine, 4),
            "shared": round(link.shared, 4),
        }
        for other, link in others.items()
        if other in known
    ]


def history(memory: Ragmem, identifier: IdInPath) -> History:
    """Return what happened to it, oldest first; also of one that lies in the archive."""
    require(memory)
    with suppress(RagmemError):  # what was noted of recalls waits for the next
        memory.recalls.absorb()
    try:
        found = memory.memory(identifier)
    except NotFoundError:
        wanted = identifier.lower()
        archived = memory.catalog.archive.beginning(wanted)
        if len(archived) != 1:
            raise
        found = memory.catalog.archive.latest(archived)[archived[0]].memory
    return History.model_validate(
        {
            "id": found.short_id,
            "history": [
                {
                    "at": format_moment(one.at),
                    "what": one.what,
                    "detail": memory.redactor.redact(one.detail)[0],
                }
                for one in happenings(memory.catalog, found)
            ],
        }
    )


def life(memory: Ragmem, identifier: str) -> LifeAnswer:
    """Return where a memory is in its life."""
    standing_now = memory.lifecycle.status(identifier)
    return LifeAnswer.model_validate({"id": standing_now.entry.id, "life": life_shape(standing_now)})
