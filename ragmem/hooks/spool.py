"""The spool of events: what an assistant's hook leaves is one durable file, taken up by a later process.

An event is a flat JSON object of texts and whole numbers:

    assistant   one of ragmem.assistants.NAMES
    event       one of EVENTS
    session     the assistant's id of the session
    agent       the id of a subagent; empty for the session itself
    cwd         the folder in which the assistant works
    transcript  the path of the transcript of the session, or of the subagent; may be empty, may lag
    at          when it happened, in nanoseconds since 1970
    file        file-written: the path that was written
    reason      session-end: why it ended, in the assistant's words
    trigger     pre-compact: "manual" or "auto"

What has no value is left out. Only the standard library's quickest parts are imported.
"""

import os

from ragmem import json_text
from ragmem.assistants.assistant import PRE_COMPACT, SESSION_END, STOP, SUBAGENT_STOP
from ragmem.inbox import ASIDE, EVENTS, checksum, folder_in, make_durable

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILE_WRITTEN = "file-written"

KINDS = (SESSION_END, STOP, SUBAGENT_STOP, PRE_COMPACT, FILE_WRITTEN)
"""What may have happened."""

SUFFIX = ".event"
CLAIMED = ".claimed"
"""Ends the name of an event that a process has claimed; if that process dies, the next one starts again."""

LAST_MOMENT = 2**63
"""Nanoseconds since 1970 that a file can be dated."""

MOST_BYTES = 256 * 1024

_SAME = ("assistant", "event", "session", "agent", "transcript", "file")
"""The fields that identify an event: two that differ in time only ask for the same work."""


def folder(data: "str | os.PathLike[str]") -> str:
    """Return where the events of a home lie, by its data folder; it need not exist."""
    return os.path.join(folder_in(data), EVENTS)


def put(data: "str | os.PathLike[str]", event: "Mapping[str, Any]") -> None:
    """Keep an event: it survives a killed process and a power cut from when this returns.

    An event that equals a waiting one replaces it: its transcript is read after this call in any case. Raises
    OSError if the home cannot be written, ValueError for an event that is too large.
    """
    kept = {name: value for name, value in event.items() if value}
    whole = json_text.write(kept).encode("utf-8", "replace") + b"\n"
    if len(whole) > MOST_BYTES:
        raise ValueError(f"the event is longer than {MOST_BYTES:,} bytes")
    key = "\x1f".join(str(kept.get(name, "")) for name in _SAME)
    name = checksum(key.encode("utf-8", "replace"))[:32]
    make_durable(folder(data), f"{name}{SUFFIX}", whole, int(kept.get("at", 0)))


def is_empty(data: "str | os.PathLike[str]") -> bool:
    """Tell whether nothing waits. A folder that cannot be listed counts as full, and the drain reports it."""
    try:
        return not any(_is_event(name) for name in os.listdir(folder(data)))
    except FileNotFoundError:
        return True
    except OSError:
        return False


def waiting(data: "str | os.PathLike[str]") -> list[str]:
    """Return the paths of the events that wait, oldest first, with those that were begun; raises OSError."""
    inside = folder(data)
    try:
        names = os.listdir(inside)
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        path = os.path.join(inside, name)
        if _is_event(name):
            try:
                found.append((os.lstat(path).st_mtime_ns, path))
            except FileNotFoundError:  # another process has taken it up since
                continue
    return [path for _, path in sorted(found)]


def claim(path: str) -> str:
    """Mark an event as begun, before anything that it speaks of is read; return its path since.

    An equal event is kept anew from here on, so that what happens meanwhile is not missed. Raises
    FileNotFoundError where another process was faster, OSError.
    """
    if path.endswith(CLAIMED):
        return path
    # A name of its own: an equal event may have been begun before, by a process that was killed.
    claimed = f"{path.removesuffix(SUFFIX)}-{os.urandom(4).hex()}{CLAIMED}"
    os.rename(path, claimed)
    return claimed


def read(path: str) -> "dict[str, Any]":
    """Return an event; raises ValueError that says why it is none, FileNotFoundError, OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        whole = file.read(MOST_BYTES + 1)
    if len(whole) > MOST_BYTES:
        raise ValueError("it is too large for an event")
    event = json_text.read(whole.decode("utf-8"))
    if not isinstance(event, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - what is wrong is the file
    if event.get("event") not in KINDS:
        raise ValueError("it says no event that is known")
    at = event.get("at")
    if not isinstance(at, int) or not 0 <= at < LAST_MOMENT:
        raise ValueError("it does not say when it happened")
    return event


def set_aside(path: str) -> None:
    """Move a file that is not an event out of the way, under a new name; raises OSError."""
    aside = os.path.join(os.path.dirname(path), ASIDE)
    os.makedirs(aside, 0o700, exist_ok=True)
    os.rename(path, os.path.join(aside, f"{os.path.basename(path)}-{os.urandom(4).hex()}"))


def aside(data: "str | os.PathLike[str]") -> list[str]:
    """Return the paths of what was set aside; raises OSError."""
    inside = os.path.join(folder(data), ASIDE)
    return (
        [os.path.join(inside, name) for name in sorted(os.listdir(inside))] if os.path.isdir(inside) else []
    )


def _is_event(name: str) -> bool:
    return not name.startswith(".") and name.endswith((SUFFIX, CLAIMED))
