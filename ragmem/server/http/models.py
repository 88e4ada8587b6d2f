"""The requests and answers of the REST interface, with LightRAG's names and ours added."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self, cast

from pydantic import (
    BaseModel,
    Field,
    StringConstraints,
    field_validator,
    model_validator,
)

from ragmem.domain.model import Kind
from ragmem.ports import Mode
from ragmem.services.retrieval.query import MAX_QUERY

SHORTEST_QUERY = 3
"""Characters of a question, as LightRAG has it."""

MAX_PROMPT = 1_000_000
"""Characters of a prompt; it may hold a pasted log, and only a part is read."""

LONGEST = 16 * 1024 * 1024
"""Characters of any text; the body has no more bytes."""

MAX_TOP_K = 1_000
MAX_TEXTS = 1_000

ModeName = Mode | Literal["ragmem", "bypass"]
RouteName = Literal["auto", "knowledge", "episode", "operational", "recon", "code"]


Text = Annotated[str, StringConstraints(max_length=LONGEST)]
"""Any text that can be stored: what has a bound is read as UTF-8, which half a surrogate pair is not."""

_Keyword = Annotated[Text, StringConstraints(max_length=512)]
_Count = Annotated[int | None, Field(ge=1, le=MAX_TOP_K)]
_Tokens = Annotated[int | None, Field(ge=1)]
Label = Annotated[
    Text, StringConstraints(strip_whitespace=True, max_length=1_024, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class Message(BaseModel):
    """What was said before a question, and by whom."""

    role: Text = Field(min_length=1, max_length=64)
    content: Text = Field(max_length=MAX_PROMPT)


class QueryRequest(BaseModel):
    """A question; fields that steer a language model are accepted and have no effect without one."""

    query: Text = Field(description="The question, of at least 3 characters.")
    mode: ModeName = Field(
        default="mix",
        description="How to retrieve: LightRAG's modes, or `ragmem`: full text and vectors, decayed. "
        "`bypass` asks a language model alone.",
    )
    route: RouteName = Field(
        default="auto",
        description="Ours, of the mode `ragmem`: the sort of answer; `auto` prefers what the question's form "
        "tells, a name leaves out what is of another sort.",
    )
    only_need_context: bool | None = Field(
        default=None, description="The context, also where a language model could answer."
    )
    only_need_prompt: bool | None = Field(
        default=None, description="What a language model would be asked, in the place of its answer."
    )
    response_type: Text | None = Field(default=None, max_length=512)
    top_k: _Count = Field(default=None, description="Entities and relations at most (default 40).")
    chunk_top_k: _Count = Field(default=None, description="Chunks at most; else `top_k`, else [query] limit.")
    max_entity_tokens: _Tokens = None
    max_relation_tokens: _Tokens = None
    max_total_tokens: _Tokens = Field(default=None, description="Tokens of the context; one is 4 characters.")
    hl_keywords: list[_Keyword] = Field(default_factory=list, max_length=100)
    ll_keywords: list[_Keyword] = Field(default_factory=list, max_length=100)
    conversation_history: list[Message] | None = Field(
        default=None, max_length=200, description="What was said before, for the language model alone."
    )
    user_prompt: Text | None = Field(
        default=None, max_length=MAX_QUERY, description="What the language model is told of the answer."
    )
    enable_rerank: bool | None = Field(
        default=None, description="Has no effect: [reranker] of config.toml decides."
    )
    include_references: bool | None = Field(default=True)
    include_chunk_content: bool | None = Field(
        default=False, description="Texts of the chunks in references."
    )
    include_progress: bool | None = Field(
        default=False,
        description="Of /query/stream: lines that tell what is being done, and how long it took.",
    )
    stream: bool | None = Field(
        default=None, description="Of /query/stream: false for the whole response in one line."
    )
    projects: list[Label] | None = Field(
        default=None, max_length=100, description="Ours: only these projects (name, id, or `user`); else all."
    )
    history: bool = Field(
        default=False, description="Ours: show what is superseded as well, and by what; else it is hidden."
    )
    session: Label = Field(
        default="",
        description="Ours: the assistant's session that asks; what the mode `ragmem` finds for it counts as "
        "recalled.",
    )

    @property
    def engine_mode(self) -> Mode | None:
        """The mode that LightRAG is asked in; None for a retrieval of our own."""
        return None if self.mode in {"ragmem", "bypass"} else cast("Mode", self.mode)

    @field_validator("query")
    @classmethod
    def _without_edges(cls, query: str) -> str:
        return query.strip()

    @model_validator(mode="after")
    def _long_enough(self) -> Self:
        least = 1 if self.mode == "bypass" else SHORTEST_QUERY
        if len(self.query) < least:
            raise ValueError(f"the question needs at least {least} characters")
        return self

    @model_validator(mode="after")
    def _routes(self) -> Self:
        if self.route != "auto" and self.mode != "ragmem":
            raise ValueError(f'the route "{self.route}" needs the mode "ragmem"')
        return self


class ContextRequest(BaseModel):
    """What a session is to be told; with its name only what it was not told yet."""

    # Beside the type and not in the default: of two bounds on a length the type's own would win.
    session: Annotated[Label, Field(max_length=200)] = Field(
        default="", description="The assistant's id of the session."
    )
    prompt: Text = Field(
        default="",
        max_length=MAX_PROMPT,
        description="What was just asked; without a session, the task. Empty: the session begins.",
    )
    event: Literal["", "start", "prompt", "research"] = Field(
        default="", description="What a session is told on; else `prompt` where there is one, or `start`."
    )
    agent: Label = Field(
        default="", max_length=200, description="An agent within the session, which is told things by itself."
    )
    assistant: Annotated[Label, Field(max_length=200)] = Field(
        default="", description="Who asks, for the log of injections."
    )
    again: bool = Field(
        default=False, description="At a start: the session has lost sight of what it was told before."
    )
    cwd: Label = Field(default="", description="The session's folder: its project and the user's are asked.")
    projects: list[Label] | None = Field(
        default=None,
        max_length=100,
        description="Only these projects (name, id, or `user`), whatever `cwd` is.",
    )
    max_total_tokens: Annotated[int | None, Field(ge=100)] = Field(
        default=None, description="Tokens of the context, by estimate; else it has 9,000 characters at most."
    )


class ContextResponse(BaseModel):
    """The framed block, which is empty where there is nothing to tell, and why it is what it is."""

    context: str
    tokens: int
    memory_ids: list[str]
    reason: str
    notes: list[str] = Field(description="What a person should know, such as that nothing could be kept.")


class Reference(BaseModel):
    """A memory that the response draws on; `content` is there when it was asked for."""

    reference_id: str
    file_path: str = Field(description="Where the memory comes from: a path, path#part, or a given name.")
    memory_id: str
    content: list[str] | None = None


class QueryResponse(BaseModel):
    """A language model's answer; without one the context block, or that nothing was found."""

    response: str
    references: list[Reference] | None = None
    response_time: float = Field(description="Seconds.")
    llm_generated: bool = False
    notes: list[str] = Field(description="What a person should know, such as a search without vectors.")


class QueryDataResponse(BaseModel):
    """LightRAG's document of what was retrieved; its `failure` means that nothing was found."""

    status: Literal["success", "failure"]
    message: str
    data: dict[str, list[dict[str, Any]]] = Field(description="entities, relationships, chunks, references")
    metadata: dict[str, Any]


class _TextOptions(BaseModel):
    project: Label = Field(default="", description="Ours: the project it belongs to; else `user`.")
    kind: Kind | None = Field(default=None, description="Ours: what it is about; else it is judged.")
    tags: list[Label] = Field(default_factory=list, max_length=100)
    event_time: datetime | None = Field(default=None, description="Ours: when it happened; else now.")


class TextRequest(_TextOptions):
    """A text to store; with the `file_source` of a stored one it replaces that."""

    text: Text = Field(min_length=1)
    file_source: Label | None = Field(default=None, description="A name for where it comes from.")
    title: Label = ""


class TextsRequest(_TextOptions):
    """Several texts to store, with as many names or none."""

    texts: list[Text] = Field(min_length=1, max_length=MAX_TEXTS)
    file_sources: list[Label] | None = None


class TextResponse(BaseModel):
    """What became of the texts; `duplicated` when all were stored already."""

    status: Literal["success", "duplicated"]
    message: str
    track_id: str
    memory_ids: list[str]


class GraphResponse(BaseModel):
    """A part of the graph; empty for an unknown label."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    is_truncated: bool
