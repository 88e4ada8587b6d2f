"""The requests and answers of the Ollama interface that LightRAG emulates."""

from pydantic import BaseModel, Field

from ragmem.server.http.models import MAX_PROMPT, Message, Text

MODEL = "ragmem:latest"
MADE_AT = "2026-01-01T00:00:00Z"
_DIGEST = "0" * 64


class ChatRequest(BaseModel):
    """A conversation; its last message is the question."""

    model: Text = Field(default=MODEL, max_length=256, description="Has no effect.")
    messages: list[Message] = Field(min_length=1, max_length=200)
    stream: bool = True
    system: Text | None = Field(
        default=None, max_length=MAX_PROMPT, description="Instructions for the language model."
    )


class GenerateRequest(BaseModel):
    """A prompt for the language model."""

    model: Text = Field(default=MODEL, max_length=256, description="Has no effect.")
    prompt: Text = Field(min_length=1, max_length=MAX_PROMPT)
    system: Text | None = Field(default=None, max_length=MAX_PROMPT)
    stream: bool = False


class TimedResponse(BaseModel):
    """The duration of an answer in nanoseconds, and its estimated tokens."""

    model: str = MODEL
    created_at: str = MADE_AT
    done: bool = True
    done_reason: str = "stop"
    total_duration: int = 0
    load_duration: int = 0
    prompt_eval_count: int = 0
    prompt_eval_duration: int = 0
    eval_count: int = 0
    eval_duration: int = 0


class ChatResponse(TimedResponse):
    """The answer to a conversation."""

    message: Message


class GenerateResponse(TimedResponse):
    """The answer to a prompt."""

    response: str
    context: list[int] = Field(default_factory=list)


class VersionResponse(BaseModel):
    """The emulated version of Ollama."""

    version: str = "0.9.3"


class OllamaDetails(BaseModel):
    """The details of a model; they are placeholders."""

    parent_model: str = ""
    format: str = "gguf"
    family: str = "ragmem"
    families: list[str] = Field(default_factory=lambda: ["ragmem"])
    parameter_size: str = "0B"
    quantization_level: str = "none"


class OllamaModel(BaseModel):
    """The one model: this memory."""

    name: str = MODEL
    model: str = MODEL
    size: int = 0
    digest: str = _DIGEST
    modified_at: str = MADE_AT
    details: OllamaDetails = Field(default_factory=OllamaDetails)


class TagsResponse(BaseModel):
    """The available models."""

    models: list[OllamaModel] = Field(default_factory=lambda: [OllamaModel()])


class RunningModel(OllamaModel):
    """The one model, which is always loaded."""

    expires_at: str = "2100-01-01T00:00:00Z"
    size_vram: int = 0


class RunningResponse(BaseModel):
    """The loaded models."""

    models: list[RunningModel] = Field(default_factory=lambda: [RunningModel()])
