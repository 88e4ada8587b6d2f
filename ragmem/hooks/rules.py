"""Have an assistant's last words checked by the rules of its person, in a process that nobody waits for."""

import os

from ragmem.assistants.assistant import STOP, SUBAGENT_STOP
from ragmem.hooks import spawn
from ragmem.json_text import text_of

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragmem.hooks.event import HookEvent

MOST_CHARS = 200_000
"""Characters of last words that are checked: their end."""


def last_words(happened: "HookEvent") -> str:
    """Return what an assistant said last, where something ends with that in a session that can be told."""
    if happened.what not in (STOP, SUBAGENT_STOP) or not happened.session:
        return ""
    return text_of(happened.fields, *happened.assistant.message_fields)[-MOST_CHARS:]


def check(words: str, happened: "HookEvent", *, data: str, state: str, environ: "Mapping[str, str]") -> None:
    """Start the check; raises OSError.

    The words go through a file without a name: looking for secrets in them takes longer than a hook has.
    """
    line = ["check", "-", "--quiet", "--session", happened.session, "--for", happened.assistant.name]
    if happened.agent:
        line += ["--agent", happened.agent]
    # Projects and their folders are gone sometimes before a session is.
    folder = happened.cwd if os.path.isdir(happened.cwd) else data
    file = _anonymous_file(state)
    try:
        with open(file, "wb", closefd=False) as opened:
            opened.write(words.encode("utf-8", "replace"))
        os.lseek(file, 0, os.SEEK_SET)
        spawn.start(line, environ, folder=folder, heard=file)
    finally:
        os.close(file)


def _anonymous_file(state: str) -> int:
    path = os.path.join(state, f".said-{os.urandom(8).hex()}")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    os.unlink(path)
    return descriptor
