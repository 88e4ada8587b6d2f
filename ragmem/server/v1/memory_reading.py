"""One memory and lists of them, as answers; plain functions that block, for the worker threads."""

from contextlib import suppress
from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.domain.model import SHORT_ID_LENGTH, Memory
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import NotFoundError, RagmemError
from ragmem.server.v1.memory_models import Connections, History, LifeAnswer, MemoryPage, Whole
from ragmem.server.v1.preconditions import cursor, is_stored, place_of, require, told
from ragmem.server.v1.selection import Listing
from ragmem.services.code.links import code_of
from ragmem.services.code.shapes import links_shape
from ragmem.services.lifecycle.feedback import life_shape
from ragmem.services.reporting.memory_history import happenings
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.services.retrieval.superseding import first_line, former_shape, standing, superseded_shape
from ragmem.storage.memories.listing import counted, listed
from ragmem.storage.names.mentions import Mentions

NEAREST = 100
"""Connections that are shown with a memory; the route of the connections has all."""

Fields = dict[str, Any]


def described(memory: Memory, redactor: Redactor) -> Fields:
    """Return what lists tell of a memory; moments of any year are RFC 3339."""
    moments = {name: told(getattr(memory, name)) for name in ("event_time", "created_at", "updated_at")}
    return memory_shape(memory, redactor=redactor) | moments


def page(memory: Ragmem, asked: Listing) -> MemoryPage:
    """Answer GET /v1/memory/memories; empty where nothing is stored."""
    behind = place_of(asked.cursor, str, int, str)
    if not is_stored(memory):
        return MemoryPage(memories=[], total=0, next=None)
    database, wanted = memory.catalog.database, asked.filter(memory)
    found, rest = listed(
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
                described(one, redactor=memory.redactor)
                | {"excerpt": first_line(one.text, redactor=memory.redactor)}
                for one in found
            ],
            "total": counted(database, wanted),
            "next": cursor(asked.order, *rest) if rest else None,
        }
    )


def whole(memory: Ragmem, identifier: str) -> Whole:
    """Answer GET /v1/memory/memories/{id}."""
    require(memory)
    found = memory.memory(identifier)
    catalog = memory.catalog
    superseded, replaced = standing(catalog, found)
    return Whole.model_validate(
        described(found, redactor=memory.redactor)
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
            "superseded_by": superseded_shape(superseded, redactor=memory.redactor) if superseded else None,
            "replaced": [former_shape(former, redactor=memory.redactor) for former in replaced],
            "merged_from": list(catalog.gc_runs.originals([found.id]).get(found.id, ())),
            "life": life_shape(memory.standing(found.id)),
            "connections": _links(memory, found.id)[:NEAREST],
        }
    )


def connections(memory: Ragmem, identifier: str, *, limit: int) -> Connections:
    """Answer GET /v1/memory/memories/{id}/connections."""
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


def history(memory: Ragmem, identifier: str) -> History:
    """Answer GET /v1/memory/memories/{id}/history; also for one that lies in the archive."""
    require(memory)
    with suppress(RagmemError):  # what was noted of recalls waits for the next
        memory.absorb_recalls()
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
                {"at": told(one.at), "what": one.what, "detail": memory.redactor.redact(one.detail)[0]}
                for one in happenings(memory.catalog, found)
            ],
        }
    )


def life(memory: Ragmem, identifier: str) -> LifeAnswer:
    """Return where a memory is in its life."""
    standing_now = memory.standing(identifier)
    return LifeAnswer.model_validate({"id": standing_now.entry.id, "life": life_shape(standing_now)})
