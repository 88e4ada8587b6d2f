"""chromadb as it is documented: a persistent client, one collection, cosine; vectors of the bundled model."""

from pathlib import Path

import chromadb
from chromadb.config import Settings
from peer_embeddings import embed
from peer_protocol import notes, serve, windows

BATCH = 256


class Given(chromadb.EmbeddingFunction):
    """The bundled model."""

    def __init__(self) -> None:
        pass

    def __call__(self, input: chromadb.Documents) -> chromadb.Embeddings:  # noqa: A002
        """Return a vector for each document."""
        return list(embed(input))

    @staticmethod
    def name() -> str:
        """Return the name that the collection remembers."""
        return "given"

    def get_config(self) -> dict[str, str]:
        """Return nothing: there is nothing to remember."""
        return {}

    @staticmethod
    def build_from_config(config: dict[str, str]) -> "Given":  # noqa: ARG004
        """Return the function that the collection remembers."""
        return Given()


class Chroma:
    """A collection of windows; a window's metadata names its file."""

    def __init__(self, folder: Path) -> None:
        settings = Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(folder / "chroma"), settings=settings)
        self._collection = client.get_or_create_collection(
            "notes", embedding_function=Given(), metadata={"hnsw:space": "cosine"}
        )

    def ingest(self, folder: Path) -> None:
        """Add the windows of all files in batches."""
        pieces = [(name, piece) for name, text in notes(folder) for piece in windows(text)]
        for start in range(0, len(pieces), BATCH):
            self._add(pieces[start : start + BATCH], start)

    def insert(self, name: str, text: str) -> None:
        """Add the windows of one text."""
        self._add([(name, piece) for piece in windows(text)], 0)

    def ask(self, text: str, limit: int) -> list[str]:
        """Query by vector, which is its only way."""
        found = self._collection.query(query_texts=[text], n_results=limit, include=["metadatas"])
        return [row["name"] for row in found["metadatas"][0]]

    def close(self) -> None:
        """Leave it to the end of the process, as its documentation does."""

    def _add(self, pieces: list[tuple[str, str]], start: int) -> None:
        self._collection.add(
            ids=[f"{name}#{start + place}" for place, (name, _) in enumerate(pieces)],
            documents=[piece for _, piece in pieces],
            metadatas=[{"name": name} for name, _ in pieces],
        )


if __name__ == "__main__":
    serve(Chroma)
