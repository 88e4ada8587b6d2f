"""What is said of memories and stored anew; each write goes through the services and is durable."""

from ragmem.api.memory import Ragmem
from ragmem.errors import UsageError
from ragmem.server.http.handlers import text_draft
from ragmem.server.v1.fields import IdInPath
from ragmem.server.v1.memory_models import (
    FeedbackRequest,
    ForgetAnswer,
    ForgetRequest,
    LifeAnswer,
    PinRequest,
    StoreAnswer,
    StoreRequest,
)
from ragmem.server.v1.memory_reading import life
from ragmem.server.v1.preconditions import require
from ragmem.services.ingestion.drafts import DraftOptions

FIRST_YEAR = 1000
"""An event of an earlier year is a slip: no calendar of ours writes such years with four digits."""


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
    (stored,) = memory.ingest([draft])
    kept = stored.judged.memory
    # It was indexed after it was judged.
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

    Named by ids, or by sources, projects and the run that stored them; `dry_run` only counts them. They
    are found no more, and no seed or hook brings them back. `POST /v1/memory/gc/undo` with the run, or
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
    """Keep that a memory was of use or not; each call counts once."""
    require(memory)
    return life(memory, memory.lifecycle.rate(identifier, request.verdict, session=request.session).id)


def pin(memory: Ragmem, identifier: IdInPath, request: PinRequest) -> LifeAnswer:
    """Let a memory never expire nor be merged, or no longer so; twice is once."""
    require(memory)
    return life(memory, memory.lifecycle.pin(identifier, pinned=request.pinned).id)
