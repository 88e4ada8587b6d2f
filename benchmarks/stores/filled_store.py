"""Fill a store with many texts quickly: with given vectors, and without entities."""

import itertools
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray
from retrieval import put_texts

from ragmem import backends
from ragmem.api.memory import Ragmem
from ragmem.domain.model import USER, Draft, Scope
from ragmem.domain.secrets.redaction import DEFAULT
from ragmem.services.ingestion.classify import classify_draft
from ragmem.services.ingestion.index import BATCH
from ragmem.storage.sql.batches import batches

REAL_VECTORS = 3_000
"""Chunks that are embedded; the vectors of the others are mixtures of two of these."""

CHARACTERS = 800
"""Of a made text at least; texts are made of whole sentences."""

SEED = 5
START = datetime(2025, 1, 1, tzinfo=UTC)

SENTENCE = re.compile(r"(?<=[.!?\n])\s+")


class GivenVectors:
    """Models whose embedder gives each new document the next of some vectors, and knows the questions'."""

    language_model = None

    def __init__(
        self, model: str, documents: NDArray[np.float32], asked: Mapping[str, NDArray[np.float32]]
    ) -> None:
        self.model_id = model
        self.dimensions = documents.shape[1]
        self._documents = documents
        self._asked = asked
        self._places: dict[str, int] = defaultdict(itertools.count().__next__)

    @property
    def embedder(self) -> "GivenVectors":
        """Itself."""
        return self

    def embed(self, texts: Sequence[str], *, role: str) -> NDArray[np.float32]:
        """Return the vectors of the texts."""
        if role == "query":
            # A phrase is asked without its quotes.
            first = next(iter(self._asked.values()))
            return np.stack([self._asked.get(text, first) for text in texts])
        places = np.array([self._places[text] for text in texts], np.intp)
        return self._documents[places % len(self._documents)]

    def check(self) -> list[str]:
        """Return nothing: there are no files."""
        return []

    def close(self) -> None:
        """Hold nothing that must be freed."""


def texts(pool: Sequence[str]) -> Iterator[str]:
    """Yield the texts as they are, then without end texts of their sentences, which nobody wrote so."""
    chance = random.Random(SEED)
    yield from pool
    while True:
        made: list[str] = []
        while sum(map(len, made)) < CHARACTERS:
            sentences = SENTENCE.split(chance.choice(pool))
            made += chance.sample(sentences, min(3, len(sentences)))
        yield " ".join(made)


def fill(memory: Ragmem, models: GivenVectors, pool: Sequence[str], size: int) -> None:
    """Store texts until there are so many chunks."""
    memory.prepare()
    settings, catalog = memory.settings, memory.catalog
    store = backends.open_store(
        settings.store.backend, settings.store.options, models, database=catalog.database
    )
    chunks = 0
    for batch in batches(enumerate(texts(pool)), BATCH):
        judged = [
            classify_draft(
                Draft(
                    "bench",
                    f"/notes/area-{number % 50}/note-{number}.md",
                    text,
                    event_time=START + timedelta(minutes=number),
                    scope=Scope(USER),
                ),
                now=START,
                sizes=settings.chunking,
                rule="off",
                redactor=DEFAULT,
            )
            for number, text in batch
        ]
        catalog.memories.accept([(item.memory, item.chunks) for item in judged])
        put_texts(catalog, store, judged)
        chunks += sum(len(item.chunks) for item in judged)
        if chunks >= size:
            break
    store.close()
