"""LightRAG on its default storages, without a language model: chunks and their vectors."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
from lightrag import LightRAG, QueryParam
from lightrag.utils import EmbeddingFunc, Tokenizer
from peer_embeddings import embed
from peer_protocol import notes, serve

PIECE = 4
DIMENSIONS = 384


class Pieces:
    """Four characters a token; its own tokenizer downloads a vocabulary, and one must be lossless."""

    def encode(self, content: str) -> list[int]:
        """Return one number per piece."""
        pieces = [content[start : start + PIECE] for start in range(0, len(content), PIECE)]
        return [int.from_bytes(b"\x01" + piece.encode("utf-8", "surrogatepass"), "big") for piece in pieces]

    def decode(self, tokens: list[int]) -> str:
        """Return the text of the tokens."""
        return "".join(
            token.to_bytes((token.bit_length() + 7) // 8, "big")[1:].decode("utf-8", "surrogatepass")
            for token in tokens
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "Pieces":
        return self


async def vectors(texts: list[str], **_: Any) -> np.ndarray:
    return await asyncio.to_thread(embed, texts)


async def nothing_found(*_: Any, **__: Any) -> str:
    """Stand for the language model that extracts entities: it finds none."""
    return "<|COMPLETE|>"


class Default:
    """LightRAG as its documentation opens it."""

    def __init__(self, folder: Path) -> None:
        self._loop = asyncio.new_event_loop()
        self._rag = LightRAG(
            working_dir=str(folder),
            tokenizer=Tokenizer("pieces", Pieces()),
            embedding_func=EmbeddingFunc(embedding_dim=DIMENSIONS, func=vectors, model_name="given"),
            llm_model_func=nothing_found,
            entity_extract_max_gleaning=0,
        )
        self._run(self._rag.initialize_storages())

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    def ingest(self, folder: Path) -> None:
        """Hand all files over at once; its pipeline works through them."""
        names, texts = zip(*notes(folder), strict=True)
        self._run(self._rag.ainsert(list(texts), file_paths=list(names)))

    def insert(self, name: str, text: str) -> None:
        """Hand over one text."""
        self._run(self._rag.ainsert([text], file_paths=[name]))

    def ask(self, text: str, limit: int) -> list[str]:
        """Search by vector: its other modes need entities, which need a language model."""
        wanted = QueryParam(mode="naive", chunk_top_k=limit, enable_rerank=False)
        found = self._run(self._rag.aquery_data(text, wanted))
        return [row["file_path"] for row in found["data"].get("chunks", [])]

    def close(self) -> None:
        """Write and close all storages."""
        self._run(self._rag.finalize_storages())


if __name__ == "__main__":
    serve(Default)
