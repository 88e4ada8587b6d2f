"""Answers on the memory as a whole: counts, sources, projects, time, health, log, injections, impact."""

from typing import Any, Literal

from pydantic import Field

from ragmem.domain.model import Kind
from ragmem.server.v1.fields import Moment, Shape


class Stats(Shape):
    """How much there is; `ragmem inspect stats --json`."""

    home: str
    bytes: int
    catalog: dict[str, dict[str, int]] = Field(
        description="Memories by state, source, kind, tier and project, and the totals."
    )
    store: dict[str, int]
    models: str
    inbox: dict[str, Any]
    archived: int


class SourceItem(Shape):
    """A source with its globs, and what of it is stored; null for what is not configured."""

    source: str
    memories: int
    newest: Moment | None
    reader: str | None
    scope: str | None
    signal: str | None
    enabled: bool | None
    globs: list[str]


class Sources(Shape):
    """The sources; `ragmem inspect sources --json`."""

    sources: list[SourceItem]


class ProjectItem(Shape):
    """A project with its name and the number of its memories."""

    id: str
    name: str
    memories: int


class Projects(Shape):
    """The projects that have memories, the largest first."""

    projects: list[ProjectItem]


class Bucket(Shape):
    """The memories of one day, week, month or year by kind; `start` is its first day."""

    start: str = Field(json_schema_extra={"format": "date"})
    total: int
    kinds: dict[Kind, int]


class Timeline(Shape):
    """Memories by the time of their events, in order; spans without any are left out.

    The items of a span are `GET /v1/memory/memories?since=...&until=...`.
    """

    by: Literal["day", "week", "month", "year"]
    total: int
    first: Moment | None
    last: Moment | None
    buckets: list[Bucket]
    is_truncated: bool = Field(description="Only the latest spans are there.")


class Check(Shape):
    """What was looked at, how it is, what was seen, and the next step."""

    name: str
    status: Literal["ok", "warning", "failed"]
    detail: str
    fix: str


class Health(Shape):
    """The quick examination of `ragmem doctor --json`, without its write."""

    status: Literal["ok", "warning", "failed"]
    checked_at: Moment
    checks: list[Check]
    counts: dict[str, int]


class LogEntry(Shape):
    """What was done to the memory; counts and names, no texts."""

    at: Moment
    operation: str
    detail: dict[str, Any]
    undoable: bool


class LogAnswer(Shape):
    """What was done to the memory, latest first; `ragmem inspect log --json`."""

    log: list[LogEntry]


class Injection(Shape):
    """A memory that a session of an assistant was given, when and why."""

    at: Moment
    session: str
    agent: str
    assistant: str
    project: str
    event: str
    reason: str
    question: str
    memory: str
    title: str
    state: str = Field(description="Where the memory is now: empty, archived or gone.")
    feedback: int
    score: float | None
    floor: float | None
    tokens: int
    place: int | None
    of: int | None
    terms: dict[str, Any]
    others: list[dict[str, Any]]


class Injections(Shape):
    """What assistants were given, latest first; `ragmem inspect injections --json`."""

    injections: list[Injection]


class Record(Shape):
    """A typed record with its fields."""

    id: str
    type: str
    project: str
    title: str
    event_time: Moment
    fields: dict[str, Any]


class Records(Shape):
    """Typed records, newest first; `ragmem inspect records --json`."""

    records: list[Record]


class ImpactAnswer(Shape):
    """What a change of a symbol or file reaches; `ragmem inspect impact --json`."""

    target: dict[str, Any]
    depth: int
    depths: dict[str, int]
    reached: list[dict[str, Any]]
    reached_total: int
    tests: list[dict[str, Any]]
    tests_total: int
    memories: list[dict[str, Any]]
    memories_total: int
