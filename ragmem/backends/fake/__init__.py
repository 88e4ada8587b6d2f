"""Models and a store for tests: deterministic, fast, and bound by the same contracts as the real ones."""

from collections.abc import Mapping

from ragmem.backends.fake.embedder import DIMENSIONS, MODEL_ID, FakeEmbedder
from ragmem.backends.fake.language_model import FakeLanguageModel
from ragmem.backends.fake.store import FakeStore
from ragmem.catalog.database import Database
from ragmem.ports import Embedder, LanguageModel, Models

__all__ = [
    "DIMENSIONS",
    "MODEL_ID",
    "FakeEmbedder",
    "FakeLanguageModel",
    "FakeModels",
    "FakeStore",
    "open_models",
    "open_store",
]


class FakeModels:
    """The fake embedder, and a fake language model where one is given."""

    def __init__(self, language_model: LanguageModel | None = None) -> None:
        self._embedder = FakeEmbedder()
        self._language_model = language_model

    @property
    def embedder(self) -> Embedder:
        """The fake embedder."""
        return self._embedder

    @property
    def language_model(self) -> LanguageModel | None:
        """The language model that was given, or None: nothing answers."""
        return self._language_model

    def check(self) -> list[str]:
        """Return nothing: there are no files."""
        return []

    def close(self) -> None:
        """Do nothing: nothing was loaded."""


def open_models(options: Mapping[str, object]) -> FakeModels:
    """Return the fake models.

    The option `language_model` is how one answers: "valid", "garbage" or "down"; left out, there is none.
    """
    manner = options.get("language_model")
    return FakeModels(FakeLanguageModel(str(manner), options) if manner else None)


def open_store(options: Mapping[str, object], models: Models, *, database: Database) -> FakeStore:
    """Return the fake store; there are no options."""
    del options
    return FakeStore(models, database)
