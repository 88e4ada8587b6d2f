"""Run git on a bare repository of our own, and let it reach a remote, with a deadline."""

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ragmem.errors import RagmemError
from ragmem.frozen import dataclass
from ragmem.readers.git import SETTINGS, environment

PROTOCOLS = ("file", "git", "https", "ssh")
"""How a remote may be reached: no other program is ever asked, whatever an address or a redirection says."""

_REMOTE_SETTINGS = (
    *(f"protocol.{name}.allow=always" for name in PROTOCOLS),
    "push.gpgSign=false",
    "push.followTags=false",
    "push.recurseSubmodules=no",
    "fetch.recurseSubmodules=false",
    "fetch.fsckObjects=true",
    # So that what comes in is one file, whose size can be watched.
    "fetch.unpackLimit=1",
    # A large blob is hashed piece by piece and not held in memory.
    "core.bigFileThreshold=1m",
)

_PERSONAL_KEYS = ("core.sshCommand", "credential.helper")
"""A remote needs these, and our own repository sets none: they are the person's."""

_PERSONAL = frozenset(
    "GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM GIT_SSH GIT_SSH_COMMAND GIT_SSH_VARIANT "
    "GIT_SSL_CAINFO GIT_SSL_CAPATH GIT_PROXY_SSL_CAINFO".split()
)
"""Variables by which a person says how remotes are reached."""

_MOST_ERRORS = 1024 * 1024
"""Bytes of messages after which a remote that talks on is left."""

_MOST_OUTPUT = 64 * 1024 * 1024
"""Bytes of output: the names of 500,000 refs, or the listing of a large tree."""

_POLL_S = 0.1


class GitError(RagmemError):
    """git is not there, did not answer in time, or went beyond a limit (exit code 3)."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a git command left: its exit status, its output, and the end of its messages."""

    code: int
    output: bytes
    errors: str


def run(
    git_dir: Path,
    *arguments: str,
    timeout: float,
    given: bytes = b"",
    remote: bool = False,
    locks: tuple[int, ...] = (),
    excess: Callable[[], str] = str,
) -> Answer:
    """Run a git command on a bare repository of our own; raises GitError where it does not end by itself.

    With `remote` it may reach one by PROTOCOLS, with the credentials and the ssh of the person's own
    configuration, but without a terminal to ask at. `locks` are descriptors of locks, held until git ends,
    even if this process is killed. `excess` is asked while git runs, and names a limit that it exceeds.
    """
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryFile() as source:
        source.write(given)
        source.seek(0)
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell, and the arguments are ours
                _command(git_dir, arguments, remote=remote),
                env=_variables(remote=remote),
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=errors,
                pass_fds=locks,
                start_new_session=True,
            )
        except OSError as error:
            raise GitError("git cannot be run", hint="install git, or put it on PATH") from error
        try:
            output = _read(process, time.monotonic() + timeout, lambda: _flood(errors.fileno()) or excess())
        finally:
            _end(process)
        errors.seek(max(0, os.fstat(errors.fileno()).st_size - 4096))
        return Answer(process.returncode, output, errors.read().decode("utf-8", "replace"))


def start(git_dir: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a git command that reads a bare repository of our own and answers on pipes; end it with `stop`.

    Raises GitError if git cannot be run.
    """
    try:
        return subprocess.Popen(  # noqa: S603 - no shell, and the arguments are ours
            _command(git_dir, arguments, remote=False),
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise GitError("git cannot be run", hint="install git, or put it on PATH") from error


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a command of `start`."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with suppress(BrokenPipeError):  # the rest of what it was to read
                pipe.close()


def _command(git_dir: Path, arguments: tuple[str, ...], *, remote: bool) -> list[str]:
    settings = [item for item in SETTINGS if not (remote and item.startswith(_PERSONAL_KEYS))]
    settings += _REMOTE_SETTINGS if remote else ()
    overrides = [word for setting in settings for word in ("-c", setting)]
    return ["git", "--no-pager", *overrides, f"--git-dir={git_dir}", *arguments]


def _read(process: subprocess.Popen[bytes], end: float, excess: Callable[[], str]) -> bytes:
    """Return what a process writes until it ends."""
    assert process.stdout
    output = bytearray()
    reading = True
    while reading or process.poll() is None:
        if reading and select.select([process.stdout], [], [], _POLL_S)[0]:
            part = os.read(process.stdout.fileno(), 65536)
            output += part
            reading = part != b""
        elif not reading:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_POLL_S)
        limit = excess() or ("git writes without end" if len(output) > _MOST_OUTPUT else "")
        if limit or time.monotonic() > end:
            raise GitError(limit or "git did not finish in time", hint="try again later")
    return bytes(output)


def _flood(messages: int) -> str:
    return "the remote sends messages without end" if os.fstat(messages).st_size > _MOST_ERRORS else ""


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the pipe of a process, and kill one that still runs, with the helpers that it has started."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout:
        process.stdout.close()


def _variables(*, remote: bool) -> dict[str, str]:
    if not remote:
        return environment()
    personal = {name: value for name, value in os.environ.items() if name in _PERSONAL}
    return {**environment(), **personal, "GIT_ALLOW_PROTOCOL": ":".join(PROTOCOLS)}
