"""The routes on what waits for a person: proposed memories and drafted skills."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from ragmem.api.memory import Ragmem
from ragmem.domain.model.lifecycle import Approval
from ragmem.server.http.handlers import is_stored
from ragmem.server.http.workers import Workers, worker_router
from ragmem.server.v1.fields import MOST, PAGE, ROUTER, Id, IdInPath, Moment, Projects, Request, Shape
from ragmem.server.v1.preconditions import format_moment, projects_of, require
from ragmem.services.lifecycle.approval import Proposal, proposal_shape


class ProposalItem(Shape):
    """A memory or a drafted skill that was proposed."""

    id: str
    sort: Literal["memory", "skill"]
    approval: Literal["proposed", "accepted", "rejected"]
    project: str
    title: str
    says: str = Field(description="What a memory would inject, in a line.")
    at: Moment
    sources: list[str] = Field(description="The source and session of a memory, or the sessions of a skill.")
    path: str = Field(description="The file of an accepted skill.")


class Proposals(Shape):
    """Skills by name, then memories, the latest first; `waiting` counts all that are proposed."""

    proposals: list[ProposalItem]
    waiting: int


class ProposalDetail(ProposalItem):
    """A proposal with its whole text, without secrets."""

    text: str


class DecisionRequest(Request):
    """The decision on some proposals, all of them or none; each verdict takes the other one back."""

    ids: list[Id] = Field(min_length=1, max_length=MOST)
    verdict: Literal["accept", "reject"]


class Decided(Shape):
    """The proposals after the decision; `note` says what it has left undone."""

    proposals: list[ProposalItem]
    notes: list[str]


class DraftRequest(Request):
    """In which projects to look for workflows; none: in all."""

    projects: list[str] = Field(default=[], max_length=100)


class Drafted(Shape):
    """How many workflows were found, and how many of their drafts are new."""

    workflows: int
    new: int


def routes(memory: Ragmem, workers: Workers) -> APIRouter:
    """Return the routes of an open memory; blocking work runs in the workers."""
    router = worker_router(workers, memory, **ROUTER, tags=["lifecycle"])
    for method, path, endpoint, name, summary in (
        ("GET", "/approvals", proposals, "list_proposals", "List proposals"),
        ("GET", "/approvals/{identifier}", proposal, "get_proposal", "Get a proposal"),
        ("POST", "/approvals", decide, "decide_proposals", "Accept or reject proposals"),
        ("POST", "/approvals/drafts", draft, "draft_skills", "Draft skills from stored sessions"),
    ):
        router.add_api_route(path, endpoint, methods=[method], operation_id=name, summary=summary)
    return router


def proposals(
    memory: Ragmem,
    approval: Annotated[
        Literal["proposed", "accepted", "rejected"], Query(description="Only those in this state.")
    ] = "proposed",
    project: Projects = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = PAGE,
) -> Proposals:
    """Return what no person has written or accepted, or what is in another state."""
    if not is_stored(memory):
        return Proposals(proposals=[], waiting=0)
    projects = projects_of(memory, project)
    found = memory.approvals.proposals(Approval(approval), projects=projects, limit=limit)
    waiting = sum(memory.approvals.count(projects))
    return Proposals(proposals=[_item(memory, one) for one in found], waiting=waiting)


def proposal(memory: Ragmem, identifier: IdInPath) -> ProposalDetail:
    """Return a proposal with its text: of a skill, that of the file which accepting it writes."""
    require(memory)
    found = memory.approvals.get(identifier)
    return ProposalDetail.model_validate(_shape(memory, found, whole=True))


def decide(memory: Ragmem, request: DecisionRequest) -> Decided:
    """Accept or reject proposals, all of them or none.

    An accepted memory counts from then on. An accepted skill is written as `.claude/skills/NAME/SKILL.md`
    into the folder of its project, never over another file; rejecting it removes the file unless it was
    changed.
    """
    require(memory)
    act = memory.approvals.accept if request.verdict == "accept" else memory.approvals.reject
    done = act(request.ids)
    return Decided(
        proposals=[_item(memory, one) for one in done], notes=[one.note for one in done if one.note]
    )


def draft(memory: Ragmem, request: DraftRequest) -> Drafted:
    """Look for the same commands in the same order in three sessions of a project, and draft skills."""
    require(memory)
    new, found = memory.approvals.draft(projects_of(memory, request.projects))
    return Drafted(workflows=found, new=new)


def _item(memory: Ragmem, one: Proposal) -> ProposalItem:
    return ProposalItem.model_validate(_shape(memory, one, whole=False))


def _shape(memory: Ragmem, one: Proposal, *, whole: bool) -> dict[str, object]:
    shape = proposal_shape(one, redactor=memory.redactor, whole=whole)
    return shape | {"at": format_moment(one.at)}
