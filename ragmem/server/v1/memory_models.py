"""Requests and answers on memories: a list, one whole, what is said of it, and what is stored anew."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from ragmem.domain.model import Kind, State, Tier
from ragmem.server.http.models import Text
from ragmem.server.v1.fields import Confirmed, Id, Label, Moment, Request, Shape
from ragmem.server.v1.output_models import output_model
from ragmem.services.retrieval.shapes import MEMORY_FIELDS
from ragmem.services.retrieval.superseding import FORMER_FIELDS, SUPERSEDED_FIELDS


@output_model(*MEMORY_FIELDS)
class MemorySummary(Shape):
    """What every list tells of a memory; secrets are replaced."""


class MemoryItem(MemorySummary):
    """A memory of a list, with the beginning of its text."""

    excerpt: str


class MemoryPage(Shape):
    """A page of memories; `next` is the cursor of the page behind it, and null on the last."""

    memories: list[MemoryItem]
    total: int = Field(description="Memories that the filters let through, on all pages.")
    next: str | None


class Life(Shape):
    """Where a memory is in its life, and what the next gc would do with it if nothing else touched it."""

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

    id: str
    title: str
    strength: float = Field(description="0 to 1, of cosine and shared names.")
    cosine: float
    shared: float = Field(description="0 to 1: names and rare words that both have.")


@output_model(*FORMER_FIELDS)
class Former(Shape):
    """A memory that another one has made untrue."""


@output_model(*SUPERSEDED_FIELDS)
class Superseded(Shape):
    """By which memory one was made untrue."""


class ChunkPlace(Shape):
    """A chunk: characters `start` to `end` of the text that is searched."""

    id: str
    heading: str
    start: int
    end: int


class HistoryEvent(Shape):
    """One thing that happened to a memory."""

    at: Moment
    what: Literal["event", "stored", "changed", "recalled", "injected", "superseded", "archived"]
    detail: str


class MemoryDetail(MemorySummary):
    """One memory with its text, chunks, life, connections, code, and what it replaced; secrets are replaced.

    `code` and `merged_from` are as `ragmem inspect memory --json` has them.
    """

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

    id: str
    total: int
    connections: list[Link]


class History(Shape):
    """What happened to a memory, oldest first."""

    id: str
    history: list[HistoryEvent]


class StoreRequest(Request):
    """A text to remember."""

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


class StoreAnswer(Shape):
    """What became of a text: it is durable and can be found when this comes."""

    id: str
    full_id: str
    change: str = Field(description="new, changed, or unchanged: the same text again is the same memory.")
    state: State
    tier: Tier


class FeedbackRequest(Request):
    """Whether a memory was of use."""

    verdict: Literal["good", "bad"]
    session: Annotated[Label, Field(max_length=200)] = Field(
        default="", description="The session that says so; good then counts as a recall of it."
    )


class PinRequest(Request):
    """Whether a memory is pinned: what is pinned never expires and is never merged."""

    pinned: StrictBool


class LifeAnswer(Shape):
    """A memory's life after what was said of it."""

    id: str
    life: Life


class ForgetRequest(Request):
    """Memories that go into the archive; all of them or none. All that is given is true of each of them."""

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


class ForgetAnswer(Shape):
    """The run that took memories out; `POST /v1/memory/gc/undo` with it brings them back."""

    run: str = Field(description="Empty where nothing went, or nothing was to go.")
    forgotten: int
