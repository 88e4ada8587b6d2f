"""The protocol of a worker in a tool's environment: a request and a response per line, as JSON.

Standard library only: it runs in every tool's environment.
"""

import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

WINDOW = 1000
"""Characters of a piece where a tool leaves the cutting to its user."""

OVERLAP = 200


class Tool(Protocol):
    """What a worker does with its tool."""

    def ingest(self, folder: Path) -> None:
        """Store every Markdown file below a folder; durable when this returns."""
        ...

    def insert(self, name: str, text: str) -> None:
        """Store one more memory; durable when this returns."""
        ...

    def ask(self, text: str, limit: int) -> list[str]:
        """Return the files of the hits, best first, a file as often as it was hit."""
        ...

    def close(self) -> None:
        """Close the store."""
        ...


def serve(open_tool: Callable[[Path], Tool]) -> None:
    """Open the tool in the folder that is the first argument; answer until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    # What a tool prints must not come between the answers.
    os.dup2(2, 1)
    # Of the first answer, the start of the process; of each further one, what was put off by the last.
    before = 0.0
    tool = open_tool(Path(sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        started = time.perf_counter()
        try:
            answer = {"value": _do(tool, request), "seconds": time.perf_counter() - started}
            spent = cpu_seconds()
            answer["cpu_seconds"], before = spent - before, spent
        except Exception as error:  # noqa: BLE001 (the other side reports it)
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
    tool.close()


def cpu_seconds() -> float:
    """Return the processor seconds, user and system, of this process and of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _do(tool: Tool, request: dict[str, Any]) -> Any:
    match request["do"]:
        case "ingest":
            return tool.ingest(Path(request["folder"]))
        case "insert":
            return tool.insert(request["name"], request["text"])
        case _:
            return tool.ask(request["text"], request["limit"])


def notes(folder: Path) -> list[tuple[str, str]]:
    """Return path below the folder and text of every Markdown file."""
    return [
        (path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8", errors="replace"))
        for path in sorted(folder.rglob("*.md"))
    ]


def windows(text: str) -> list[str]:
    """Return the text in overlapping pieces of equal length."""
    starts = range(0, max(1, len(text) - OVERLAP), WINDOW - OVERLAP)
    return [text[start : start + WINDOW] for start in starts]
