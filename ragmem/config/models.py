"""The tables of config.toml about models: which are used for what, and what they may cost."""

from collections.abc import Mapping
from typing import Any

from ragmem.config.values import key
from ragmem.frozen import dataclass

EXTRACTIONS = ("rules", "llm", "both")
RERANKER_USES = ("always", "careful")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """[models]: the embedding model and its backend."""

    backend: str = key("minilm", "name of the models' backend, an entry point of ragmem.backends")
    model: str = key(
        "", "name of the embedding model, or a folder with its files; default: the backend's own"
    )
    url: str = key("", "URL of the server, if it is not the provider's own")
    key_variable: str = key("", "environment variable with the key, if it is not the provider's usual one")
    key_command: str = key("", "command that prints the key, for keys in a password manager")
    dimensions: int = key(
        0, "length of the vectors, for models that offer several; 0: the model's own", low=0
    )
    query_prefix: str = key("", "prefix of each question, for models trained with one")
    document_prefix: str = key("", "prefix of each text, for models trained with one")
    timeout_s: float = key(60.0, "timeout of a request in seconds", low=0.1)
    query_timeout_s: float = key(
        5.0, "timeout for the vector of a query, which full text can answer without it", low=0.1
    )
    retries: int = key(3, "number of retries of a failed request", low=0, high=20)
    requests_per_minute: int = key(0, "maximum number of requests per minute; 0: no limit", low=0)
    concurrency: int = key(4, "number of parallel requests", low=1, high=64)
    price: float = key(0.0, "price of a million tokens, in any currency", low=0)
    engine: str = key("auto", "engine of the bundled model: auto, mlx, onnx or numpy")
    threads: int = key(0, "threads of the embedder; 0: its own choice", low=0, high=1024)
    options: Mapping[str, Any] = key({}, "passed to the backend unchanged")


@dataclass(frozen=True, slots=True)
class LanguageModelSettings:
    """[language_model]: the language model and its backend; none by default."""

    backend: str = key(
        "", "name of the backend, an entry point of ragmem.backends; default: no language model"
    )
    model: str = key("", "name of the language model, or a folder with its files")
    url: str = key("", "URL of the server, if it is not the provider's own")
    key_variable: str = key("", "environment variable with the key, if it is not the provider's usual one")
    key_command: str = key("", "command that prints the key, for keys in a password manager")
    timeout_s: float = key(120.0, "timeout of a request in seconds", low=0.1)
    retries: int = key(3, "number of retries of a failed request", low=0, high=20)
    requests_per_minute: int = key(0, "maximum number of requests per minute; 0: no limit", low=0)
    concurrency: int = key(4, "number of parallel requests", low=1, high=64)
    price_in: float = key(0.0, "price of a million tokens of prompts", low=0)
    price_out: float = key(0.0, "price of a million tokens of completions", low=0)
    options: Mapping[str, Any] = key({}, "passed to the backend unchanged")


@dataclass(frozen=True, slots=True)
class RerankerSettings:
    """[reranker]: the model that reorders the best matches; none by default."""

    backend: str = key("", "name of the backend, an entry point of ragmem.backends; default: no reranker")
    model: str = key("", "name of the reranker, or a folder with its files")
    url: str = key("", "URL of the server, if it is not the provider's own")
    key_variable: str = key("", "environment variable with the key, if it is not the provider's usual one")
    key_command: str = key("", "command that prints the key, for keys in a password manager")
    use: str = key(
        "always", "always: for every query; careful: only for `query --careful`", choices=RERANKER_USES
    )
    timeout_s: float = key(3.0, "timeout in seconds; after it the original order stays", low=0.1)
    candidates: int = key(30, "number of memories to rerank", low=2, high=1000)
    weight: float = key(
        0.6, "share of the reranker in the new score; the rest is the original score", low=0, high=1
    )
    price: float = key(0.0, "price of a million tokens", low=0)
    options: Mapping[str, Any] = key({}, "passed to the backend unchanged")


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """[extraction]: what extracts entities and relations."""

    by: str = key(
        "rules", "rules; llm: the language model's results if it has any; both", choices=EXTRACTIONS
    )
    ner: str = key("", "model for named entities beside that: onnx:OWNER/NAME or onnx:FOLDER; default: none")
    ner_threshold: float = key(0.5, "lowest score of an entity by this model", low=0, high=1)
    max_tokens: int = key(
        1500, "maximum number of tokens of the language model's answer about one chunk", low=16
    )


@dataclass(frozen=True, slots=True)
class SpendSettings:
    """[spend]: daily caps (UTC) on background work; 0: no limit. They never stop a query."""

    daily_calls: int = key(0, "requests to providers", low=0)
    daily_tokens: int = key(0, "total tokens of prompts, texts and completions", low=0)
    daily_cost: float = key(0.0, "cost by the configured prices", low=0)
