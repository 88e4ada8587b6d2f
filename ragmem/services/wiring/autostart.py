"""Start `ragmem serve` at login: a systemd user unit, or a launchd agent."""

import hashlib
import os
import plistlib
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragmem.config.folders import HOME_VARIABLE
from ragmem.config.places import expand_home
from ragmem.errors import RagmemError, StorageError, UsageError, os_errors_as

UNIT = "ragmem.service"
LABEL = "org.ragmem.serve"
STOP_S = 45
"""Seconds that the service has to stop: those for running requests, and some to save."""

COMMAND_TIMEOUT_S = 60

# No two hyphens in a row: it is used in an XML comment as well.
_MARK = "Written by `ragmem serve`, whose option uninstall removes it:"
_DIGEST = re.compile(rf"{re.escape(_MARK)} ([0-9a-f]{{16}})")
_PLACES = (HOME_VARIABLE, "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")

# What a user's service manager can impose without privileges; namespaces are not available everywhere.
_HARDENING = """\
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6
SystemCallArchitectures=native
UMask=0077"""


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """The command to start: the ragmem of this interpreter, its options and environment."""

    python: str
    options: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    """The log file of launchd; systemd has its journal."""


@dataclass(frozen=True, slots=True)
class Service:
    """The file of a service, and the commands that turn it on and off."""

    path: Path
    content: str
    probe: Sequence[str]
    """Succeeds where the service manager is reachable."""

    start: Sequence[Sequence[str]]
    stop: Sequence[Sequence[str]]
    after: Sequence[Sequence[str]] = ()
    """Commands to run after the file is removed."""


def environment_for(environ: Mapping[str, str], *, home: Path, cwd: Path) -> tuple[dict[str, str], list[str]]:
    """Return the variables that locate the home, and the names of others that the service lacks.

    The values of others are not written into a file: they may be keys.
    """
    kept = {name: environ[name] for name in _PLACES if environ.get(name)}
    if chosen := kept.get(HOME_VARIABLE):
        # The service starts in another folder.
        kept[HOME_VARIABLE] = str(cwd / expand_home(chosen, home))
    return kept, sorted(name for name in environ if name.startswith("RAGMEM_") and name not in kept)


def service_for(
    platform: str, wish: ServiceOptions, *, home: Path, environ: Mapping[str, str], user: int
) -> Service:
    """Return the service for a platform (`sys.platform`); raises UsageError for an unsupported one."""
    if platform == "darwin":
        return _launchd_agent(wish, home=home, user=user)
    if platform.startswith("linux"):
        return _systemd_unit(wish, home=home, environ=environ)
    raise UsageError(
        f'ragmem does not support a service manager on "{platform}"',
        hint="configure your system to run `ragmem serve` at login",
    )


def install(service: Service) -> None:
    """Write the file atomically, replacing one of ragmem's.

    Raises UsageError for an existing file that ragmem did not write or somebody changed.
    """
    require_ours(service)
    draft = service.path.with_name(f".{service.path.name}.{os.getpid()}")
    with os_errors_as(StorageError, f'write "{service.path}"', hint="check the permissions of the folder"):
        service.path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(service.content, encoding="utf-8")
        draft.replace(service.path)


def uninstall(service: Service) -> bool:
    """Remove the file; return False without one. Raises UsageError for a changed file."""
    if not require_ours(service):
        return False
    service.path.unlink()
    return True


def reaches_manager(service: Service) -> bool:
    """Return whether the service manager is reachable."""
    return not _run(service.probe)


def run(commands: Sequence[Sequence[str]]) -> None:
    """Run commands one after the other; raises RagmemError with the message of the first that fails."""
    for command in commands:
        if problem := _run(command):
            raise RagmemError(
                f"`{' '.join(command)}` failed: {problem}",
                hint="run it yourself to see more; the file is kept",
            )


def _run(command: Sequence[str]) -> str:
    """Return the error, or an empty text."""
    try:
        done = subprocess.run(  # noqa: S603 - commands of this module
            command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error).splitlines()[0]
    if not done.returncode:
        return ""
    output = (done.stderr or done.stdout).strip().splitlines()
    return output[-1] if output else f"exit code {done.returncode}"


def require_ours(service: Service) -> bool:
    """Return whether there is a file that ragmem wrote; raises UsageError for any other."""
    path = service.path
    if not path.is_symlink() and not path.exists():
        return False
    try:
        content = path.read_text(encoding="utf-8") if path.is_file() and not path.is_symlink() else ""
    except (OSError, UnicodeDecodeError):
        content = ""
    found = _DIGEST.search(content)
    if found is None:
        raise UsageError(
            f'"{path}" was not written by ragmem', hint="move it aside, or keep it and start it yourself"
        )
    if _digest(content.replace(found[1], "", 1)) != found[1]:
        raise UsageError(f'"{path}" was changed since ragmem wrote it', hint=f'check it first: less "{path}"')
    return True


def _add_mark(content: str) -> str:
    """Return a content with its own digest in the mark, by which it is recognized."""
    return content.replace(_MARK, f"{_MARK} {_digest(content.replace(_MARK, f'{_MARK} ', 1))}", 1)


def _digest(content: str) -> str:
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def _systemd_unit(wish: ServiceOptions, *, home: Path, environ: Mapping[str, str]) -> Service:
    if set(wish.python) & set("\"'\\"):
        raise UsageError(f"systemd runs nothing at {wish.python!a}", hint="use a path without quotes in it")
    words = (_quote(word) for word in ("-m", "ragmem", "serve", *wish.options))
    command = " ".join((_quote(wish.python, dollars=False), *words))
    variables = "".join(
        f"Environment={_quote(f'{name}={value}', dollars=False)}\n"
        for name, value in wish.environment.items()
    )
    content = f"""\
# {_MARK}
[Unit]
Description=ragmem, a local memory for AI coding assistants

[Service]
Type=exec
ExecStart={command}
{variables}Restart=on-failure
RestartSec=5
TimeoutStopSec={STOP_S}
{_HARDENING}

[Install]
WantedBy=default.target
"""
    folder = Path(environ.get("XDG_CONFIG_HOME") or home / ".config") / "systemd" / "user"
    ask = ("systemctl", "--user")
    return Service(
        folder / UNIT,
        _add_mark(content),
        probe=(*ask, "show-environment"),
        start=((*ask, "daemon-reload"), (*ask, "enable", UNIT), (*ask, "restart", UNIT)),
        stop=((*ask, "disable", "--now", UNIT),),
        after=((*ask, "daemon-reload"),),
    )


def _quote(word: str, *, dollars: bool = True) -> str:
    """Quote a word for systemd; `dollars` also escapes variables."""
    if any(ord(character) < 0x20 for character in word):
        raise UsageError(
            f"{word!a} cannot be written to a unit file", hint="use a path without these characters"
        )
    written = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{written.replace("$", "$$") if dollars else written}"'


def _launchd_agent(wish: ServiceOptions, *, home: Path, user: int) -> Service:
    written = plistlib.dumps(
        {
            "Label": LABEL,
            "ProgramArguments": [wish.python, "-m", "ragmem", "serve", *wish.options],
            "EnvironmentVariables": dict(wish.environment),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ExitTimeOut": STOP_S,
            "Umask": 0o077,
            "StandardErrorPath": str(wish.log),
        }
    ).decode()
    content = written.replace("<plist ", f"<!-- {_MARK} -->\n<plist ", 1)
    path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"
    domain = f"gui/{user}"
    return Service(
        path,
        _add_mark(content),
        probe=("launchctl", "print", domain),
        start=(("launchctl", "bootstrap", domain, str(path)),),
        stop=(("launchctl", "bootout", f"{domain}/{LABEL}"),),
    )
