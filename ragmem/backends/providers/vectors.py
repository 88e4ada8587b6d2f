"""Unit vectors from the answers of providers, and texts in the form that all providers take."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

EMPTY = "."
"""Replaces an empty text: several providers refuse empty input."""

CHARACTERS_PER_TOKEN = 4
"""In English prose; other text has fewer, and a server that counts more says so."""


def clean_text(text: str, *, prefix: str, window: int) -> str:
    """Return a text that can be sent: not empty, not longer than the model reads, and valid Unicode."""
    said = text if text.strip() else EMPTY
    whole = f"{prefix}{said}".encode("utf-8", "replace").decode()
    return whole[: window * CHARACTERS_PER_TOKEN] if window else whole


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens of a text, rather too high: a batch must stay below the limit."""
    length = len(text.encode("utf-8", "replace"))
    return length // (3 if text.isascii() else 2) + 1


def batches(texts: Sequence[str], *, most: int, tokens: int) -> Iterator[list[str]]:
    """Split the texts, in order, into batches within both limits; a text that is too long goes alone."""
    batch: list[str] = []
    total = 0
    for text in texts:
        size = estimate_tokens(text)
        if batch and (len(batch) >= most or total + size > tokens):
            yield batch
            batch, total = [], 0
        batch.append(text)
        total += size
    if batch:
        yield batch


def order_by_index(rows: Sequence[Any], count: int) -> list[Any]:
    """Return each row's `embedding` in the order of `index`; raises ValueError where some are missing."""
    ordered: dict[int, Any] = {row.get("index", place): row["embedding"] for place, row in enumerate(rows)}
    if len(rows) != count:
        raise ValueError(f"{len(rows)} vectors for {count} texts")
    if set(ordered) != set(range(count)):
        raise ValueError("the indexes of the vectors are not those of the texts")
    return [ordered[place] for place in range(count)]


def parse_vector(row: Any) -> NDArray[np.float32]:
    """Return one vector that was sent as numbers or as base64 of little-endian float32.

    Raises ValueError or TypeError where it is neither.
    """
    if isinstance(row, str):
        return np.frombuffer(base64.b64decode(row, validate=True), "<f4").astype(np.float32)
    vector = np.asarray(row, np.float32)
    if vector.ndim != 1:
        raise ValueError(f"a vector of {vector.ndim} axes")
    return vector


def unit_rows(rows: Sequence[Any], count: int) -> NDArray[np.float32]:
    """Return the rows with length one; raises ValueError where they are not vectors of one length.

    Raises FloatingPointError where the model could not compute one.
    """
    vectors = [parse_vector(row) for row in rows]
    if len(vectors) != count:
        raise ValueError(f"{len(vectors)} vectors for {count} texts")
    lengths = {len(vector) for vector in vectors}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(f"vectors of {' and '.join(map(str, sorted(lengths)))} numbers in one answer")
    array = np.stack(vectors)
    # In 64 bits, because squares of large numbers do not fit into 32.
    norms = np.linalg.norm(array.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(norms).all() or (norms == 0).any():
        raise FloatingPointError("a vector of zeros, or with NaN or infinity")
    unit: NDArray[np.float32] = (array / norms).astype(np.float32)
    return unit
