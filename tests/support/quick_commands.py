"""Runs `ragmem` in forks of a process that has loaded it: a process, streams and an exit code of its own each
time, without the half second that Python and the modules take to load.

What a test says of start-up, of what is imported, or of interpreter options needs a process from the start.
"""

import atexit
import contextlib
import fcntl
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import threading
from pathlib import Path

PRELOADED = "ragmem.backends.fake ragmem.backends.minilm numpy orjson typer rich.console".split()
"""Beside all modules of ragmem that are not below `HEAVY`."""

HEAVY = ("ragmem.__main__", "ragmem.backends", "ragmem.cli.explorer", "ragmem.server", "ragmem.testing")

LOADED_WITHIN_S = 120.0
"""Loading takes a second or two; many times that where the machine has more to do than it can."""


_ENVIRON = {name: text for name, text in os.environ.items() if not name.startswith(("RAGMEM_", "XDG_"))}
"""That of the test run, not of the test that happens to run the first command, which may change PATH."""


class QuickCommands:
    """One loaded process; a command at a time."""

    def __init__(self):
        self._guard = threading.Lock()
        self._process = None
        self._socket = None

    def run(self, arguments, *, given=b"", environ, cwd, timeout=60.0):
        """Return the CompletedProcess of a command line; raises TimeoutExpired, having killed it."""
        with (
            self._guard,
            tempfile.TemporaryFile() as stdin,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            stdin.write(given)
            stdin.seek(0)
            code = self._ask(arguments, environ, cwd, [stdin, out, err], timeout)
            out.seek(0)
            err.seek(0)
            return subprocess.CompletedProcess(["ragmem", *arguments], code, out.read(), err.read())

    def on_terminal(self, arguments, *, environ, cwd, timeout=60.0, keys=None, after=b""):
        """Return the exit code and all that a command line writes to a pseudo-terminal of its own.

        The keys, perhaps none, are pressed once it has written `after`; else its input is empty.
        """
        terminal, ends = pty.openpty()
        parts = []
        reader = threading.Thread(target=_use_terminal, args=(terminal, parts, keys, after))
        reader.start()
        try:
            with self._guard, Path(os.devnull).open("rb") as nothing, os.fdopen(ends, "wb", 0) as shown:
                streams = [nothing if keys is None else shown, shown, shown]
                code = self._ask(arguments, environ, cwd, streams, timeout)
        finally:
            reader.join(timeout)
            os.close(terminal)
        return code, b"".join(parts)

    def _ask(self, arguments, environ, cwd, streams, timeout):
        if self._process is None or self._process.poll() is not None:
            self._start()
        request = json.dumps([[*map(os.fsdecode, arguments)], dict(environ), os.fsdecode(cwd)]).encode()
        socket.send_fds(self._socket, [len(request).to_bytes(8, "big")], [file.fileno() for file in streams])
        self._socket.sendall(request)
        child = int(self._line(LOADED_WITHIN_S))
        try:
            return int(self._line(timeout))
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            self._line(LOADED_WITHIN_S)
            raise subprocess.TimeoutExpired(["ragmem", *arguments], timeout) from None

    def _line(self, timeout):
        self._socket.settimeout(timeout)
        found = b""
        while not found.endswith(b"\n"):
            part = self._socket.recv(1)
            if not part:
                message = "the loaded process ended"
                raise RuntimeError(message)
            found += part
        return found

    def _start(self):
        ours, theirs = socket.socketpair()
        environ = {**_ENVIRON, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()], env=environ
            )
        self._socket = ours
        atexit.register(self.close)

    def close(self):
        """End the loaded process."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._process is not None:
            self._process.wait(LOADED_WITHIN_S)
            self._process = None


def _use_terminal(terminal, parts, keys, after):
    # OSError is what Linux says when the other end is closed.
    with contextlib.suppress(OSError):
        while part := os.read(terminal, 65536):
            parts.append(part)
            if keys and after in b"".join(parts):
                os.write(terminal, keys)
                keys = b""


COMMANDS = QuickCommands()
"""That of this test process."""


def _load():
    """Load what commands need, and compile the patterns that each of them would compile anew."""
    import gc
    import importlib
    import pkgutil

    import new_databases

    import ragmem
    from ragmem import patterns
    from ragmem.cli import app

    found = (module.name for module in pkgutil.walk_packages(ragmem.__path__, "ragmem."))
    for name in (*PRELOADED, *(name for name in found if not name.startswith(HEAVY))):
        importlib.import_module(name)
    new_databases.install()
    for name in app.COMMANDS:
        app.load_command(name)
    for one in gc.get_objects():
        if isinstance(one, patterns._Lazy):
            one.flags  # noqa: B018 - compiles it
    _try_out()
    gc.freeze()  # a collection in a fork would copy the pages of all that is loaded


def _try_out():
    """Run commands on a home that is thrown away: what is made at its first use is made for all forks."""
    from ragmem.__main__ import run
    from ragmem.readers import git_head

    before = dict(os.environ)
    with (
        tempfile.TemporaryDirectory() as place,
        Path(os.devnull).open("w", encoding="utf-8") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        note = Path(place, "note.md")
        note.write_text("# Store\n\nWe decided to use SQLite because one file is easy to back up.\n")
        os.environ |= {"HOME": place, "RAGMEM_HOME": place, "RAGMEM_WARM": "off"}
        os.environ |= {"RAGMEM_MODELS_BACKEND": "fake", "RAGMEM_STORE_BACKEND": "fake"}
        for words in (["ingest", str(note)], ["query", "why SQLite"], ["gc", "--dry-run"], ["doctor"]):
            run(words)
    os.environ.clear()
    os.environ.update(before)
    # A fork has no thread of its parent, and would wait for it.
    while git_head._threads:
        git_head._threads.pop().shutdown()
    assert threading.active_count() == 1


def _serve(connection):
    _load()
    while head := connection.recv(8, socket.MSG_PEEK):
        if len(head) < 8:
            continue
        size, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
        left = int.from_bytes(size, "big")
        parts = []
        while left:
            parts.append(connection.recv(left))
            left -= len(parts[-1])
        arguments, environ, cwd = json.loads(b"".join(parts))
        child = os.fork()
        if not child:
            _become(connection, descriptors, arguments, environ, cwd)
        for descriptor in descriptors:
            os.close(descriptor)
        connection.sendall(f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _become(connection, descriptors, arguments, environ, cwd):
    """Run a command line in this fork, as a new process would; never returns."""
    code = 70
    try:
        connection.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        if os.isatty(0):
            # Ctrl-C is for those whose controlling terminal it is.
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.environ.clear()
        os.environ.update(environ)
        os.chdir(cwd)
        tempfile.tempdir = None  # TMPDIR of this environment tells it
        encoding, errors = environ.get("PYTHONIOENCODING", "utf-8"), "surrogateescape"
        sys.stdin = open(0, encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", encoding=encoding, errors=errors, closefd=False)  # noqa: SIM115
        sys.stderr = open(  # noqa: SIM115
            2, "w", encoding=encoding, errors="backslashreplace", closefd=False
        )
        sys.argv = ["ragmem", *arguments]
        from ragmem.__main__ import main

        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        # As at the end of a process.
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
