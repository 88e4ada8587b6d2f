"""Choose the events of an assistant that go into the spool. Only the first bytes of a file are read."""

import os
import time

from ragmem.assistants.assistant import AFTER_TOOL
from ragmem.hooks import spool
from ragmem.hooks.event import written_files
from ragmem.json_text import text_of

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ragmem.hooks.event import HookEvent

FRESH_S = 120
"""Seconds for which a line of reflections is new."""

LONGEST_WORD = 40

HEAD = 4096
"""Bytes of a document in which the frontmatter is searched."""

_KEYS = (b"phase", b"status")
_DONE = (b"complete", b"completed", b"done")


def events(happened: "HookEvent") -> "list[dict[str, Any]]":
    """Return the events for the spool, often none."""
    about = {
        "assistant": happened.assistant.name,
        "session": happened.session,
        "agent": happened.agent,
        "cwd": happened.cwd,
        "transcript": happened.transcript,
        "at": time.time_ns(),
    }
    if happened.what == AFTER_TOOL:
        files = written_files(happened)
        return [
            {**about, "event": spool.FILE_WRITTEN, "transcript": "", "file": path}
            for path in files
            if is_worth_a_look(path)
        ]
    if happened.what not in spool.KINDS or not (happened.transcript or happened.session):
        return []
    fields = happened.fields
    event = {**about, "event": happened.what}
    event["reason"] = _word(text_of(fields, "reason", "status"))
    event["trigger"] = _word(text_of(fields, "trigger"))
    return [event]


def _word(said: str) -> str:
    """Return an assistant's word for a reason unchanged, "" for any other text."""
    return said if len(said) <= LONGEST_WORD and not any(map(str.isdigit, said)) else ""


def is_worth_a_look(path: str) -> bool:
    """Return whether a written file may be a finished document or a new reflection.

    The process that handles the event reads the settings and decides to which source the file belongs.
    """
    try:
        if path.endswith(".jsonl"):
            return -FRESH_S < time.time() - os.stat(path).st_mtime < FRESH_S
        return path.endswith(".md") and _is_finished(path)
    except OSError:  # it is gone or unreadable
        return False


def _is_finished(path: str) -> bool:
    """Return whether a document's frontmatter says that its phase or status is complete."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        lines = os.read(descriptor, HEAD).removeprefix(b"\xef\xbb\xbf").splitlines()
    finally:
        os.close(descriptor)
    if not lines or lines[0].strip() != b"---":
        return False
    for line in lines[1:]:
        if line.strip() == b"---":
            return False
        key, _, value = line.partition(b":")
        said = value.partition(b" #")[0].strip().strip(b"\"'").lower()
        if key.strip().lower() in _KEYS and said in _DONE:
            return True
    return False
