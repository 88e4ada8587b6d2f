"""The routes for documents: list, store, delete."""

from fastapi import APIRouter

from ragmem.api.memory import Ragmem
from ragmem.errors import ConflictError, NotFoundError
from ragmem.server.http import handlers
from ragmem.server.http.failure_models import EVERYWHERE, failure_responses
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.models import TextRequest, TextResponse, TextsRequest
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.lightrag import document_list as shown
from ragmem.server.lightrag.document_models import (
    ClearResponse,
    ConflictsResponse,
    DeleteRequest,
    DeleteResponse,
    DocumentsResponse,
    PaginatedRequest,
    PaginatedResponse,
    StatusCountsResponse,
    TrackStatusResponse,
)
from ragmem.server.lightrag.uploaded_files import Tracks


def routes(memory: Ragmem, workers: Workers, tracks: Tracks) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    responses = EVERYWHERE | failure_responses(404)
    router = worker_router(workers, memory, prefix="/documents", tags=["documents"], responses=responses)
    _store(router, memory, workers, tracks)
    _show(router, memory, workers, tracks)
    _remove(router, memory, workers)
    return router


def _store(router: APIRouter, memory: Ragmem, workers: Workers, tracks: Tracks) -> None:
    @router.post("/text")
    async def store_text(request: TextRequest) -> TextResponse:
        """Store a text; it is durable and can be found when this returns.

        Only the mode `ragmem` finds a text of little signal, such as a single line; `message` says so.
        The same text again is `duplicated`; another text under the same `file_source` replaces the earlier.
        """
        return tracks.keep(await workers.run(lambda: handlers.store_text(memory, request)))

    @router.post("/texts")
    async def store_texts(request: TextsRequest) -> TextResponse:
        """Store several texts; see /documents/text."""
        return tracks.keep(await workers.run(lambda: handlers.store_texts(memory, request)))


def _show(router: APIRouter, memory: Ragmem, workers: Workers, tracks: Tracks) -> None:
    @router.get("")
    def documents() -> DocumentsResponse:
        """Return the latest 1,000 memories by LightRAG's states; `pending` ones wait for their vectors."""
        return shown.list_documents(memory)

    @router.post("/paginated")
    def paginated(request: PaginatedRequest) -> PaginatedResponse:
        """Return a page of all memories, of every project, as documents."""
        return shown.paginate_documents(memory, request)

    @router.get("/status_counts")
    async def status_counts() -> StatusCountsResponse:
        """Return the number of memories in each of LightRAG's states."""
        return StatusCountsResponse(status_counts=await workers.run(lambda: shown.count_documents(memory)))

    @router.get("/track_status/{track_id}")
    async def track_status(track_id: str) -> TrackStatusResponse:
        """Return the state of documents that were sent together; for several texts it is known for some time.

        Without documents if they were deleted, or if the id is unknown.
        """
        ids = tracks.of(track_id)
        return await workers.run(lambda: shown.track_documents(memory, track_id, ids))

    @router.get("/source_conflicts")
    async def source_conflicts() -> ConflictsResponse:
        """Return none: a memory is identified by its full path, so no two memories can claim the same."""
        return ConflictsResponse(conflicts=[])


def _remove(router: APIRouter, memory: Ragmem, workers: Workers) -> None:
    @router.delete("/delete_document")
    def delete_document(request: DeleteRequest) -> DeleteResponse:
        """Move memories into the archive, all of them or none; `ragmem forget --undo` brings them back.

        No file is deleted: a memory whose source still exists stays archived until its text changes.
        """
        return delete(memory, request)

    @router.delete("", responses=EVERYWHERE | failure_responses(404, 409))
    async def clear_documents(confirm: str = "") -> ClearResponse:
        """Move every memory into the archive if `confirm` is `archive`; 409 otherwise.

        LightRAG deletes everything at once and for ever. Here it needs a confirmation, and can be undone.
        """
        return await workers.run_long(lambda: clear(memory, confirm=confirm))

    @router.post("/clear_cache")
    async def clear_cache() -> ClearResponse:
        """Do nothing: ragmem caches no answers. LightRAG drops the answers of its language model."""
        return ClearResponse(status="success", message="no answers of language models are cached")

    @router.post("/source_conflicts/repair")
    async def repair_source_conflict() -> ConflictsResponse:
        """Refuse: there are no such conflicts."""
        raise NotFoundError(
            "there are no conflicts between sources", hint="a memory is identified by its full path"
        )


_CONFIRMATION = "archive"


def delete(memory: Ragmem, request: DeleteRequest) -> DeleteResponse:
    """Answer DELETE /documents/delete_document; raises NotFoundError before any change."""
    ids = list(dict.fromkeys(request.doc_ids))
    run = memory.forget(ids)
    said = f"{len(ids)} archived; `ragmem forget --undo {run}` restores them"
    if request.delete_file:
        said += "; no file was deleted, ragmem never does"
    return DeleteResponse(status="deletion_started", message=said, doc_id=", ".join(ids), run=run)


def clear(memory: Ragmem, *, confirm: str) -> ClearResponse:
    """Answer DELETE /documents: move everything into the archive, in one step that can be undone."""
    ids = sorted(memory.catalog.memories.ids()) if is_stored(memory) else []
    if not ids:
        return ClearResponse(status="success", message="there is nothing to clear")
    if confirm != _CONFIRMATION:
        raise ConflictError(
            f"this would archive all {len(ids)} memories",
            hint=f"use DELETE /documents?confirm={_CONFIRMATION}, which can be undone",
        )
    run = memory.forget(ids)
    return ClearResponse(
        status="success",
        message=f"all {len(ids)} memories archived; `ragmem forget --undo {run}` undoes it",
    )
