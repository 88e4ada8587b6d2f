"""An embedder that counts words."""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ragmem.ports import Role

DIMENSIONS = 384
MODEL_ID = "fake-hash"

_WORD = re.compile(r"\w+")
_STEM = 4
"""Leading characters that make two words related: "deploy", "deployment"."""


@lru_cache(maxsize=65536)
def _direction(word: str) -> NDArray[np.float32]:
    """Return a vector of 384 signs that stands for a word; those of two words are nearly orthogonal."""
    bits = np.unpackbits(np.frombuffer(hashlib.blake2b(word.encode(), digest_size=48).digest(), np.uint8))
    return bits.astype(np.float32) * 2 - 1


class FakeEmbedder:
    """Sums the directions of the words: texts that share words, or beginnings of words, are near."""

    model_id = MODEL_ID
    dimensions = DIMENSIONS

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return an array (len(texts), 384) of unit length rows; the role makes no difference."""
        del role
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for number, text in enumerate(texts):
            for word in _WORD.findall(text.lower()) or [text]:
                rows[number] += _direction(word) + 0.5 * _direction(f"{word[:_STEM]}~")
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        # Directions may cancel out; that text lies in the direction of nothing in particular.
        rows[norms[:, 0] < 1e-6, 0] = 1.0
        unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit
