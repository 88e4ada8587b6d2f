"""Texts to unit vectors with an embedding model on onnxruntime."""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.minilm.cross_encoder import read_tensors
from ragmem.backends.model_folder import FETCH
from ragmem.backends.onnx.description import MATRIX, Description
from ragmem.backends.onnx.options import OnnxOptions
from ragmem.backends.onnx.session import Resident, Session
from ragmem.backends.tokens import Tokenizer, bucket, closing_id
from ragmem.errors import BackendError
from ragmem.ports import Role

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_TOKENS = 512
"""Tokens of one batch, padding included: a processor gains nothing from larger ones."""


class OnnxEmbedder:
    """An embedding model from a folder; satisfies ports.Embedder, safe to use from several threads.

    Nothing is loaded before the first text, and an unused model is freed after `idle_s`. A question does not
    wait for the batches of a long seeding.
    """

    def __init__(self, description: Description, options: OnnxOptions) -> None:
        self._description = description
        self._options = options
        self._tokenizer: Tokenizer | None = None
        self._opening = threading.Lock()
        self._network = Resident(lambda: _Network(description, options), idle_s=options.idle_s)

    @property
    def description(self) -> Description:
        """What the model's files say."""
        return self._description

    @property
    def model_id(self) -> str:
        """Name of the model, and a hash of its weights and of the settings that determine texts' vectors.

        The prefix of questions is not part of it: it may change while the texts' vectors stay valid.
        """
        return self._description.model_id

    @property
    def dimensions(self) -> int:
        """Length of each vector."""
        return self._description.dimensions

    @property
    def window(self) -> int:
        """Tokens of a text that are read."""
        return self._description.graph.window

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._network.is_loaded

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        """Return float32 (n, dimensions), rows of unit length, in the order of the texts.

        Raise BackendError when the model does not load, does not fit into memory, or returns invalid vectors.
        """
        np = import_numpy()
        about = self._description
        vectors = np.empty((len(texts), about.dimensions), np.float32)
        if not texts:
            return vectors  # type: ignore[no-any-return]
        prefix = about.query_prefix if role == "query" else about.document_prefix
        tokenizer, network = self._open_tokenizer(), self._network.get()
        sequences = [tokenizer.encode(prefix + text) for text in texts]
        if about.graph.batches:
            limit = self._options.batch_tokens or BATCH_TOKENS
            batches = bucket(list(map(len, sequences)), tokens=limit)
        else:
            batches = [[place] for place in range(len(texts))]

        def work(places: Sequence[int]) -> None:
            vectors[places] = network.vectors([sequences[place] for place in places])
            self._network.touch()  # a long seeding is no idleness

        network.session.map(work, batches)
        return vectors  # type: ignore[no-any-return]

    def close(self) -> None:
        """Free the model; the next text would load it again."""
        self._network.free()
        with self._opening:
            self._tokenizer = None

    def _open_tokenizer(self) -> Tokenizer:
        with self._opening:
            if self._tokenizer is None:
                about, graph = self._description, self._description.graph
                closing = closing_id(graph.config) if about.pooling == "last" else None
                self._tokenizer = Tokenizer(graph.folder, window=graph.window, extra="onnx", closing=closing)
            return self._tokenizer


class _Network:
    """The graph in memory, with pooling and the layers behind it."""

    def __init__(self, description: Description, options: OnnxOptions) -> None:
        self._np = import_numpy()
        self._about = description
        self._dense = {}
        for step in description.steps:
            if step.kind == "dense":
                path = step.folder / MATRIX
                try:
                    tensors = read_tensors(path)
                    self._dense[step.folder] = (tensors["linear.weight"].T, tensors.get("linear.bias", 0))
                except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                    raise BackendError(f'"{path}" cannot be read: {error}', hint=FETCH) from error
        self.session = Session(description.graph, options)

    def vectors(self, sequences: Sequence[Sequence[int]]) -> Any:
        """Return unit vectors (n, dimensions) of n >= 1 sequences of token ids; raise BackendError."""
        np, about = self._np, self._about
        found = self.session.run(about.output, sequences)
        if about.pooling:
            found = self._pool(found, [len(sequence) for sequence in sequences])
        for step in about.steps:
            if step.kind == "normalize":
                found = _unit(np, found)
            else:
                matrix, bias = self._dense[step.folder]
                if matrix.shape[0] != found.shape[-1]:
                    raise self._invalid("vectors of another length than its dense layer takes")
                found = found @ matrix + bias
                found = np.tanh(found) if step.activation == "Tanh" else found
        if found.shape != (len(sequences), about.width):
            raise self._invalid(f"an array {found.shape} for {len(sequences)} texts of width {about.width}")
        found = _unit(np, found[:, : about.dimensions])
        if not np.isfinite(found).all():
            raise self._invalid("no numbers")
        return found

    def _pool(self, hidden: Any, lengths: Sequence[int]) -> Any:
        np, how = self._np, self._about.pooling
        if how == "cls":
            return hidden[:, 0]
        last = np.asarray(lengths) - 1
        if how == "last":
            return hidden[np.arange(len(hidden)), last]
        # Not a product with 0 and 1: the padding may hold NaN, which must stay out.
        return np.stack([row[:count].mean(axis=0) for row, count in zip(hidden, lengths, strict=True)])

    def _invalid(self, what: str) -> BackendError:
        return BackendError(
            f'the model "{self._about.graph.name}" gives {what}',
            hint="set pooling or output in [models.options], or try another model: `ragmem models test`",
        )


def _unit(np: Any, vectors: Any) -> Any:
    """Return vectors of length one; a vector of zeros becomes NaN."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
