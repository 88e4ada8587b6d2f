"""The work of the routes on an open memory; blocking functions for the worker threads."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ragmem.api.memory import Ragmem, now
from ragmem.domain.injection.sanitization import sanitize_text
from ragmem.domain.model import USER, Draft, content_hash, digest
from ragmem.domain.text.keywords import levels
from ragmem.errors import ConflictError, UsageError
from ragmem.server.http import answers
from ragmem.server.http.models import (
    ContextRequest,
    ContextResponse,
    QueryDataResponse,
    QueryRequest,
    TextRequest,
    TextResponse,
    TextsRequest,
)
from ragmem.services.context.context import Context
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.options import DraftOptions
from ragmem.services.ingestion.scope import assign_ids
from ragmem.services.retrieval.query import Answer, Question
from ragmem.services.retrieval.routes import RoutedAnswer, choose_route, route_shape

_EMPTY = "nothing is stored yet: run `ragmem seed`, or POST /documents/text"


_NOTHING_STORED = "nothing is stored yet"


def ask(memory: Ragmem, request: QueryRequest) -> RoutedAnswer:
    """Return the answer to a request, from all projects unless it names some.

    Raises NotFoundError for an unknown project.
    """
    question = Question(
        text=request.query,
        limit=request.chunk_top_k or request.top_k or memory.settings.query.limit,
        mode=request.engine_mode,
        keywords=tuple(dict.fromkeys(request.ll_keywords)),
        themes=tuple(dict.fromkeys(request.hl_keywords)),
        expand=memory.settings.query.expand,
        history=request.history,
        discarded="always" if request.all_tiers else "last",
    )
    wanted = None if request.route == "auto" else request.route
    if not memory.is_stored():
        return RoutedAnswer(Answer(question, (), "nothing", (_EMPTY,)), choose_route(question.text))
    memory.require()
    if request.projects is not None:
        question = replace(question, projects=memory.projects.resolve(request.projects))
    routed = memory.retrieval.ask_by_route(question, wanted, now=now())
    memory.lifecycle.recall(routed.answer, session=request.session)
    return routed


def query_data(memory: Ragmem, request: QueryRequest) -> QueryDataResponse:
    """Answer POST /query/data; a bypass retrieves nothing, as in LightRAG."""
    if request.mode == "bypass":
        return answers.bypass_response()
    routed = ask(memory, request)
    document = answers.query_data_response(
        routed.answer,
        request,
        keywords=levels(request.query),
        uris=memory.catalog.memories.uris,
        redactor=memory.redactor,
    )
    if request.mode == "ragmem":
        document.metadata["route"] = route_shape(routed)
    return document


def is_stored(memory: Ragmem) -> bool:
    """Return whether anything is stored, and open it; reading never creates a database."""
    if not memory.is_stored():
        return False
    memory.require()
    return True


def store_text(memory: Ragmem, request: TextRequest, *, replacing: bool = True) -> TextResponse:
    """Answer POST /documents/text.

    Without `replacing` raises ConflictError if the name has another text, which stays unchanged.
    """
    draft = _draft(memory, request, request.text, request.file_source, title=request.title)
    if not replacing:
        _refuse_other(memory, draft)
    return _store(memory, [draft])


def store_new(memory: Ragmem, drafts: Sequence[Draft]) -> TextResponse:
    """Store drafts whose names are free or have the same text; else store none and raise ConflictError."""
    for draft in drafts:
        _refuse_other(memory, draft)
    return _store(memory, drafts)


def store_texts(memory: Ragmem, request: TextsRequest) -> TextResponse:
    """Answer POST /documents/texts; raises UsageError if the numbers of texts and names differ."""
    sources: Sequence[str | None] = request.file_sources or [None] * len(request.texts)
    if len(sources) != len(request.texts):
        raise UsageError(
            f"there are {len(request.texts)} texts and {len(sources)} file_sources",
            hint="give one file_source for each text, or none",
        )
    drafts = [
        _draft(memory, request, text, source) for text, source in zip(request.texts, sources, strict=True)
    ]
    return _store(memory, drafts)


def text_draft(
    memory: Ragmem, text: str, wish: DraftOptions, *, uri: str, title: str = "", at: datetime | None = None
) -> Draft:
    """Return the draft of a text that came over HTTP; without a name, its uri is made from the text.

    `at` is in UTC unless it has a time zone. Raises UsageError if the text is empty or too long.
    """
    raw = text.encode()
    limit = memory.settings.seed.max_file_bytes
    if len(raw) > limit:
        raise UsageError(
            f"the text is longer than {limit:,} bytes", hint="raise max_file_mb in [seed] of config.toml"
        )
    if not text.strip() or "\0" in text:
        raise UsageError("the text is empty or has NUL bytes", hint="send text")
    wish = replace(wish, project=wish.project or USER, at=at.replace(tzinfo=at.tzinfo or UTC) if at else None)
    # The working folder of the server is unrelated to a text that came over HTTP.
    (draft,) = memory.ingestion.draft([], wish, text=raw, title=title).drafts
    name = sanitize_text(uri, redactor=memory.redactor).strip()
    return replace(draft, uri=name or f"text:{content_hash(draft.text)[:16]}")


def _draft(
    memory: Ragmem, request: TextRequest | TextsRequest, text: str, source: str | None, *, title: str = ""
) -> Draft:
    wish = DraftOptions(kind=request.kind, tags=tuple(request.tags), project=request.project)
    return text_draft(memory, text, wish, uri=source or "", title=title, at=request.event_time)


def _refuse_other(memory: Ragmem, draft: Draft) -> None:
    if not is_stored(memory):
        return
    [draft] = assign_ids(memory.catalog, [draft])
    new = classify_draft(draft, now=now(), sizes=memory.settings.chunking, redactor=memory.redactor).memory
    before = memory.catalog.memories.states([new.id]).get(new.id)
    if before is not None and before.content_hash != new.content_hash:
        raise ConflictError(
            f'"{new.uri}" already has another text: {new.id}',
            hint="delete it first (DELETE /documents/delete_document), or use another name",
        )


def _store(memory: Ragmem, drafts: Sequence[Draft]) -> TextResponse:
    stored = memory.ingest(drafts, by_agent=True)
    fresh = sum(one.change != "unchanged" for one in stored)
    said = f"{fresh} stored, {len(stored) - fresh} there already"
    return TextResponse(
        status="success" if fresh else "duplicated",
        message=said,
        track_id=f"insert_{digest('track', now().isoformat(), *(one.id for one in stored))}",
        memory_ids=[one.id for one in stored],
    )


def session_context(memory: Ragmem, request: ContextRequest) -> ContextResponse:
    """Answer POST /context; raises NotFoundError for an unknown project."""
    if not memory.is_stored():
        return _context_response(Context(), _NOTHING_STORED)
    memory.require()
    named = memory.projects.resolve(request.projects or ())
    # The working folder of the server is unrelated to the client.
    everywhere = not (named or request.cwd)
    # A folder in a request is only a name: it is not read, and git never runs in it.
    projects = named or memory.projects.at(Path(request.cwd), by_name=True)
    if not request.session:
        block = memory.session_context(
            request.prompt, projects=projects, everywhere=everywhere, tokens=request.max_total_tokens
        )
        return _context_response(block, "" if block.text else block.why_empty)
    told = memory.injections.anticipate(
        request.session,
        request.prompt,
        event=request.event,
        agent=request.agent,
        assistant=request.assistant,
        again=request.again,
        projects=projects,
        everywhere=everywhere,
        tokens=request.max_total_tokens,
    )
    return _context_response(told.context, told.reason, told.notes)


def _context_response(block: Context, reason: str, notes: tuple[str, ...] = ()) -> ContextResponse:
    return ContextResponse(
        context=block.text,
        tokens=block.tokens if block.text else 0,
        memory_ids=[memory.id for memory in block.memories],
        reason=reason,
        notes=list(notes),
    )
