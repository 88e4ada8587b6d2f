"""Answers on the whole memory: counts, sources, projects, time, health, log, injections, impact."""

from typing import Any, Literal

from pydantic import Field

from ragmem.domain.model import Kind
from ragmem.server.v1.fields import Moment, Shape


class Stats(Shape):
    """Counts of stored data; `ragmem inspect stats --json`."""

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
    """A source with its globs and stored memories; fields are null if it is not configured."""

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


class UnreadFiles(Shape):
    """Files that the memory does not hold, why, and the command that reads them."""

    what: str = Field(description="A source, or what they are.")
    reason: str
    files: int
    bytes: int
    more: bool = Field(description="Whether there are more than were counted.")
    places: list[str] = Field(description="The files or folders with most of them, at most three.")
    command: str


class UnreadAnswer(Shape):
    """What is on this machine and not in the memory; `unread` of `ragmem seed --json`, with new files."""

    looked_at: Moment
    unread: list[UnreadFiles]
    cut: str = Field(description="Why there may be more repositories; empty if all were found.")


class OperationShape(Shape):
    """A setup or a seed that runs now, and its phase."""

    name: str
    started_at: Moment
    phase: str
    done: int
    total: int
    unit: str = Field(description='"bytes", or empty for files and memories.')
    detail: str


class Progress(Shape):
    """The operation that runs now, and how many memories have their vectors."""

    operation: OperationShape | None
    memories: int
    indexed: int = Field(description="Those with vectors.")
    pending: int = Field(description="Those that wait for their vectors; words find them.")


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
    """Memories by the time of their events, in order, without empty spans.

    The items of a span are `GET /v1/memory/memories?since=...&until=...`.
    """

    by: Literal["day", "week", "month", "year"]
    total: int
    first: Moment | None
    last: Moment | None
    buckets: list[Bucket]
    is_truncated: bool = Field(description="Whether older spans are omitted.")


class Check(Shape):
    """A check: its name, its status, its finding, and the next step."""

    name: str
    status: Literal["ok", "warning", "failed"]
    detail: str
    fix: str


class Health(Shape):
    """The quick checks of `ragmem doctor --json`, without its write."""

    status: Literal["ok", "warning", "failed"]
    checked_at: Moment
    checks: list[Check]
    counts: dict[str, int]


class LogEntry(Shape):
    """An operation on the memory: counts and names, no texts."""

    at: Moment
    operation: str
    detail: dict[str, Any]
    undoable: bool


class LogAnswer(Shape):
    """The operations on the memory, latest first; `ragmem inspect log --json`."""

    log: list[LogEntry]


class Injection(Shape):
    """A memory that was injected into a session of an assistant, when and why."""

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
    state: str = Field(description="The state of the memory now: empty, archived or gone.")
    feedback: int
    score: float | None
    floor: float | None
    tokens: int
    place: int | None
    of: int | None
    terms: dict[str, Any]
    others: list[dict[str, Any]]


class Injections(Shape):
    """Injections, latest first; `ragmem inspect injections --json`."""

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
    """The impact of a change of a symbol or file; `ragmem inspect impact --json`."""

    target: dict[str, Any]
    depth: int
    depths: dict[str, int]
    reached: list[dict[str, Any]]
    reached_total: int
    tests: list[dict[str, Any]]
    tests_total: int
    memories: list[dict[str, Any]]
    memories_total: int
