"""The requests and answers of the models' routes, with the names of OpenAI's API."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from ragmem.services.retrieval.answerer import MAX_TOKENS

MOST_TEXTS = 2048
"""Texts of a request, as OpenAI has it."""

LONGEST_TEXT = 1_000_000
"""Characters of a text; the model reads as much of it as its window holds."""

MOST_MESSAGES = 1_000
MOST_TOKENS = 32_768

ModelName = Annotated[str, StringConstraints(max_length=512)]


class Model(BaseModel):
    """An available model; `dimensions` is ours, and set for an embedder that was used already."""

    id: str
    object: Literal["model"] = "model"
    created: int = Field(default=0, description="Not known: 0.")
    owned_by: str = Field(description="Its backend.")
    kind: Literal["embedding", "chat"] = Field(description="Extension: its purpose.")
    dimensions: int | None = Field(
        default=None, description="Extension: the length of an embedder's vectors."
    )
    aliases: list[str] = Field(default_factory=list, description="Extension: its aliases.")


class ModelList(BaseModel):
    """The models that are configured."""

    object: Literal["list"] = "list"
    data: list[Model]


class EmbeddingRequest(BaseModel):
    """Texts to embed."""

    input: str | list[str] | list[int] | list[list[int]] = Field(
        description="A text, or up to 2,048. Tokens instead of text are refused: each model has its own."
    )
    model: ModelName = Field(default="default", description="An id or alias of GET /v1/models.")
    encoding_format: Literal["float", "base64"] = Field(
        default="float", description="base64: 32-bit floats, little-endian; OpenAI's client requests that."
    )
    dimensions: int | None = Field(
        default=None, ge=1, description="Refused if it is not the model's own length."
    )
    user: str | None = Field(default=None, description="Has no effect.")
    input_type: Literal["query", "document"] = Field(
        default="document",
        description="Extension: the type of the texts, for models that distinguish questions from documents.",
    )


class Embedding(BaseModel):
    """The vector of one text, of unit length."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingUsage(BaseModel):
    """Tokens, estimated at four characters each."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingResponse(BaseModel):
    """The vectors in the order of the texts."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: EmbeddingUsage


class TextPart(BaseModel):
    """A part of a message; only text is read."""

    type: str = Field(max_length=64)
    text: str | None = None


class Message(BaseModel):
    """One turn of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[TextPart] | None = None
    name: str | None = None

    @property
    def text(self) -> str:
        """The text of all parts."""
        if isinstance(self.content, list):
            return "".join(part.text or "" for part in self.content)
        return self.content or ""


class JsonSchema(BaseModel):
    """The schema of the answer."""

    name: str = Field(default="answer", max_length=256)
    given: dict[str, Any] | None = Field(default=None, alias="schema")
    strict: bool | None = None


class ResponseFormat(BaseModel):
    """The form of the answer."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StreamOptions(BaseModel):
    """The options of a stream."""

    include_usage: bool = Field(default=False, description="A last chunk with the usage, and no choices.")


class ChatRequest(BaseModel):
    """A conversation to continue. Unknown fields have no effect."""

    messages: list[Message] = Field(min_length=1, max_length=MOST_MESSAGES)
    model: ModelName = Field(default="default", description="An id or alias of GET /v1/models.")
    stream: bool | None = Field(default=None, description="Chunks as server-sent events.")
    stream_options: StreamOptions | None = None
    max_tokens: int | None = Field(
        default=None, ge=1, description=f"Tokens of the answer, {MAX_TOKENS:,} unless given."
    )
    max_completion_tokens: int | None = Field(
        default=None, ge=1, description="The same, under its newer name."
    )
    stop: (
        Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
        | list[Annotated[str, StringConstraints(min_length=1, max_length=1_000)]]
        | None
    ) = Field(default=None, description="Stop sequences, at most 4.")
    response_format: ResponseFormat | None = None
    n: int | None = Field(default=None, description="Only 1.")
    temperature: float | None = Field(
        default=None, description="Has no effect: decoding is greedy and deterministic."
    )
    tools: list[Any] | None = Field(default=None, description="Refused: tools are not supported.")
    functions: list[Any] | None = Field(default=None, description="Refused, like `tools`.")

    @property
    def most_tokens(self) -> int:
        """The maximum tokens of the answer."""
        return min(MOST_TOKENS, self.max_completion_tokens or self.max_tokens or MAX_TOKENS)

    @property
    def stops(self) -> list[str]:
        """The texts before which the answer ends."""
        return [self.stop] if isinstance(self.stop, str) else self.stop or []


class ChatUsage(BaseModel):
    """Tokens, estimated at four characters each."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class ChatMessage(BaseModel):
    """The answer of the model."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class ChatChoice(BaseModel):
    """The one answer."""

    index: int = 0
    message: ChatMessage
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class ChatResponse(BaseModel):
    """A whole answer."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[ChatChoice]
    usage: ChatUsage
