"""The requests and answers of LightRAG's document routes."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ragmem.server.http.models import Label

Status = Literal["pending", "parsing", "analyzing", "processing", "preprocessed", "processed", "failed"]
"""LightRAG's states of a document; of ours there are `pending` and `processed` only."""

MAX_IDS = 10_000

_DOCUMENT: dict[str, Any] = {
    "id": "m4k2c7zq3vhx5tdg6pwbn2ra7e",
    "content_summary": "We decided to deploy PostgreSQL 16 with Kubernetes because the old host ran full.",
    "content_length": 134,
    "status": "processed",
    "created_at": "2026-03-31T12:34:56+00:00",
    "updated_at": "2026-03-31T12:35:30+00:00",
    "track_id": "insert_m4k2c7zq3vhx5tdg6pwbn2ra7e",
    "chunks_count": 1,
    "error_msg": None,
    "metadata": {"state": "indexed", "source": "memory", "project": "shop", "kind": "architecture"},
    "file_path": "/home/ada/shop/notes/deploy.md",
}
_COUNTS = {"all": 150, "pending": 10, "processing": 0, "processed": 140, "failed": 0}


def _example(**values: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [values]})


class Document(BaseModel):
    """A memory as LightRAG tells of a document."""

    id: str = Field(description="The memory's id.")
    content_summary: str = Field(description="How the text begins.")
    content_length: int = Field(description="Characters of the text.")
    status: Status
    created_at: str = Field(description="When it was stored, RFC 3339.")
    updated_at: str = Field(description="When it was stored last, RFC 3339.")
    track_id: str | None = Field(default=None, description="What /documents/track_status is asked by.")
    chunks_count: int | None = None
    error_msg: str | None = None
    metadata: dict[str, Any] | None = Field(default=None, description="Ours: state, source, project, kind.")
    file_path: str = Field(description="Where it comes from: a path, path#part, or a given name.")
    model_config = _example(**_DOCUMENT)


class DocumentsResponse(BaseModel):
    """Documents by status, the latest 1,000 in all."""

    statuses: dict[str, list[Document]]
    model_config = _example(statuses={"processed": [_DOCUMENT]})


class PaginatedRequest(BaseModel):
    """Which page of the documents is wanted."""

    status_filter: Status | None = Field(default=None, description="Of no effect with `status_filters`.")
    status_filters: list[Status] | None = Field(default=None, max_length=20)
    page: int = Field(default=1, ge=1, le=1_000_000)
    page_size: int = Field(default=50, ge=10, le=200)
    sort_field: Literal["created_at", "updated_at", "id", "file_path"] = "updated_at"
    sort_direction: Literal["asc", "desc"] = "desc"
    model_config = _example(page=1, page_size=50, sort_field="updated_at", sort_direction="desc")


class Pagination(BaseModel):
    """Where a page lies among the others."""

    page: int
    page_size: int
    total_count: int
    total_pages: int
    has_next: bool
    has_prev: bool
    model_config = _example(
        page=1, page_size=50, total_count=150, total_pages=3, has_next=True, has_prev=False
    )


class PaginatedResponse(BaseModel):
    """A page of documents, and how many there are in each state."""

    documents: list[Document]
    pagination: Pagination
    status_counts: dict[str, int]
    model_config = _example(
        documents=[_DOCUMENT],
        pagination={
            "page": 1,
            "page_size": 50,
            "total_count": 150,
            "total_pages": 3,
            "has_next": True,
            "has_prev": False,
        },
        status_counts=_COUNTS,
    )


class StatusCountsResponse(BaseModel):
    """How many documents there are in each state."""

    status_counts: dict[str, int]
    model_config = _example(status_counts=_COUNTS)


class TrackStatusResponse(BaseModel):
    """What became of the documents that were handed in together."""

    track_id: str
    documents: list[Document]
    total_count: int
    status_summary: dict[str, int]
    model_config = _example(
        track_id=_DOCUMENT["track_id"],
        documents=[_DOCUMENT],
        total_count=1,
        status_summary={"processed": 1},
    )


class SupportedTypesResponse(BaseModel):
    """Which files may be uploaded, by the ends of their names."""

    supported_extensions: list[str]
    engines: dict[str, list[str]]
    model_config = _example(supported_extensions=[".md", ".txt"], engines={"ragmem": [".md", ".txt"]})


class ScanResponse(BaseModel):
    """That the configured sources are being read, or that something else runs."""

    status: Literal["scanning_started", "scanning_skipped_pipeline_busy"]
    message: str
    track_id: str = Field(description="What /documents/scan/status is asked by; empty when nothing began.")
    model_config = _example(
        status="scanning_started", message="the sources are being read", track_id="scan_1f0c"
    )


class ScanStatusResponse(BaseModel):
    """How far a scan is; known until 50 later ones or until the server ends."""

    track_id: str
    status: Literal["running", "completed", "failed", "cancelled"]
    counts: dict[str, int]
    counters_dropped: int = 0
    samples: dict[str, dict[str, Any]]
    created_at: float = Field(description="Seconds since 1970.")
    updated_at: float = Field(description="Seconds since 1970.")
    version: int
    message: str
    model_config = _example(
        track_id="scan_1f0c",
        status="completed",
        counts={"files": 12},
        counters_dropped=0,
        samples={},
        created_at=1774960496.0,
        updated_at=1774960530.0,
        version=3,
        message="12 new",
    )


class PipelineStatusResponse(BaseModel):
    """What runs in the background, or ran last."""

    busy: bool
    job_name: str
    job_start: str | None
    docs: int = Field(description="Steps of the part that runs.")
    batchs: int = Field(description="The same; LightRAG's spelling.")
    cur_batch: int = Field(description="How many of them are done.")
    request_pending: bool = False
    cancellation_requested: bool = False
    latest_message: str
    history_messages: list[str]
    update_status: dict[str, Any] = Field(description="Always empty: no process holds a copy of the data.")
    recovery_required: Literal[False] = False
    recovery_kind: str | None = None
    recovery_message: str | None = None
    model_config = _example(
        busy=False,
        job_name="scan",
        job_start="2026-03-31T12:34:56+00:00",
        docs=12,
        batchs=12,
        cur_batch=12,
        latest_message="12 new",
        history_messages=["scan begins", "12 new"],
        update_status={},
    )


class ReprocessResponse(BaseModel):
    """That what waits for vectors and graph gets them now."""

    status: Literal["reprocessing_started", "reprocessing_skipped_pipeline_busy"]
    message: str
    track_id: str = ""
    model_config = _example(status="reprocessing_started", message="3 wait for vectors", track_id="")


class CancelResponse(BaseModel):
    """Whether anything runs that will end now."""

    status: Literal["cancellation_requested", "not_busy"]
    message: str
    model_config = _example(status="not_busy", message="nothing runs")


class DeleteRequest(BaseModel):
    """Which documents to delete."""

    doc_ids: list[Label] = Field(min_length=1, max_length=MAX_IDS, description="Ids of memories, each once.")
    delete_file: bool = Field(default=False, description="Has no effect: ragmem never deletes a file.")
    delete_llm_cache: bool = Field(default=False, description="Has no effect: nothing is cached by document.")
    model_config = _example(doc_ids=[_DOCUMENT["id"]], delete_file=False, delete_llm_cache=False)


class DeleteResponse(BaseModel):
    """That the documents are gone, which they are already when this comes, and how to get them back."""

    status: Literal["deletion_started"]
    message: str
    doc_id: str = Field(description="Their ids, with commas between them.")
    run: str = Field(description="Ours: `ragmem forget --undo` brings them back by this.")
    model_config = _example(
        status="deletion_started",
        message="1 moved to the archive; `ragmem forget --undo 3f2a91bc` brings back",
        doc_id=_DOCUMENT["id"],
        run="3f2a91bc",
    )


class ClearResponse(BaseModel):
    """What a request to clear did."""

    status: Literal["success"]
    message: str
    model_config = _example(status="success", message="there is nothing to clear")


class ConflictsResponse(BaseModel):
    """Files that several documents claim: none, as a memory is known by its whole path."""

    conflicts: list[dict[str, Any]]
    next_cursor: str | None = None
    model_config = _example(conflicts=[], next_cursor=None)


class RecoveryResponse(BaseModel):
    """That there is nothing to recover: a write is whole or has not happened."""

    status: Literal["no_recovery_required"]
    message: str
    cancelled_manual_retries: Literal[0] = 0
    model_config = _example(
        status="no_recovery_required",
        message="a write is whole or has not happened; `ragmem doctor` looks",
        cancelled_manual_retries=0,
    )
