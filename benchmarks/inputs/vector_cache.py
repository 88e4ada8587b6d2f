"""Embedders that remember their vectors between runs, because a benchmark embeds the same texts each time."""

import argparse
import hashlib
import re
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import common
import numpy as np
from numpy.typing import NDArray

from ragmem.api.memory import Ragmem
from ragmem.ports import Embedder, LanguageModel, Models, Role

PROBE = "The deployment failed because the certificate of the staging host had expired."


class VectorCache:
    """The vectors of texts under one model, in one SQLite file."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self._embedder = embedder
        folder.mkdir(parents=True, exist_ok=True)
        safe = re.sub(r"[^\w.-]+", "_", embedder.model_id)
        self._connection = sqlite3.connect(
            folder / f"{safe}.db", isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=OFF")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
        )
        # Weights or a graph that were built anew under the same id give other vectors for the same text.
        probe = self._made([PROBE], "document")
        stored = self._stored([self._key(PROBE, "document")])
        if any(float(np.abs(vector - probe[0]).max()) > 0.001 for vector in stored.values()):
            common.tell("the model's vectors have changed: the cache starts anew")
            self._connection.execute("DELETE FROM vectors")
        self._keep([PROBE], probe, "document")

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return the vectors of the texts, made only where they are not stored."""
        keys = [self._key(text, role) for text in texts]
        known = self._stored(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        if missing:
            made = self._made(list(missing.values()), role)
            self._keep(list(missing.values()), made, role)
            known |= dict(zip(missing, made, strict=True))
        if not keys:
            return np.empty((0, self._embedder.dimensions), np.float32)
        return np.stack([known[key] for key in keys])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _made(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        return np.asarray(self._embedder.embed(texts, role=role), np.float32)

    @staticmethod
    def _key(text: str, role: Role) -> bytes:
        return hashlib.blake2b(f"{role}\0{text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()

    def _stored(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found: dict[bytes, NDArray[np.float32]] = {}
        for start in range(0, len(keys), 500):
            part = keys[start : start + 500]
            rows = self._connection.execute(
                f"SELECT key, vector FROM vectors WHERE key IN ({','.join('?' * len(part))})", part
            )
            found |= {key: np.frombuffer(vector, np.float32) for key, vector in rows}
        return found

    def _keep(self, texts: Sequence[str], vectors: NDArray[np.float32], role: Role) -> None:
        rows = [(self._key(text, role), row.tobytes()) for text, row in zip(texts, vectors, strict=True)]
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        self._connection.execute("COMMIT")


class CachedModels:
    """Models whose embedder remembers its vectors between runs; satisfies ports.Models and ports.Embedder."""

    def __init__(self, models: Models, cache: VectorCache) -> None:
        self._models = models
        self._cache = cache
        self.model_id = models.embedder.model_id
        self.dimensions = models.embedder.dimensions

    @property
    def embedder(self) -> Embedder:
        """Itself."""
        return self

    @property
    def language_model(self) -> LanguageModel | None:
        """That of the models."""
        return self._models.language_model

    def embed(self, texts: Sequence[str], *, role: Role) -> NDArray[np.float32]:
        """Return the vectors, from the cache where it has them."""
        return self._cache.embed(texts, role=role)

    def close(self) -> None:
        """Leave the models open: they serve the next set as well."""


def set_arguments(description: str) -> argparse.ArgumentParser:
    """Return the arguments of a benchmark over retrieval sets: which ones, and where their vectors are."""
    parser = common.arguments(description, data="../shared/eval")
    parser.add_argument("--sets", help="only these, separated by commas")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(tempfile.gettempdir()) / "ragmem-vectors",
        metavar="DIR",
        help="where vectors are kept between runs",
    )
    return parser


@contextmanager
def open_with_cache(folder: Path) -> Iterator[tuple[Ragmem, VectorCache]]:
    """Open an empty memory, and the cache of its model's vectors in a folder."""
    with (
        common.temporary_folder("models") as place,
        Ragmem.open(environ=common.environment(place), home=place, cwd=place) as memory,
    ):
        cache = VectorCache(folder, memory.models.embedder)
        try:
            yield memory, cache
        finally:
            cache.close()
