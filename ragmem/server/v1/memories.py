"""The routes on memories: list, details, connections, history, store, feedback, pin, forget."""

from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query

from ragmem.api.memory import Ragmem
from ragmem.errors import ConflictError, NotFoundError, RagmemError, UsageError
from ragmem.ports.principal import for_audience
from ragmem.server.http.handlers import is_stored, text_draft
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import ROUTER, IdInPath
from ragmem.server.v1.memory_models import (
    Connections,
    FeedbackRequest,
    ForgetAnswer,
    ForgetRequest,
    History,
    LifeAnswer,
    MemoryDetail,
    MemoryPage,
    PinRequest,
    StoreAnswer,
    StoreRequest,
)
from ragmem.server.v1.preconditions import cursor, format_moment, place_of, require
from ragmem.server.v1.selection import ListQuery
from ragmem.services.code.links import code_of
from ragmem.services.code.shapes import links_shape
from ragmem.services.connections.connection_list import connected_memories
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.lifecycle.feedback import life_shape
from ragmem.services.reporting.memory_history import list_events
from ragmem.services.retrieval.shapes import memory_shape
from ragmem.services.retrieval.supersessions import (
    first_line,
    previous_version_shapes,
    superseded_shape,
    supersession_state,
)
from ragmem.storage.memories.memory_list import count_memories, list_page
from ragmem.storage.names.mentions import Mentions

NEAREST = 100
"""Connections in the details of a memory; the route of the connections returns all."""

FIRST_YEAR = 1000
"""An event in an earlier year is a mistake; years with fewer than four digits are not supported."""

_ONE = "/memories/{identifier}"


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, **ROUTER, tags=["memories"])
    for method, path, endpoint, name, summary in (
        ("GET", "/memories", page, "list_memories", "List memories"),
        ("GET", _ONE, details, "get_memory", "Get a memory"),
        ("GET", f"{_ONE}/connections", connections, "list_connections", "List a memory's connections"),
        ("GET", f"{_ONE}/history", history, "get_history", "Get the history of a memory"),
        ("POST", "/memories", store, "store_memory", "Store a text"),
        ("POST", "/forget", forget, "forget_memories", "Forget memories"),
        ("POST", f"{_ONE}/feedback", feedback, "give_feedback", "Rate a memory"),
        ("PUT", f"{_ONE}/pin", pin, "pin_memory", "Pin or unpin a memory"),
    ):
        router.add_api_route(path, endpoint, methods=[method], operation_id=name, summary=summary)
    return router


def page(memory: Ragmem, asked: Annotated[ListQuery, Query()]) -> MemoryPage:
    """Return memories a page at a time, of all projects unless some are named.

    Memories stored in between do not shift the pages.
    """
    behind = place_of(asked.cursor, str, int, str)
    if not is_stored(memory):
        return MemoryPage(memories=[], total=0, next=None)
    database, wanted = memory.catalog.database, asked.filter(memory)
    found, rest = list_page(
        database,
        wanted,
        order=asked.order,
        # A cursor of another order is ignored: the list begins anew.
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


def details(memory: Ragmem, identifier: IdInPath) -> MemoryDetail:
    """Return a memory: text, source, chunks, life, connections, and the memories that it replaced."""
    require(memory)
    found = memory.memory(identifier)
    catalog = memory.catalog
    state = supersession_state(catalog, found)
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
            "superseded_by": superseded_shape(state.superseded, redactor=memory.redactor),
            "perhaps_outdated": superseded_shape(state.outdated, redactor=memory.redactor),
            "replaced": previous_version_shapes(state.replaced, redactor=memory.redactor),
            "merged_from": list(catalog.gc_runs.originals([found.id]).get(found.id, ())),
            "life": life_shape(memory.lifecycle.status(found.id)),
            "connections": _links(memory, found.id)[:NEAREST],
        }
    )


def connections(
    memory: Ragmem, identifier: IdInPath, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> Connections:
    """Return the connected memories, strongest first."""
    require(memory)
    found = memory.memory(identifier)
    links = _links(memory, found.id)
    return Connections.model_validate(
        {"id": found.short_id, "total": len(links), "connections": links[:limit]}
    )


def _links(memory: Ragmem, identifier: str) -> list[dict[str, Any]]:
    return [
        {
            "id": one.memory.short_id,
            "title": memory.redactor.redact(one.memory.title or one.memory.uri)[0],
            "strength": round(one.connection.strength, 4),
            "cosine": round(one.connection.cosine, 4),
            "shared": round(one.connection.shared, 4),
        }
        for one in connected_memories(memory.catalog, identifier)
    ]


def history(memory: Ragmem, identifier: IdInPath) -> History:
    """Return the events in a memory's life, oldest first; also for an archived memory."""
    require(memory)
    with suppress(RagmemError):  # pending recalls wait for the next call
        memory.recalls.absorb()
    try:
        found = memory.memory(identifier)
    except NotFoundError:
        wanted = identifier.lower()
        archived = memory.catalog.archive.ids_with_prefix(wanted)
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
                for one in list_events(memory.catalog, found)
            ],
        }
    )


def store(memory: Ragmem, request: StoreRequest) -> StoreAnswer:
    """Store a text; it is durable and can be found when this returns.

    The same request again gives the same id, and `change` is then `unchanged`. Secrets are replaced
    before anything is written.
    """
    happened = request.event_time
    if happened and happened.year < FIRST_YEAR:
        raise UsageError(f"event_time lies in the year {happened.year}", hint="write 2026-03-15T10:00:00Z")
    wish = DraftOptions(kind=request.kind, tags=tuple(request.tags), project=request.project)
    draft = text_draft(memory, request.text, wish, uri=request.uri, title=request.title, at=happened)
    with for_audience(request.audience):
        (stored,) = memory.ingest([draft], by_agent=True)
    kept = stored.memory
    audience = memory.catalog.memories.audience(kept.id)
    if request.audience and audience and audience != request.audience:
        raise ConflictError(
            f'"{kept.short_id}" has the audience {audience}',
            hint="forget it and store it again; personal and team need no project",
        )
    # It was indexed after the classification.
    now_stored = memory.catalog.memories.get([kept.id]).get(kept.id, kept)
    return StoreAnswer.model_validate(
        {
            "id": kept.short_id,
            "full_id": kept.id,
            "change": stored.change,
            "state": now_stored.state,
            "tier": now_stored.tier,
        }
    )


def forget(memory: Ragmem, request: ForgetRequest) -> ForgetAnswer:
    """Move memories into the archive, all of them or none; `confirm` must be true.

    Select them by ids, or by sources, projects and the run that stored them; `dry_run` only counts them. No
    search finds them, and no seed or hook restores them. `POST /v1/memory/gc/undo` with the run, or
    `POST /v1/memory/archive/{identifier}/restore`, brings them back.
    """
    require(memory)
    ids = list(dict.fromkeys(one.lower() for one in request.ids))
    planned = memory.removal.plan(
        ids, sources=request.sources, projects=request.projects, run=request.stored_by
    )
    only_ids = bool(ids) and not (request.sources or request.projects or request.stored_by)
    run = ""
    if not request.dry_run:
        run = memory.removal.archive(planned, allow_large=request.allow_large or only_ids).run
    return ForgetAnswer(run=run, forgotten=len(planned.going))


def feedback(memory: Ragmem, identifier: IdInPath, request: FeedbackRequest) -> LifeAnswer:
    """Record whether a memory was useful; each call counts once."""
    require(memory)
    return _life(memory, memory.lifecycle.rate(identifier, request.verdict, session=request.session).id)


def pin(memory: Ragmem, identifier: IdInPath, request: PinRequest) -> LifeAnswer:
    """Pin a memory, so that it never expires and is never merged, or unpin it; repeating has no effect."""
    require(memory)
    return _life(memory, memory.lifecycle.pin(identifier, pinned=request.pinned).id)


def _life(memory: Ragmem, identifier: str) -> LifeAnswer:
    status = memory.lifecycle.status(identifier)
    return LifeAnswer.model_validate({"id": status.entry.id, "life": life_shape(status)})
