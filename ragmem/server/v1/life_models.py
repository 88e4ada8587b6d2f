"""Requests and answers on how memories live: the report, decay, gc and its jobs, and the archive."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from ragmem.server.v1.fields import NO_TRUTH, Confirmed, Label, Moment, Request, Shape
from ragmem.server.v1.memory_models import MemorySummary

RUN_NAME = r"^[A-Za-z0-9:.+_-]{0,100}$"


class Loner(Shape):
    """A memory that is alone: what goes next, then what is looked at next.

    `left` is how many newer memories there must be until it is looked at, 0 for now; `score` its substance.
    """

    id: str
    title: str
    project: str
    action: str = Field(description="archive: it goes at the next gc; keep: it is looked at then.")
    newer: int
    left: int
    reprieves: int
    score: float
    reasons: list[str]


class Run(Shape):
    """What a run of gc did; `counts` is "action/rule" -> memories."""

    run: str
    caller: str
    started_at: Moment
    ended_at: Moment | None
    undone_at: Moment | None
    archived: int = Field(description="Memories of it that lie in the archive now.")
    counts: dict[str, int]


class Runs(Shape):
    """The runs of gc, latest first."""

    runs: list[Run]


class Lifecycle(Shape):
    """How the memories live; `ragmem inspect lifecycle --json`. `loners` are what goes next, and why."""

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
    at_risk: int = Field(description="Memories that the next gc would archive for being alone and empty.")
    loners: list[Loner]
    similarity: dict[str, Any] | None
    runs: list[Run]
    idle_gc: bool = Field(description="Whether `ragmem serve` carries out gc by itself while nobody asks.")
    tended: dict[str, Any] | None


class Curve(Shape):
    """How the recency of one kind falls with age."""

    kind: str
    half_life_days: float
    points: list[tuple[float, float, float]] = Field(
        description="[age in days, recency as it ranks, recency as published: exp(-ln 2 * age / half-life)]"
    )
    memories: int


class Decay(Shape):
    """The curves of all kinds with the numbers they are made of."""

    weights: dict[str, float]
    min_score_threshold: float
    bound: float = Field(description="The most of its score that an old match may lose to a new one.")
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


class Plan(Shape):
    """What gc would do; `ragmem gc --dry-run --json`."""

    memories: int
    searched: int
    searched_after: int
    counts: list[dict[str, Any]]
    items: list[PlanItem] = Field(description="What changes something, at most `most` of it.")
    left_out: int = Field(description="Items beyond that.")
    merges: list[dict[str, Any]]
    sweep: dict[str, int]
    expired: int = Field(description="Memories of the archive that `ragmem gc --purge` may delete for good.")
    uncompared: int
    note: str
    large: bool = Field(description="More than half would no longer be searched: apply needs `allow_large`.")
    empty: bool


class Job(Shape):
    """Work that may take long: planning gc, carrying a plan out, taking a run back. One runs at a time.

    `outcome` is that of an apply or undo, with the `run` to undo.
    """

    id: str
    what: Literal["plan", "apply", "undo"]
    status: Literal["running", "done", "failed"]
    started_at: Moment
    ended_at: Moment | None
    step: str = Field(description="What it does just now.")
    done: int
    total: int = Field(description="Steps of that; 0 where nobody knows.")
    error: str | None
    plan: Plan | None
    outcome: dict[str, Any] | None


class PlanRequest(Request):
    """What gc is to look at."""

    missing: StrictBool = Field(
        default=False, description="Also archive memories that have left their source."
    )
    projects: list[Label] | None = Field(default=None, max_length=100, description="Only these projects.")
    rules: list[Annotated[Label, Field(max_length=100)]] = Field(
        default_factory=list, max_length=50, description="Do only what these rules say."
    )
    budget: float | None = Field(
        default=None,
        strict=True,
        ge=0,
        le=86_400,
        description="Seconds after which no more memories are compared.",
    )
    most: Annotated[int, Field(ge=0, le=10_000), NO_TRUTH] = Field(
        default=500, description="Items of the plan that are listed."
    )
    wait: float = Field(
        default=10.0,
        strict=True,
        ge=0,
        le=60,
        description="Seconds to wait for the end; then 202, and the job goes on.",
    )


class ApplyRequest(Request):
    """Which plan is to be carried out."""

    job: Annotated[Label, Field(max_length=40, description="The job that made the plan.")]
    confirm: Confirmed
    allow_large: StrictBool = Field(default=False, description="Also where more than half would go.")
    wait: float = Field(default=10.0, strict=True, ge=0, le=60)


class UndoRequest(Request):
    """Which run is to be taken back."""

    run: Annotated[str, Field(pattern=RUN_NAME)] = Field(default="", description="Else the latest.")
    confirm: Confirmed
    wait: float = Field(default=10.0, strict=True, ge=0, le=60)


class ArchivedMemory(MemorySummary):
    """A memory in the archive: the run and rule that brought it there, when, why, and what took its place."""

    excerpt: str
    run: str
    rule: str
    archived_at: Moment
    because: str
    successor: str | None


class ArchivePage(Shape):
    """A page of the archive, what was archived last first."""

    archived: list[ArchivedMemory]
    total: int
    next: str | None


class RestoreAnswer(Shape):
    """A memory that is back; `note` says why its vectors have to wait, if they do."""

    restored: str
    run: str
    rule: str
    note: str
