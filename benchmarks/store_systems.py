"""The two stores that are compared: ragmem's, and LightRAG on the storages it comes with."""

import asyncio
import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import common
import numpy as np
from numpy.typing import NDArray

from ragmem.backends.fake import FakeEmbedder
from ragmem.backends.lightrag.registration import import_lightrag
from ragmem.backends.lightrag.tokens import PieceTokenizer
from ragmem.domain.model import Draft, Entity, Extraction, Record, Relation, Scope
from ragmem.memory import Ragmem
from ragmem.services.index import BATCH, index
from ragmem.services.judge import Judged, judge
from ragmem.services.query import Question

PROJECT = "bench"
HUBS = 60
"""Entities that many documents name; each document names two of them and four of its own."""

START = datetime(2025, 1, 1, tzinfo=UTC)

_SUBJECTS = "deployment scheduler invoice gateway tokenizer replica backup session webhook planner".split()
_VERBS = "resolved because rewrote measured chose migrated moved reverted cached documented".split()
_OBJECTS = "certificate schema timeout quota mirror index snapshot router parser ledger queue probe".split()


@dataclass(frozen=True, slots=True)
class Document:
    """One document with the graph that it stands for: six entities, five relations."""

    number: int
    text: str
    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]

    @property
    def name(self) -> str:
        """The document's name."""
        return f"note-{self.number}"


def document(number: int) -> Document:
    """Return the document of a number: always the same, and one chunk long."""
    chance = random.Random(number)
    hubs = [f"Hub {place}" for place in chance.sample(range(HUBS), 2)]
    own = [f"{chance.choice(_SUBJECTS).title()} {number}.{place}" for place in range(4)]
    names = [*hubs, *own]
    entities = tuple(
        Entity(name, "concept", f"{name} is a part of the system that note {number} speaks of.")
        for name in names
    )
    pairs = [(names[place], names[place + 1]) for place in range(5)]
    relations = tuple(
        Relation(one, other, chance.choice(_VERBS), f"{one} and {other} meet in note {number}.")
        for one, other in pairs
    )
    sentences = [
        (
            f"We {chance.choice(_VERBS)} the {chance.choice(_OBJECTS)} of {one} with {other}"
            f" because the {chance.choice(_OBJECTS)} needed a config fix."
        )
        for one, other in pairs
    ]
    return Document(number, f"Note {number}: decided. " + " ".join(sentences), entities, relations)


class System(Protocol):
    """A store under measurement."""

    def build(self, documents: Sequence[Document]) -> None:
        """Store many documents in the store's own best batches."""
        ...

    def insert(self, document: Document) -> None:
        """Store one document; durable when this returns."""
        ...

    def naive(self, text: str) -> int:
        """Return how many chunks LightRAG's naive mode finds."""
        ...

    def counts(self) -> dict[str, int]:
        """Return how many chunks and entities there are."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...


class Ours:
    """ragmem in one warm process: catalog and LightRAG on one SQLite file."""

    def __init__(self, folder: Path) -> None:
        environ = common.environment(folder)
        environ |= {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "lightrag"}
        self.memory = Ragmem.open(environ=environ, home=folder, cwd=folder)
        self.memory.prepare()

    def build(self, documents: Sequence[Document]) -> None:
        """Accept and index in ragmem's own batches, as seed does."""
        for start in range(0, len(documents), BATCH):
            self._store(documents[start : start + BATCH])

    def insert(self, document: Document) -> None:
        """Judge, accept and index one document with the graph it stands for."""
        self._store([document])

    def ingest(self, document: Document) -> None:
        """Store one document by the public API, which finds entities and relations itself."""
        (result,) = self.memory.ingest([self._draft(document)])
        assert result.change == "new"
        assert result.judged.memory.state == "indexed", "the document must be worth indexing"

    def naive(self, text: str) -> int:
        """Ask LightRAG itself."""
        found = self.memory.store.native_query(text, "naive", keywords=[], limit=10, project=PROJECT)
        return len(found["data"]["chunks"])

    def query(self, text: str) -> int:
        """Ask as `ragmem query` does."""
        return len(self.memory.query(text, question=Question(text, projects=(PROJECT,))).matches)

    def counts(self) -> dict[str, int]:
        """Return the store's statistics."""
        figures = self.memory.store.statistics()
        return {"chunks": figures["chunks"], "entities": figures["entities"]}

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()

    def _store(self, documents: Sequence[Document]) -> None:
        now = START
        catalog = self.memory.catalog
        judged = [
            judge(self._draft(one), now=now, sizes=self.memory.settings.chunking, rule="off")
            for one in documents
        ]
        with catalog.database.write():
            catalog.memories.accept([(item.memory, item.chunks) for item in judged])
            catalog.log.write("ingest", {"memories": len(judged)}, now=now)
        records = [self._record(item, one) for item, one in zip(judged, documents, strict=True)]
        index(catalog, self.memory.store, records)

    @staticmethod
    def _draft(document: Document) -> Draft:
        when = START + timedelta(minutes=document.number)
        return Draft("bench", document.name, document.text, event_time=when, scope=Scope(PROJECT))

    @staticmethod
    def _record(item: Judged, document: Document) -> Record:
        (chunk,) = item.chunks
        return Record(
            item.memory, item.chunks, (Extraction(chunk.id, document.entities, document.relations),)
        )


class Default:
    """LightRAG on JSON, NanoVectorDB and NetworkX files, which is what it comes with."""

    def __init__(self, folder: Path) -> None:
        lightrag = import_lightrag(folder)
        from lightrag.utils import EmbeddingFunc, Tokenizer

        embedder = FakeEmbedder()

        async def embed(texts: list[str], **_: Any) -> NDArray[np.float32]:
            return embedder.embed(texts, role="document")

        async def complete(*_: Any, **__: Any) -> str:
            raise AssertionError("no language model is part of this benchmark")

        self._loop = asyncio.new_event_loop()
        self._rag = lightrag.LightRAG(
            working_dir=str(folder),
            workspace=PROJECT,
            kv_storage="JsonKVStorage",
            vector_storage="NanoVectorDBStorage",
            graph_storage="NetworkXStorage",
            doc_status_storage="JsonDocStatusStorage",
            # Its own tokenizer downloads a vocabulary.
            tokenizer=Tokenizer("pieces", PieceTokenizer()),
            embedding_func=EmbeddingFunc(
                embedding_dim=embedder.dimensions, func=embed, model_name=embedder.model_id
            ),
            llm_model_func=complete,
        )
        self._run(self._rag.initialize_storages())

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    def build(self, documents: Sequence[Document]) -> None:
        """Insert in large batches: one by one, each would rewrite every file."""
        size = 500 if len(documents) <= 1500 else 1500
        for start in range(0, len(documents), size):
            self._run(self._rag.ainsert_custom_kg(_as_graph(documents[start : start + size])))

    def insert(self, document: Document) -> None:
        """Insert by the cheapest of LightRAG's ways, which keeps no status of the document."""
        self._run(self._rag.ainsert_custom_kg(_as_graph([document])))

    def naive(self, text: str) -> int:
        """Ask for chunks only."""
        from lightrag import QueryParam

        param = QueryParam(mode="naive", top_k=10, chunk_top_k=10, enable_rerank=False)
        return len(self._run(self._rag.aquery_data(text, param))["data"]["chunks"])

    def counts(self) -> dict[str, int]:
        """Count chunks and nodes."""
        labels = self._run(self._rag.chunk_entity_relation_graph.get_all_labels())
        storage = self._run(self._rag.chunks_vdb.client_storage)
        return {"chunks": len(storage["data"]), "entities": len(labels)}

    def close(self) -> None:
        """Write and close all storages."""
        self._run(self._rag.finalize_storages())
        self._run(_cancel_workers())
        self._loop.close()


async def _cancel_workers() -> None:
    """End the tasks that LightRAG's queues leave behind, which complain when their loop is closed."""
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _as_graph(documents: Sequence[Document]) -> dict[str, list[dict[str, Any]]]:
    """Return the documents as LightRAG's custom knowledge graph."""
    graph: dict[str, list[dict[str, Any]]] = {"chunks": [], "entities": [], "relationships": []}
    for one in documents:
        origin = {"source_id": one.name, "file_path": one.name}
        graph["chunks"].append({"content": one.text, **origin})
        graph["entities"] += [
            {
                "entity_name": entity.name,
                "entity_type": entity.type,
                "description": entity.description,
                **origin,
            }
            for entity in one.entities
        ]
        graph["relationships"] += [
            {
                "src_id": relation.source,
                "tgt_id": relation.target,
                "description": relation.description,
                "keywords": relation.keywords,
                "weight": relation.weight,
                **origin,
            }
            for relation in one.relations
        ]
    return graph


def questions(count: int, size: int) -> list[str]:
    """Return questions about documents that are stored."""
    chance = random.Random(size)
    return [
        " ".join(document(chance.randrange(size)).text.split()[3:15]) + f" {place}" for place in range(count)
    ]


def fingerprint(documents: Sequence[Document]) -> str:
    """Return a hash of the texts, to see that both stores were given the same."""
    return hashlib.sha256("\0".join(one.text for one in documents).encode()).hexdigest()[:12]


SYSTEMS = {"ours": Ours, "default": Default}
