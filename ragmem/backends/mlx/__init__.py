"""Models on MLX: Apple silicon's own engine, CUDA's on Linux, and tested on every Linux processor.

Options, beside those of ports: `model` is the bundled model's name or nothing, a folder (absolute, or in
`~`), or the name of a model of the hub that lies in `models_folder` (default: ragmem's own) or in the hub's
cache. options.py describes `library`, `pooling`, `window`, `batch_tokens`, `memory_limit_mb` and `idle_s`.
"""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ragmem.backends.minilm import MODEL_ID, MiniLmModels
from ragmem.backends.minilm import open_models as open_minilm
from ragmem.backends.mlx.options import read_options
from ragmem.backends.model_folder import find_folder, model_name
from ragmem.errors import BackendError

if TYPE_CHECKING:
    from ragmem.backends.mlx.chat import MlxLanguageModel
    from ragmem.backends.mlx.embedder import MlxEmbedder
    from ragmem.ports import Embedder

BUNDLED = ("", MODEL_ID, "all-MiniLM-L6-v2")


class MlxModels:
    """An embedding model and a language model on MLX, each opened on first use."""

    def __init__(self, options: Mapping[str, object]) -> None:
        """Check the options; raise ConfigError for a wrong one."""
        self._options = options
        self._embedding = read_options(options)
        self._model = str(options.get("model") or "")
        self._language_model_name = str(options.get("language_model") or "")
        self._bundled: MiniLmModels | None = None
        if self._model in BUNDLED:
            self._bundled = open_minilm({**options, "engine": "mlx"})
        self._embedder: MlxEmbedder | None = None
        self._language_model: MlxLanguageModel | None = None
        self._opening = threading.Lock()  # two of one model would take twice the memory

    @property
    def embedder(self) -> "Embedder":
        """The embedder, not yet loaded; raises BackendError where its files are missing or not sound."""
        if self._bundled is not None:
            return self._bundled.embedder
        with self._opening:
            if self._embedder is None:
                from ragmem.backends.mlx.description import describe
                from ragmem.backends.mlx.embedder import MlxEmbedder

                folder = find_folder(self._model, self._options)
                description = describe(folder, model_name(self._model, folder), self._embedding)
                self._embedder = MlxEmbedder(description, self._embedding)
            return self._embedder

    @property
    def language_model(self) -> "MlxLanguageModel | None":
        """The language model, not yet loaded, or None; raises BackendError as the embedder does."""
        if not self._language_model_name:
            return None
        with self._opening:
            if self._language_model is None:
                from ragmem.backends.mlx.chat import open_language_model

                folder = find_folder(self._language_model_name, self._options)
                options = {**self._options, "idle_s": self._embedding.idle_s}
                name = model_name(self._language_model_name, folder)
                self._language_model = open_language_model(folder, name, options)
            return self._language_model

    def check(self) -> list[str]:
        """Return the problems of the models' files, one line each; loads nothing."""
        found = []
        # A caller that wants a language model alone leaves out `model`.
        if self._bundled is not None and ("model" in self._options or not self._language_model_name):
            found += self._bundled.check()
        from ragmem.backends.mlx import checkpoint, description

        for name, find_problems in (
            ("" if self._bundled is not None else self._model, description.find_problems),
            (self._language_model_name, checkpoint.find_problems),
        ):
            if name:
                try:
                    found += find_problems(find_folder(name, self._options))
                except BackendError as error:
                    found.append(str(error))
        return found

    def close(self) -> None:
        """Free what was loaded; closing twice is fine."""
        for each in (self._bundled, self._embedder):
            if each is not None:
                each.close()
        if self._language_model is not None:
            self._language_model.unload()


def open_models(options: Mapping[str, object]) -> MlxModels:
    """Return the models, without reading or loading any; raise ConfigError for wrong options."""
    return MlxModels(options)
