"""An embedder that counts words."""

import hashlib
import re
import time
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ragmem.errors import BackendError
from ragmem.ports import Role

DIMENSIONS = 384
MODEL_ID = "fake-hash"

SLOW = 0.05
"""Seconds of one call of a slow embedder."""

_WORD = re.compile(r"\w+")
_STEM = 4
"""Leading characters that make two words related: "deploy", "deployment"."""


@lru_cache(maxsize=65536)
def _direction(word: str) -> NDArray[np.float32]:
    """Return a vector of 384 signs for a word; those of two words are nearly orthogonal."""
    bits = np.unpackbits(
        np.frombuffer(
            hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=48).digest(), np.uint8
        )
    )
    return bits.astype(np.float32) * 2 - 1


class FakeEmbedder:
    """Sums the directions of the words: texts that share words, or prefixes of words, are near."""

    model_id = MODEL_ID
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return an array (len(texts), dimensions) of unit length rows; the role makes no difference."""
        del role
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for number, text in enumerate(texts):
            for word in _WORD.findall(text.lower()) or [text]:
                rows[number] += _direction(word) + 0.5 * _direction(f"{word[:_STEM]}~")
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        # If the directions cancel out, the text gets an arbitrary direction.
        rows[norms[:, 0] < 1e-6, 0] = 1.0
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit


class OtherFakeEmbedder(FakeEmbedder):
    """A fake model of another name, with different vectors: rotated and shorter.

    The manner "down" fails each time, like an unreachable provider; "slow" takes a while.
    """

    def __init__(self, model: str, dimensions: int, manner: str) -> None:
        self.model_id = f"{MODEL_ID}-{model}" if model else MODEL_ID
        self.dimensions = dimensions or DIMENSIONS
        self._turn = sum(model.encode())
        self._manner = manner

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return an array (len(texts), dimensions) of unit length rows; raises BackendError when down."""
        if self._manner == "down":
            raise BackendError(f'"{self.model_id}" is down', hint="start it")
        if self._manner == "slow":
            time.sleep(SLOW)
        rows = np.roll(super().embed(texts, role=role), self._turn, axis=1)[:, : self.dimensions]
        unit: NDArray[np.float32] = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
        return unit
