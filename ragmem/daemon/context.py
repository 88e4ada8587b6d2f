"""What a request of a hook is answered with, from an open memory: by the warm process, or without one."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from ragmem.errors import RagmemError, UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

MAX_CHARS = 9_000
"""Characters of a context unless a request says otherwise: assistants cut texts beyond 10,000."""


def answer(
    memory: "Ragmem", request: Mapping[str, Any], *, rung: str = "direct", due: float = math.inf
) -> dict[str, Any]:
    """Return what a session is to be told, its reason, its memories' ids and the rung that it comes from.

    `request` has `session`, and may have `event` (start, prompt, research), `prompt`, `agent`, `assistant`,
    `again`, `cwd` and `max_chars`. The projects are those of its `cwd`, be it deleted since. A home without a
    memory has nothing to tell. What is found after `due`, a moment of `time.monotonic`, is not told, and may
    be another time. Never raises RagmemError: what is wrong is the field `error`.
    """
    try:
        return _told(memory, request, rung, due)
    except RagmemError as error:
        return {**nothing(str(error), rung), "error": str(error)}


def nothing(reason: str, rung: str) -> dict[str, Any]:
    """Return the answer that tells nothing, and why."""
    return {"text": "", "reason": reason, "rung": rung, "ids": []}


def _told(memory: "Ragmem", request: Mapping[str, Any], rung: str, due: float) -> dict[str, Any]:
    from ragmem.services.context.anticipation import Event

    event = _text(request, "event")
    if event not in get_args(Event):
        raise UsageError(f'"{event[:40]}" is no event', hint="start, prompt or research")
    if not memory.is_stored():
        return nothing("there is no memory yet", rung)
    told = memory.injections.anticipate(
        _text(request, "session"),
        _text(request, "prompt"),
        event=event,  # type: ignore[arg-type]  # it is one of them
        agent=_text(request, "agent"),
        assistant=_text(request, "assistant"),
        again=request.get("again") is True,
        cwd=_folder(request),
        max_chars=_number(request, "max_chars", MAX_CHARS),
        until=due,
    )
    block = told.context
    return {
        "text": block.text,
        "reason": told.reason,
        "rung": rung,
        "ids": [each.id for each in block.memories],
        "notes": list(told.notes),
    }


def _text(request: Mapping[str, Any], name: str) -> str:
    value = request.get(name, "")
    if not isinstance(value, str):
        raise UsageError(f"{name} is no text", hint="send a JSON string")
    # Half of a pair that stands for a character: neither the database nor a terminal takes it.
    return value.encode("utf-8", "replace").decode()


def _number(request: Mapping[str, Any], name: str, default: int) -> int:
    value = request.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is no number above 0", hint="send a JSON number")
    return value


def _folder(request: Mapping[str, Any]) -> Path | None:
    cwd = _text(request, "cwd")
    return Path(cwd) if cwd.startswith("/") and "\0" not in cwd else None
