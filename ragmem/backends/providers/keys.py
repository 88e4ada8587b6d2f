"""The key of a provider: read from the environment or a command, and never shown."""

import os
import shlex
import subprocess
import threading
import time
from collections.abc import Sequence
from urllib.parse import quote

from ragmem.errors import BackendError

COMMAND_TIMEOUT_S = 10.0
FAILURE_KEPT_S = 60.0
"""A locked password manager is not asked again for each text of a seed."""

SHORTEST_PIECE = 12
"""Servers repeat a key without its middle; pieces of this length and more are concealed too."""

_running = threading.Lock()
_printed: dict[str, str] = {}
_failed: dict[str, tuple[float, str]] = {}


class Key:
    """A key that is read when it is first needed; its repr does not show it."""

    def __init__(self, *, variables: Sequence[str], command: str, needed: bool, section: str) -> None:
        self._variables = tuple(variables)
        self._command = command
        self._needed = needed
        self._section = section

    def __repr__(self) -> str:
        return "Key(***)"

    @property
    def source(self) -> str:
        """The name of the setting that gives the key."""
        return " or ".join(self._variables) if self._variables else "key_variable"

    def problem(self) -> str:
        """Return a message where the key is missing, else an empty one; runs no command."""
        if self._from_environment() or self._command or not self._needed:
            return ""
        return f"there is no key: {self.source} is not set"

    def read(self) -> str:
        """Return the key, or "" where none is needed.

        Raises BackendError where there is none, where its command fails, or where it cannot be sent.
        """
        found = self._from_environment()
        if not found and self._command:
            found = _command_output(self._command, self._section)
        if not found and self._needed:
            raise BackendError(
                f"there is no key: {self.source} is not set",
                hint=f"set {self.source}, or key_command in config.toml, [{self._section}]",
            )
        if not (found.isascii() and found.isprintable()) or " " in found:
            raise BackendError(
                "the key has invalid characters",
                hint=f"check {self.source}, or key_command in config.toml, [{self._section}]",
            )
        return found

    def conceal(self, text: str) -> str:
        """Return the text with the key, and pieces of it, replaced."""
        known = [self._from_environment(), _printed.get(self._command, "")]
        for key in filter(None, known):
            text = text.replace(key, "***").replace(quote(key, safe=""), "***")
            for length in range(len(key) - 1, SHORTEST_PIECE - 1, -1):
                text = text.replace(key[:length], "***").replace(key[-length:], "***")
        return text

    def _from_environment(self) -> str:
        for name in self._variables:
            if value := os.environ.get(name, "").strip():
                return value
        return ""


def _command_output(command: str, section: str) -> str:
    """Return the output of the command; it runs once per process, and a failure is cached for a while."""
    with _running:
        if command in _printed:
            return _printed[command]
        moment, problem = _failed.get(command, (0.0, ""))
        if not problem or time.monotonic() - moment > FAILURE_KEPT_S:
            problem = _run(command)
            if not problem:
                return _printed[command]
            _failed[command] = (time.monotonic(), problem)
    raise BackendError(
        f"key_command gives no key: {problem}",
        hint=f"run the command of config.toml, [{section}], in a terminal: it must print only the key",
    )


def _run(command: str) -> str:
    """Run the command and keep its output; return the problem, without any of the output."""
    try:
        finished = subprocess.run(  # noqa: S603 (the person's own configuration; no shell reads it)
            [os.path.expanduser(part) for part in shlex.split(command)],  # noqa: PTH111
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"it ran for more than {COMMAND_TIMEOUT_S:.0f} s"
    except (OSError, ValueError, IndexError):
        return "it cannot be run"
    if finished.returncode:
        return f"it ended with {finished.returncode}"
    try:
        key = finished.stdout.decode().strip()
    except UnicodeDecodeError:
        return "it did not print text"
    if not key:
        return "it printed nothing"
    _printed[command] = key
    return ""
