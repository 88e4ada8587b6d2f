"""The bundled embedding model, all-MiniLM-L6-v2 in int8: no download, no account, no network.

Options: `engine` = auto | numpy | onnx | mlx, `threads` = 1 or more (default: one per core, at most 4),
`folder` = another folder with the files of the model.
"""

from collections.abc import Mapping
from pathlib import Path

from ragmem.backends.minilm.embedder import FOLDER, MODEL_ID, MiniLmEmbedder
from ragmem.backends.minilm.engines import ENGINES
from ragmem.errors import ConfigError

__all__ = ["ENGINES", "MODEL_ID", "MiniLmEmbedder", "MiniLmModels", "open_models"]


class MiniLmModels:
    """The bundled embedder and no language model; satisfies ports.Models."""

    language_model = None

    def __init__(self, embedder: MiniLmEmbedder) -> None:
        self.embedder = embedder

    def check(self) -> list[str]:
        """Return which files of the model are missing or not as they were shipped."""
        from ragmem.backends.minilm.files import problems

        return problems(self.embedder.folder)

    def close(self) -> None:
        """Free the model; closing twice is fine."""
        self.embedder.close()


def open_models(options: Mapping[str, object]) -> MiniLmModels:
    """Return the models without loading them; unknown options are ignored.

    Raise ConfigError for an engine that does not exist or a number of threads below 1.
    """
    engine = options.get("engine", "auto")
    if engine not in ENGINES:
        raise ConfigError(f'there is no engine "{engine}"', hint=f"engine is one of {', '.join(ENGINES)}")
    threads = options.get("threads")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise ConfigError(f'threads is "{threads}"', hint="threads is a number from 1 up, or left out")
    folder = Path(str(options.get("folder") or FOLDER))
    return MiniLmModels(MiniLmEmbedder(engine=str(engine), threads=threads or 0, folder=folder))
