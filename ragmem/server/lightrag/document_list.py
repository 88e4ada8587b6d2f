"""Memories as LightRAG's documents; blocking functions for the worker threads."""

from collections import Counter
from collections.abc import Iterable, Sequence

from ragmem.api.memory import Ragmem
from ragmem.domain.model import State
from ragmem.domain.secrets.redaction import Redactor
from ragmem.server.http.handlers import is_stored
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
"""A buffered memory gets no more than full text, which its metadata shows."""

MAX_LISTED = 1_000
"""Maximum documents of a list without pages."""

TRACK_PREFIX = "insert_"
"""The prefix of the permanent track id of a single document."""

SUMMARY_CHARS = 160


def count_documents(memory: Ragmem) -> dict[str, int]:
    """Return the number of documents in each of LightRAG's states, and in all."""
    found = dict.fromkeys(("all", "pending", "processing", "preprocessed", "processed", "failed"), 0)
    if is_stored(memory):
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
    if is_stored(memory):
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
        documents=_to_documents(found, redactor=memory.redactor),
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
    found = document_pages.page(memory.catalog.database, limit=MAX_LISTED) if is_stored(memory) else []
    statuses: dict[str, list[Document]] = {}
    for one in _to_documents(found, redactor=memory.redactor):
        statuses.setdefault(one.status, []).append(one)
    return DocumentsResponse(statuses=statuses)


def track_documents(memory: Ragmem, track_id: str, ids: Sequence[str]) -> TrackStatusResponse:
    """Answer GET /documents/track_status; without documents for an unknown or forgotten track id."""
    found = document_pages.documents(memory.catalog.database, ids) if ids and is_stored(memory) else []
    shown = _to_documents(found, redactor=memory.redactor)
    summary: dict[str, int] = Counter(one.status for one in shown)
    return TrackStatusResponse(
        track_id=track_id, documents=shown, total_count=len(shown), status_summary=summary
    )


def _states(wanted: Iterable[Status] | None) -> list[str] | None:
    if wanted is None:
        return None
    asked = set(wanted)
    return [state for state, status in STATUS_OF.items() if status in asked]


def _to_documents(found: Sequence[document_pages.Document], redactor: Redactor) -> list[Document]:
    # All texts are redacted together, because each search for secrets takes time.
    texts = redactor.redact_document([[one.uri, one.beginning, one.title, *one.tags] for one in found])
    return [
        Document(
            id=one.id,
            content_summary=" ".join(beginning.split())[:SUMMARY_CHARS],
            content_length=one.characters,
            status=STATUS_OF[one.state],
            created_at=one.created,
            updated_at=one.updated,
            track_id=TRACK_PREFIX + one.id,
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
