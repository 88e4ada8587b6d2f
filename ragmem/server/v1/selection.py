"""The filters of lists and timelines, as parameters of a request."""

from typing import Annotated

from pydantic import Field

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Category, Kind, State, Tier
from ragmem.server.v1.fields import MOST, PAGE, Label, Request, When
from ragmem.server.v1.preconditions import moment_of, projects_of
from ragmem.storage.memories.memory_list import Filter, Order

Labels = Annotated[list[Label], Field(max_length=100)]


class Selection(Request):
    """Filters that all apply; a repeated one matches any of its values, but `tag` must match all."""

    project: Labels = Field(
        default_factory=list,
        description="Only these projects: name, id, or `user`; repeatable. Without it all projects.",
    )
    kind: list[Kind] = Field(default_factory=list, max_length=10)
    category: list[Category] = Field(default_factory=list, max_length=10)
    tier: list[Tier] = Field(default_factory=list, max_length=10)
    state: list[State] = Field(default_factory=list, max_length=10)
    source: Labels = Field(default_factory=list)
    spec: Label = Field(default="", description="Only this spec of the project.")
    tag: Labels = Field(default_factory=list)
    title: Label = Field(
        default="", description="Only titles with this text; `POST /v1/memory/query` searches the texts."
    )
    since: When | None = Field(
        default=None,
        description="From this time on: a date, a timestamp, or a period before now (`7d`, `3w`, `6m`).",
        examples=["30d"],
    )
    until: When | None = Field(default=None, description="Before this time, in the format of `since`.")

    def filter(self, memory: Ragmem) -> Filter:
        """Return the filter for the catalog; raises NotFoundError for an unknown project."""
        return Filter(
            projects=projects_of(memory, self.project),
            kinds=self.kind,
            categories=self.category,
            tiers=self.tier,
            states=self.state,
            sources=self.source,
            spec=self.spec,
            tags=self.tag,
            since=moment_of(self.since),
            until=moment_of(self.until),
            title=self.title,
        )


class ListQuery(Selection):
    """The parameters of a page of memories."""

    order: Order = Field(default="newest", description="By the time of the event, or of the last change.")
    cursor: str = Field(
        default="",
        max_length=2_048,
        pattern=r"^[A-Za-z0-9_-]*$",
        description="`next` of the previous page; the other parameters stay the same.",
    )
    limit: int = Field(default=PAGE, ge=1, le=MOST)
