"""Requests and answers on the lifecycle: report, decay, gc and its jobs, and the archive."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from ragmem.server.v1.fields import NOT_BOOLEAN, Confirmed, Label, Moment, Request, Shape
from ragmem.server.v1.memory_models import MemorySummary

RUN_NAME = r"^[A-Za-z0-9:.+_-]{0,100}$"


class Loner(Shape):
    """An isolated memory, in the order in which gc archives or examines them.

    `left` is the number of newer memories until its examination, 0 for now; `score` is the probability that
    it is worthless.
    """

    id: str
    title: str
    project: str
    action: str = Field(description="archive: the next gc archives it; keep: the next gc examines it.")
    newer: int
    left: int
    reprieves: int
    score: float
    reasons: list[str]


class Run(Shape):
    """The result of a run of gc; `counts` is "action/rule" -> memories."""

    run: str
    caller: str
    started_at: Moment
    ended_at: Moment | None
    undone_at: Moment | None
    archived: int = Field(description="Its memories that are in the archive now.")
    counts: dict[str, int]


class Runs(Shape):
    """The runs of gc, latest first."""

    runs: list[Run]


class Lifecycle(Shape):
    """The lifecycle; `ragmem inspect lifecycle --json`. `loners` are the next to be archived, and why."""

    projects: list[str] | None
    memories: int
    states: dict[str, int]
    types: dict[str, dict[str, int]]
    pinned: int
    connections: int
    connected: int
    density: float
    uncompared: int
    promoted: int
    expired: int
    promotion_rate: float | None
    expiries: dict[str, int]
    clusters: list[dict[str, Any]]
    at_risk: int = Field(description="Isolated and empty memories that the next gc would archive.")
    loners: list[Loner]
    similarity: dict[str, Any] | None
    runs: list[Run]
    idle_gc: bool = Field(description="Whether an idle `ragmem serve` runs gc by itself.")
    tended: dict[str, Any] | None


class Curve(Shape):
    """The recency of one kind by age."""

    kind: str
    half_life_days: float
    points: list[tuple[float, float, float]] = Field(
        description="[age in days, recency as it ranks, recency as published: exp(-ln 2 * age / half-life)]"
    )
    memories: int


class Decay(Shape):
    """The curves of all kinds, and their parameters."""

    weights: dict[str, float]
    min_score_threshold: float
    bound: float = Field(description="The maximum share of its score that a match loses by age.")
    fresh_share: float
    fresh_days: float
    curves: list[Curve]


class PlanItem(Shape):
    """One decision of a plan, with its rule and the reason in words."""

    id: str
    action: str
    rule: str
    reason: str
    title: str
    uri: str
    others: list[str]


class ClusterMemory(Shape):
    """A memory of a cluster, as people see it."""

    id: str
    title: str
    at: Moment
    source: str


class ClusterHidden(ClusterMemory):
    """A memory that is hidden: where its words are others than those of the one that stays."""

    reason: str
    differs: list[tuple[str, str]] = Field(description="[its words, those of the memory that stays]")
    words_more: int = Field(description="Words that only the memory that stays has.")


class PlanCluster(Shape):
    """Memories that one rule hides behind another one; `statement` is what they share."""

    id: str
    action: str
    rule: str
    statement: str
    size: int = Field(description="Hidden memories; the first 50 are listed.")
    kept: ClusterMemory
    hidden: list[ClusterHidden]


class Plan(Shape):
    """The plan of gc; `ragmem gc --dry-run --json`."""

    memories: int
    searched: int
    searched_after: int
    counts: list[dict[str, Any]]
    items: list[PlanItem] = Field(description="Items with a change, at most `most`.")
    left_out: int = Field(description="Items beyond that.")
    clusters: list[PlanCluster] = Field(description="What is hidden behind which memory, at most `most`.")
    cards: list[list[str]] = Field(description="Connected memories of which the model is to write a text.")
    comparisons: int = Field(description="Memories that the model is to compare with older ones.")
    sweep: dict[str, int]
    expired: int = Field(
        description="Memories of the archive that `ragmem gc --purge` may delete permanently."
    )
    uncompared: int
    note: str
    large: bool = Field(
        description="More than a third would no longer be searched: apply needs `allow_large`."
    )
    empty: bool


class Job(Shape):
    """Work that may take long: plan gc, apply a plan, undo a run. One job runs at a time.

    `outcome` is the result of an apply or undo, with the `run` to undo.
    """

    id: str
    what: Literal["plan", "apply", "undo"]
    status: Literal["running", "done", "failed"]
    started_at: Moment
    ended_at: Moment | None
    step: str = Field(description="The current step.")
    done: int
    total: int = Field(description="Its size; 0 if it is unknown.")
    error: str | None
    plan: Plan | None
    outcome: dict[str, Any] | None


class PlanRequest(Request):
    """The scope and the limits of a plan."""

    missing: StrictBool = Field(
        default=False, description="Also archive memories whose source no longer has them."
    )
    projects: list[Label] | None = Field(default=None, max_length=100, description="Only these projects.")
    rules: list[Annotated[Label, Field(max_length=100)]] = Field(
        default_factory=list, max_length=50, description="Apply only these rules."
    )
    budget: float | None = Field(
        default=None,
        strict=True,
        ge=0,
        le=86_400,
        description="Seconds after which no more memories are compared.",
    )
    most: Annotated[int, Field(ge=0, le=10_000), NOT_BOOLEAN] = Field(
        default=500, description="Items of the plan that are listed."
    )
    wait: float = Field(
        default=10.0,
        strict=True,
        ge=0,
        le=60,
        description="Seconds to wait for the end; then 202, and the job continues.",
    )


class ApplyRequest(Request):
    """The plan to apply."""

    job: Annotated[Label, Field(max_length=40, description="The job that made the plan.")]
    confirm: Confirmed
    allow_large: StrictBool = Field(default=False, description="Also if more than a third would go.")
    wait: float = Field(default=10.0, strict=True, ge=0, le=60)


class UndoRequest(Request):
    """The run to undo."""

    run: Annotated[str, Field(pattern=RUN_NAME)] = Field(default="", description="By default the latest.")
    confirm: Confirmed
    wait: float = Field(default=10.0, strict=True, ge=0, le=60)


class ArchivedMemory(MemorySummary):
    """An archived memory: the run, the rule, the time, the reason, and its successor."""

    excerpt: str
    run: str
    rule: str
    archived_at: Moment
    because: str
    successor: str | None


class ArchivePage(Shape):
    """A page of the archive, the last archived first."""

    archived: list[ArchivedMemory]
    total: int
    next: str | None


class RestoreAnswer(Shape):
    """A restored memory; `note` says why its vectors have to wait, if they do."""

    restored: str
    run: str
    rule: str
    note: str
