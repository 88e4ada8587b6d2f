"""The bundled embedding model on MLX.

On a Linux processor MLX works, but slower than the numpy engine: its wheel links a slow BLAS and its exp
and erf are scalar. mx.compile is not used: on Linux it would call g++ at run time, for seconds.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.minilm.weights import HEADS, LAYERS, NORM_EPSILON, WIDTH, Weights
from ragmem.backends.mlx import device
from ragmem.backends.mlx.numerics import MASKED, attend, gelu
from ragmem.backends.mlx.options import IDLE_S

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_TOKENS = 4096
"""Tokens of one batch on a graphics chip."""
BATCH_TOKENS_ON_PROCESSOR = 256
"""A processor gains nothing from larger batches, and small ones have less padding."""

WIDENED = 3
"""Memory of the weights, in multiples of their file: as they are stored, plus matrices as float32."""


class MlxEngine:
    """The forward pass on MLX's default device; safe to call from several threads."""

    id = "mlx"

    def __init__(self, path: Path) -> None:
        """Open the weights file; raise BackendError when it is damaged or MLX is not installed."""
        Weights(path)  # MLX's own message for a bad file says little
        on_processor = device.on_processor(device.run(device.import_mlx))
        self.batch_tokens = BATCH_TOKENS_ON_PROCESSOR if on_processor else BATCH_TOKENS
        self._network: device.Resident[_Network] = device.Resident(
            lambda: _Network(path),
            name=path.stem,
            needs=lambda: WIDENED * path.stat().st_size,
            idle_s=IDLE_S,
        )

    def forward(self, sequences: Sequence[Sequence[int]]) -> "NDArray[np.float32]":
        """Return unit vectors (n, 384) of n >= 1 sequences of token ids, each of 1 to 256 ids.

        A sequence's vector depends on its companions by rounding only (below 1e-6).
        """
        np = import_numpy()
        lengths = np.array([len(sequence) for sequence in sequences])
        token_ids = np.zeros((len(sequences), lengths.max()), np.int32)
        for row, sequence in zip(token_ids, sequences, strict=True):
            row[: len(sequence)] = sequence
        present = (np.arange(token_ids.shape[1]) < lengths[:, None]).astype(np.float32)
        return self._network.use(_Network.compute, token_ids, present)


class _Network:
    """The weights and the forward pass; made and used on the device's thread only."""

    def __init__(self, path: Path) -> None:
        self._mx = device.import_mlx()
        self._np = import_numpy()
        self._weights: dict[str, Any] = self._mx.load(str(path))
        self._matrices: dict[str, Any] = {}

    def compute(self, token_ids: Any, present: Any) -> Any:
        """Return unit vectors (n, 384) of ids (n, longest); `present` is 1 for each id, 0 for padding."""
        mx, weights = self._mx, self._weights
        token_ids, present = mx.array(token_ids), mx.array(present)
        words = weights["words.values"][token_ids] * weights["words.scale"][token_ids]
        x = self._norm(words + weights["positions"][: token_ids.shape[1]], "embedding_norm")
        mask = ((1 - present) * MASKED)[:, None, None, :]
        for number in range(LAYERS):
            layer = f"layer.{number}"
            context = self._attention(self._linear(x, f"{layer}.attention_in"), mask)
            x = self._norm(x + self._linear(context, f"{layer}.attention_out"), f"{layer}.attention_norm")
            hidden = gelu(mx, self._linear(x, f"{layer}.expand"))
            x = self._norm(x + self._linear(hidden, f"{layer}.contract"), f"{layer}.output_norm")
        # The vector is normalised afterwards, so the sum serves as the mean.
        total = (x * present[:, :, None]).sum(axis=1)
        return self._np.array(total / mx.linalg.norm(total, axis=1, keepdims=True))

    def _linear(self, x: Any, name: str) -> Any:
        matrix = self._matrices.get(name)
        if matrix is None:  # float32 from the first use on: on a processor MLX has no fast int8 product
            values, scale = self._weights[f"{name}.values"], self._weights[f"{name}.scale"]
            matrix = self._matrices[name] = values.astype(self._mx.float32) * scale
        return self._mx.addmm(self._weights[f"{name}.bias"], x, matrix)

    def _norm(self, x: Any, name: str) -> Any:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        return self._mx.fast.layer_norm(x, weight, bias, NORM_EPSILON)

    def _attention(self, joined: Any, mask: Any) -> Any:
        count, length, _ = joined.shape
        parts = joined.reshape(count, length, 3, HEADS, WIDTH // HEADS).transpose(2, 0, 3, 1, 4)
        query, key, value = parts[0], parts[1], parts[2]
        context = attend(self._mx, query, key, value, mask=mask, scale=1.0)
        return context.transpose(0, 2, 1, 3).reshape(count, length, WIDTH)
