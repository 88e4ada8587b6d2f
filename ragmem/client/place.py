"""Where a warm process and its clients meet: the files of one, who may use them, and what both must share."""

import fcntl
import os
import stat
import sys

import ragmem
from ragmem.inbox import checksum

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SWITCH = "RAGMEM_WARM"
"""`off` in the environment: nothing is started, and nobody is asked."""

SOCKET, LOCK, RECORD, SILENT = "socket", "lock", "process", "silent"
"""Files of a warm process: where it listens, what it holds while it lives, who it is; and the mark that it
let a client wait in vain."""

HEIR = "heir"
"""The mark of who has a memory open already and waits for the place: nobody starts a process meanwhile."""

WAITS_S = 2.0
"""Seconds for which that mark holds, unless it is set again: whoever set it may have been killed."""

SERVES = "serve"
"""The last word of the record where `ragmem serve` holds the place: no client kills that one, whose requests
are a person's."""

_IGNORED = ("RAGMEM_SESSION", "RAGMEM_HOOK", SWITCH)
_FOLDERS = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


def wanted(environ: "Mapping[str, str]" = os.environ) -> bool:
    """Tell whether a warm process may be asked and started here."""
    return environ.get(SWITCH, "").lower() not in ("off", "0", "no", "false")


def place_of(data: str) -> str:
    """Return the folder of the files of a home's warm process, which may not be there.

    It is none below the home: the path of a socket has room for about 100 bytes, and who copies a home has no
    use for a socket.
    """
    user = os.geteuid()
    runtime = f"/run/user/{user}"
    above = runtime if is_private(runtime) else "/tmp"  # noqa: S108 - only a folder of our own below it
    return f"{above}/ragmem-{user}/{checksum(os.fsencode(os.path.realpath(data)))[:16]}"


def identity(environ: "Mapping[str, str]" = os.environ) -> str:
    """Return what a process must share with its clients: version, code, and the variables that settings hold.

    A process of another one is asked to end, and replaced.
    """
    code = os.stat(ragmem.__file__)
    parts = [sys.version, str(code.st_mtime_ns), str(code.st_ino)]
    for name in sorted(environ):
        setting = name.startswith("RAGMEM_") and not name.startswith(_IGNORED)
        if setting or name in _FOLDERS or name.endswith("_API_KEY"):
            parts += [name, environ[name]]
    return f"{ragmem.__version__} {checksum(os.fsencode(chr(0).join(parts)))[:16]}"


def recorded(data: str) -> int | None:
    """Return the id that the last process of a home wrote down when it began to listen; it may be dead."""
    try:
        return int(record(place_of(data))[0])
    except (ValueError, IndexError):
        return None


def record(place: str) -> list[str]:
    """Return the words that the last process of a place wrote down of itself; none where there are none."""
    try:
        with open(f"{place}/{RECORD}", encoding="ascii") as file:
            return file.readline().split()
    except (OSError, ValueError):
        return []


def failed_starts(data: str) -> int:
    """Return how many starts in a row nobody saw succeed, the one that is under way included."""
    try:
        with open(f"{place_of(data)}/{LOCK}", "rb") as file:
            return int([*file.read(64).split(), b"0"][0])
    except (OSError, ValueError):
        return 0


def is_running(data: str) -> bool:
    """Tell whether a home has a warm process, be it one that only begins or ends."""
    try:
        lock = os.open(f"{place_of(data)}/{LOCK}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared, so that two who look at the same time don't take each other for it.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def is_private(folder: str) -> bool:
    """Tell whether a folder is there and this user's alone."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not stat.S_IMODE(status.st_mode) & 0o077
    )


def make_private(folder: str) -> None:
    """Make a folder that is this user's alone; raises OSError where one is there that is not."""
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not is_private(folder):
            raise PermissionError(f'"{folder}" may be used by others') from None
