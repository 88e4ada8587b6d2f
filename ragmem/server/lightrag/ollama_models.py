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
        default=None, max_length=MAX_PROMPT, description="What a language model is told."
    )


class GenerateRequest(BaseModel):
    """A prompt for the language model alone."""

    model: Text = Field(default=MODEL, max_length=256, description="Has no effect.")
    prompt: Text = Field(min_length=1, max_length=MAX_PROMPT)
    system: Text | None = Field(default=None, max_length=MAX_PROMPT)
    stream: bool = False


class Timed(BaseModel):
    """What an answer took; times are in nanoseconds, tokens by estimate."""

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


class ChatResponse(Timed):
    """The answer to a conversation."""

    message: Message


class GenerateResponse(Timed):
    """The answer to a prompt."""

    response: str
    context: list[int] = Field(default_factory=list)


class VersionResponse(BaseModel):
    """The version of Ollama that is emulated."""

    version: str = "0.9.3"


class OllamaDetails(BaseModel):
    """What a model is made of; nothing of it is so."""

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
    """The models that there are."""

    models: list[OllamaModel] = Field(default_factory=lambda: [OllamaModel()])


class RunningModel(OllamaModel):
    """The one model, which is always loaded."""

    expires_at: str = "2100-01-01T00:00:00Z"
    size_vram: int = 0


class RunningResponse(BaseModel):
    """The models that are loaded."""

    models: list[RunningModel] = Field(default_factory=lambda: [RunningModel()])
