"""Texts to unit vectors with an embedding model on MLX."""

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.mlx import device
from ragmem.backends.mlx.decoder import widen
from ragmem.backends.mlx.description import Description
from ragmem.backends.mlx.numerics import unit
from ragmem.backends.mlx.options import EmbeddingOptions
from ragmem.backends.mlx.weights import count_bytes
from ragmem.backends.tokens import Tokenizer, bucket, closing_id
from ragmem.errors import BackendError
from ragmem.ports import Role

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Forward = Callable[[Any, Any], Any]
"""Vectors (n, width) of token ids (n, longest), padded on the right, and their lengths (n)."""

BATCH_TOKENS = 8192
"""Tokens of one batch on a graphics chip, padding included."""
BATCH_TOKENS_ON_PROCESSOR = 512
"""A processor gains nothing from larger batches."""


class MlxEmbedder:
    """An embedding model from a folder; satisfies ports.Embedder, safe to use from several threads.

    Nothing is loaded before the first text, and an unused model is freed after `idle_s`. Callers take turns
    by batch: a question runs between the batches of a long seeding.
    """

    def __init__(self, description: Description, options: EmbeddingOptions) -> None:
        self._description = description
        self._batch_tokens = options.batch_tokens
        self._tokenizer: Tokenizer | None = None
        self._opening = threading.Lock()
        self._model: device.Resident[Forward] = device.Resident(
            self._load,
            name=description.name,
            needs=self._count_bytes,
            limit_mb=options.memory_limit_mb,
            idle_s=options.idle_s,
        )

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
        return self._description.window

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._model.is_loaded

    def embed(self, texts: Sequence[str], *, role: Role) -> "NDArray[np.float32]":
        """Return float32 (n, dimensions), rows of unit length, in the order of the texts.

        Raise BackendError when the model does not load, does not fit into memory, or returns invalid vectors.
        """
        np = import_numpy()
        about = self._description
        prefix = about.query_prefix if role == "query" else about.document_prefix
        if not texts:
            return np.empty((0, about.dimensions), np.float32)  # type: ignore[no-any-return]
        tokenizer = self._open_tokenizer()
        sequences = [self._encode(tokenizer, prefix + text) for text in texts]
        limit = self._batch_tokens or self._model.use(_batch_tokens)
        vectors = np.empty((len(texts), about.dimensions), np.float32)
        for places in bucket(list(map(len, sequences)), tokens=limit):
            vectors[places] = self._forward([sequences[place] for place in places])
        return vectors  # type: ignore[no-any-return]

    def close(self) -> None:
        """Free the model; the next text would load it again."""
        self._model.free()
        with self._opening:
            self._tokenizer = None

    def _encode(self, tokenizer: Tokenizer, text: str) -> list[int]:
        ids = tokenizer.encode(text)
        known = self._description.config.get("vocab_size")
        # MLX does not check: it would read beyond the table, or end the process.
        if isinstance(known, int) and max(ids) >= known:
            raise BackendError(
                f'the tokenizer of "{self._description.name}" has token {max(ids)}, the model only {known}',
                hint="fetch the model again with `ragmem models pull`, or use another",
            )
        return ids

    def _forward(self, sequences: Sequence[Sequence[int]]) -> "NDArray[np.float32]":
        np = import_numpy()
        about = self._description
        lengths = np.array([len(sequence) for sequence in sequences], np.int32)
        token_ids = np.zeros((len(sequences), lengths.max()), np.int32)
        for row, sequence in zip(token_ids, sequences, strict=True):
            row[: len(sequence)] = sequence
        try:
            vectors = self._model.use(_compute, token_ids, lengths, about.dimensions)
        except (RuntimeError, ValueError) as error:  # MLX raises these for a wrong shape or kernel
            raise BackendError(
                f'the model "{about.name}" cannot embed: {device.first_line(error)}',
                hint="use another model, or a smaller batch_tokens in its options",
            ) from error
        if vectors.shape[1] != about.dimensions or not np.isfinite(vectors).all():
            what = "vectors of another length" if vectors.shape[1] != about.dimensions else "no numbers"
            raise BackendError(
                f'the model "{about.name}" gives {what}',
                hint="this may not be a text embedding model; `ragmem models test` tries another",
            )
        return vectors  # type: ignore[no-any-return]

    def _open_tokenizer(self) -> Tokenizer:
        with self._opening:
            if self._tokenizer is None:
                about = self._description
                closing = closing_id(about.config) if about.pooling == "last" else None
                self._tokenizer = Tokenizer(about.folder, window=about.window, extra="mlx", closing=closing)
            return self._tokenizer

    def _count_bytes(self) -> int:
        # An encoder's matrices are unpacked wherever it runs.
        widened = self._description.family == "encoder" or device.on_processor(device.import_mlx())
        try:
            return count_bytes(self._description.folder, self._description.quantization, widened=widened)
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error

    def _load(self) -> Forward:
        mx = device.import_mlx()
        try:
            forward = open_forward(self._description)
            # Computes nothing yet, but uses every tensor: a missing or misshapen one is reported now.
            forward(mx.zeros((1, 1), mx.int32), mx.ones(1, mx.int32))
        except BackendError:
            raise
        except Exception as error:
            # Three libraries raise all kinds of exceptions for damaged files.
            if device.is_full(error):
                raise
            raise self._unreadable(error) from error
        return forward

    def _unreadable(self, error: Exception) -> BackendError:
        return BackendError(
            f'"{self._description.folder}" does not load as an embedding model: {device.first_line(error)}',
            hint="fetch the model again with `ragmem models pull`, or use another",
        )


def open_forward(description: Description) -> Forward:
    """Load the model's forward pass; only on the device's thread."""
    if description.family == "encoder":
        from ragmem.backends.mlx.encoder import Encoder

        return Encoder(description)
    if description.family == "decoder":
        from ragmem.backends.mlx.decoder import Decoder

        return Decoder(description)

    return ForeignEncoder(description)


def _batch_tokens(_: Forward) -> int:
    on_processor = device.on_processor(device.import_mlx())
    return BATCH_TOKENS_ON_PROCESSOR if on_processor else BATCH_TOKENS


def _compute(forward: Forward, token_ids: Any, lengths: Any, dimensions: int) -> Any:
    mx = device.import_mlx()
    np = import_numpy()
    vectors = forward(mx.array(token_ids), mx.array(lengths))
    return np.array(unit(mx, vectors[:, :dimensions]))


class ForeignEncoder:
    """The forward pass with the library's own pooling; made and called on the device's thread only."""

    def __init__(self, description: Description) -> None:
        """Load the model; raise BackendError when the library is not installed or lacks the architecture."""
        self._mx = device.import_mlx()
        try:
            with warnings.catch_warnings(), device.keep_file_limit():
                warnings.simplefilter("ignore")  # from its dozens of packages
                from mlx_embeddings.utils import load_model
        except ImportError as error:
            raise BackendError(
                f"mlx-embeddings cannot load: {error}",
                hint="pip install 'ragmem[mlx-embeddings]' (1 GB, GPLv3), or leave out library",
            ) from error
        # The same value that the library would pass on; some architectures read the image size from it.
        self._model = load_model(description.folder, lazy=True, path_to_repo=str(description.folder))
        if device.on_processor(self._mx):
            widen(self._mx, self._model)
        self._mx.eval(self._model.parameters())

    def __call__(self, token_ids: Any, lengths: Any) -> Any:
        """Return vectors (n, width) of ids (n, longest) padded on the right: the left gives NaN there."""
        present = (self._mx.arange(token_ids.shape[1]) < lengths[:, None]).astype(self._mx.int32)
        return self._model(token_ids, attention_mask=present).text_embeds
