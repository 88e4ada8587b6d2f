"""The requests and answers of the REST interface, with LightRAG's names and ours added."""

from datetime import datetime
from typing import Annotated, Any, Literal, Self, cast

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, field_validator, model_validator

from ragmem.domain.model import Kind
from ragmem.ports import Mode
from ragmem.services.query import MAX_QUERY

SHORTEST_QUERY = 3
"""Characters of a question, as LightRAG has it."""

MAX_PROMPT = 1_000_000
"""Characters of a prompt; it may hold a pasted log, of which little is read."""

MAX_TOP_K = 1_000
MAX_TEXTS = 1_000

ModeName = Mode | Literal["ragmem", "bypass"]
RouteName = Literal["auto", "knowledge", "episode", "operational", "recon", "code"]


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("the text has half a surrogate pair, which is no character") from error
    return text


_Text = Annotated[str, AfterValidator(_encodable)]
_Keyword = Annotated[_Text, StringConstraints(max_length=512)]
_Count = Annotated[int | None, Field(ge=1, le=MAX_TOP_K)]
_Tokens = Annotated[int | None, Field(ge=1)]
_Label = Annotated[
    _Text, StringConstraints(strip_whitespace=True, max_length=1_024, pattern=r"^[^\x00-\x1f\x7f]*$")
]


class QueryRequest(BaseModel):
    """A question; fields that steer a language model are accepted and have no effect without one."""

    query: _Text = Field(description="The question, of at least 3 characters.")
    mode: ModeName = Field(
        default="mix",
        description="How to retrieve: LightRAG's modes, or `ragmem`: full text and vectors, decayed. "
        "`bypass` asks a language model alone and is refused, as none is configured.",
    )
    route: RouteName = Field(
        default="auto",
        description="Ours, of the mode `ragmem`: the sort of answer; `auto` prefers what the question's form "
        "tells, a name leaves out what is of another sort.",
    )
    only_need_context: bool | None = Field(
        default=None, description="The context; it is the response anyway."
    )
    only_need_prompt: bool | None = Field(
        default=None, description="The context followed by `user_prompt`, `response_type` and the question."
    )
    response_type: _Text | None = Field(default=None, max_length=512)
    top_k: _Count = Field(default=None, description="Entities and relations at most (default 40).")
    chunk_top_k: _Count = Field(default=None, description="Chunks at most; else `top_k`, else [query] limit.")
    max_entity_tokens: _Tokens = None
    max_relation_tokens: _Tokens = None
    max_total_tokens: _Tokens = Field(default=None, description="Tokens of the context; one is 4 characters.")
    hl_keywords: list[_Keyword] = Field(default_factory=list, max_length=100)
    ll_keywords: list[_Keyword] = Field(default_factory=list, max_length=100)
    conversation_history: list[dict[str, Any]] | None = Field(default=None, description="Has no effect.")
    user_prompt: _Text | None = Field(default=None, max_length=MAX_QUERY)
    enable_rerank: bool | None = Field(
        default=None, description="Has no effect: [reranker] of config.toml decides."
    )
    include_references: bool | None = Field(default=True)
    include_chunk_content: bool | None = Field(
        default=False, description="Texts of the chunks in references."
    )
    stream: bool | None = Field(default=None, description="Has no effect: the response comes whole.")
    projects: list[_Label] | None = Field(
        default=None, max_length=100, description="Ours: only these projects (name, id, or `user`); else all."
    )
    history: bool = Field(
        default=False, description="Ours: show what is superseded as well, and by what; else it is hidden."
    )
    session: _Label = Field(
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
    def _long_enough(cls, query: str) -> str:
        if len(query.strip()) < SHORTEST_QUERY:
            raise ValueError(f"the question needs at least {SHORTEST_QUERY} characters")
        return query.strip()

    @field_validator("mode")
    @classmethod
    def _retrieves(cls, mode: ModeName) -> ModeName:
        if mode == "bypass":
            raise ValueError('the mode "bypass" asks a language model alone, and none is configured')
        return mode

    @model_validator(mode="after")
    def _routes(self) -> Self:
        if self.route != "auto" and self.mode != "ragmem":
            raise ValueError(f'the route "{self.route}" needs the mode "ragmem"')
        return self


class ContextRequest(BaseModel):
    """What a session is to be told; with its name only what it was not told yet."""

    session: _Label = Field(default="", max_length=200, description="The assistant's id of the session.")
    prompt: _Text = Field(
        default="",
        max_length=MAX_PROMPT,
        description="What was just asked; without a session, the task. Empty: the session begins.",
    )
    cwd: _Label = Field(default="", description="The session's folder: its project and the user's are asked.")
    projects: list[_Label] | None = Field(
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
    """The context block, or a sentence that says that nothing was found."""

    response: str
    references: list[Reference] | None
    response_time: float
    llm_generated: Literal[False] = False
    notes: list[str] = Field(description="What a person should know, such as a search without vectors.")


class QueryDataResponse(BaseModel):
    """LightRAG's document of what was retrieved; its `failure` means that nothing was found."""

    status: Literal["success", "failure"]
    message: str
    data: dict[str, list[dict[str, Any]]] = Field(description="entities, relationships, chunks, references")
    metadata: dict[str, Any]


class _TextOptions(BaseModel):
    project: _Label = Field(default="", description="Ours: the project it belongs to; else `user`.")
    kind: Kind | None = Field(default=None, description="Ours: what it is about; else it is judged.")
    tags: list[_Label] = Field(default_factory=list, max_length=100)
    event_time: datetime | None = Field(default=None, description="Ours: when it happened; else now.")


class TextRequest(_TextOptions):
    """A text to store; with the `file_source` of a stored one it replaces that."""

    text: _Text = Field(min_length=1)
    file_source: _Label | None = Field(default=None, description="A name for where it comes from.")
    title: _Label = ""


class TextsRequest(_TextOptions):
    """Several texts to store, with as many names or none."""

    texts: list[_Text] = Field(min_length=1, max_length=MAX_TEXTS)
    file_sources: list[_Label] | None = None


class TextResponse(BaseModel):
    """What became of the texts; `duplicated` when all were stored already."""

    status: Literal["success", "duplicated"]
    message: str
    track_id: str
    memory_ids: list[str]


class HealthResponse(BaseModel):
    """That the server is up; everything but these two fields needs the token."""

    status: Literal["healthy"] = "healthy"
    version: str
    counts: dict[str, int] | None = None
    states: dict[str, int] | None = None
    projects: int | None = None
    backends: dict[str, str] | None = None


class GraphResponse(BaseModel):
    """A part of the graph; empty for an unknown label."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    is_truncated: bool
