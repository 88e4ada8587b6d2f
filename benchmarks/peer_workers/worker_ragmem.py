"""ragmem through its public Python API; its command line seeds the folder."""

from pathlib import Path

from peer_protocol import serve

from ragmem.api.memory import Ragmem
from ragmem.domain.model import Draft
from ragmem.services.retrieval.query import Question


class Ours:
    """The home that the environment names."""

    def __init__(self, folder: Path) -> None:
        self._memory = Ragmem.open(cwd=folder)

    def ingest(self, folder: Path) -> None:
        """Refuse: the command line does it."""
        raise NotImplementedError(f"{folder} is seeded by the command line")

    def insert(self, name: str, text: str) -> None:
        """Store a draft, with its entities and relations."""
        (stored,) = self._memory.ingest([Draft("notes", name, text)])
        if stored.change != "new":
            raise RuntimeError(f"{name}: {stored.change}")

    def ask(self, text: str, limit: int) -> list[str]:
        """Ask all projects."""
        answer = self._memory.query(text, question=Question(text, limit=limit))
        return [match.memory.uri for match in answer.matches]

    def close(self) -> None:
        """Close the memory."""
        self._memory.close()


if __name__ == "__main__":
    serve(Ours)
