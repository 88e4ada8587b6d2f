"""Check an assistant's last message against the user's rules, in a background process."""

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
"""Characters at the end of a message that are checked."""


def last_words(happened: "HookEvent") -> str:
    """Return the last message of an assistant if the event ends a turn of a known session, else ""."""
    if happened.what not in (STOP, SUBAGENT_STOP) or not happened.session:
        return ""
    return text_of(happened.fields, *happened.assistant.message_fields)[-MOST_CHARS:]


def check(words: str, happened: "HookEvent", *, data: str, state: str, environ: "Mapping[str, str]") -> None:
    """Start the check; raises OSError.

    The message goes through a file without a name: redacting it takes longer than a hook has.
    """
    line = ["check", "-", "--quiet", "--session", happened.session, "--for", happened.assistant.name]
    if happened.agent:
        line += ["--agent", happened.agent]
    # The folder of a project may be gone before the session ends.
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
