"""The files of a warm process, who may use them, and the identity that it shares with its clients."""

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
"""Environment variable; `off`: no process is started or asked."""

SOCKET, LOCK, RECORD, SILENT = "socket", "lock", "process", "silent"
"""Files of a warm process: its socket, its lock, its record, and the mark of a missed deadline."""

HEIR = "heir"
"""The mark of a server that has the memory open and waits for the lock: nobody starts a process meanwhile."""

WAITS_S = 2.0
"""Seconds for which that mark holds, unless it is renewed: its owner may have been killed."""

SERVES = "serve"
"""The last word of the record if `ragmem serve` holds the lock: no client kills it, because it also serves a
person."""

_IGNORED = ("RAGMEM_SESSION", "RAGMEM_HOOK", "RAGMEM_TOKEN", SWITCH)
_FOLDERS = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")

_LOADED = os.stat(ragmem.__file__)


def is_outdated() -> bool:
    """Return whether the code on the disk is no longer that of this process, after an update."""
    try:
        code = os.stat(ragmem.__file__)
    except OSError:  # it was removed
        return True
    return not os.path.samestat(code, _LOADED) or code.st_mtime_ns != _LOADED.st_mtime_ns


def is_enabled(environ: "Mapping[str, str]" = os.environ) -> bool:
    """Return whether a warm process may be queried and started here."""
    return environ.get(SWITCH, "").lower() not in ("off", "0", "no", "false")


def runtime_folder(data: str) -> str:
    """Return the folder of the files of a home's warm process; it may not exist.

    It is not below the home: the path of a socket has at most about 100 bytes, and a copy of a home has no
    use for a socket.
    """
    user = os.geteuid()
    runtime = f"/run/user/{user}"
    above = runtime if is_private(runtime) else "/tmp"  # noqa: S108 - only our own folder below it is used
    return f"{above}/ragmem-{user}/{checksum(os.fsencode(os.path.realpath(data)))[:16]}"


def identity(environ: "Mapping[str, str]" = os.environ) -> str:
    """Return what a process must share with its clients: version, code, and the variables of settings.

    A process with another identity is stopped and replaced.
    """
    code = os.stat(ragmem.__file__)
    parts = [sys.version, str(code.st_mtime_ns), str(code.st_ino)]
    for name in sorted(environ):
        setting = name.startswith("RAGMEM_") and not name.startswith(_IGNORED)
        if setting or name in _FOLDERS or name.endswith("_API_KEY"):
            parts += [name, environ[name]]
    return f"{ragmem.__version__} {checksum(os.fsencode(chr(0).join(parts)))[:16]}"


def recorded_pid(data: str) -> int | None:
    """Return the process id in the record of a home; that process may be dead."""
    try:
        return int(read_record(runtime_folder(data))[0])
    except (ValueError, IndexError):
        return None


def read_record(place: str) -> list[str]:
    """Return the words of the record in a runtime folder; an empty list if there is none."""
    try:
        with open(f"{place}/{RECORD}", encoding="ascii") as file:
            return file.readline().split()
    except (OSError, ValueError):
        return []


def failed_starts(data: str) -> int:
    """Return how many starts in a row did not succeed, including one that is under way."""
    try:
        with open(f"{runtime_folder(data)}/{LOCK}", "rb") as file:
            return int([*file.read(64).split(), b"0"][0])
    except (OSError, ValueError):
        return 0


def is_running(data: str) -> bool:
    """Return whether a home has a warm process, even if it only starts or stops."""
    try:
        lock = os.open(f"{runtime_folder(data)}/{LOCK}", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # Shared, so that two clients that look at the same time do not mistake each other for it.
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def is_private(folder: str) -> bool:
    """Return whether a folder exists and belongs to this user alone."""
    try:
        return _is_own(os.lstat(folder))
    except OSError:
        return False


def make_private(folder: str) -> None:
    """Make a folder that only this user may use; raises OSError if others may use an existing one."""
    while True:
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            try:
                status = os.lstat(folder)
            except FileNotFoundError:
                # A process that ends has just removed it.
                continue
            if not _is_own(status):
                raise PermissionError(f'"{folder}" may be used by others') from None
        return


def _is_own(status: os.stat_result) -> bool:
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.geteuid()
        and not stat.S_IMODE(status.st_mode) & 0o077
    )
