"""mcp-memory-service through the service behind its MCP tools; its command line ingests the folder."""

import asyncio
from pathlib import Path
from typing import Any

from mcp_memory_service.cli.utils import get_storage
from mcp_memory_service.services.memory_service import MemoryService
from peer_protocol import serve


class Service:
    """The database that the environment names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._storage = self._run(get_storage("sqlite_vec"))
        self._service = MemoryService(self._storage)

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    def ingest(self, folder: Path) -> None:
        """Refuse: the command line does it."""
        raise NotImplementedError(f"{folder} is ingested by the command line")

    def insert(self, name: str, text: str) -> None:
        """Store a memory."""
        answer = self._run(self._service.store_memory(text, metadata={"source_file": name}))
        if not answer.get("success"):
            raise RuntimeError(answer)

    def ask(self, text: str, limit: int) -> list[str]:
        """Search as its default does: by vector."""
        answer = self._run(self._storage.search_memories(query=text, limit=limit))
        if answer.get("error"):
            raise RuntimeError(answer["error"])
        # What was stored as metadata comes back among the memory's own fields.
        return [row.get("source_file") or "" for row in answer["memories"]]

    def close(self) -> None:
        """Close the database."""
        self._run(self._storage.close())


if __name__ == "__main__":
    serve(Service)
