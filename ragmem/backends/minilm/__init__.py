"""The bundled embedding model, all-MiniLM-L6-v2 in int8: no download, no account, no network.

Options: `engine` = auto | numpy | onnx | mlx, `threads` = 1 or more (default: one per core, at most 4),
`folder` = another folder with the files of the model, `cache` = a folder for the name of the fastest
engine, `model` = nothing, or the name of this model; `reranker` = the folder of a cross-encoder.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ragmem.backends.minilm.embedder import FOLDER, MODEL_ID, MiniLmEmbedder
from ragmem.backends.minilm.engines import ENGINES
from ragmem.errors import ConfigError

if TYPE_CHECKING:
    from ragmem.backends.minilm.cross_encoder import CrossEncoder

__all__ = ["ENGINES", "MODEL_ID", "MiniLmEmbedder", "MiniLmModels", "open_models"]


NAMES = frozenset({MODEL_ID, "all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"})
"""The names of this model that `model` may have."""


class MiniLmModels:
    """The bundled embedder and perhaps a reranker; satisfies ports.Models and ports.HasReranker."""

    language_model = None

    def __init__(self, embedder: MiniLmEmbedder, reranker: "CrossEncoder | None" = None) -> None:
        self.embedder = embedder
        self.reranker = reranker

    def check(self) -> list[str]:
        """Return the files of the model, or of the reranker, that are missing or changed."""
        if self.reranker is not None:
            return self.reranker.find_problems()
        from ragmem.backends.minilm.files import problems

        return problems(self.embedder.folder)

    def close(self) -> None:
        """Free the models; closing twice is fine."""
        self.embedder.close()
        if self.reranker is not None:
            self.reranker.close()


def open_models(options: Mapping[str, object]) -> MiniLmModels:
    """Return the models without loading them; unknown options are ignored.

    Raise ConfigError for another model, an engine that does not exist or a number of threads below 1.
    """
    model = options.get("model") or MODEL_ID
    if model not in NAMES:
        raise ConfigError(
            f'the backend "minilm" has only its own model, not "{model}"',
            hint="omit model, or choose the backend that has it: mlx, ollama, openai, compatible, "
            "azure, gemini or voyage",
        )
    engine = options.get("engine", "auto")
    if engine not in ENGINES:
        raise ConfigError(f'there is no engine "{engine}"', hint=f"engine is one of {', '.join(ENGINES)}")
    threads = options.get("threads")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ConfigError(f'threads is "{threads}"', hint="threads is a number from 1 up, or omitted")
    folder = Path(str(options.get("folder") or FOLDER))
    cache = Path(str(options["cache"])) if options.get("cache") else None
    embedder = MiniLmEmbedder(engine=str(engine), threads=threads or 0, folder=folder, cache=cache)
    reranker = options.get("reranker")
    if not reranker:
        return MiniLmModels(embedder)
    from ragmem.backends.minilm.cross_encoder import CrossEncoder

    return MiniLmModels(embedder, CrossEncoder(Path(str(reranker)).expanduser()))
