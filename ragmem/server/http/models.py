"""The requests and answers of the REST interface, with LightRAG's fields and additional ones."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from ragmem.domain.model import Kind
from ragmem.ports import Mode
from ragmem.services.retrieval.query import MAX_QUERY

SHORTEST_QUERY = 3
"""Minimum characters of a question, as in LightRAG."""

MAX_PROMPT = 1_000_000
"""Maximum characters of a prompt; it may contain a pasted log, and only a part is read."""

LONGEST = 16 * 1024 * 1024
"""Maximum characters of any text; the body has no more bytes."""

MAX_TOP_K = 1_000
MAX_TEXTS = 1_000

ModeName = Mode | Literal["ragmem", "bypass"]
RouteName = Literal["auto", "knowledge", "episode", "operational", "recon", "code"]


Text = Annotated[str, StringConstraints(max_length=LONGEST)]
"""Any text that can be stored: pydantic reads a bounded text as UTF-8, which excludes lone surrogates."""

_Keyword = Annotated[Text, StringConstraints(max_length=512)]
_Count = Annotated[int | None, Field(ge=1, le=MAX_TOP_K)]
_Tokens = Annotated[int | None, Field(ge=1)]
Label = Annotated[
    Text, StringConstraints(strip_whitespace=True, max_length=1_024, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class Message(BaseModel):
    """An earlier turn of the conversation."""

    role: Text = Field(min_length=1, max_length=64)
    content: Text = Field(max_length=MAX_PROMPT)


class QueryRequest(BaseModel):
    """A question; fields for a language model are accepted, but have no effect without one."""

    query: Text = Field(description="The question, at least 3 characters.")
    mode: ModeName = Field(
        default="mix",
        description="How to retrieve: LightRAG's modes, or `ragmem`: full text and vectors, with decay. "
        "`bypass` only queries a language model.",
    )
    route: RouteName = Field(
        default="auto",
        description=(
            "Extension for the mode `ragmem`: the type of answer; `auto` prefers one by the form of the "
            "question, a name excludes the others."
        ),
    )
    only_need_context: bool | None = Field(
        default=None, description="Return the context, even if a language model could answer."
    )
    only_need_prompt: bool | None = Field(
        default=None, description="Return the prompt for a language model instead of its answer."
    )
    response_type: Text | None = Field(default=None, max_length=512)
    top_k: _Count = Field(default=None, description="Maximum entities and relations (default 40).")
    chunk_top_k: _Count = Field(default=None, description="Maximum chunks; else `top_k`, else [query] limit.")
    max_entity_tokens: _Tokens = None
    max_relation_tokens: _Tokens = None
    max_total_tokens: _Tokens = Field(
        default=None, description="Size of the context in tokens of 4 characters."
    )
    hl_keywords: list[_Keyword] = Field(default_factory=list, max_length=100)
    ll_keywords: list[_Keyword] = Field(default_factory=list, max_length=100)
    conversation_history: list[Message] | None = Field(
        default=None, max_length=200, description="Earlier turns, for the language model only."
    )
    user_prompt: Text | None = Field(
        default=None, max_length=MAX_QUERY, description="Instructions for the language model's answer."
    )
    enable_rerank: bool | None = Field(
        default=None, description="Has no effect: [reranker] of config.toml decides."
    )
    include_references: bool | None = Field(default=True)
    include_chunk_content: bool | None = Field(
        default=False, description="Include the texts of the chunks in references."
    )
    include_progress: bool | None = Field(
        default=False,
        description="For /query/stream: add lines with progress and response time.",
    )
    stream: bool | None = Field(
        default=None, description="For /query/stream: false returns the full response in one line."
    )
    projects: list[Label] | None = Field(
        default=None,
        max_length=100,
        description="Extension: only these projects (name, id, or `user`); default: all.",
    )
    history: bool = Field(
        default=False, description="Extension: also show superseded memories, and their successors."
    )
    all_tiers: bool = Field(default=False, description="Extension: always search discarded texts too.")
    session: Label = Field(
        default="",
        description=(
            "Extension: the assistant's session; matches of the mode `ragmem` count as recalled by it."
        ),
    )

    @property
    def engine_mode(self) -> Mode | None:
        """The mode of LightRAG; None for our own retrieval."""
        return None if self.mode in {"ragmem", "bypass"} else cast("Mode", self.mode)

    @field_validator("query")
    @classmethod
    def _strip(cls, query: str) -> str:
        return query.strip()

    @model_validator(mode="after")
    def _check_length(self) -> Self:
        least = 1 if self.mode == "bypass" else SHORTEST_QUERY
        if len(self.query) < least:
            raise ValueError(f"the question needs at least {least} characters")
        return self

    @model_validator(mode="after")
    def _check_route(self) -> Self:
        if self.route != "auto" and self.mode != "ragmem":
            raise ValueError(f'the route "{self.route}" needs the mode "ragmem"')
        return self


class ContextRequest(BaseModel):
    """A request for the context of a session; with its name only new memories."""

    # A task under another name would be answered as the start of a session.
    model_config = ConfigDict(extra="forbid")

    # Not in the default: of two limits of a length, that of the type would win.
    session: Annotated[Label, Field(max_length=200)] = Field(
        default="", description="The assistant's id of the session."
    )
    prompt: Text = Field(
        default="",
        max_length=MAX_PROMPT,
        description="The latest prompt; without a session, the task. Empty at the start of a session.",
    )
    event: Literal["", "start", "prompt", "research", "file", "command", "failure", "subagent"] = Field(
        default="",
        description=(
            "The event of the session; by default `prompt` if there is one, else `start`. For `file` the "
            "prompt is the path, for `command` the command line, for `failure` the output, for `subagent` "
            "the task."
        ),
    )
    agent: Label = Field(
        default="",
        max_length=200,
        description="An agent within the session, with its own injections.",
    )
    assistant: Annotated[Label, Field(max_length=200)] = Field(
        default="", description="The requesting assistant, for the injection log."
    )
    again: bool = Field(
        default=False,
        description="At a start: the session has lost its earlier context.",
    )
    cwd: Label = Field(
        default="",
        description="The folder of the session, which selects its project and the user's memories.",
    )
    projects: list[Label] | None = Field(
        default=None,
        max_length=100,
        description="Only these projects (name, id, or `user`), regardless of `cwd`.",
    )
    max_total_tokens: Annotated[int | None, Field(ge=100)] = Field(
        default=None, description="Estimated tokens of the context; by default at most 9,000 characters."
    )


class ContextResponse(BaseModel):
    """The framed block, empty if there is nothing to inject, and the reason."""

    context: str
    tokens: int
    memory_ids: list[str]
    reason: str
    notes: list[str] = Field(description="Messages for the user, such as logging failures.")


class Reference(BaseModel):
    """A memory that the response is based on; `content` only on request."""

    reference_id: str
    file_path: str = Field(description="The origin of the memory: a path, path#part, or a given name.")
    memory_id: str
    content: list[str] | None = None


class QueryResponse(BaseModel):
    """A language model's answer; without one the context block, or the notice that nothing was found."""

    response: str
    references: list[Reference] | None = None
    response_time: float = Field(description="Seconds.")
    llm_generated: bool = False
    notes: list[str] = Field(description="Messages for the user, for example about a search without vectors.")


class QueryDataResponse(BaseModel):
    """LightRAG's document of retrieved data; its `failure` means that nothing was found."""

    status: Literal["success", "failure"]
    message: str
    data: dict[str, list[dict[str, Any]]] = Field(description="entities, relationships, chunks, references")
    metadata: dict[str, Any]


class _TextOptions(BaseModel):
    project: Label = Field(default="", description="Extension: the project; default: `user`.")
    kind: Kind | None = Field(default=None, description="Extension: its kind; default: classified.")
    tags: list[Label] = Field(default_factory=list, max_length=100)
    event_time: datetime | None = Field(default=None, description="Extension: the event time; default: now.")


class TextRequest(_TextOptions):
    """A text to store; it replaces a stored text with the same `file_source`."""

    text: Text = Field(min_length=1)
    file_source: Label | None = Field(default=None, description="A name for its source.")
    title: Label = ""


class TextsRequest(_TextOptions):
    """Several texts to store, with a name for each or none."""

    texts: list[Text] = Field(min_length=1, max_length=MAX_TEXTS)
    file_sources: list[Label] | None = None


class TextResponse(BaseModel):
    """The stored texts; `duplicated` if all were stored already."""

    status: Literal["success", "duplicated"]
    message: str
    track_id: str
    memory_ids: list[str]


class GraphResponse(BaseModel):
    """A part of the graph; empty for an unknown label."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    is_truncated: bool
