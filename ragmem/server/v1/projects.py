"""The routes on projects: list them, give one another name, join two."""

from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter
from pydantic import Field

from ragmem.api.memory import Ragmem
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import ROUTER, Label, Request, Shape
from ragmem.server.v1.overview_models import ProjectItem, Projects
from ragmem.server.v1.preconditions import require
from ragmem.services.projects.projects import join, rename


class ProjectChangeRequest(Request):
    """A change of one project; `dry_run` only counts what it would move."""

    operation: Literal["rename", "join"]
    project: Label = Field(min_length=1, description="The project, by name, id or folder.")
    to: Label = Field(min_length=1, description="Its new name, or the project that it becomes a part of.")
    dry_run: bool = False


class ProjectChanged(Shape):
    """The project after the change, and how many memories have moved."""

    project: str
    name: str
    memories: int
    archived: int
    doubles: int = Field(description="Memories of both projects, of which one stays.")
    note: str = Field(description="How to take it back.")
    dry_run: bool


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, **ROUTER, tags=["overview"])
    for method, endpoint, name, summary in (
        ("GET", projects, "list_projects", "List the projects"),
        ("POST", change, "change_project", "Rename a project, or join it with another"),
    ):
        router.add_api_route("/projects", endpoint, methods=[method], operation_id=name, summary=summary)
    return router


def projects(memory: Ragmem) -> Projects:
    """Return the projects with memories, the largest first."""
    if not is_stored(memory):
        return Projects(projects=[])
    names = memory.catalog.projects.names()
    counts = memory.catalog.overview.counts()["project"]
    return Projects(
        projects=[
            ProjectItem(id=one, name=memory.redactor.redact_document(names.get(one, one)), memories=count)
            for one, count in counts.items()
        ]
    )


def change(memory: Ragmem, request: ProjectChangeRequest) -> ProjectChanged:
    """Give a project another name, or move everything of it into another project.

    The former id goes on leading to the other project; `ragmem projects split` takes a join back.
    """
    require(memory)
    act = rename if request.operation == "rename" else join
    done = act(memory.projects.changes(dry_run=request.dry_run), request.project, request.to)
    shape = memory.redactor.redact_document(asdict(done))
    fields = {name: shape[name] for name in ProjectChanged.model_fields if name != "dry_run"}
    return ProjectChanged(**fields, dry_run=request.dry_run)
