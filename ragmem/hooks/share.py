"""Share after a person's own `git push`, and fetch after a `git fetch` or `git pull`, in other processes."""

import fcntl
import os

from ragmem.assistants.assistant import AFTER_TOOL
from ragmem.hooks import spawn
from ragmem.hooks.event import tool_input
from ragmem.hooks.log import open_in
from ragmem.json_text import text_of

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ragmem.hooks.event import HookEvent

LOCK = "hooks.share."
"""Beginning of the names of files in a home's state folder, each locked while a process shares or fetches."""

MOST_CHARS = 4_000
"""Characters of a command that are looked at."""

_ACTIONS = {"push": "push", "fetch": "fetch", "pull": "fetch"}
_WITH_VALUE = ("-c", "--git-dir", "--work-tree", "--namespace", "--config-env")
_IDLE = ("-n", "--dry-run", "-h", "--help")
_BREAKS = str.maketrans(";|&()\n\r{}", "\0" * 9)


def actions_after(happened: "HookEvent") -> list[str]:
    """Return what a command of an assistant calls for: "push", "fetch", both, or usually nothing."""
    names = happened.assistant.commands.get(happened.tool, ())
    if happened.what != AFTER_TOOL or not names:
        return []
    given = tool_input(happened)
    listed = next((one for name in names if isinstance(one := given.get(name), list)), None)
    if listed is None:
        line = text_of(given, *names)
    else:
        line = " ".join(part for part in listed if isinstance(part, str))
    found = [_action(part.split()) for part in line[:MOST_CHARS].translate(_BREAKS).split("\0")]
    return list(dict.fromkeys(filter(None, found)))


def start(
    actions: "list[str]", happened: "HookEvent", *, data: str, state: str, environ: "Mapping[str, str]"
) -> str:
    """Start a process for each of these, unless one runs; return what was started."""
    folder = happened.cwd if os.path.isdir(happened.cwd) else data
    started = []
    for action in actions:
        try:
            lock = open_in(state, os.path.join(state, f"{LOCK}{action}"), os.O_RDWR)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                spawn.start(["share", action, "--quiet"], environ, folder=folder, lock=lock)
            finally:
                os.close(lock)
        except OSError:  # one runs already, or none can be started: the next command tries again
            continue
        started.append(action)
    return f"share {' and '.join(started)}" if started else "nothing was started"


def _action(words: "list[str]") -> str:
    """Return what a simple command calls for; one in another folder calls for nothing."""
    while words and (words[0] in ("sudo", "env", "time", "command") or "=" in words[0]):
        words = words[1:]
    if not words or words[0].rpartition("/")[2] != "git":
        return ""
    rest = words[1:]
    while rest and rest[0].startswith("-"):
        if rest[0] == "-C":
            return ""
        rest = rest[2 if rest[0] in _WITH_VALUE else 1 :]
    if not rest or any(word in _IDLE for word in rest[1:]):
        return ""
    return _ACTIONS.get(rest[0], "")
