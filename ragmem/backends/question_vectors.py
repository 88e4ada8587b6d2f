"""Questions before a search: long enough for LightRAG, and embedded only once."""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from ragmem.errors import UsageError
from ragmem.ports import Embedder, Mode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CACHED_QUESTIONS = 32
"""Vectors in the cache, for as many threads that ask at once."""

SHORTEST_QUERY = 3
"""Fewest characters for LightRAG's own retrieval."""


def validate_query(query: str, mode: Mode) -> str:
    """Return the query without the space around it; raises UsageError where it is too short for LightRAG."""
    text = query.strip()
    if len(text) < SHORTEST_QUERY:
        raise UsageError(
            f'the query "{text}" is too short for the mode {mode}',
            hint=f"use at least {SHORTEST_QUERY} characters, or leave out the mode",
        )
    return text


class QuestionCache:
    """A cache of the vectors of the last questions."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()
        self._guard = threading.Lock()

    def embed(self, embedder: Embedder, text: str) -> "NDArray[np.float32]":
        """Embed a question and cache its vector; raises BackendError."""
        import numpy as np

        vector = np.asarray(embedder.embed([text], role="query")[0], np.float32)
        with self._guard:
            self._vectors[embedder.model_id, text] = vector
            self._vectors.move_to_end((embedder.model_id, text))
            if len(self._vectors) > CACHED_QUESTIONS:
                self._vectors.popitem(last=False)
        return vector

    def vector(self, embedder: Embedder, text: str) -> "NDArray[np.float32]":
        """Return the vector of a question from the cache, else embed it; raises BackendError."""
        with self._guard:
            cached = self._vectors.get((embedder.model_id, text))
        return self.embed(embedder, text) if cached is None else cached
