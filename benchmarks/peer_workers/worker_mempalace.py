"""MemPalace through the functions behind its MCP tools; its command line mines the folder."""

from pathlib import Path

from peer_protocol import serve


class Palace:
    """The palace that the environment names."""

    def __init__(self, folder: Path) -> None:
        # Its import takes standard output for itself: not before the answers have theirs.
        from mempalace import mcp_server

        self._folder = folder
        self._server = mcp_server

    def ingest(self, folder: Path) -> None:
        """Refuse: the command line does it."""
        raise NotImplementedError(f"{folder} is mined by the command line")

    def insert(self, name: str, text: str) -> None:
        """Add a drawer."""
        answer = self._server.tool_add_drawer("notes", "general", text, source_file=name)
        if not answer.get("success"):
            raise RuntimeError(answer)

    def ask(self, text: str, limit: int) -> list[str]:
        """Search all wings."""
        answer = self._server.tool_search(text, limit=limit)
        if "error" in answer:
            raise RuntimeError(answer)
        return [row["source_file"] for row in answer["results"]]

    def close(self) -> None:
        """Leave it to the end of the process."""


if __name__ == "__main__":
    serve(Palace)
