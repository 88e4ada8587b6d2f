"""Requests and answers on questions: the filters of `ragmem query`, and matches with explained scores."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from ragmem.domain.model import Category, Kind
from ragmem.domain.records.record_types import RecordType
from ragmem.ports import Mode
from ragmem.server.http.models import Text
from ragmem.server.v1.fields import NO_TRUTH, Label, Request, Shape, When
from ragmem.server.v1.memory_models import Former, MemorySummary, Superseded
from ragmem.server.v1.output_models import output_model
from ragmem.services.retrieval.query import MAX_QUERY
from ragmem.services.retrieval.shapes import ELSEWHERE_FIELDS, MATCH_FIELDS


class Question(Request):
    """A question with all filters of `ragmem query`."""

    query: Annotated[Text, Field(min_length=1, max_length=MAX_QUERY)]
    limit: Annotated[int, Field(ge=1, le=200), NO_TRUTH] | None = Field(
        default=None, description="Matches at most; else [query] limit."
    )
    kinds: list[Kind] = Field(default_factory=list, max_length=10)
    sources: list[Label] = Field(default_factory=list, max_length=100, description="Only of these sources.")
    projects: list[Label] | None = Field(
        default=None, max_length=100, description="Only these projects (name, id, or `user`); else all."
    )
    spec: Label = Field(default="", description="Only this spec of the project.")
    tags: list[Label] = Field(default_factory=list, max_length=100)
    types: list[RecordType] = Field(default_factory=list, max_length=20, description="Only these records.")
    categories: list[Category] = Field(
        default_factory=list, max_length=10, description="Only knowledge of these categories."
    )
    since: When | None = Field(
        default=None, description="Only what happened since: 2026-03-15, 7d, 3w, 6m.", examples=["30d"]
    )
    until: When | None = Field(
        default=None, description="Only what happened before, written like `since`.", examples=["2026-06-01"]
    )
    mode: Mode | None = Field(
        default=None, description="Let LightRAG retrieve in one of its own modes; then no `route`."
    )
    route: Literal["auto", "knowledge", "episode", "operational", "recon", "code"] = Field(
        default="auto", description="The sort of answer; auto prefers, a name leaves out."
    )
    expand: StrictBool = Field(
        default=False, description="Ask with other words as well; needs a language model, else 503."
    )
    nearest: StrictBool = Field(
        default=False, description="Show what is nearest, also where nothing answers."
    )
    history: StrictBool = Field(default=False, description="Show what is superseded as well, and by what.")
    session: Annotated[Label, Field(max_length=200)] = Field(
        default="", description="The session that asks; what is found counts as recalled by it."
    )
    explain: StrictBool = Field(default=True, description="Show each term of each score.")
    context: StrictBool = Field(
        default=False, description="Return the block that an assistant reads as well."
    )
    max_chars: Annotated[int, Field(ge=200, le=1_000_000), NO_TRUTH] | None = Field(
        default=None, description="Characters of that block."
    )


@output_model(*ELSEWHERE_FIELDS)
class Elsewhere(Shape):
    """A memory of another project that has the text of a match."""


@output_model(
    *MATCH_FIELDS, elsewhere=list[Elsewhere], replaced=list[Former], superseded_by=Superseded | None
)
class _Match(MemorySummary):
    """A match without what explains it."""


class Match(_Match):
    """A memory that answers: its best chunk, its score, and what the score is made of."""

    terms: dict[str, float] | None = Field(default=None, description="With `explain`.")
    explained: list[str] | None = Field(
        default=None, description="With `explain`: by which lists it was found, and its terms in their order."
    )


class QueryAnswer(Shape):
    """The answer to a question; without matches where nothing answers it."""

    query: str
    rung: str = Field(description="How it was searched: text and vectors, or text alone.")
    route: dict[str, Any]
    projects: list[str] | None
    matches: list[Match]
    evidence: dict[str, Any] | None = Field(
        default=None, description="With `explain`: what speaks for there being an answer at all."
    )
    graph: dict[str, Any] | None = Field(default=None, description="With `mode`: what the graph adds.")
    context: str | None = Field(default=None, description="With `context`: data, no instruction.")
    notes: list[str]
    seconds: float
