"""Delete documents by moving them into the archive, from which the user can restore them."""

from ragmem.api.memory import Ragmem
from ragmem.errors import ConflictError
from ragmem.server.http.handlers import is_stored
from ragmem.server.lightrag.document_models import ClearResponse, DeleteRequest, DeleteResponse

CONFIRMATION = "archive"


def delete(memory: Ragmem, request: DeleteRequest) -> DeleteResponse:
    """Answer DELETE /documents/delete_document; raises NotFoundError before any change."""
    ids = list(dict.fromkeys(request.doc_ids))
    run = memory.forget(ids)
    said = f"{len(ids)} moved to the archive; `ragmem forget --undo {run}` brings back"
    if request.delete_file:
        said += "; no file was deleted, ragmem never does"
    return DeleteResponse(status="deletion_started", message=said, doc_id=", ".join(ids), run=run)


def clear(memory: Ragmem, *, confirm: str) -> ClearResponse:
    """Answer DELETE /documents: move everything into the archive, in one step that can be undone."""
    ids = sorted(memory.catalog.memories.ids()) if is_stored(memory) else []
    if not ids:
        return ClearResponse(status="success", message="there is nothing to clear")
    if confirm != CONFIRMATION:
        raise ConflictError(
            f"this would move all {len(ids)} memories into the archive",
            hint=f"DELETE /documents?confirm={CONFIRMATION} does it, and can be undone",
        )
    run = memory.forget(ids)
    return ClearResponse(
        status="success",
        message=f"all {len(ids)} memories moved to the archive; `ragmem forget --undo {run}` undoes it",
    )
