"""Models in ONNX files on onnxruntime: embedding models, cross-encoders and GLiNER models of the hub.

Options, beside those of ports: `model`, `reranker` and `recognizer` are folders (absolute, or in `~`), or
names of the hub that lie in `models_folder` (default: ragmem's own) or in the hub's cache.
`NAME@onnx/model_int8.onnx` or `NAME@int8` chooses one of several graphs; without it variants.py says which is
taken. options.py describes `pooling`, `output`, `window`, `batch_tokens`, `memory_limit_mb` and `idle_s`.
"""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ragmem.backends.model_folder import find_folder, model_name
from ragmem.backends.onnx.options import read_options
from ragmem.backends.onnx.variants import split_model
from ragmem.errors import BackendError, ConfigError

if TYPE_CHECKING:
    from ragmem.backends.onnx.cross_encoder import OnnxReranker
    from ragmem.backends.onnx.description import Description
    from ragmem.backends.onnx.embedder import OnnxEmbedder
    from ragmem.backends.onnx.entity_recognizer import OnnxEntityRecognizer


class OnnxModels:
    """An embedding model, a reranker and a recognizer of entities, each opened on first use.

    Satisfies ports.Models, HasReranker and HasEntityRecognizer.
    """

    language_model = None

    def __init__(self, options: Mapping[str, object]) -> None:
        """Check the options; raise ConfigError for a wrong one."""
        self._options = options
        self._checked = read_options(options)
        self._model = str(options.get("model") or "")
        self._reranker_name = str(options.get("reranker") or "")
        self._recognizer_name = str(options.get("recognizer") or "")
        if not (self._model or self._reranker_name or self._recognizer_name):
            raise ConfigError(
                'the backend "onnx" has no model of its own',
                hint="set model to a name of the hub or a folder: `ragmem models use onnx:OWNER/NAME`",
            )
        self._embedder: OnnxEmbedder | None = None
        self._reranker: OnnxReranker | None = None
        self._recognizer: OnnxEntityRecognizer | None = None
        self._opening = threading.Lock()  # two of one model would take twice the memory

    @property
    def embedder(self) -> "OnnxEmbedder":
        """The embedder, not yet loaded; raises BackendError where its files are missing or not sound."""
        with self._opening:
            if self._embedder is None:
                from ragmem.backends.onnx.embedder import OnnxEmbedder

                self._embedder = OnnxEmbedder(describe_model(self._model, self._options), self._checked)
            return self._embedder

    @property
    def reranker(self) -> "OnnxReranker | None":
        """The cross-encoder, not yet loaded, or None; raises BackendError as the embedder does."""
        if not self._reranker_name:
            return None
        with self._opening:
            if self._reranker is None:
                from ragmem.backends.onnx.cross_encoder import open_reranker

                self._reranker = open_reranker(self._reranker_name, self._options)
            return self._reranker

    @property
    def recognizer(self) -> "OnnxEntityRecognizer | None":
        """The GLiNER model, not yet loaded, or None; raises BackendError as the embedder does."""
        if not self._recognizer_name:
            return None
        with self._opening:
            if self._recognizer is None:
                from ragmem.backends.onnx.entity_recognizer import open_entity_recognizer

                self._recognizer = open_entity_recognizer(self._recognizer_name, self._options)
            return self._recognizer

    def check(self) -> list[str]:
        """Return the problems of the models' files, one line each; loads nothing."""
        from ragmem.backends.onnx.description import find_problems

        found = []
        for model in filter(None, (self._model, self._reranker_name, self._recognizer_name)):
            try:
                name, wanted = split_model(model)
                found += find_problems(find_folder(name, self._options, prefix="onnx:"), wanted)
            except BackendError as error:
                found.append(str(error))
        return found

    def close(self) -> None:
        """Free what was loaded; closing twice is fine."""
        for each in (self._embedder, self._reranker, self._recognizer):
            if each is not None:
                each.close()


def open_models(options: Mapping[str, object]) -> OnnxModels:
    """Return the models, without reading or loading any; raise ConfigError for wrong options."""
    return OnnxModels(options)


def describe_model(model: str, options: Mapping[str, object]) -> "Description":
    """Return what the files of an embedding model say, without loading it.

    `model` has the form of the option `model`. Raises BackendError where files are missing, damaged or not
    those of an embedding model, ConfigError where the options do not fit it.
    """
    from ragmem.backends.onnx.description import describe

    name, wanted = split_model(model)
    folder = find_folder(name, options, prefix="onnx:")
    return describe(folder, model_name(name, folder), wanted, read_options(options))
