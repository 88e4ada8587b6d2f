"""Offline mode: refuse every connection of Python to another machine.

Local sockets (loopback, Unix) keep working, for a model server or `ragmem serve`. Native libraries that
connect without Python are not covered; docs/models.md says what is proven, and how.
"""

import os
import sys
from collections.abc import Iterable

from ragmem.errors import BackendError

# typing.TYPE_CHECKING without importing typing, which takes longer than all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VARIABLE = "RAGMEM_OFFLINE"
OFF = frozenset({"", "0", "false", "no", "off"})

# For libraries that would check for updates or send telemetry.
_SILENCING = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "PIP_NO_INDEX": "1",
}

# A local proxy would forward everything.
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "ftp_proxy")

_LOOKUPS = {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}
_ADDRESSED = {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg"}
_PROGRAMS = {"subprocess.Popen", "os.exec", "os.posix_spawn"}

_HARMLESS_PROGRAMS = frozenset(
    ["git", "ssh-keygen", "uname", "sysctl", "ldconfig", "gcc", "cc", "ld", "objdump"]
)
"""Programs that ragmem and Python's platform and ctypes run to learn about this machine."""


class _State:
    """The connections since this process went offline."""

    on = False
    sockets = 0
    refused: list[str] = []  # noqa: RUF012 - there is one process


def is_requested(variable: str | None) -> bool:
    """Return whether a value of RAGMEM_OFFLINE turns offline mode on."""
    return (variable or "").strip().lower() not in OFF


def active() -> bool:
    """Return whether this process is offline."""
    return _State.on


def go() -> None:
    """Go offline for the lifetime of this process and of the child processes of ragmem."""
    if _State.on:
        return
    _State.on = True
    os.environ[VARIABLE] = "1"
    os.environ.update(_SILENCING)
    for name in list(os.environ):
        if name.lower() in _PROXIES:
            del os.environ[name]
    sys.addaudithook(_hook)


def report() -> str:
    """Return a line about the connections of this process."""
    if _State.refused:
        names = ", ".join(dict.fromkeys(_State.refused))
        return f"offline: refused {names}; nothing left this machine"
    if _State.sockets:
        count = _State.sockets
        return f"offline: {count} network socket{'s' * (count > 1)}, all within this machine"
    return "offline: no network socket was opened"


def require_local(hosts: Iterable[str]) -> None:
    """Raise BackendError if this process is offline and a host is another machine.

    For libraries that connect without Python. A path or "" means a Unix socket.
    """
    for host in hosts if _State.on else ():
        if host and not host.startswith(("/", "@")) and not is_loopback(host):
            raise _refusal(host)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, by its name or address alone, without a lookup."""
    name = host.strip("[]").partition("%")[0].rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost") or name == "::1":
        return True
    parts = name.removeprefix("::ffff:").split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isdecimal() for part in parts)


def _refusal(what: str, *, verb: str = "reached") -> BackendError:
    _State.refused.append(what)
    return BackendError(
        f'offline: "{what}" was not {verb}', hint=f"omit --offline, or unset {VARIABLE}, to allow it"
    )


def _hook(event: str, arguments: "tuple[Any, ...]") -> None:
    # Called for every opened file: other events must cost nothing.
    if event.startswith("socket."):
        _watch(event, arguments)
    elif event in _PROGRAMS or event == "os.system":
        _watch_program(event, arguments)


def _watch(event: str, arguments: "tuple[Any, ...]") -> None:
    if event in _LOOKUPS:
        host = _text(arguments[0])
        if host and not is_loopback(host):
            raise _refusal(host)
        return
    if event == "socket.getnameinfo":
        host = _text(arguments[0][0])
        if not is_loopback(host):
            raise _refusal(host)
        return
    if event == "socket.__new__":
        _State.sockets += _is_network(arguments[1])
        return
    if event in _ADDRESSED and _is_network(arguments[0].family) and arguments[1] is not None:
        address = arguments[1]
        host = _text(address[0]) if isinstance(address, tuple) else _text(address)
        if not is_loopback(host):
            raise _refusal(host or "any address")


def _is_network(family: int) -> bool:
    """Return whether sockets of a family may reach another machine."""
    import socket  # noqa: PLC0415 - takes 5 ms; loaded already when a socket is made

    local = {socket.AF_UNIX, getattr(socket, "AF_NETLINK", None), getattr(socket, "AF_ALG", None)}
    # -1 is the default of socket(), the internet.
    return family not in local


def _watch_program(event: str, arguments: "tuple[Any, ...]") -> None:
    if event == "os.system":
        raise _refusal(_text(arguments[0]), verb="run")
    given = arguments[1]
    first = arguments[0] or (given if isinstance(given, str | bytes | os.PathLike) else given[0])
    program = os.fsdecode(first)
    if program != sys.executable and os.path.basename(program) not in _HARMLESS_PROGRAMS:  # noqa: PTH119
        raise _refusal(program, verb="run")


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes | bytearray) else str(value or "")
