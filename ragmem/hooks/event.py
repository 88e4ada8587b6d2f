"""What has happened, in ragmem's words: an assistant's fields, read by its contract."""

from ragmem.hooks import adapters, spool
from ragmem.json_text import text_of

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ragmem.hooks.adapters import Contract

LONGEST_SESSION = 200
LONGEST_PATH = 4096

_AGAIN = ("compact", "clear")
"""Starts after which the assistant does not see any more what it was told before."""

_PATCHED = ("*** Add File: ", "*** Update File: ")


class Happening:
    """An event of a session; what is not known is an empty text.

    `what` is what it is to ragmem (`contracts`), `event` the assistant's own name of it.
    """

    __slots__ = ("agent", "assistant", "cwd", "event", "fields", "session", "tool", "transcript", "what")

    def __init__(self, contract: "Contract", event: str, fields: "Mapping[str, Any]") -> None:
        self.assistant = contract.name
        self.event = event
        self.fields = fields
        self.what = contract.events.get(event, (adapters.NOTHING, adapters.SILENT))[0]
        self.transcript = _path(text_of(fields, *contract.transcript))
        self.agent = _named(text_of(fields, *contract.agent))
        self.session = _named(text_of(fields, *contract.session)) or _stem(self.transcript)
        self.cwd = _path(text_of(fields, *contract.cwd)) or _first(fields, contract.cwd)
        self.tool = text_of(fields, *contract.tool)
        if self.what == spool.SUBAGENT_STOP:
            self.transcript = _path(text_of(fields, "agent_transcript_path")) or self.transcript

    @property
    def is_within_agent(self) -> bool:
        """Tell whether it is a subagent's, which is not told anything unasked."""
        return bool(self.agent) or self.fields.get("isSidechain") is True

    @property
    def is_again(self) -> bool:
        """Tell whether the assistant has lost sight of what it was told before."""
        return self.fields.get("source") in _AGAIN


def files(contract: "Contract", happening: Happening) -> list[str]:
    """Return the absolute paths of what a tool wrote."""
    names = contract.edits.get(happening.tool)
    if names is None:
        return []
    given = tool_input(contract, happening) or happening.fields
    said = text_of(given, *names)
    patched = [
        line.removeprefix(start).strip()
        for line in (said.splitlines() if "*** " in said else ())
        for start in _PATCHED
        if line.startswith(start)
    ]
    paths = patched or [said]
    below = happening.cwd.rstrip("/")
    absolute = [path if path.startswith("/") else f"{below}/{path}" for path in paths if path]
    return [path for path in absolute if _path(path)]


def tool_input(contract: "Contract", happening: Happening) -> "Mapping[str, Any]":
    """Return what a tool was called with, perhaps nothing."""
    for name in contract.tool_input:
        given = happening.fields.get(name)
        if isinstance(given, dict):
            return given
    return {}


def _path(text: str) -> str:
    """Return an absolute path as it is, and nothing for what can be none."""
    fits = text.startswith("/") and "\0" not in text and len(text) <= LONGEST_PATH
    return text if fits else ""


def _named(text: str) -> str:
    """Return a name of a session or agent as the memory takes it, or nothing."""
    name = text.strip()
    return name if len(name) <= LONGEST_SESSION and name.isprintable() else ""


def _stem(path: str) -> str:
    """Return what a transcript's name says of its session."""
    return _named(path.rpartition("/")[2].rpartition(".")[0])


def _first(fields: "Mapping[str, Any]", names: tuple[str, ...]) -> str:
    """Return the first path of a list of folders."""
    for name in names:
        listed = fields.get(name)
        if isinstance(listed, list) and listed and isinstance(listed[0], str):
            return _path(listed[0])
    return ""
