"""Requests and answers on memories: list, details, history, feedback, store, forget."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, StrictBool, create_model

from ragmem.domain.model import Kind, State, Tier
from ragmem.ports.principal import Audience
from ragmem.server.http.models import Text
from ragmem.server.v1.fields import Confirmed, Id, Label, Moment, Request, Shape
from ragmem.services.retrieval.output_fields import OutputField, output_example
from ragmem.services.retrieval.shapes import MEMORY_FIELDS
from ragmem.services.retrieval.supersessions import PREVIOUS_VERSION_FIELDS, SUPERSEDED_FIELDS

EXAMPLES: dict[str, dict[str, Any]] = {}
"""Model name -> the example of its own and inherited fields."""

_Model = TypeVar("_Model", bound=Shape)


def output_model(*fields: OutputField[Any], **types: Any) -> Callable[[type[_Model]], type[_Model]]:
    """Add fields to a model, and their examples to `EXAMPLES`.

    `types` are the models of fields that are JSON objects.
    """

    def add_fields(model: type[_Model]) -> type[_Model]:
        inherited = EXAMPLES.get(model.__bases__[0].__name__, {})
        EXAMPLES[model.__name__] = inherited | output_example(fields)
        declared: dict[str, Any] = {
            field.name: (
                types.get(field.name, Moment if field.type is datetime else field.type),
                Field(description=field.description or None),
            )
            for field in fields
        }
        return create_model(
            model.__name__, __base__=model, __doc__=model.__doc__, __module__=model.__module__, **declared
        )

    return add_fields


@output_model(*MEMORY_FIELDS)
class MemorySummary(Shape):
    """The fields of a memory in every list, without secrets."""


class MemoryItem(MemorySummary):
    """A memory in a list, with the beginning of its text."""

    excerpt: str


class MemoryPage(Shape):
    """A page of memories; `next` is the cursor of the next page, null on the last."""

    memories: list[MemoryItem]
    total: int = Field(description="Memories that match the filters, on all pages.")
    next: str | None


class Life(Shape):
    """The lifecycle state of a memory, and what the next gc would do with it."""

    type: str
    life: Literal["buffer", "proven", "permanent"]
    age: int = Field(description="Newer memories in its project.")
    connections: int
    reprieves: int
    sessions: int = Field(description="Sessions that recalled it.")
    feedback: int = Field(description="Good ratings minus bad ones.")
    pinned: bool
    superseded_by: str
    approval: Literal["", "proposed", "accepted", "rejected"] = Field(
        description="Empty if it needs none; an unaccepted record has no effect."
    )
    action: str = Field(description="The action of gc: keep, archive, promote, ...")
    rule: str
    reason: str


class Link(Shape):
    """A connected memory."""

    id: str
    title: str
    strength: float = Field(description="0 to 1, from cosine and shared names.")
    cosine: float
    shared: float = Field(description="0 to 1: names and rare words that both have.")


@output_model(*PREVIOUS_VERSION_FIELDS)
class Former(Shape):
    """A memory that another one supersedes."""


@output_model(*SUPERSEDED_FIELDS)
class Superseded(Shape):
    """The memory that supersedes this one, or perhaps does."""


class ChunkPlace(Shape):
    """A chunk: characters `start` to `end` of the indexed text."""

    id: str
    heading: str
    start: int
    end: int


class HistoryEvent(Shape):
    """One event in the life of a memory."""

    at: Moment
    what: Literal["event", "stored", "changed", "recalled", "injected", "superseded", "archived"]
    detail: str


class MemoryDetail(MemorySummary):
    """A memory with its text, chunks, life, connections, code, and the memories it replaced; without secrets.

    `code` and `merged_from` are the same as in `ragmem inspect memory --json`.
    """

    text: str
    summary: str
    chunks: list[ChunkPlace]
    entities: list[str] = Field(description="Names of the graph's nodes that it mentions.")
    code: list[dict[str, Any]]
    superseded_by: Superseded | None
    perhaps_outdated: Superseded | None = Field(description="What it is shown behind.")
    replaced: list[Former]
    merged_from: list[str] = Field(description="Ids of the memories that were merged into it.")
    life: Life
    connections: list[Link] = Field(description="The strongest 100.")


class Connections(Shape):
    """The connected memories, strongest first."""

    id: str
    total: int
    connections: list[Link]


class History(Shape):
    """The events in the life of a memory, oldest first."""

    id: str
    history: list[HistoryEvent]


class StoreRequest(Request):
    """A text to store."""

    text: Annotated[Text, Field(min_length=1, max_length=4_000_000)]
    title: Annotated[Label, Field(max_length=200)] = ""
    kind: Kind | None = Field(default=None, description="Its subject; else it is classified.")
    project: Label = Field(default="", description="The project it belongs to; else `user`.")
    tags: list[Label] = Field(default_factory=list, max_length=100)
    event_time: datetime | None = Field(default=None, description="When it happened; else now.")
    uri: Label = Field(
        default="",
        description="A name for where it comes from; another text under the same name replaces this one. "
        "Else the name is made from the text.",
    )
    audience: Audience | None = Field(
        default=None,
        description="Of a team: who sees a new memory. Else the members of its project; without a project its"
        " owner alone.",
    )


class StoreAnswer(Shape):
    """The stored text; it is durable and can be found when this answer arrives."""

    id: str
    full_id: str
    change: str = Field(description="new, changed, or unchanged: the same text again is the same memory.")
    state: State
    tier: Tier


class FeedbackRequest(Request):
    """Whether a memory was useful."""

    verdict: Literal["good", "bad"]
    session: Annotated[Label, Field(max_length=200)] = Field(
        default="", description="The session that rates it; good then counts as a recall."
    )


class PinRequest(Request):
    """Whether to pin a memory: a pinned one never expires and is never merged."""

    pinned: StrictBool


class LifeAnswer(Shape):
    """A memory's life after feedback or a pin."""

    id: str
    life: Life


class ForgetRequest(Request):
    """Memories to archive, all of them or none; the given filters all apply to each of them."""

    ids: list[Id] = Field(default_factory=list, max_length=1_000)
    sources: list[Label] = Field(default_factory=list, max_length=100)
    projects: list[Label] = Field(
        default_factory=list, max_length=100, description="Names or ids, or `user`."
    )
    stored_by: Label = Field(default="", description="The run of seed or ingest that stored them.")
    dry_run: StrictBool = Field(default=False, description="Only count them.")
    allow_large: StrictBool = Field(
        default=False, description="Also if filters select more than half of all memories."
    )
    confirm: Confirmed


class ForgetAnswer(Shape):
    """The run that archived memories; `POST /v1/memory/gc/undo` with it brings them back."""

    run: str = Field(description="Empty if nothing was archived, or with `dry_run`.")
    forgotten: int
