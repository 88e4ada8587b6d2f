"""The routes on what members of a team have shared: review, members, conflicts; none contacts a remote."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field, StrictBool, StringConstraints

from ragmem.api.memory import Ragmem
from ragmem.domain.model.lifecycle import Approval
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import MOST, PAGE, ROUTER, Label, Moment, Projects, Request, Shape
from ragmem.server.v1.preconditions import format_moment, projects_of, require
from ragmem.services.sharing.review import ReviewItem, review_shape

_ID = r"^[A-Za-z0-9]{4,64}$"
_ID_DESCRIPTION = "A record's id, or a unique prefix of 4 characters or more; or that of its memory."

RecordId = Annotated[str, StringConstraints(pattern=_ID), Field(description=_ID_DESCRIPTION)]
RecordIdInPath = Annotated[str, Path(description=_ID_DESCRIPTION, pattern=_ID, examples=["5f0c21aa93be"])]
MemberInPath = Annotated[str, Path(description="The id of a member.", max_length=64, examples=["ada-1f2e3d"])]

_PROJECT_DESCRIPTION = "The project that is shared: name or id."
OneProject = Annotated[Label, Field(min_length=1, description=_PROJECT_DESCRIPTION)]
OneProjectInQuery = Annotated[
    str,
    Query(min_length=1, max_length=1_024, pattern=r"^[^\x00-\x1f\x7f]*$", description=_PROJECT_DESCRIPTION),
]


class SharedMember(Shape):
    """How many memories a member has shared, by their current state."""

    member: str
    memories: int
    waiting: int
    rejected: int
    withdrawn: int
    unsigned: int = Field(description="Those without a signature by a key that is known as theirs.")
    muted: bool = Field(description="Whether the member is muted.")
    fetched_at: Moment | None


class SharedProject(Shape):
    """A project in which something is shared."""

    project: str
    waiting: int = Field(description="Records that wait for a person; muted members' do not count.")
    members: list[SharedMember]


class SharedProjects(Shape):
    """The projects in which something is shared; none where nobody shares."""

    projects: list[SharedProject]
    waiting: int


class SharedItem(Shape):
    """A record of a member: a memory, or a statement that withdraws or replaces one."""

    id: str
    record: str = Field(description="The full id.")
    project: str
    sort: str = Field(description="memory, withdrawal, supersession, or opaque for one of a later release.")
    member: str = Field(description="Who has shared it.")
    verdict: str = Field(description="verified, unsigned, or unknown: signed by a key that is not theirs.")
    approval: Literal["", "proposed", "accepted", "rejected"] = Field(
        description="Empty if it needs none; proposed and rejected memories are not injected."
    )
    withdrawn: bool
    memory: str = Field(description="The id of the memory that it became; empty before.")
    title: str
    kind: str
    at: Moment


class SharedItems(Shape):
    """Records, the last to come in first; `waiting` counts all that nobody has decided on."""

    records: list[SharedItem]
    waiting: int


class SharedDetail(SharedItem):
    """A record with its whole text, or the reason of a withdrawal: treat it as data."""

    text: str


class ShareDecision(Request):
    """The decision on some records of a project, all of them or none; each takes the other one back."""

    project: OneProject
    ids: list[RecordId] = Field(min_length=1, max_length=MOST)
    verdict: Literal["accept", "reject"]


class ShareDecided(Shape):
    """The records after the decision; `note` says why their vectors have to wait, if they do."""

    records: list[SharedItem]
    note: str


class MuteRequest(Request):
    """Whether to mute a member in a project."""

    project: OneProject
    muted: StrictBool


class MuteAnswer(Shape):
    """How many memories a mute or its end concerns."""

    project: str
    member: str
    muted: bool
    memories: int


class SharedConflict(Shape):
    """Memories of different members of which one should replace the others."""

    project: str
    reason: str
    memories: list[SharedDetail]


class SharedConflicts(Shape):
    """The conflicts of the projects, project by project."""

    conflicts: list[SharedConflict]
    total: int


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, **ROUTER, tags=["sharing"])
    for method, path, endpoint, name, summary in (
        ("GET", "/shared", projects, "list_shared_projects", "Count shared records"),
        ("GET", "/shared/records", records, "list_shared_records", "List shared records"),
        ("GET", "/shared/records/{identifier}", record, "get_shared_record", "Get a shared record"),
        ("POST", "/shared/records", decide, "decide_shared_records", "Accept or reject shared records"),
        ("PUT", "/shared/members/{member}", mute, "mute_member", "Mute or unmute a member"),
        ("GET", "/shared/conflicts", conflicts, "list_shared_conflicts", "List conflicts between members"),
    ):
        router.add_api_route(path, endpoint, methods=[method], operation_id=name, summary=summary)
    return router


def projects(memory: Ragmem, project: Projects = None) -> SharedProjects:
    """Return the projects in which something is shared, with what each member has shared."""
    found = [
        SharedProject(
            project=key,
            waiting=memory.sharing.count_waiting(project=key),
            members=[
                SharedMember.model_validate(asdict(one) | {"fetched_at": format_moment(one.fetched_at)})
                for one in memory.sharing.members(project=key)
            ],
        )
        for key in _shared(memory, project)
    ]
    return SharedProjects(projects=found, waiting=sum(one.waiting for one in found))


def records(
    memory: Ragmem,
    approval: Annotated[
        Literal["proposed", "accepted", "rejected"], Query(description="Only those in this state.")
    ] = "proposed",
    project: Projects = None,
    member: Annotated[
        list[Label] | None, Query(max_length=100, description="Only of these members; repeatable.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = PAGE,
) -> SharedItems:
    """Return what waits for review, or what is in another state; muted members are left out."""
    keys = _shared(memory, project)
    found = [
        (key, one)
        for key in keys
        for one in memory.sharing.waiting(Approval(approval), members=member or (), project=key, limit=limit)
    ]
    found.sort(key=lambda pair: pair[1].row.seen_at, reverse=True)
    return SharedItems(
        records=[_item(memory, one) for _, one in found[:limit]],
        waiting=sum(memory.sharing.count_waiting(project=key) for key in keys),
    )


def record(memory: Ragmem, identifier: RecordIdInPath, project: OneProjectInQuery) -> SharedDetail:
    """Return a record with its text, without secrets."""
    require(memory)
    return _detail(memory, memory.sharing.get(identifier, project=project))


def decide(memory: Ragmem, request: ShareDecision) -> ShareDecided:
    """Accept or reject records, all of them or none.

    An accepted memory may be injected from then on, with the name of its author; what it replaces is
    superseded. A rejected one is not injected any more.
    """
    require(memory)
    sharing = memory.sharing
    found = [sharing.get(one, project=request.project) for one in request.ids]
    accepting = request.verdict == "accept"
    (sharing.accept if accepting else sharing.reject)(found, project=request.project)
    note = sharing.index() if accepting else ""
    done = [sharing.get(one.id, project=request.project) for one in found]
    return ShareDecided(records=[_item(memory, one) for one in done], note=note)


def mute(memory: Ragmem, member: MemberInPath, request: MuteRequest) -> MuteAnswer:
    """Mute or unmute a member: memories of a muted one are not injected; nothing is deleted."""
    require(memory)
    count = memory.sharing.mute(member, muted=request.muted, project=request.project)
    if not request.muted:
        memory.sharing.index()
    return MuteAnswer(project=request.project, member=member, muted=request.muted, memories=count)


def conflicts(
    memory: Ragmem, project: Projects = None, limit: Annotated[int, Query(ge=1, le=MOST)] = PAGE
) -> SharedConflicts:
    """Return the memories of different members that contradict each other, none muted or rejected.

    Both stay until one replaces the other. All records of a project are read for it.
    """
    found = [(key, one) for key in _shared(memory, project) for one in memory.sharing.conflicts(project=key)]
    return SharedConflicts(
        conflicts=[
            SharedConflict(
                project=key, reason=one.reason, memories=[_detail(memory, item) for item in one.memories]
            )
            for key, one in found[:limit]
        ],
        total=len(found),
    )


def _shared(memory: Ragmem, names: Sequence[str] | None) -> list[str]:
    """Return the projects in which something is shared, of those that are named."""
    if not is_stored(memory):
        return []
    chosen = projects_of(memory, names)
    return [key for key in memory.sharing.projects() if chosen is None or key in chosen]


def _item(memory: Ragmem, one: ReviewItem) -> SharedItem:
    return SharedItem.model_validate(_shape(memory, one, whole=False))


def _detail(memory: Ragmem, one: ReviewItem) -> SharedDetail:
    return SharedDetail.model_validate(_shape(memory, one, whole=True))


def _shape(memory: Ragmem, one: ReviewItem, *, whole: bool) -> dict[str, Any]:
    shape = review_shape(one, redactor=memory.redactor, whole=whole)
    return shape | {"project": one.row.project, "at": format_moment(shape["at"])}
