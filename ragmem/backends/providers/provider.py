"""What a protocol's module tells of itself to the parts that all providers share."""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragmem.ports import Role


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a protocol; `optional` names what it asks for that some servers refuse."""

    path: str
    body: Mapping[str, Any]
    optional: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """A well-known model: the length of its vectors, and how many tokens of a text it reads."""

    dimensions: int
    window: int


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that goes with a prompt, as it lies in a file; `media_type` is that of PNG or JPEG."""

    data: bytes
    media_type: str

    @property
    def base64(self) -> str:
        """The bytes as JSON carries them."""
        return b64encode(self.data).decode("ascii")


@dataclass(frozen=True, slots=True)
class Ask:
    """What a language model is asked; `schema` is that of the JSON it should answer with."""

    model: str
    prompt: str
    system: str
    max_tokens: int
    schema: Mapping[str, Any] | None
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model answered; `refusal` says why it would not, `cut` that it ran out of tokens."""

    text: str
    cut: bool = False
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """What one event of an answer in parts tells; `tokens_in` and `tokens_out` are sums where it has any."""

    text: str = ""
    cut: bool = False
    refusal: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None


class EmbeddingProtocol(Protocol):
    """How texts become vectors in one protocol.

    What reads an answer may raise KeyError, IndexError, TypeError, ValueError or AttributeError for one that
    is not the protocol's.
    """

    texts_per_request: int
    tokens_per_request: int

    def request(
        self, model: str, texts: Sequence[str], *, role: Role, dimensions: int, refused: frozenset[str]
    ) -> Request:
        """Return the request for these texts; dimensions 0: the model's own."""
        ...

    def rows(self, answer: Any, count: int) -> Sequence[Any]:
        """Return the vectors in the order of the texts, as sequences of numbers."""
        ...

    def tokens(self, answer: Any) -> int | None:
        """Return how many tokens the provider counted, or None."""
        ...


class ChatProtocol(Protocol):
    """How a prompt is completed in one protocol; errors as in EmbeddingProtocol."""

    def request(self, ask: Ask, *, refused: frozenset[str]) -> Request:
        """Return the request for this prompt."""
        ...

    def read(self, answer: Any) -> Completion:
        """Return what the model answered."""
        ...

    def in_parts(self, request: Request, *, refused: frozenset[str]) -> Request:
        """Return the request for the same answer as events, while it is being made."""
        ...

    def part(self, event: Any) -> Part:
        """Return what an event tells."""
        ...

    def tokens(self, answer: Any) -> tuple[int, int] | None:
        """Return the tokens of the prompt and of the completion as the provider counted them, or None."""
        ...


class RerankProtocol(Protocol):
    """How texts are scored beside a question in one protocol; errors as in EmbeddingProtocol."""

    def request(self, model: str, query: str, texts: Sequence[str]) -> Request:
        """Return the request for all of the texts."""
        ...

    def scores(self, answer: Any, count: int) -> Sequence[float]:
        """Return the scores in the order of the texts."""
        ...

    def tokens(self, answer: Any) -> int | None:
        """Return how many tokens the provider counted, or None."""
        ...


def no_other_address(url: str) -> Sequence[str]:
    """Return no further addresses: this provider's are not mistaken."""
    del url
    return ()


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider: its address, its key, its models and its protocols (None: it does not offer that)."""

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
    """The embedding model where none is named; "" where it must be."""

    known: Mapping[str, Known] = field(default_factory=dict)
    start: Callable[[str], str] = lambda url: ""  # noqa: ARG005
    """The command that usually starts the server of an address, where people run it themselves."""

    pull: str = ""
    """The command that fetches a model that the server lacks."""

    example: str = ""
    """An address as it should be written, for a provider without one of its own."""

    models_path: str = "/models"
    model_names: Callable[[Any], list[str]] | None = None
    """Reads the names of the models from the answer of models_path."""

    root: Callable[[str], str] = str
    """The address that paths are put after, of what is configured."""

    other_addresses: Callable[[str], Sequence[str]] = no_other_address
    """Addresses at the same host that may be meant where the configured one does not answer."""
