"""Voyage AI: embeddings that tell questions from texts, and rerankers (there is no language model).

Shapes and limits: docs.voyageai.com/reference/embeddings-api and reranker-api; 1,000 texts a request, and
120,000 tokens for the models that take the fewest.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.provider import Known, Provider, Request
from ragmem.backends.providers.rerank import Rerank
from ragmem.backends.providers.vectors import by_index
from ragmem.ports import Role

_CURRENT = (
    "voyage-4-large", "voyage-4", "voyage-4-lite", "voyage-3-large", "voyage-3.5", "voyage-3.5-lite",
    "voyage-3", "voyage-code-3", "voyage-finance-2", "voyage-multilingual-2",
)  # fmt: skip


class _Embeddings:
    """POST /embeddings."""

    texts_per_request = 256
    tokens_per_request = 100_000

    def request(
        self, model: str, texts: Sequence[str], *, role: Role, dimensions: int, refused: frozenset[str]
    ) -> Request:
        """Return the request; the server puts its own words before a question and before a text."""
        body: dict[str, Any] = {"model": model, "input": list(texts), "input_type": role, "truncation": True}
        optional = []
        if "base64" not in refused:
            body["encoding_format"] = "base64"
            optional.append("base64")
        if dimensions and "dimensions" not in refused:
            body["output_dimension"] = dimensions
            optional.append("dimensions")
        return Request("/embeddings", body, optional)

    def rows(self, answer: Any, count: int) -> Sequence[Any]:
        """Return the vectors in the order of their `index`."""
        return by_index(answer["data"], count)

    def tokens(self, answer: Any) -> int | None:
        """Return the tokens of the texts."""
        return (answer.get("usage") or {}).get("total_tokens")


PROVIDER = Provider(
    name="voyage",
    url="https://api.voyageai.com/v1",
    key_variables=("VOYAGE_API_KEY",),
    embeddings=_Embeddings(),
    rerank=Rerank(list_name="data"),
    model="voyage-3.5",
    known={
        **dict.fromkeys(_CURRENT, Known(1024, 32_000)),
        "voyage-3-lite": Known(512, 32_000),
        "voyage-law-2": Known(1024, 16_000),
    },
)


def open_models(options: Mapping[str, Any]) -> ProviderModels:
    """Return Voyage's models; raises ConfigError for an option of another type."""
    return ProviderModels(PROVIDER, options)
