"""Start a detached ragmem that inherits nothing from the hook."""

import _thread
import os
import sys

from ragmem.config import hook_defaults

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_turn = _thread.allocate_lock()
"""Held while the working folder is another one, and while children are reaped."""

_children: "list[int]" = []


def start(
    words: "Sequence[str]", environ: "Mapping[str, str]", *, folder: str, heard: int = -1, lock: int = -1
) -> int:
    """Start `ragmem` in a folder, in a session of its own and without output; return its id. Raises OSError.

    It reads the descriptor `heard` as standard input and inherits the descriptor `lock`, if they are given.
    """
    first = (0, 1, 2) if heard < 0 else (1, 2)
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in first
    ]
    if heard >= 0:
        actions.append((os.POSIX_SPAWN_DUP2, heard, 0))
    actions += [(os.POSIX_SPAWN_CLOSE, number) for number in _inherited_environment() if number != lock]
    here = {**environ, hook_defaults.DEPTH: "1"}
    if lock >= 0:
        os.set_inheritable(lock, True)
        here[hook_defaults.LOCK] = str(lock)
    if home := environ.get("RAGMEM_HOME"):
        # It may be relative to the present folder.
        here["RAGMEM_HOME"] = os.path.abspath(os.path.expanduser(home))
    # -P: import no modules from the working folder: a project's, perhaps a stranger's.
    line = [sys.executable, "-P", "-m", "ragmem", *words]
    with _turn:
        before = os.open(".", os.O_RDONLY)
        try:
            os.chdir(folder)
            try:
                child = os.posix_spawn(sys.executable, line, here, file_actions=actions, setsid=True)
            except NotImplementedError:  # an old system: it ends with the assistant, and its events wait
                child = os.posix_spawn(sys.executable, line, here, file_actions=actions)
        finally:
            os.fchdir(before)
            os.close(before)
        _children.append(child)
        return child


def reap() -> None:
    """Reap the children of `start` that have ended, for a process that stays."""
    with _turn:
        for child in tuple(_children):
            try:
                ended = os.waitpid(child, os.WNOHANG)[0] == child
            except ChildProcessError:  # somebody else has reaped it
                ended = True
            if ended:
                _children.remove(child)


def _inherited_environment() -> list[int]:
    """Return the inheritable descriptors other than the standard streams."""
    found = []
    for name in os.listdir("/dev/fd"):
        number = int(name)
        try:
            if number > 2 and os.get_inheritable(number):
                found.append(number)
        except OSError:  # the descriptor of the listing itself
            continue
    return found
