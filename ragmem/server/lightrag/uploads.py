"""The routes for files and jobs in the background: upload, scan, status, cancel."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, File, Form, UploadFile

from ragmem.api.memory import Ragmem
from ragmem.domain.model import State
from ragmem.errors import NotFoundError
from ragmem.server.http.failure_models import EVERYWHERE, failure_responses
from ragmem.server.http.models import TextResponse
from ragmem.server.http.workers import Workers
from ragmem.server.lightrag.document_models import (
    CancelResponse,
    PipelineStatusResponse,
    RecoveryResponse,
    ReprocessResponse,
    ScanResponse,
    ScanStatusResponse,
    SupportedTypesResponse,
)
from ragmem.server.lightrag.pipeline import Pipeline
from ragmem.server.lightrag.uploaded_files import DOCUMENTS, TYPES, Tracks, store_file
from ragmem.services.processes.progress import Progress

_BUSY = "another job is running: GET /documents/pipeline_status"


def routes(memory: Ragmem, workers: Workers, tracks: Tracks, pipeline: Pipeline) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = APIRouter(prefix="/documents", tags=["documents"], responses=EVERYWHERE)
    _hand_in(router, memory, workers, tracks)
    _begin(router, memory, pipeline)
    _tell(router, pipeline)
    return router


def _hand_in(router: APIRouter, memory: Ragmem, workers: Workers, tracks: Tracks) -> None:
    # No other upload may take a name between its check and its use.
    lock = asyncio.Lock()

    @router.post("/upload", responses=EVERYWHERE | failure_responses(409, 411, 415))
    async def upload(
        file: Annotated[UploadFile, File(description="A text or document; its name becomes `file_source`.")],
        project: Annotated[
            str, Form(max_length=1_024, description="Extension: the project; default: `user`.")
        ] = "",
    ) -> TextResponse:
        """Store the text of a file; see /documents/text. The file itself is not stored.

        A PDF, an office file or another document is stored by pages, slides, sheets or chapters. 409 if
        another text has that name, which stays: delete it first. 415 for an unsupported type.
        """
        raw = await file.read()
        name = file.filename or ""
        async with lock:
            return tracks.keep(await workers.ask(lambda: store_file(memory, name, raw, project=project)))

    @router.get("/supported_file_types")
    async def supported_file_types() -> SupportedTypesResponse:
        """Return the suffixes of the files that can be uploaded."""
        every = sorted({*TYPES, *DOCUMENTS})
        return SupportedTypesResponse(supported_extensions=every, engines={"ragmem": every})


def _begin(router: APIRouter, memory: Ragmem, pipeline: Pipeline) -> None:
    @router.post("/scan")
    async def scan() -> ScanResponse:
        """Read the sources of sources.toml in the background, as `ragmem seed` does."""
        job = pipeline.begin("scan", lambda progress: _seed(memory, progress))
        if job is None:
            return ScanResponse(status="scanning_skipped_pipeline_busy", message=_BUSY, track_id="")
        return ScanResponse(
            status="scanning_started", message="the sources are being read", track_id=job.track_id
        )

    @router.post("/reprocess_failed")
    async def reprocess_failed() -> ReprocessResponse:
        """Index the waiting memories in the background."""
        job = pipeline.begin("reprocess", lambda progress: _index_waiting(memory, progress))
        if job is None:
            return ReprocessResponse(status="reprocessing_skipped_pipeline_busy", message=_BUSY)
        return ReprocessResponse(status="reprocessing_started", message="making missing vectors")


def _tell(router: APIRouter, pipeline: Pipeline) -> None:
    @router.get("/scan/status/{track_id}", responses=EVERYWHERE | failure_responses(404))
    async def scan_status(track_id: str) -> ScanStatusResponse:
        """Return the progress of a scan; 404 for an unknown or forgotten one."""
        job = pipeline.job(track_id)
        if job is None:
            raise NotFoundError(f'there is no scan "{track_id}"', hint="POST /documents/scan starts one")
        return ScanStatusResponse(
            track_id=job.track_id,
            status=job.state,
            counts={"steps": job.total, "done": job.done},
            samples={},
            created_at=job.began,
            updated_at=job.changed,
            version=job.steps,
            message=job.message,
        )

    @router.get("/pipeline_status")
    async def pipeline_status() -> PipelineStatusResponse:
        """Return the current or last job in the background."""
        job = pipeline.latest
        return PipelineStatusResponse(
            busy=pipeline.busy,
            job_name=job.name if job else "-",
            job_start=job.began_at if job else None,
            docs=job.total if job else 0,
            batchs=job.total if job else 0,
            cur_batch=job.done if job else 0,
            cancellation_requested=bool(job and pipeline.busy and not job.wanted),
            latest_message=job.message if job else "",
            history_messages=list(pipeline.lines),
            update_status={},
        )

    @router.post("/cancel_pipeline")
    async def cancel_pipeline() -> CancelResponse:
        """Cancel the job in the background after its current step; completed steps are kept."""
        if not pipeline.cancel():
            return CancelResponse(status="not_busy", message="nothing runs")
        return CancelResponse(status="cancellation_requested", message="it stops after its current step")

    @router.post("/recovery/force_reset")
    async def force_reset() -> RecoveryResponse:
        """Do nothing: there is no partial state to recover from."""
        return RecoveryResponse(
            status="no_recovery_required",
            message="a write is complete or did not happen; `ragmem doctor` checks",
        )


def _seed(memory: Ragmem, progress: Progress) -> str:
    report = memory.seed(progress=progress)
    new = sum(tally.new for tally in report.tallies)
    changed = sum(tally.changed for tally in report.tallies)
    failed = sum(tally.failed for tally in report.tallies)
    said = f"{new} new, {changed} changed, {failed} could not be read"
    return f"{said}; {report.note}" if report.note else said


def _index_waiting(memory: Ragmem, progress: Progress) -> str:
    if not memory.is_stored():
        return "nothing is stored yet"
    memory.require()
    before = len(memory.catalog.memories.ids(states=[State.PENDING]))
    why = memory.inbox.index_pending(progress=progress)
    left = len(memory.catalog.memories.ids(states=[State.PENDING]))
    return f"{before - left} done, {left} wait" + (f": {why}" if why else "")
