"""Models and a store for tests: deterministic, fast, and bound by the same contracts as the real ones."""

import hashlib
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ragmem.backends.fake.language_model import FakeLanguageModel
from ragmem.backends.question_vectors import validate_query
from ragmem.backends.simple_store import Entry, SimpleStore, entry_from_json
from ragmem.errors import BackendError
from ragmem.ports import Call, Embedder, LanguageModel, Meter, Mode, Models, NativeModes, Reranker, Role
from ragmem.ports.graph_document import walk_graph
from ragmem.storage.sql.database import Database
from ragmem.storage.sql.migrations import table_exists

_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS fake_entries"
    " (memory_id TEXT PRIMARY KEY, position INTEGER NOT NULL, entry TEXT NOT NULL)"
)
_ADD = (
    "INSERT INTO fake_entries (memory_id, position, entry)"
    " SELECT CAST(? AS TEXT), coalesce(max(position), 0) + 1, CAST(? AS TEXT) FROM fake_entries"
)

DIMENSIONS = 384
MODEL_ID = "fake-hash"

SLOW = 0.05
"""Seconds of one call of a slow embedder."""

_WORD = re.compile(r"\w+")
_STEM = 4
"""Leading characters that make two words related: "deploy", "deployment"."""

SLOW_S = 1.0
"""Seconds until a slow one fails."""

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


class FakeStore(SimpleStore):
    """Entries as JSON in a table of the database."""

    name = "fake"

    def __init__(self, models: Models, database: Database) -> None:
        super().__init__(models)
        self._database = database

    @property
    def native(self) -> NativeModes:
        """The store itself: it imitates LightRAG's modes."""
        return self

    def write(
        self, entries: Sequence[Entry], *, remove: Sequence[str], finish: Callable[[], None] | None
    ) -> None:
        """Replace entries in one transaction."""
        with self._database.write() as connection:
            connection.execute(_SCHEMA)
            connection.executemany("DELETE FROM fake_entries WHERE memory_id = ?", [(key,) for key in remove])
            connection.executemany(_ADD, [(entry.memory_id, entry.to_json()) for entry in entries])
            if finish is not None:
                finish()

    def entries(self) -> Iterable[Entry]:
        """Return all entries in the order of their writing."""
        if not self._database.exists():
            return []
        with self._database.read() as connection:
            if not table_exists(self._database, connection, "fake_entries"):
                return []
            rows = connection.execute("SELECT entry FROM fake_entries ORDER BY position").fetchall()
        return [entry_from_json(text) for (text,) in rows]

    def native_query(
        self,
        query: str,
        mode: Mode,
        *,
        keywords: Sequence[str],
        themes: Sequence[str] = (),
        limit: int,
        project: str,
    ) -> Mapping[str, Any]:
        """Return a document of LightRAG's form from the plain search."""
        question = " ".join([validate_query(query, mode), *keywords, *themes])
        chunks = [
            {"chunk_id": hit.chunk_id, "file_path": f"m-{hit.memory_id}", "reference_id": str(hit.rank)}
            for hit in self.search(question, limit=limit, projects=[project])
        ]
        return {
            "status": "success" if chunks else "failure",
            "message": "",
            "data": {"entities": [], "relationships": [], "chunks": chunks, "references": []},
            "metadata": {"query_mode": mode},
        }

    def subgraph(
        self, label: str, *, depth: int = 2, limit: int = 200, project: str | None = None
    ) -> Mapping[str, Any]:
        """Return the graph document around a label."""
        return walk_graph(self, label, depth=depth, limit=limit, project=project)


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
