"""Requests and answers of queries: the filters of `ragmem query`, and matches with explained scores."""

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool

from ragmem.domain.model import Category, Kind
from ragmem.domain.records.record_types import RecordType
from ragmem.ports import Mode
from ragmem.server.http.models import Text
from ragmem.server.v1.fields import NOT_BOOLEAN, Label, Request, Shape, When
from ragmem.server.v1.memory_models import Former, MemorySummary, Superseded
from ragmem.server.v1.output_models import output_model
from ragmem.services.retrieval.query import MAX_QUERY
from ragmem.services.retrieval.shapes import ELSEWHERE_FIELDS, MATCH_FIELDS


class Question(Request):
    """A question with all filters of `ragmem query`."""

    query: Annotated[Text, Field(min_length=1, max_length=MAX_QUERY)]
    limit: Annotated[int, Field(ge=1, le=200), NOT_BOOLEAN] | None = Field(
        default=None, description="Maximum matches; else [query] limit."
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
        default=None, description="Retrieve in one of LightRAG's modes; excludes `route`."
    )
    route: Literal["auto", "knowledge", "episode", "operational", "recon", "code"] = Field(
        default="auto", description="The sort of answer: auto only prefers one, a name excludes the others."
    )
    expand: StrictBool = Field(
        default=False, description="Ask with synonyms as well; needs a language model, else 503."
    )
    nearest: StrictBool = Field(
        default=False, description="Show the nearest memories, even if nothing answers."
    )
    history: StrictBool = Field(default=False, description="Show superseded memories and their successors.")
    all_tiers: StrictBool = Field(
        default=False, description="Search the discarded texts as well, even if others answer."
    )
    cwd: Label = Field(
        default="",
        description="The folder where it is asked: marks what was made on unmerged branches there.",
    )
    all_branches: StrictBool = Field(
        default=False, description="Count what was made on unmerged branches like the rest."
    )
    session: Annotated[Label, Field(max_length=200)] = Field(
        default="", description="The session that asks; the matches count as recalled by it."
    )
    explain: StrictBool = Field(default=True, description="Show each term of each score.")
    context: StrictBool = Field(default=False, description="Also return the block for an assistant.")
    max_chars: Annotated[int, Field(ge=200, le=1_000_000), NOT_BOOLEAN] | None = Field(
        default=None, description="Characters of that block."
    )


@output_model(*ELSEWHERE_FIELDS)
class Elsewhere(Shape):
    """A memory of another project with the text of a match."""


@output_model(
    *MATCH_FIELDS,
    elsewhere=list[Elsewhere],
    replaced=list[Former],
    superseded_by=Superseded | None,
    perhaps_outdated=Superseded | None,
)
class _Match(MemorySummary):
    """A match without its explanation."""


class Match(_Match):
    """A matching memory: its best chunk, its score, and the terms of the score."""

    excerpt: str = Field(description="The sentences that answer the question, at most 480 characters.")
    terms: dict[str, float] | None = Field(default=None, description="With `explain`.")
    explained: list[str] | None = Field(
        default=None, description="With `explain`: the lists that found it, and its terms in order."
    )


class QueryAnswer(Shape):
    """The answer to a question; without matches if nothing answers it."""

    query: str
    rung: str = Field(description="The kind of search: text and vectors, or only text.")
    route: dict[str, Any]
    projects: list[str] | None
    missing: list[str] = Field(
        description="Details of the question that no match tells: the matches are only the nearest."
    )
    matches: list[Match]
    evidence: dict[str, Any] | None = Field(
        default=None, description="With `explain`: the evidence that there is an answer."
    )
    graph: dict[str, Any] | None = Field(default=None, description="With `mode`: the results from the graph.")
    context: str | None = Field(default=None, description="With `context`: data, not an instruction.")
    notes: list[str]
    seconds: float
