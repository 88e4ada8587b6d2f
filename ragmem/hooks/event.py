"""An event in ragmem's terms, read from the fields of an assistant's payload."""

from ragmem import json_text
from ragmem.assistants.assistant import SUBAGENT_STOP
from ragmem.json_text import text_of

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ragmem.assistants.assistant import Assistant

LONGEST_SESSION = 200
LONGEST_PATH = 4096

_AGAIN = ("compact", "clear")
"""Sources of a start after which the assistant has lost its earlier context."""

_PATCHED = ("*** Add File: ", "*** Update File: ")


class HookEvent:
    """An event of a session; unknown values are empty texts.

    `what` is its meaning to ragmem, `event` the assistant's own name of it.
    """

    __slots__ = ("agent", "assistant", "cwd", "event", "fields", "session", "tool", "transcript", "what")

    def __init__(self, assistant: "Assistant", event: str, fields: "Mapping[str, Any]") -> None:
        self.assistant = assistant
        self.event = event
        self.fields = fields
        self.what = assistant.meaning(event)
        self.transcript = _path(text_of(fields, "transcript_path"))
        self.agent = _session_name(text_of(fields, "agent_id"))
        # A transcript has the name of its session.
        stem = self.transcript.rpartition("/")[2].rpartition(".")[0]
        self.session = _session_name(text_of(fields, *assistant.session_fields)) or _session_name(stem)
        self.cwd = _path(text_of(fields, *assistant.cwd_fields)) or _first(fields, assistant.cwd_fields)
        self.tool = text_of(fields, "tool_name")
        if self.what == SUBAGENT_STOP:
            self.transcript = _path(text_of(fields, "agent_transcript_path")) or self.transcript

    @property
    def is_within_agent(self) -> bool:
        """Whether it comes from a subagent, which gets no memories unasked."""
        return bool(self.agent) or self.fields.get("isSidechain") is True

    @property
    def is_again(self) -> bool:
        """Whether the assistant has lost its earlier context."""
        return self.fields.get("source") in _AGAIN


def written_files(happened: HookEvent) -> list[str]:
    """Return the absolute paths of the files that a tool wrote."""
    return _named_files(happened, happened.assistant.edits.get(happened.tool))


def read_files(happened: HookEvent) -> list[str]:
    """Return the absolute paths of the files that a tool read."""
    return _named_files(happened, happened.assistant.reads.get(happened.tool))


def _named_files(happened: HookEvent, names: "tuple[str, ...] | None") -> list[str]:
    if names is None:
        return []
    given = tool_input(happened) or happened.fields
    said = text_of(given, *names)
    patched = [
        line.removeprefix(start).strip()
        for line in (said.splitlines() if "*** " in said else ())
        for start in _PATCHED
        if line.startswith(start)
    ]
    paths = patched or [said]
    below = happened.cwd.rstrip("/")
    absolute = [path if path.startswith("/") else f"{below}/{path}" for path in paths if path]
    return [path for path in absolute if _path(path)]


def fields_of_texts(given: "Mapping[str, Any]") -> "dict[str, Any]":
    """Return the fields of an event whose values an assistant has filled in as texts.

    An empty text stands for a missing value, JSON for an object. Fields that are no texts stay as they are.
    """
    fields = {name: value for name, value in given.items() if value != ""}
    if isinstance(told := fields.get("tool_input"), str):
        try:
            fields["tool_input"] = json_text.read(told)
        except ValueError:  # then nothing is known of the tool's input
            del fields["tool_input"]
    if fields.get("is_interrupt") == "true":
        fields["is_interrupt"] = True
    return fields


def tool_input(happened: HookEvent) -> "Mapping[str, Any]":
    """Return the arguments of a tool call, perhaps none."""
    given = happened.fields.get("tool_input")
    return given if isinstance(given, dict) else {}


def _path(text: str) -> str:
    """Return an absolute path unchanged, and an empty text for anything else."""
    fits = text.startswith("/") and "\0" not in text and len(text) <= LONGEST_PATH
    return text if fits else ""


def _session_name(text: str) -> str:
    """Return the name of a session or agent, or an empty text if it is too long or not printable."""
    name = text.strip()
    return name if len(name) <= LONGEST_SESSION and name.isprintable() else ""


def _first(fields: "Mapping[str, Any]", names: tuple[str, ...]) -> str:
    """Return the first path of a list of folders."""
    for name in names:
        listed = fields.get(name)
        if isinstance(listed, list) and listed and isinstance(listed[0], str):
            return _path(listed[0])
    return ""
