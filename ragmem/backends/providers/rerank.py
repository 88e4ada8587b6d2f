"""The reranker of a provider: one request scores all texts beside the question.

Shapes: docs.cohere.com/reference/rerank and api.jina.ai (results), which vLLM, llama.cpp and others copy;
docs.voyageai.com/reference/reranker-api (data).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.providers.provider import Provider, Request, RerankProtocol
from ragmem.backends.providers.settings import Settings
from ragmem.backends.providers.transport import Account, Transport, input_tokens
from ragmem.backends.providers.vectors import clean_text

WINDOW = 1_000
"""Most tokens of a text that are sent; a chunk has a few hundred."""


class Rerank:
    """POST /rerank."""

    def __init__(self, *, list_name: str = "results") -> None:
        """`list_name` is the field of the answer that lists the scores."""
        self._list = list_name

    def request(self, model: str, query: str, texts: Sequence[str]) -> Request:
        """Return the request; without a limit, the scores of all texts come back."""
        return Request("/rerank", {"model": model, "query": query, "documents": list(texts)})

    def scores(self, answer: Any, count: int) -> Sequence[float]:
        """Return the scores in the order of the texts; raises ValueError where some are missing."""
        found = {row["index"]: float(row["relevance_score"]) for row in answer[self._list]}
        if set(found) != set(range(count)):
            raise ValueError(f"{len(found)} scores for {count} texts")
        if not all(map(math.isfinite, found.values())):
            raise ValueError("a score of NaN or infinity")
        return [found[place] for place in range(count)]

    def tokens(self, answer: Any) -> int | None:
        """Return the tokens of question and texts, or None where the server does not count them."""
        usage = answer.get("usage") or (answer.get("meta") or {}).get("tokens") or {}
        return usage.get("total_tokens", usage.get("input_tokens"))


class ProviderReranker:
    """Scores from a provider; satisfies ports.Reranker, and is safe to use from several threads."""

    def __init__(
        self, provider: Provider, protocol: RerankProtocol, settings: Settings, transport: Transport
    ) -> None:
        self._provider = provider
        self._protocol = protocol
        self._settings = settings
        self._transport = transport

    @property
    def model_id(self) -> str:
        """Provider and model."""
        return f"{self._provider.name}/{self._settings.model}"

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return a score for each text (n,), higher is better; without texts nothing is sent."""
        if not texts:
            return np.zeros(0, np.float32)
        asked, *sent = (
            clean_text(self._settings.redactor.redact(text)[0], prefix="", window=WINDOW)
            for text in (query, *texts)
        )
        request = self._protocol.request(self._settings.model, asked, sent)

        estimate = (sum(map(len, sent)) + len(asked) * len(sent)) // 4 + len(sent)
        answer = self._transport.post(
            request.path,
            request.body,
            policy=self._transport.retry_policy("rerank"),
            account=Account(self.model_id, "rerank", estimate, input_tokens(self._protocol)),
        )
        with self._transport.parsing():
            return np.asarray(self._protocol.scores(answer, len(sent)), np.float32)
