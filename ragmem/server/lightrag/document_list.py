"""Memories in the shape of LightRAG's documents; plain functions that block, for the worker threads."""

from collections.abc import Iterable, Sequence

from ragmem.api.memory import Ragmem
from ragmem.domain.model import State
from ragmem.domain.secrets.redaction import Redactor
from ragmem.server.http.handlers import readable
from ragmem.server.lightrag.document_models import (
    Document,
    DocumentsResponse,
    PaginatedRequest,
    PaginatedResponse,
    Pagination,
    Status,
    TrackStatusResponse,
)
from ragmem.storage.memories import document_pages

STATUS_OF: dict[str, Status] = {
    State.PENDING: "pending",
    State.INDEXED: "processed",
    State.BUFFERED: "processed",
}
"""What is in the buffer has all that it will get: full text. Its metadata tell."""

LISTED = 1_000
"""Documents of a list that has no pages."""

INSERTED = "insert_"
"""How the name begins under which one document can be asked about for as long as it lives."""

SUMMARY_CHARS = 160


def count_documents(memory: Ragmem) -> dict[str, int]:
    """Return how many documents there are in each of LightRAG's states, and in all."""
    found = dict.fromkeys(("all", "pending", "processing", "preprocessed", "processed", "failed"), 0)
    if readable(memory):
        for state, count in document_pages.counts(memory.catalog.database).items():
            found[STATUS_OF[state]] += count
            found["all"] += count
    return found


def paginate_documents(memory: Ragmem, request: PaginatedRequest) -> PaginatedResponse:
    """Answer POST /documents/paginated."""
    counted = count_documents(memory)
    wanted = request.status_filters or ([request.status_filter] if request.status_filter else None)
    total = counted["all"] if wanted is None else sum(counted.get(one, 0) for one in set(wanted))
    found = []
    if readable(memory):
        found = document_pages.page(
            memory.catalog.database,
            states=_states(wanted),
            order="uri" if request.sort_field == "file_path" else request.sort_field,
            descending=request.sort_direction == "desc",
            limit=request.page_size,
            offset=(request.page - 1) * request.page_size,
        )
    pages = -(-total // request.page_size)
    return PaginatedResponse(
        documents=_shown(found, redactor=memory.redactor),
        pagination=Pagination(
            page=request.page,
            page_size=request.page_size,
            total_count=total,
            total_pages=pages,
            has_next=request.page < pages,
            has_prev=request.page > 1,
        ),
        status_counts=counted,
    )


def list_documents(memory: Ragmem) -> DocumentsResponse:
    """Answer GET /documents."""
    found = document_pages.page(memory.catalog.database, limit=LISTED) if readable(memory) else []
    statuses: dict[str, list[Document]] = {}
    for one in _shown(found, redactor=memory.redactor):
        statuses.setdefault(one.status, []).append(one)
    return DocumentsResponse(statuses=statuses)


def track_documents(memory: Ragmem, track_id: str, ids: Sequence[str]) -> TrackStatusResponse:
    """Answer GET /documents/track_status; without documents where nothing is known of it (any more)."""
    found = document_pages.documents(memory.catalog.database, ids) if ids and readable(memory) else []
    shown = _shown(found, redactor=memory.redactor)
    summary: dict[str, int] = {}
    for one in shown:
        summary[one.status] = summary.get(one.status, 0) + 1
    return TrackStatusResponse(
        track_id=track_id, documents=shown, total_count=len(shown), status_summary=summary
    )


def _states(wanted: Iterable[Status] | None) -> list[str] | None:
    if wanted is None:
        return None
    asked = set(wanted)
    return [state for state, status in STATUS_OF.items() if status in asked]


def _shown(found: Sequence[document_pages.Document], redactor: Redactor) -> list[Document]:
    # What is shown is covered together, for each search for secrets has its price.
    texts = redactor.redact_document([[one.uri, one.beginning, one.title, *one.tags] for one in found])
    return [
        Document(
            id=one.id,
            content_summary=" ".join(beginning.split())[:SUMMARY_CHARS],
            content_length=one.characters,
            status=STATUS_OF[one.state],
            created_at=one.created,
            updated_at=one.updated,
            track_id=INSERTED + one.id,
            chunks_count=one.chunks,
            file_path=uri,
            metadata={
                "state": one.state,
                "title": title,
                "source": one.source,
                "project": one.project,
                "kind": one.kind,
                "happened": one.happened,
                "tags": tags,
                "protected": one.protected,
            },
        )
        for one, (uri, beginning, title, *tags) in zip(found, texts, strict=True)
    ]
