"""The description of a provider and its protocols, for the parts that all providers share."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragmem.backends.providers.settings import url_problem
from ragmem.ports import Role


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a protocol; `optional` names the fields that some servers refuse."""

    path: str
    body: Mapping[str, Any]
    optional: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A well-known model: the length of its vectors, and how many tokens of a text it reads."""

    dimensions: int
    window: int


@dataclass(frozen=True, slots=True)
class Image:
    """A picture for a prompt: the bytes of a PNG or JPEG file, and its media type."""

    data: bytes
    media_type: str

    @property
    def base64(self) -> str:
        """The bytes as base64, for JSON."""
        return b64encode(self.data).decode("ascii")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A prompt for a language model; `schema` describes the JSON that it should answer with."""

    model: str
    prompt: str
    system: str
    max_tokens: int
    schema: Mapping[str, Any] | None
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """The answer of a language model; `refusal` says why it refused, `cut` that it ran out of tokens."""

    text: str
    cut: bool = False
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """One event of a streamed answer; `tokens_in` and `tokens_out` are totals so far, if it has any.

    No text follows the one that `is_last`.
    """

    text: str = ""
    cut: bool = False
    refusal: str = ""
    is_last: bool = False
    tokens_in: int | None = None
    tokens_out: int | None = None


class EmbeddingProtocol(Protocol):
    """How texts become vectors in one protocol.

    Methods that read an answer may raise KeyError, IndexError, TypeError, ValueError or AttributeError where
    it violates the protocol.
    """

    texts_per_request: int
    tokens_per_request: int

    def request(
        self, model: str, texts: Sequence[str], *, role: Role, dimensions: int, refused: frozenset[str]
    ) -> Request:
        """Return the request for these texts; with 0 dimensions the model decides."""

    def rows(self, answer: Any, count: int) -> Sequence[Any]:
        """Return the vectors in the order of the texts, as sequences of numbers."""

    def tokens(self, answer: Any) -> int | None:
        """Return how many tokens the provider counted, or None."""


class ChatProtocol(Protocol):
    """How a prompt is completed in one protocol; errors as in EmbeddingProtocol."""

    def request(self, chat: ChatRequest, *, refused: frozenset[str]) -> Request:
        """Return the request for this prompt."""

    def read(self, answer: Any) -> Completion:
        """Return the answer of the model."""

    def stream_request(self, request: Request, *, refused: frozenset[str]) -> Request:
        """Return the request for the same answer as a stream of events."""

    def read_event(self, event: Any) -> Part:
        """Return the part of the answer in an event."""

    def tokens(self, answer: Any) -> tuple[int, int] | None:
        """Return the tokens of the prompt and of the completion as the provider counted them, or None."""


class RerankProtocol(Protocol):
    """How texts are scored beside a question in one protocol; errors as in EmbeddingProtocol."""

    def request(self, model: str, query: str, texts: Sequence[str]) -> Request:
        """Return the request for all texts."""

    def scores(self, answer: Any, count: int) -> Sequence[float]:
        """Return the scores in the order of the texts."""

    def tokens(self, answer: Any) -> int | None:
        """Return how many tokens the provider counted, or None."""


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider: its address, its key, its models and its protocols (None: not offered)."""

    name: str
    url: str = ""
    key_variables: Sequence[str] = ()
    needs_key: bool = True
    key_header: str = "Authorization"
    headers: Mapping[str, str] = field(default_factory=dict)
    embeddings: EmbeddingProtocol | None = None
    chat: ChatProtocol | None = None
    rerank: RerankProtocol | None = None
    model: str = ""
    """The default embedding model; "" where the configuration must name one."""

    known_models: Mapping[str, KnownModel] = field(default_factory=dict)
    start: Callable[[str], str] = lambda url: ""  # noqa: ARG005
    """The command that starts the server of an address, where people run it themselves."""

    pull: str = ""
    """The command that downloads a missing model."""

    example: str = ""
    """An example of an address, for a provider without a default."""

    models_path: str = "/models"
    model_names: Callable[[Any], list[str]] | None = None
    """Reads the names of the models from the answer of models_path."""

    root: Callable[[str], str] = str
    """The base address for paths, from the configured one."""

    other_addresses: Callable[[str], Sequence[str]] = lambda url: ()  # noqa: ARG005
    """Addresses at the same host to try where the configured one does not answer."""

    def address_problem(self, url: str) -> str:
        """Return the problem of the configured address, which may be empty, or an empty text."""
        if not url:
            return "" if self.url else f'url is missing; it looks like "{self.example}"'
        return url_problem(self.root(url))
