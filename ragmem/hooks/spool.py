"""The spool of events: a hook writes each event as one durable file, which a later process handles.

An event is a flat JSON object of texts and whole numbers:

    assistant   one of ragmem.assistants.NAMES
    event       one of KINDS
    session     the assistant's id of the session
    agent       the id of a subagent; empty for the session itself
    cwd         the folder in which the assistant works
    transcript  the path of the transcript of the session, or of the subagent; may be empty, may lag
    at          when it happened, in nanoseconds since 1970
    file        file-written: the path that was written
    reason      session-end: why it ended, in the assistant's words
    trigger     pre-compact, post-compact: "manual" or "auto"

Fields without a value are left out. Import only modules that load fast.
"""

import os

from ragmem import json_text
from ragmem.assistants.assistant import POST_COMPACT, PRE_COMPACT, SESSION_END, STOP, SUBAGENT_STOP
from ragmem.inbox import ASIDE, EVENTS, checksum, inbox_folder, list_oldest_first, make_durable

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

FILE_WRITTEN = "file-written"

KINDS = (SESSION_END, STOP, SUBAGENT_STOP, PRE_COMPACT, POST_COMPACT, FILE_WRITTEN)
"""The kinds of events."""

SUFFIX = ".event"
CLAIMED = ".claimed"
"""Suffix of an event that a process has claimed; if that process dies, the next one starts again."""

LAST_MOMENT = 2**63
"""The first time, in nanoseconds since 1970, that a file cannot have."""

MOST_BYTES = 256 * 1024

_SAME = ("assistant", "event", "session", "agent", "transcript", "file")
"""The fields that identify an event: events that differ only in time ask for the same work."""


def folder(data: "str | os.PathLike[str]") -> str:
    """Return the folder of events of a data folder; it need not exist."""
    return os.path.join(inbox_folder(data), EVENTS)


def put(data: "str | os.PathLike[str]", event: "Mapping[str, Any]") -> None:
    """Store an event; once this returns, it survives a killed process and a power cut.

    An event that equals a waiting one is dropped: the transcript is read after this call in any case.
    Raises OSError if the ragmem home cannot be written, ValueError for an event that is too large.
    """
    kept = {name: value for name, value in event.items() if value}
    whole = json_text.write(kept).encode("utf-8", "replace") + b"\n"
    if len(whole) > MOST_BYTES:
        raise ValueError(f"the event is longer than {MOST_BYTES:,} bytes")
    key = "\x1f".join(str(kept.get(name, "")) for name in _SAME)
    name = checksum(key.encode("utf-8", "replace"))[:32]
    make_durable(folder(data), f"{name}{SUFFIX}", whole, int(kept.get("at", 0)))


def is_empty(data: "str | os.PathLike[str]") -> bool:
    """Return whether no event waits; an unreadable folder is not empty, so that the drain reports it."""
    try:
        return not any(_is_event(name) for name in os.listdir(folder(data)))
    except FileNotFoundError:
        return True
    except OSError:
        return False


def list_events(data: "str | os.PathLike[str]") -> list[str]:
    """Return the paths of the waiting and the claimed events, oldest first; raises OSError."""
    inside = folder(data)
    return [os.path.join(inside, name) for name in list_oldest_first(inside, _is_event)]


def claim(path: str) -> str:
    """Claim an event before its files are read; return its new path.

    From then on an equal event is stored as a new one, so that nothing is missed. Raises FileNotFoundError
    if another process was faster, or OSError.
    """
    if path.endswith(CLAIMED):
        return path
    # A unique name: a killed process may have claimed an equal event before.
    claimed = f"{path.removesuffix(SUFFIX)}-{os.urandom(4).hex()}{CLAIMED}"
    os.rename(path, claimed)
    return claimed


def read(path: str) -> "dict[str, Any]":
    """Return an event; raises ValueError with the reason if it is none, or OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        whole = file.read(MOST_BYTES + 1)
    if len(whole) > MOST_BYTES:
        raise ValueError("it is too large for an event")
    event = json_text.read(whole.decode("utf-8"))
    if not isinstance(event, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 - what is wrong is the file
    if event.get("event") not in KINDS:
        raise ValueError("its event is unknown")
    at = event.get("at")
    if not isinstance(at, int) or not 0 <= at < LAST_MOMENT:
        raise ValueError("it does not say when it happened")
    return event


def list_aside(data: "str | os.PathLike[str]") -> list[str]:
    """Return the paths of the files that were set aside; raises OSError."""
    inside = os.path.join(folder(data), ASIDE)
    return (
        [os.path.join(inside, name) for name in sorted(os.listdir(inside))] if os.path.isdir(inside) else []
    )


def _is_event(name: str) -> bool:
    return not name.startswith(".") and name.endswith((SUFFIX, CLAIMED))
