"""Read what other memory tools and chat programs have stored, one module per tool."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path

from ragmem.domain.secrets.redaction import Redactor
from ragmem.frozen import dataclass
from ragmem.readers.foreign.entries import Entry, LeftOut

TOOLS = tuple(
    "claude-mem mem0 basic-memory mcp-memory-service mempalace chatgpt claude-ai cursor opencode".split()
)
"""The names of the tools; each has a module here of the same name, with `_` for `-`, and a `TOOL` in it."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: how its stores are recognised and read."""

    name: str
    version: str
    """The release whose store was read in tests."""
    recognise: Callable[[Path], bool]
    """Tells whether a file or folder is certainly a store of the tool; may raise OSError."""
    entries: Callable[[Path, Redactor, LeftOut], Iterator[Entry]]
    """Yields what a store holds and counts what is left out; raises SourceError or NotFoundError."""


def find_tool(name: str) -> Tool:
    """Return the tool of this name, one of TOOLS."""
    found: Tool = importlib.import_module(f"ragmem.readers.foreign.{name.replace('-', '_')}").TOOL
    return found


def recognise(path: Path) -> Tool | None:
    """Return the one tool whose store a path certainly is; None for none, or for several."""
    try:
        # Reading a pipe would take what it holds from the one who reads it next.
        if not path.is_file() and not path.is_dir():
            return None
        found = [tool for name in TOOLS if (tool := find_tool(name)).recognise(path)]
    except OSError:
        return None
    return found[0] if len(found) == 1 else None
