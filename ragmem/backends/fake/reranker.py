"""A reranker that scores by common words: quickly, slowly or not at all."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ragmem.errors import BackendError
from ragmem.ports import Call, Meter

SLOW_S = 1.0
"""Seconds until a slow one fails."""


class FakeReranker:
    """Scores "valid", fails at once when "down", and after SLOW_S when "slow"."""

    def __init__(self, manner: str, options: Mapping[str, object] | None = None) -> None:
        """Raise BackendError when the manner is not one of the three."""
        if manner not in {"valid", "down", "slow"}:
            raise BackendError(f'the fake backend has no reranker "{manner}"', hint="use valid, down or slow")
        self._manner = manner
        self._meter = cast("Meter | None", (options or {}).get("meter"))
        self.model_id = f"fake-{manner}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the share of the question's words in each text."""
        if self._manner == "slow":
            time.sleep(SLOW_S)
        down = self._manner != "valid"
        if self._meter is not None:
            self._meter.record(Call("fake", self.model_id, "rerank", error="down" if down else ""))
        if down:
            raise BackendError("the fake reranker is down", hint="set model = valid")
        words = set(re.findall(r"\w+", query.lower()))
        found = [words & set(re.findall(r"\w+", text.lower())) for text in texts]
        return np.array([len(common) / max(1, len(words)) for common in found], np.float32)
