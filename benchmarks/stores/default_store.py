"""LightRAG on its default storages, for comparison."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import common
import numpy as np
from numpy.typing import NDArray
from stores.store_systems import PROJECT, Document, documents

from ragmem.backends.fake import FakeEmbedder
from ragmem.backends.lightrag.rows.tokens import PieceTokenizer
from ragmem.backends.lightrag.storages.registration import import_lightrag
from ragmem.storage.sql.batches import batches


class Default:
    """LightRAG on JSON, NanoVectorDB and NetworkX files, which is what it comes with."""

    def __init__(self, folder: Path) -> None:
        lightrag = import_lightrag(folder)
        from lightrag.utils import EmbeddingFunc, Tokenizer

        embedder = FakeEmbedder()
        self._folder = folder

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

    def build(self, size: int) -> None:
        """Insert in large batches: one by one, each would rewrite every file."""
        for batch in batches(documents(size), 500 if size <= 1500 else 1500):
            self._run(self._rag.ainsert_custom_kg(_as_graph(batch)))

    def insert(self, document: Document) -> None:
        """Insert by the cheapest of LightRAG's ways, which keeps no status of the document."""
        self._run(self._rag.ainsert_custom_kg(_as_graph([document])))

    def search(self, text: str) -> int:
        """Search the vectors of the chunks."""
        return len(self._run(self._rag.chunks_vdb.query(text, top_k=10)))

    def native(self, mode: str, text: str, keywords: Sequence[str]) -> int:
        """Ask in one of LightRAG's modes."""
        from lightrag import QueryParam

        words = list(keywords)
        param = QueryParam(
            mode=mode, top_k=10, chunk_top_k=10, enable_rerank=False, ll_keywords=words, hl_keywords=words
        )
        return len(self._run(self._rag.aquery_data(text, param))["data"]["chunks"])

    def written(self) -> int | None:
        """Return the bytes that this process has written."""
        return common.written_bytes()

    def disk(self) -> int:
        """Return the bytes of all files."""
        return common.folder_bytes(self._folder)

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
