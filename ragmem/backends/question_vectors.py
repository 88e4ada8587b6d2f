"""QuestionCache before a search: long enough for LightRAG, and embedded only once."""

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from ragmem.errors import UsageError
from ragmem.ports import Embedder, Mode

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEPT_QUESTIONS = 32
"""Vectors of questions that are kept, for as many threads that ask at once."""

SHORTEST_QUERY = 3
"""Characters that LightRAG's own retrieval needs at least."""


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
    """The vectors of the last questions, so that a second request about one need not embed it again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()
        self._guard = threading.Lock()

    def embed(self, embedder: Embedder, text: str) -> "NDArray[np.float32]":
        """Return the vector of a question that is new, and keep it; raises BackendError."""
        import numpy as np

        vector = np.asarray(embedder.embed([text], role="query")[0], np.float32)
        with self._guard:
            self._kept[embedder.model_id, text] = vector
            self._kept.move_to_end((embedder.model_id, text))
            if len(self._kept) > KEPT_QUESTIONS:
                self._kept.popitem(last=False)
        return vector

    def vector(self, embedder: Embedder, text: str) -> "NDArray[np.float32]":
        """Return the vector of a question, embedding it where it is not kept; raises BackendError."""
        with self._guard:
            kept = self._kept.get((embedder.model_id, text))
        return self.embed(embedder, text) if kept is None else kept
