"""Delete documents as a memory does: into the archive, from which a person brings them back."""

from ragmem.api.memory import Ragmem
from ragmem.errors import ConflictError
from ragmem.server.http.handlers import readable
from ragmem.server.lightrag.document_models import ClearResponse, DeleteRequest, DeleteResponse

CONFIRMED = "archive"


def delete(memory: Ragmem, request: DeleteRequest) -> DeleteResponse:
    """Answer DELETE /documents/delete_document; raises NotFoundError, and then nothing happens."""
    ids = list(dict.fromkeys(request.doc_ids))
    run = memory.forget(ids)
    said = f"{len(ids)} moved to the archive; `ragmem forget --undo {run}` brings back"
    if request.delete_file:
        said += "; no file was deleted, ragmem never does"
    return DeleteResponse(status="deletion_started", message=said, doc_id=", ".join(ids), run=run)


def clear(memory: Ragmem, *, confirm: str) -> ClearResponse:
    """Answer DELETE /documents: everything goes to the archive, in one step that can be undone."""
    ids = sorted(memory.catalog.memories.ids()) if readable(memory) else []
    if not ids:
        return ClearResponse(status="success", message="there is nothing to clear")
    if confirm != CONFIRMED:
        raise ConflictError(
            f"this would move all {len(ids)} memories into the archive",
            hint=f"DELETE /documents?confirm={CONFIRMED} does it, and can be undone",
        )
    run = memory.forget(ids)
    return ClearResponse(
        status="success",
        message=f"all {len(ids)} memories moved to the archive; `ragmem forget --undo {run}` undoes it",
    )
