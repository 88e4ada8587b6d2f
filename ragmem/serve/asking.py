"""What the routes do with an open memory; plain functions that block, for the worker threads."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC

from ragmem import __version__
from ragmem.domain.extraction import keywords
from ragmem.domain.model import USER, Draft, State, content_hash, digest
from ragmem.errors import UsageError
from ragmem.memory import Ragmem, now
from ragmem.serve import answers
from ragmem.serve.models import (
    GraphResponse,
    HealthResponse,
    QueryDataResponse,
    QueryRequest,
    QueryResponse,
    TextRequest,
    TextResponse,
    TextsRequest,
)
from ragmem.services.hand_in import HandIn
from ragmem.services.query import Answer, Question
from ragmem.services.routes import RoutedAnswer, ask_by_route, choose, route_shape

MAX_DEPTH = 10
MAX_NODES = 10_000
MAX_LABELS = 100_000

_EMPTY = "nothing is stored yet: run `ragmem seed`, or POST /documents/text"


def ask(memory: Ragmem, request: QueryRequest) -> RoutedAnswer:
    """Return the answer to a request; of all projects unless it names some.

    Raises NotFoundError for an unknown project.
    """
    question = Question(
        text=request.query,
        limit=request.chunk_top_k or request.top_k or memory.settings.query.limit,
        mode=request.engine_mode,
        keywords=tuple(dict.fromkeys((*request.hl_keywords, *request.ll_keywords))),
        expand=memory.settings.query.expand,
        history=request.history,
    )
    wanted = None if request.route == "auto" else request.route
    if not memory.is_stored():
        return RoutedAnswer(Answer(question, (), "nothing", (_EMPTY,)), choose(question.text))
    memory.require()
    if request.projects is not None:
        question = replace(question, projects=memory.named_projects(request.projects))
    routed = ask_by_route(memory, question, wanted, now=now())
    memory.recalled(routed.answer, session=request.session)
    return routed


def query(memory: Ragmem, request: QueryRequest) -> QueryResponse:
    """Answer POST /query, but for the time it takes."""
    routed = ask(memory, request)
    answer = routed.answer
    block, matches = answers.context_block(answer, request)
    response = answers.prompt(block, request) if request.only_need_prompt else block or answers.NOTHING_FOUND
    listed = answers.references(matches, content=bool(request.include_chunk_content))
    return QueryResponse(
        response=response,
        references=listed if request.include_references else None,
        response_time=0.0,
        notes=[*answer.notes, *(f"{fact.name}: {fact.value}" for fact in routed.shown)],
    )


def query_data(memory: Ragmem, request: QueryRequest) -> QueryDataResponse:
    """Answer POST /query/data."""
    routed = ask(memory, request)
    document = answers.retrieved(
        routed.answer,
        request,
        keywords=keywords(request.query),
        uris=memory.catalog.memories.uris,
    )
    if request.mode == "ragmem":
        document.metadata["route"] = route_shape(routed)
    return document


def _project(memory: Ragmem, name: str) -> str | None:
    return memory.named_projects([name])[0] if name else None


def _readable(memory: Ragmem) -> bool:
    """Tell whether there is anything to read; reading never creates a database."""
    if not memory.is_stored():
        return False
    memory.require()
    return True


def graph(memory: Ragmem, label: str, *, depth: int, limit: int, project: str) -> GraphResponse:
    """Answer GET /graphs."""
    if not _readable(memory):
        return GraphResponse(nodes=[], edges=[], is_truncated=False)
    document = memory.store.subgraph(
        label, depth=min(depth, MAX_DEPTH), limit=min(limit, MAX_NODES), project=_project(memory, project)
    )
    return answers.graph(document, memory.catalog.memories.uris)


def labels(memory: Ragmem, *, project: str) -> list[str]:
    """Answer GET /graph/label/list: names in order."""
    return sorted(popular_labels(memory, limit=MAX_LABELS, project=project))


def popular_labels(memory: Ragmem, *, limit: int, project: str) -> list[str]:
    """Answer GET /graph/label/popular: the most connected names first."""
    if not _readable(memory):
        return []
    return answers.popular_labels(memory.store, "", limit=limit, project=_project(memory, project))


def search_labels(memory: Ragmem, text: str, *, limit: int, project: str) -> list[str]:
    """Answer GET /graph/label/search."""
    if not _readable(memory):
        return []
    return answers.find_labels(memory.store, text, limit=limit, project=_project(memory, project))


def entity_exists(memory: Ragmem, name: str, *, project: str) -> bool:
    """Tell whether there is an entity of exactly this name."""
    # The star is the label of the whole graph and no name.
    if name == "*" or not _readable(memory):
        return False
    found = memory.store.subgraph(name, depth=0, limit=1, project=_project(memory, project))
    return bool(found["nodes"])


def store_text(memory: Ragmem, request: TextRequest) -> TextResponse:
    """Answer POST /documents/text."""
    return _store(memory, [_draft(memory, request, request.text, request.file_source, title=request.title)])


def store_texts(memory: Ragmem, request: TextsRequest) -> TextResponse:
    """Answer POST /documents/texts; raises UsageError when texts and names are not as many."""
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


def _draft(
    memory: Ragmem, request: TextRequest | TextsRequest, text: str, source: str | None, *, title: str = ""
) -> Draft:
    raw = text.encode()
    limit = memory.settings.seed.max_file_bytes
    if len(raw) > limit:
        raise UsageError(
            f"the text is longer than {limit:,} bytes", hint="raise max_file_mb in [seed] of config.toml"
        )
    if not text.strip() or "\0" in text:
        raise UsageError("the text is empty or has NUL bytes", hint="send text")
    happened = request.event_time
    wish = HandIn(
        kind=request.kind,
        tags=tuple(request.tags),
        project=request.project or USER,
        at=happened.replace(tzinfo=happened.tzinfo or UTC) if happened else None,
    )
    # The folder that the server was started in says nothing about a text that came over HTTP.
    (draft,) = memory.hand_in([], wish, text=raw, title=title).drafts
    return replace(draft, uri=source or f"text:{content_hash(draft.text)[:16]}")


def _store(memory: Ragmem, drafts: Sequence[Draft]) -> TextResponse:
    stored = memory.ingest(drafts)
    fresh = sum(one.change != "unchanged" for one in stored)
    said = f"{fresh} stored, {len(stored) - fresh} there already"
    faint = sum(one.judged.memory.state is State.BUFFERED for one in stored)
    if faint:
        # Full text alone knows them, and LightRAG's modes do not look there.
        said += f"; {faint} of little signal, found by the mode ragmem only"
    return TextResponse(
        status="success" if fresh else "duplicated",
        message=said,
        track_id=f"insert_{digest('track', now().isoformat(), *(one.id for one in stored))}",
        memory_ids=[one.id for one in stored],
    )


def health(memory: Ragmem, *, authorised: bool) -> HealthResponse:
    """Answer GET /health; without the token the database is not even looked at."""
    if not authorised:
        return HealthResponse(version=__version__)
    readable = _readable(memory)
    counted = memory.catalog.overview.counts() if readable else {"total": {}, "state": {}, "project": {}}
    return HealthResponse(
        version=__version__,
        counts={**counted["total"], **(memory.store.statistics() if readable else {})},
        states=dict(counted["state"]),
        projects=len(counted["project"]),
        backends={
            "models": memory.settings.models.backend,
            "store": memory.settings.store.backend,
        },
    )
