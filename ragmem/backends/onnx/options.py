"""The options of a model on onnxruntime, checked."""

from collections.abc import Mapping
from dataclasses import dataclass

from ragmem.backends.minilm.embedder import available_cores
from ragmem.backends.mlx.options import IDLE_S, read_number, read_shared_options

MOST_THREADS = 8
"""The default maximum: more threads wait for memory, not for a core."""


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """The settings in [models] or [reranker] and their table `options`; 0 and "" mean the default."""

    threads: int
    dimensions: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = ""
    """The pooling of token vectors, if the model's own files are wrong or silent."""
    output: str = ""
    """The output of the graph that is read, if ragmem takes the wrong one."""
    window: int = 0
    """Tokens of a text that are read."""
    batch_tokens: int = 0
    """Tokens that are computed at a time, padding included."""
    memory_limit_mb: float = 0
    """Memory that the weights may take; 0: three quarters of what the process may have."""
    idle_s: float = IDLE_S
    """Seconds after which an unused model is freed; 0: never."""
    timeout_s: float = 0
    """Seconds in which a reranker reads what it can; 0: no limit."""


def read_options(options: Mapping[str, object]) -> OnnxOptions:
    """Return our options and ignore others; raise ConfigError for an invalid value."""
    return OnnxOptions(
        threads=int(read_number(options, "threads", whole=True)) or min(available_cores(), MOST_THREADS),
        output=str(options.get("output") or ""),
        timeout_s=read_number(options, "query_timeout_s"),
        **read_shared_options(options),
    )
