"""The options of an embedding model on MLX, checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from ragmem.errors import ConfigError

LIBRARIES = ("", "mlx-lm", "mlx-embeddings")
POOLINGS = ("", "mean", "cls", "last")

IDLE_S = 300.0
"""Five minutes: a session's pauses are shorter, and a large model loads in some seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModelOptions:
    """The settings in [models] and its table `options` for models of the hub; 0 and "" mean the default."""

    dimensions: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = ""
    """The pooling of token vectors, if the model's own files are wrong or silent."""
    window: int = 0
    """Tokens of a text that are read."""
    batch_tokens: int = 0
    """Tokens that are computed at a time, padding included."""
    memory_limit_mb: float = 0
    """Memory limit of the process's models on MLX, or of a model's weights on onnxruntime."""
    idle_s: float = IDLE_S
    """Seconds after which an unused model is freed; 0: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingOptions(HubModelOptions):
    """The options of an embedding model on MLX."""

    library: str = ""
    """The library that computes the model: "" chooses by architecture and never takes mlx-embeddings."""


def read_options(options: Mapping[str, object]) -> EmbeddingOptions:
    """Return our options and ignore others; raise ConfigError for an invalid value."""
    return EmbeddingOptions(
        library=read_choice(options, "library", LIBRARIES), **read_shared_options(options)
    )


def read_shared_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Return the options that each engine of hub models has; raise ConfigError for an invalid value."""
    return {
        "dimensions": int(read_number(options, "dimensions", whole=True)),
        "query_prefix": str(options.get("query_prefix") or ""),
        "document_prefix": str(options.get("document_prefix") or ""),
        "pooling": read_choice(options, "pooling", POOLINGS),
        "window": int(read_number(options, "window", whole=True)),
        "batch_tokens": int(read_number(options, "batch_tokens", whole=True)),
        "memory_limit_mb": read_number(options, "memory_limit_mb"),
        "idle_s": read_number(options, "idle_s", default=IDLE_S),
    }


def read_choice(options: Mapping[str, object], name: str, choices: Sequence[str]) -> str:
    """Return an option that is one of some words, "" if it is absent; raise ConfigError for another value."""
    if options.get(name, "") not in choices:
        offered = ", ".join(filter(None, choices))
        raise ConfigError(f'{name} is "{options[name]}"', hint=f"{name} is one of {offered}, or omitted")
    return str(options.get(name) or "")


def read_number(
    options: Mapping[str, object], name: str, *, default: float = 0, whole: bool = False
) -> float:
    """Return an option that is a number from 0 up; raise ConfigError for another value."""
    value = options.get(name)
    if value is None:
        return default
    if (
        isinstance(value, bool)
        or not isinstance(value, int if whole else (int, float))
        or not 0 <= value < inf
    ):
        kind = "a whole number" if whole else "a number"
        raise ConfigError(f'{name} is "{value}"', hint=f"{name} is {kind} from 0 up, or omitted")
    return value
