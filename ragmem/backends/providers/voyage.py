"""Voyage AI: embeddings that distinguish questions from texts, and rerankers (there is no language model).

Shapes and limits: docs.voyageai.com/reference/embeddings-api and reranker-api; 1,000 texts a request, and
120,000 tokens for the models that take the fewest.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ragmem.backends.providers.models import ProviderModels
from ragmem.backends.providers.openai import OpenAIEmbeddings
from ragmem.backends.providers.provider import KnownModel, Provider, Request
from ragmem.backends.providers.rerank import Rerank
from ragmem.ports import Role

_CURRENT = (
    "voyage-4-large", "voyage-4", "voyage-4-lite", "voyage-3-large", "voyage-3.5", "voyage-3.5-lite",
    "voyage-3", "voyage-code-3", "voyage-finance-2", "voyage-multilingual-2",
)  # fmt: skip


class _Embeddings(OpenAIEmbeddings):
    """POST /embeddings, with the role of the texts."""

    def request(
        self, model: str, texts: Sequence[str], *, role: Role, dimensions: int, refused: frozenset[str]
    ) -> Request:
        """Return the request; the server puts its own words before a question and before a text."""
        request = super().request(model, texts, role=role, dimensions=dimensions, refused=refused)
        body = {**request.body, "input_type": role, "truncation": True}
        if "dimensions" in body:
            body["output_dimension"] = body.pop("dimensions")
        return replace(request, body=body)


PROVIDER = Provider(
    name="voyage",
    url="https://api.voyageai.com/v1",
    key_variables=("VOYAGE_API_KEY",),
    embeddings=_Embeddings(tokens=100_000),
    rerank=Rerank(list_name="data"),
    model="voyage-3.5",
    known_models={
        **dict.fromkeys(_CURRENT, KnownModel(1024, 32_000)),
        "voyage-3-lite": KnownModel(512, 32_000),
        "voyage-law-2": KnownModel(1024, 16_000),
    },
)

open_models = partial(ProviderModels, PROVIDER)
