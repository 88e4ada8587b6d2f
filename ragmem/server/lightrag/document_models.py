"""The requests and answers of LightRAG's document routes."""

from typing import Any, Literal

from pydantic import BaseModel, Field

from ragmem.server.http.models import Label

Status = Literal["pending", "parsing", "analyzing", "processing", "preprocessed", "processed", "failed"]
"""LightRAG's states of a document; ragmem uses only `pending` and `processed`."""

MAX_IDS = 10_000


class Document(BaseModel):
    """A memory in the form of LightRAG's document."""

    id: str = Field(description="The memory's id.")
    content_summary: str = Field(description="The beginning of the text.")
    content_length: int = Field(description="Characters of the text.")
    status: Status
    created_at: str = Field(description="When it was stored, RFC 3339.")
    updated_at: str = Field(description="When it was stored last, RFC 3339.")
    track_id: str | None = Field(default=None, description="The id for /documents/track_status.")
    chunks_count: int | None = None
    error_msg: str | None = None
    metadata: dict[str, Any] | None = Field(default=None, description="Ours: state, source, project, kind.")
    file_path: str = Field(description="Its origin: a path, path#part, or a given name.")


class DocumentsResponse(BaseModel):
    """Documents by status, the latest 1,000 in all."""

    statuses: dict[str, list[Document]]


class PaginatedRequest(BaseModel):
    """The page of documents to return."""

    status_filter: Status | None = Field(default=None, description="Has no effect with `status_filters`.")
    status_filters: list[Status] | None = Field(default=None, max_length=20)
    page: int = Field(default=1, ge=1, le=1_000_000)
    page_size: int = Field(default=50, ge=10, le=200)
    sort_field: Literal["created_at", "updated_at", "id", "file_path"] = "updated_at"
    sort_direction: Literal["asc", "desc"] = "desc"


class Pagination(BaseModel):
    """The position of a page."""

    page: int
    page_size: int
    total_count: int
    total_pages: int
    has_next: bool
    has_prev: bool


class PaginatedResponse(BaseModel):
    """A page of documents, and the number of documents in each state."""

    documents: list[Document]
    pagination: Pagination
    status_counts: dict[str, int]


class StatusCountsResponse(BaseModel):
    """The number of documents in each state."""

    status_counts: dict[str, int]


class TrackStatusResponse(BaseModel):
    """The state of documents that were sent together."""

    track_id: str
    documents: list[Document]
    total_count: int
    status_summary: dict[str, int]


class SupportedTypesResponse(BaseModel):
    """The file types that can be uploaded, by suffix."""

    supported_extensions: list[str]
    engines: dict[str, list[str]]


class ScanResponse(BaseModel):
    """Whether a scan of the configured sources has begun; it has not if another job runs."""

    status: Literal["scanning_started", "scanning_skipped_pipeline_busy"]
    message: str
    track_id: str = Field(description="The id for /documents/scan/status; empty if no scan was started.")


class ScanStatusResponse(BaseModel):
    """The progress of a scan; known until 50 later ones or until the server stops."""

    track_id: str
    status: Literal["running", "completed", "failed", "cancelled"]
    counts: dict[str, int]
    counters_dropped: int = 0
    samples: dict[str, dict[str, Any]]
    created_at: float = Field(description="Seconds since 1970.")
    updated_at: float = Field(description="Seconds since 1970.")
    version: int
    message: str


class PipelineStatusResponse(BaseModel):
    """The current or last job in the background."""

    busy: bool
    job_name: str
    job_start: str | None
    docs: int = Field(description="Steps of the current part.")
    batchs: int = Field(description="The same; LightRAG's spelling.")
    cur_batch: int = Field(description="The number of completed steps.")
    request_pending: bool = False
    cancellation_requested: bool = False
    latest_message: str
    history_messages: list[str]
    update_status: dict[str, Any] = Field(description="Always empty: no process caches the data.")
    recovery_required: Literal[False] = False
    recovery_kind: str | None = None
    recovery_message: str | None = None


class ReprocessResponse(BaseModel):
    """Whether the indexing of waiting memories has begun."""

    status: Literal["reprocessing_started", "reprocessing_skipped_pipeline_busy"]
    message: str
    track_id: str = ""


class CancelResponse(BaseModel):
    """Whether a job was running, which now ends."""

    status: Literal["cancellation_requested", "not_busy"]
    message: str


class DeleteRequest(BaseModel):
    """The documents to delete."""

    doc_ids: list[Label] = Field(min_length=1, max_length=MAX_IDS, description="Ids of memories, each once.")
    delete_file: bool = Field(default=False, description="Has no effect: ragmem never deletes a file.")
    delete_llm_cache: bool = Field(
        default=False, description="Has no effect: there is no cache per document."
    )


class DeleteResponse(BaseModel):
    """The documents that were deleted, already when this arrives, and how to restore them."""

    status: Literal["deletion_started"]
    message: str
    doc_id: str = Field(description="Their ids, separated by commas.")
    run: str = Field(description="Extension: the run for `ragmem forget --undo`, which restores them.")


class ClearResponse(BaseModel):
    """The result of a request to clear."""

    status: Literal["success"]
    message: str


class ConflictsResponse(BaseModel):
    """Files that several documents claim: none, because a memory is identified by its full path."""

    conflicts: list[dict[str, Any]]
    next_cursor: str | None = None


class RecoveryResponse(BaseModel):
    """There is nothing to recover: a write is complete or has not happened."""

    status: Literal["no_recovery_required"]
    message: str
    cancelled_manual_retries: Literal[0] = 0
