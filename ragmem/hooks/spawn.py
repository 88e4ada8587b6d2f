"""Start a ragmem that lives on by itself, and holds nothing of the hook that has started it."""

import os
import sys

from ragmem.config import hooking

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def start(
    words: "Sequence[str]", environ: "Mapping[str, str]", *, folder: str, heard: int = -1, lock: int = -1
) -> None:
    """Start `ragmem` in a folder: no stream of this process, no group; what it says is lost. Raises OSError.

    It reads the file `heard` from where that stands, and keeps the file `lock`, where they are given.
    """
    first = (0, 1, 2) if heard < 0 else (1, 2)
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in first
    ]
    if heard >= 0:
        actions.append((os.POSIX_SPAWN_DUP2, heard, 0))
    actions += [(os.POSIX_SPAWN_CLOSE, number) for number in _inherited_environment() if number != lock]
    here = {**environ, hooking.DEPTH: "1"}
    if lock >= 0:
        os.set_inheritable(lock, True)
        here[hooking.LOCK] = str(lock)
    if home := environ.get("RAGMEM_HOME"):
        # It may be relative to this folder, which is left.
        here["RAGMEM_HOME"] = os.path.abspath(os.path.expanduser(home))
    # -P: no module is looked for in the folder of whoever called this, a project's, perhaps a stranger's.
    line = [sys.executable, "-P", "-m", "ragmem", *words]
    before = os.open(".", os.O_RDONLY)
    try:
        os.chdir(folder)
        try:
            os.posix_spawn(sys.executable, line, here, file_actions=actions, setsid=True)
        except NotImplementedError:  # an old system: it ends with the assistant, and what it left waits
            os.posix_spawn(sys.executable, line, here, file_actions=actions)
    finally:
        os.fchdir(before)
        os.close(before)


def _inherited_environment() -> list[int]:
    """Return the descriptors above the streams that a started process would get, and keep open for ever."""
    found = []
    for name in os.listdir("/dev/fd"):
        number = int(name)
        try:
            if number > 2 and os.get_inheritable(number):
                found.append(number)
        except OSError:  # that of the listing itself
            continue
    return found
