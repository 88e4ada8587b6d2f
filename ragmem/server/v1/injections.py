"""The routes on injections, typed records, and the impact of a change of code."""

from typing import Annotated

from fastapi import APIRouter, Query

from ragmem.api.memory import Ragmem
from ragmem.domain.records.record_types import RecordType
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import ROUTER, Label, Projects, Since
from ragmem.server.v1.overview_models import ImpactAnswer, Injections, Records
from ragmem.server.v1.preconditions import moment_of, projects_of, require
from ragmem.services.code.shapes import impact_shape
from ragmem.services.context.injection_list import injection_shape
from ragmem.services.records.records import record_shape

REACHED = 500
"""Maximum items in each list of an impact."""


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, **ROUTER, tags=["overview"])

    @router.get("/injections", operation_id="list_injections", summary="List injections")
    def injections(
        session: Annotated[
            Label, Query(max_length=200, description="Only of this session: its id or a prefix.")
        ] = "",
        memory_id: Annotated[
            str, Query(alias="memory", pattern=r"^([A-Za-z0-9]{4,26})?$", description="Only of this memory.")
        ] = "",
        since: Since | None = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    ) -> Injections:
        """Return what assistants were given, when and why, latest first."""
        if not is_stored(memory):
            return Injections(injections=[])
        found = memory.injections.log(session=session, memory=memory_id, since=moment_of(since), limit=limit)
        return Injections.model_validate({"injections": [injection_shape(one) for one in found]})

    @router.get("/records", operation_id="list_records", summary="List typed records")
    def records(
        type_: Annotated[list[RecordType] | None, Query(alias="type", max_length=20)] = None,
        project: Projects = None,
        spec: Annotated[Label, Query(description="Only this spec of the project.")] = "",
        since: Since | None = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 50,
    ) -> Records:
        """Return the typed records of sessions, newest first; `POST /v1/memory/query` searches them."""
        if not is_stored(memory):
            return Records(records=[])
        found = memory.records.get(
            type_ or (),
            projects=projects_of(memory, project) or (),
            everywhere=not project,
            spec=spec,
            since=moment_of(since),
            limit=limit,
        )
        return Records.model_validate(
            {"records": [record_shape(one, redactor=memory.redactor) for one in found]}
        )

    @router.get("/impact", operation_id="get_impact", summary="Get the impact of a code change")
    def impact(
        symbol: Annotated[
            Label,
            Query(
                min_length=1,
                description="The name of a symbol or path of a file, or the end of it.",
                examples=["deploy.run"],
            ),
        ],
        project: Annotated[Label, Query(min_length=1, description="The code of this project.")],
        depth: Annotated[int, Query(ge=1, le=100)] = 3,
        limit: Annotated[int, Query(ge=1, le=REACHED, description="Items of each list.")] = REACHED,
    ) -> ImpactAnswer:
        """Return the callers, importers and subclasses of a symbol or file, its tests, and its memories.

        `ragmem ingest --code` must have read the code.
        """
        require(memory)
        found = memory.code.impact(symbol, project=project, depth=depth, memories=limit)
        return ImpactAnswer.model_validate(impact_shape(found, limit=limit, redactor=memory.redactor))

    return router
