"""Answers on the memory as a whole: counts, sources, projects, time, health, log, injections, impact."""

from typing import Any, Literal

from pydantic import Field

from ragmem.domain.model import Kind
from ragmem.server.v1.fields import Moment, Shape, example

COUNTS = {
    "state": {"indexed": 118, "buffered": 2},
    "source": {"memory": 120},
    "kind": {"general": 100, "error": 20},
    "tier": {"ingest": 118, "discard": 2},
    "project": {"user": 120},
    "total": {"memories": 120, "chunks": 300, "characters": 90_000},
}
SOURCE = {
    "source": "memory",
    "memories": 120,
    "newest": "2026-03-15T10:00:00Z",
    "reader": "markdown",
    "scope": "project",
    "signal": "graded",
    "enabled": True,
    "globs": ["~/.claude/projects/*/memory/*.md"],
}
INJECTION = {
    "at": "2026-03-16T08:00:00Z",
    "session": "5f2c",
    "agent": "",
    "assistant": "claude-code",
    "project": "user",
    "event": "prompt",
    "reason": "it answers the prompt",
    "question": "why do we pin the driver",
    "memory": "3q7hn2zk5x4mcd2p6qwr7s2t3u",
    "title": "psycopg is pinned",
    "state": "",
    "feedback": 0,
    "score": 0.67,
    "floor": 0.4,
    "tokens": 120,
    "place": 1,
    "of": 3,
    "terms": {"semantic": 0.71},
    "others": [],
}
CHECK = {"name": "home", "status": "ok", "detail": "writable, 12 GB free", "fix": ""}


class Stats(Shape):
    """How much there is; `ragmem inspect stats --json`."""

    model_config = example(
        home="/home/ada/.local/share/ragmem",
        bytes=12_345_678,
        catalog=COUNTS,
        store={"vectors": 300, "entities": 500, "relations": 900},
        models="minilm",
        inbox={"waiting": 0, "since": None, "aside": 0},
        archived=3,
    )

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

    model_config = example(**SOURCE)

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

    model_config = example(sources=[SOURCE])

    sources: list[SourceItem]


class ProjectItem(Shape):
    """A project with its name and the number of its memories."""

    model_config = example(id="user", name="user", memories=120)

    id: str
    name: str
    memories: int


class Projects(Shape):
    """The projects that have memories, the largest first."""

    model_config = example(projects=[{"id": "user", "name": "user", "memories": 120}])

    projects: list[ProjectItem]


class Bucket(Shape):
    """The memories of one day, week, month or year by kind; `start` is its first day."""

    model_config = example(start="2026-03-15", total=3, kinds={"error": 1, "general": 2})

    start: str = Field(json_schema_extra={"format": "date"})
    total: int
    kinds: dict[Kind, int]


class Timeline(Shape):
    """Memories by the time of their events, in order; spans without any are left out.

    The items of a span are `GET /v1/memory/memories?since=...&until=...`.
    """

    model_config = example(
        by="day",
        total=3,
        first="2026-03-15T10:00:00Z",
        last="2026-03-15T18:00:00Z",
        buckets=[{"start": "2026-03-15", "total": 3, "kinds": {"error": 1, "general": 2}}],
        is_truncated=False,
    )

    by: Literal["day", "week", "month", "year"]
    total: int
    first: Moment | None
    last: Moment | None
    buckets: list[Bucket]
    is_truncated: bool = Field(description="Only the latest spans are there.")


class Check(Shape):
    """What was looked at, how it is, what was seen, and the next step."""

    model_config = example(**CHECK)

    name: str
    status: Literal["ok", "warning", "failed"]
    detail: str
    fix: str


class Health(Shape):
    """The quick examination of `ragmem doctor --json`, without its write."""

    model_config = example(status="ok", checked_at="2026-03-16T08:00:00Z", checks=[CHECK], counts={"ok": 1})

    status: Literal["ok", "warning", "failed"]
    checked_at: Moment
    checks: list[Check]
    counts: dict[str, int]


class LogEntry(Shape):
    """What was done to the memory; counts and names, no texts."""

    model_config = example(at="2026-03-15T10:00:00Z", operation="gc", detail={"archived": 3}, undoable=True)

    at: Moment
    operation: str
    detail: dict[str, Any]
    undoable: bool


class LogAnswer(Shape):
    """What was done to the memory, latest first; `ragmem inspect log --json`."""

    model_config = example(
        log=[{"at": "2026-03-15T10:00:00Z", "operation": "gc", "detail": {"archived": 3}, "undoable": True}]
    )

    log: list[LogEntry]


class Injection(Shape):
    """A memory that a session of an assistant was given, when and why."""

    model_config = example(**INJECTION)

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

    model_config = example(injections=[INJECTION])

    injections: list[Injection]


class Record(Shape):
    """A typed record with its fields."""

    model_config = example(
        id="3q7hn2zk5x4m",
        type="gotcha",
        project="user",
        title="psycopg resets",
        event_time="2026-03-15T10:00:00Z",
        fields={"gotcha": "psycopg 3.1 resets connections"},
    )

    id: str
    type: str
    project: str
    title: str
    event_time: Moment
    fields: dict[str, Any]


class Records(Shape):
    """Typed records, newest first; `ragmem inspect records --json`."""

    model_config = example(
        records=[
            {
                "id": "3q7hn2zk5x4m",
                "type": "gotcha",
                "project": "user",
                "title": "psycopg resets",
                "event_time": "2026-03-15T10:00:00Z",
                "fields": {"gotcha": "psycopg 3.1 resets connections"},
            }
        ]
    )

    records: list[Record]


class ImpactAnswer(Shape):
    """What a change of a symbol or file reaches; `ragmem inspect impact --json`."""

    model_config = example(
        target={
            "name": "app.deploy.run",
            "kind": "function",
            "files": ["app/deploy.py"],
            "former_path": None,
            "symbols": [],
        },
        depth=3,
        depths={"1": 2},
        reached=[],
        reached_total=2,
        tests=[],
        tests_total=0,
        memories=[],
        memories_total=0,
    )

    target: dict[str, Any]
    depth: int
    depths: dict[str, int]
    reached: list[dict[str, Any]]
    reached_total: int
    tests: list[dict[str, Any]]
    tests_total: int
    memories: list[dict[str, Any]]
    memories_total: int
