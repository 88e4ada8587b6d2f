"""basic-memory through its MCP tools; its command line indexes the folder."""

import asyncio
from pathlib import Path
from typing import Any

from basic_memory import db
from basic_memory.mcp.tools import search_notes, write_note
from peer_protocol import serve


class Notes:
    """The project that the environment names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    def ingest(self, folder: Path) -> None:
        """Refuse: the command line does it."""
        raise NotImplementedError(f"{folder} is indexed by the command line")

    def insert(self, name: str, text: str) -> None:
        """Write a note, which becomes a file as well."""
        self._run(write_note(title=name, content=text, directory="more", output_format="json"))

    def ask(self, text: str, limit: int) -> list[str]:
        """Search as its default does: full text and vectors."""
        answer = self._run(search_notes(query=text, page_size=limit, output_format="json"))
        if isinstance(answer, str):
            raise RuntimeError(answer)  # noqa: TRY004
        return [row["file_path"] for row in answer["results"]]

    def close(self) -> None:
        """Close the database."""
        self._run(db.shutdown_db())


if __name__ == "__main__":
    serve(Notes)
