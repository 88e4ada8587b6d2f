"""The options of a model on onnxruntime, checked."""

from collections.abc import Mapping
from dataclasses import dataclass

from ragmem.backends.minilm.embedder import available_cores
from ragmem.backends.mlx.options import HubModelOptions, read_number, read_shared_options

MOST_THREADS = 8
"""The default maximum: more threads wait for memory, not for a core."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxOptions(HubModelOptions):
    """The settings in [models] or [reranker] and their table `options`.

    Without `memory_limit_mb` the weights may take three quarters of what the process may have.
    """

    threads: int
    output: str = ""
    """The output of the graph that is read, if ragmem takes the wrong one."""
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
