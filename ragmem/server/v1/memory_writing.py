"""What is said of memories and stored anew; each write goes through the services and is durable."""

from dataclasses import replace
from datetime import UTC, datetime

from ragmem.api.memory import Ragmem
from ragmem.domain.injection.purity import purified_text
from ragmem.domain.model import USER, content_hash
from ragmem.errors import UsageError
from ragmem.server.v1.memory_models import ForgetRequest, Forgotten, Stored, StoreRequest
from ragmem.server.v1.preconditions import require
from ragmem.services.ingestion.drafts import HandIn

FIRST_YEAR = 1000
"""An event of an earlier year is a slip: no calendar of ours writes such years with four digits."""


def store(memory: Ragmem, request: StoreRequest) -> Stored:
    """Answer POST /v1/memory/memories; raises UsageError for a text that holds nothing to store."""
    raw = request.text.encode()
    limit = memory.settings.seed.max_file_bytes
    if len(raw) > limit:
        raise UsageError(
            f"the text is longer than {limit:,} bytes", hint="raise max_file_mb in [seed] of config.toml"
        )
    if not request.text.strip() or "\0" in request.text:
        raise UsageError("the text is empty or has NUL bytes", hint="send text")
    wish = HandIn(
        kind=request.kind,
        tags=tuple(request.tags),
        project=request.project or USER,
        at=_moment(request.event_time),
    )
    # The folder that the server was started in says nothing about a text that came over HTTP.
    (draft,) = memory.hand_in([], wish, text=raw, title=request.title).drafts
    draft = replace(
        draft,
        uri=purified_text(request.uri, redactor=memory.redactor).strip()
        or f"text:{content_hash(draft.text)[:16]}",
    )
    (stored,) = memory.ingest([draft])
    kept = stored.judged.memory
    # It was indexed after it was judged.
    now_stored = memory.catalog.memories.get([kept.id]).get(kept.id, kept)
    return Stored.model_validate(
        {
            "id": kept.short_id,
            "full_id": kept.id,
            "change": stored.change,
            "state": now_stored.state,
            "tier": now_stored.tier,
        }
    )


def _moment(happened: datetime | None) -> datetime | None:
    if happened is None:
        return None
    if happened.year < FIRST_YEAR:
        raise UsageError(f"event_time lies in the year {happened.year}", hint="write 2026-03-15T10:00:00Z")
    return happened.replace(tzinfo=happened.tzinfo or UTC)


def forget(memory: Ragmem, request: ForgetRequest) -> Forgotten:
    """Answer POST /v1/memory/forget."""
    require(memory)
    ids = list(dict.fromkeys(one.lower() for one in request.ids))
    planned = memory.plan_forget(
        ids, sources=request.sources, projects=request.projects, run=request.stored_by
    )
    only_ids = bool(ids) and not (request.sources or request.projects or request.stored_by)
    run = ""
    if not request.dry_run:
        run = memory.apply_forget(planned, allow_large=request.allow_large or only_ids).run
    return Forgotten(run=run, forgotten=len(planned.going))
