"""Models and a store for tests: deterministic, fast, and bound by the same contracts as the real ones."""

from collections.abc import Mapping

from ragmem.backends.fake.embedder import DIMENSIONS, MODEL_ID, FakeEmbedder, OtherFakeEmbedder
from ragmem.backends.fake.language_model import FakeLanguageModel
from ragmem.backends.fake.reranker import FakeReranker
from ragmem.backends.fake.store import FakeStore
from ragmem.ports import Embedder, LanguageModel, Models, Reranker
from ragmem.storage.sql.database import Database

__all__ = [
    "DIMENSIONS",
    "MODEL_ID",
    "FakeEmbedder",
    "FakeLanguageModel",
    "FakeModels",
    "FakeReranker",
    "FakeStore",
    "open_models",
    "open_store",
]


class FakeModels:
    """The fake embedder, and perhaps a language model and a reranker."""

    def __init__(
        self,
        language_model: LanguageModel | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
    ) -> None:
        self._embedder = embedder or FakeEmbedder()
        self.reranker = reranker
        self._language_model = language_model

    @property
    def embedder(self) -> Embedder:
        """The fake embedder."""
        return self._embedder

    @property
    def language_model(self) -> LanguageModel | None:
        """The given language model, or None."""
        return self._language_model

    def check(self) -> list[str]:
        """Return nothing: there are no files."""
        return []

    def close(self) -> None:
        """Do nothing: nothing was loaded."""


def open_models(options: Mapping[str, object]) -> FakeModels:
    """Return the fake models.

    The option `language_model` is its manner: "valid", "garbage" or "down"; without it there is none.
    `reranker` is "valid", "down" or "slow". `model` names another embedder than the usual one, with these
    `dimensions`; `url` is its manner: "down" or "slow".
    """
    manner = options.get("language_model")
    chosen = [options.get(name) for name in ("model", "dimensions", "url")]
    return FakeModels(
        FakeLanguageModel(str(manner), options) if manner else None,
        OtherFakeEmbedder(str(chosen[0] or ""), int(str(chosen[1] or 0)), str(chosen[2] or ""))
        if any(chosen)
        else None,
        FakeReranker(str(options["reranker"]), options) if options.get("reranker") else None,
    )


def open_store(options: Mapping[str, object], models: Models, *, database: Database) -> FakeStore:
    """Return the fake store; there are no options."""
    del options
    return FakeStore(models, database)
