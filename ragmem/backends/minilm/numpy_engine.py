"""The engine that is always available: the model's forward pass in numpy.

Sequences are concatenated without padding, so that each operation on single tokens is one large one;
only attention looks at one sequence at a time. Matrices stay int8 and become float32 one by one, in a buffer
that fits the processor's cache: for a question that is faster than reading float32 matrices from memory,
for a full batch it costs 2 %, and the process needs 42 MB less. Bias, activation and normalisation are
done in place, in slices of rows that stay in the cache.
"""

import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any

from ragmem.backends.minilm.blas import import_numpy
from ragmem.backends.minilm.weights import HEADS, LAYERS, NORM_EPSILON, WIDTH, WINDOW, Weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_TOKENS = 1024
"""Tokens of one batch: its largest array (tokens, 1536) is 6 MB."""

ROWS = 128
"""Rows of an activation that are processed together, so that they stay in the cache."""

FEW_TOKENS = 48
"""Up to this many tokens, products use BLOCK inputs at a time, while these are in the cache."""
BLOCK = 128

HEADS_AT_ONCE = 3
"""With WINDOW tokens their attention scores are 800 KB."""
SAFE_SUMS = (1e-26, 1e30)
"""Between these, sums of exp(score) are exact enough: e**-60 to e**69, far from float32's limits."""

_GELU_SLOPE = 0.7978845608028654  # sqrt(2 / pi); Hendrycks & Gimpel 2016, the tanh form
_GELU_CUBIC = 0.044715
_HEAD = WIDTH // HEADS


class _Workspace(threading.local):
    """The arrays of one thread; they grow to its largest batch and are reused."""

    def __init__(self, np: Any) -> None:
        self._np = np
        self._arrays: dict[str, Any] = {}

    def take(self, name: str, *shape: int) -> Any:
        """Return an uninitialised array of this shape."""
        size = prod(shape)
        array = self._arrays.get(name)
        if array is None or array.size < size:
            array = self._arrays[name] = self._np.empty(size, self._np.float32)
        return array[:size].reshape(shape)


class NumpyEngine:
    """The forward pass; safe in several threads, because each has its own arrays."""

    id = "numpy"
    batch_tokens = BATCH_TOKENS

    def __init__(self, weights: Weights) -> None:
        self._np = np = import_numpy()
        self._weights = weights
        self._workspace = _Workspace(np)
        self._ones = np.ones(WINDOW, np.float32)
        self._mean = np.full(WIDTH, 1 / WIDTH, np.float32)

    def forward(self, sequences: Sequence[Sequence[int]]) -> "NDArray[np.float32]":
        """Return unit vectors (n, 384) of n >= 1 sequences of token ids, each of 1 to 256 ids.

        A sequence's vector depends on its companions by rounding only (below 1e-6).
        """
        np, array, take = self._np, self._weights.array, self._workspace.take
        ids = np.concatenate([np.asarray(sequence, np.intp) for sequence in sequences])
        starts = [0]
        for sequence in sequences:
            starts.append(starts[-1] + len(sequence))
        places = np.concatenate([np.arange(len(sequence)) for sequence in sequences])
        x = array("words.values")[ids] * array("words.scale")[ids]
        y = array("positions")[places]
        self._add_and_norm(x, y, None, "embedding_norm")
        for number in range(LAYERS):
            layer = f"layer.{number}"
            joined = take("wide", len(x), 3 * WIDTH)
            self._multiply(x, f"{layer}.attention_in", joined)
            for rows in _slices(len(x), ROWS):
                joined[rows] += array(f"{layer}.attention_in.bias")
            context = take("context", len(x), WIDTH)
            self._attend(joined, starts, context)
            self._multiply(context, f"{layer}.attention_out", y)
            self._add_and_norm(y, x, f"{layer}.attention_out.bias", f"{layer}.attention_norm")
            hidden = take("wide", len(x), 4 * WIDTH)
            self._multiply(y, f"{layer}.expand", hidden)
            self._add_and_gelu(hidden, array(f"{layer}.expand.bias"))
            self._multiply(hidden, f"{layer}.contract", x, factor=0.5)
            self._add_and_norm(x, y, f"{layer}.contract.bias", f"{layer}.output_norm")
        means = np.stack([x[a:b].mean(axis=0) for a, b in pairwise(starts)])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        return means  # type: ignore[no-any-return]

    def _multiply(self, x: Any, name: str, out: Any, *, factor: float = 1) -> None:
        """Multiply x by a matrix and the factor, without the bias."""
        np, values = self._np, self._weights.array(f"{name}.values")
        scale = self._weights.array(f"{name}.scale") * np.float32(factor)
        step = BLOCK if len(x) <= FEW_TOKENS else len(values)
        matrix = self._workspace.take("matrix", step, values.shape[1])
        part = self._workspace.take("part", *out.shape) if step < len(values) else out
        for start in range(0, len(values), step):
            matrix[...] = values[start : start + step]
            if len(x) >= len(values):  # the scale goes to whichever has fewer rows
                matrix *= scale
            np.matmul(x[:, start : start + step], matrix, out=part if start else out)
            if start:
                out += part
        if len(x) < len(values):
            out *= scale

    def _add_and_norm(self, x: Any, skipped: Any, bias: str | None, norm: str) -> None:
        """Add the skipped input and the bias to x, then normalise it, in place."""
        np, array = self._np, self._weights.array
        weight, shift = array(f"{norm}.weight"), array(f"{norm}.bias")
        for rows in _slices(len(x), ROWS):
            part = x[rows]
            part += skipped[rows]
            if bias:
                part += array(bias)
            part -= (part @ self._mean)[:, None]
            variance = np.einsum("ij,ij->i", part, part)[:, None] * np.float32(1 / WIDTH)
            part *= 1 / np.sqrt(variance + np.float32(NORM_EPSILON))
            part *= weight
            part += shift

    def _attend(self, joined: Any, starts: Sequence[int], context: Any) -> None:
        np, take = self._np, self._workspace.take
        least, most = SAFE_SUMS
        parts = joined.reshape(len(joined), 3, HEADS, _HEAD)
        context = context.reshape(len(joined), HEADS, _HEAD)
        for a, b in pairwise(starts):
            at_once = HEADS_AT_ONCE if b - a > WINDOW // 2 else HEADS
            for heads in _slices(HEADS, at_once):
                query, key, value = parts[a:b, :, heads].transpose(1, 2, 0, 3)
                shares = take("shares", len(query), b - a, b - a)
                np.matmul(query, key.transpose(0, 2, 1), out=shares)
                with np.errstate(over="ignore", invalid="ignore"):
                    np.exp(shares, out=shares)
                    sums = shares @ self._ones[: b - a]
                # Softmax subtracts the largest score of a row, so that exp() does not overflow: a slow pass.
                # Real scores are small, and the sums show afterwards whether these were.
                if not (sums.min() > least and sums.max() < most):
                    np.matmul(query, key.transpose(0, 2, 1), out=shares)
                    shares -= shares.max(axis=2, keepdims=True)
                    np.exp(shares, out=shares)
                    sums = shares @ self._ones[: b - a]
                part = context[a:b, heads].transpose(1, 0, 2)
                np.matmul(shares, value, out=part)
                part /= sums[:, :, None]

    def _add_and_gelu(self, hidden: Any, bias: Any) -> None:
        """Add the bias and activate, in place, to twice the result: the next matrix halves it."""
        np = self._np
        for rows in _slices(len(hidden), ROWS):
            x = hidden[rows]
            x += bias
            t = self._workspace.take("part", *x.shape)
            np.multiply(x, x, out=t)
            t *= _GELU_SLOPE * _GELU_CUBIC
            t += _GELU_SLOPE
            t *= x
            np.tanh(t, out=t)
            t += 1
            x *= t


def _slices(length: int, size: int) -> Iterator[slice]:
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))
