"""Requests and answers on memories: a list, one whole, what is said of it, and what is stored anew."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from ragmem.domain.model import Category, Kind, State, Tier
from ragmem.server.http.models import Text
from ragmem.server.v1.fields import Confirmed, Id, Label, Moment, Request, Shape, example

LIFE = {
    "type": "learning",
    "life": "buffer",
    "age": 12,
    "connections": 3,
    "reprieves": 0,
    "sessions": 1,
    "feedback": 0,
    "pinned": False,
    "superseded_by": "",
    "action": "keep",
    "rule": "connected",
    "reason": "connected with 3 memories",
}

SUMMARY: dict[str, Any] = {
    "id": "3q7hn2zk5x4m",
    "full_id": "3q7hn2zk5x4mcd2p6qwr7s2t3u",
    "source": "memory",
    "uri": "/home/ada/notes/deploy.md",
    "title": "Deploy",
    "place": "",
    "locator": "",
    "kind": "architecture",
    "category": "none",
    "tier": "ingest",
    "state": "indexed",
    "project": "user",
    "spec": "",
    "tags": ["deploy"],
    "protected": False,
    "event_time": "2026-03-15T10:00:00Z",
    "created_at": "2026-03-15T10:00:05Z",
    "updated_at": "2026-03-15T10:00:05Z",
    "metadata": {},
}

LINK = {"id": "5x4m3q7hn2zk", "title": "Cache", "strength": 0.61, "cosine": 0.74, "shared": 0.4}

FORMER = {
    "id": "7hn2zk5x4m3q",
    "full_id": "7hn2zk5x4m3qcd2p6qwr7s2t3u",
    "event_time": "2025-11-02T09:00:00Z",
    "until": "2026-03-15T10:00:00Z",
    "text": "We deploy by hand.",
    "rule": "replaced",
    "reason": "the newer one says that it replaces this",
}


class Described(Shape):
    """What every list tells of a memory; secrets are replaced."""

    id: str = Field(description="The id as people see it: the first 12 characters.")
    full_id: str
    source: str
    uri: str = Field(description="Where it comes from: a path, path#part, or a given name.")
    title: str
    place: str = Field(description='Where in a document it stands: "report.pdf, page 3"; empty for others.')
    locator: str = Field(description='The same as behind the # of its uri: "page=3".')
    kind: Kind
    category: Category
    tier: Tier
    state: State
    project: str
    spec: str
    tags: list[str]
    protected: bool
    event_time: Moment = Field(description="When it happened, as far as the source tells.")
    created_at: Moment
    updated_at: Moment
    metadata: dict[str, Any]


class Listed(Described):
    """A memory of a list, with the beginning of its text."""

    model_config = example(**SUMMARY, excerpt="We decided to deploy PostgreSQL 16 with Kubernetes because")

    excerpt: str


class MemoryPage(Shape):
    """A page of memories; `next` is the cursor of the page behind it, and null on the last."""

    model_config = example(
        memories=[{**SUMMARY, "excerpt": "We decided to deploy PostgreSQL 16"}], total=1, next=None
    )

    memories: list[Listed]
    total: int = Field(description="Memories that the filters let through, on all pages.")
    next: str | None


class Life(Shape):
    """Where a memory is in its life, and what the next gc would do with it if nothing else touched it."""

    model_config = example(**LIFE)

    type: str
    life: Literal["buffer", "proven", "permanent"]
    age: int = Field(description="Newer memories in its project.")
    connections: int
    reprieves: int
    sessions: int = Field(description="Sessions in which it was recalled.")
    feedback: int = Field(description="Good verdicts less bad ones.")
    pinned: bool
    superseded_by: str
    action: str = Field(description="What gc would do: keep, archive, promote, ...")
    rule: str
    reason: str


class Link(Shape):
    """A memory that another one is connected with."""

    model_config = example(**LINK)

    id: str
    title: str
    strength: float = Field(description="0 to 1, of cosine and shared names.")
    cosine: float
    shared: float = Field(description="0 to 1: names and rare words that both have.")


class Former(Shape):
    """A memory that another one has made untrue."""

    model_config = example(**FORMER)

    id: str
    full_id: str
    event_time: Moment
    until: Moment
    text: str
    rule: str
    reason: str


class Superseded(Shape):
    """By which memory one was made untrue."""

    model_config = example(
        id="3q7hn2zk5x4m",
        full_id="3q7hn2zk5x4mcd2p6qwr7s2t3u",
        since="2026-03-15T10:00:00Z",
        rule="replaced",
        reason="the newer one says that it replaces this",
    )

    id: str
    full_id: str
    since: Moment
    rule: str
    reason: str


class ChunkPlace(Shape):
    """A chunk: characters `start` to `end` of the text that is searched."""

    model_config = example(id="c-3q7hn2zk5x4m-0", heading="Deploy", start=0, end=118)

    id: str
    heading: str
    start: int
    end: int


class Happening(Shape):
    """One thing that happened to a memory."""

    model_config = example(
        at="2026-03-16T08:00:00Z", what="injected", detail="into session 5f2c at a prompt: it answers it"
    )

    at: Moment
    what: Literal["event", "stored", "changed", "recalled", "injected", "superseded", "archived"]
    detail: str


class Whole(Described):
    """One memory with its text, chunks, life, connections, code, and what it replaced; secrets are replaced.

    `code` and `merged_from` are as `ragmem inspect memory --json` has them.
    """

    model_config = example(
        **SUMMARY,
        text="We decided to deploy PostgreSQL 16 with Kubernetes because the old host ran full.",
        summary="",
        chunks=[{"id": "c-3q7hn2zk5x4m-0", "heading": "Deploy", "start": 0, "end": 118}],
        entities=["PostgreSQL", "Kubernetes"],
        code=[],
        superseded_by=None,
        replaced=[FORMER],
        merged_from=[],
        life=LIFE,
        connections=[LINK],
    )

    text: str
    summary: str
    chunks: list[ChunkPlace]
    entities: list[str] = Field(description="Names of the graph's nodes that it mentions.")
    code: list[dict[str, Any]]
    superseded_by: Superseded | None
    replaced: list[Former]
    merged_from: list[str] = Field(description="Ids of the memories that it was made of.")
    life: Life
    connections: list[Link] = Field(description="The strongest 100.")


class Connections(Shape):
    """The memories that one is connected with, strongest first."""

    model_config = example(id="3q7hn2zk5x4m", total=1, connections=[LINK])

    id: str
    total: int
    connections: list[Link]


class History(Shape):
    """What happened to a memory, oldest first."""

    model_config = example(
        id="3q7hn2zk5x4m",
        history=[{"at": "2026-03-15T10:00:05Z", "what": "stored", "detail": "from memory"}],
    )

    id: str
    history: list[Happening]


class StoreRequest(Request):
    """A text to remember."""

    model_config = example(
        text="We pin psycopg 3.2 because 3.1 resets connections.",
        title="psycopg is pinned",
        kind="error",
        tags=["database"],
        event_time="2026-03-15T10:00:00Z",
    )

    text: Annotated[Text, Field(min_length=1, max_length=4_000_000)]
    title: Annotated[Label, Field(max_length=200)] = ""
    kind: Kind | None = Field(default=None, description="What it is about; else it is judged.")
    project: Label = Field(default="", description="The project it belongs to; else `user`.")
    tags: list[Label] = Field(default_factory=list, max_length=100)
    event_time: datetime | None = Field(default=None, description="When it happened; else now.")
    uri: Label = Field(
        default="",
        description="A name for where it comes from; another text under the same name replaces this one. "
        "Else the name is made of the text.",
    )


class Stored(Shape):
    """What became of a text: it is durable and can be found when this comes."""

    model_config = example(
        id="3q7hn2zk5x4m", full_id="3q7hn2zk5x4mcd2p6qwr7s2t3u", change="new", state="indexed", tier="ingest"
    )

    id: str
    full_id: str
    change: str = Field(description="new, changed, or unchanged: the same text again is the same memory.")
    state: State
    tier: Tier


class FeedbackRequest(Request):
    """Whether a memory was of use."""

    model_config = example(verdict="good", session="5f2c")

    verdict: Literal["good", "bad"]
    session: Annotated[Label, Field(max_length=200)] = Field(
        default="", description="The session that says so; good then counts as a recall of it."
    )


class PinRequest(Request):
    """Whether a memory is pinned: what is pinned never expires and is never merged."""

    model_config = example(pinned=True)

    pinned: StrictBool


class LifeAnswer(Shape):
    """A memory's life after what was said of it."""

    model_config = example(id="3q7hn2zk5x4mcd2p6qwr7s2t3u", life=LIFE)

    id: str
    life: Life


class ForgetRequest(Request):
    """Memories that go into the archive; all of them or none. All that is given is true of each of them."""

    model_config = example(ids=["3q7hn2zk5x4m"], confirm=True)

    ids: list[Id] = Field(default_factory=list, max_length=1_000)
    sources: list[Label] = Field(default_factory=list, max_length=100)
    projects: list[Label] = Field(
        default_factory=list, max_length=100, description="Names or ids, or `user`."
    )
    stored_by: Label = Field(default="", description="The run of seed or ingest that stored them.")
    dry_run: StrictBool = Field(default=False, description="Only count them.")
    allow_large: StrictBool = Field(
        default=False, description="Also where not each is named and more than half of all memories would go."
    )
    confirm: Confirmed


class Forgotten(Shape):
    """The run that took memories out; `POST /v1/memory/gc/undo` with it brings them back."""

    model_config = example(run="a1b2c3d4", forgotten=1)

    run: str = Field(description="Empty where nothing went, or nothing was to go.")
    forgotten: int
