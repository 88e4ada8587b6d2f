"""Documents are read in a process apart, which may crash, hang or run out of memory without harm."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import ragmem
from ragmem.domain.secrets.redaction import DEFAULT, Redactor
from ragmem.readers.documents import wire
from ragmem.readers.documents.confinement import OUT_OF_MEMORY
from ragmem.readers.documents.model import Converted, Limits, RefusedError

FILES_A_PROCESS = 100
"""Files that one process reads before a fresh one takes over, since libraries leak."""

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TESSDATA_PREFIX", "SYSTEMROOT")
_BLOCK = 1 << 16
_NONSENSE = (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
# Isolated, so that neither the present folder nor a variable can put modules in the way of the real ones.
_START = (
    "import sys; sys.path.append(sys.argv[1]);"
    "from ragmem.readers.documents.worker import main; sys.exit(main())"
)


class _GoneError(Exception):
    """The process ended, or was ended, before it answered; `out_of_memory` where that was why."""

    def __init__(self, problem: str, *, hint: str = "", out_of_memory: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint
        self.out_of_memory = out_of_memory


class Converter:
    """Reads documents one after the other in one process apart, which starts with the first.

    Importing the libraries takes longer than most documents, so that the process goes on to the next file;
    after a failure the next file gets a fresh one. To be closed, or used in a `with`.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        seconds: float = 60.0,
        memory_mb: int = 1_000,
        pictures: bool = False,
        redactor: Redactor = DEFAULT,
    ) -> None:
        self.limits = limits or Limits()
        self.seconds = seconds
        self.memory_mb = memory_mb
        self.pictures = pictures
        self.redactor = redactor
        self.peak_mb = 0.0
        """The most memory that the present process has held, as it told with its last answer."""
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def convert(self, path: Path) -> Converted:
        """Return what a document holds; raises RefusedError, in one line, whatever the file is.

        Takes `seconds` at most, and a start of the process. Nothing of the file is run, nothing is fetched.
        """
        used = self._read > 0
        try:
            return self._request(path)
        except _GoneError as error:
            if used and error.out_of_memory:
                # Perhaps what earlier files left behind took the room.
                with suppress(_GoneError):
                    return self._request(path)
            raise RefusedError(error.problem, hint=error.hint, costly=True) from error

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        self._read = 0
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()

    def _request(self, path: Path) -> Converted:
        if self._read >= FILES_A_PROCESS or self.peak_mb > self.memory_mb / 2:
            self.close()
        process = self._process or self._start()
        asked = wire.request(
            str(path),
            self.limits,
            seconds=self.seconds,
            memory_mb=self.memory_mb,
            pictures=self.pictures,
            redactor=self.redactor,
        )
        self._read += 1
        try:
            message = self._exchange(process, asked)
            self.peak_mb = message["peak_kb"] / 1_000
            return wire.restore(message)
        except RefusedError:
            raise
        except _NONSENSE as error:
            self.close()
            raise RefusedError("the process that reads it gave no answer that can be read") from error
        except BaseException:
            self.close()
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        self._read, self.peak_mb = 0, 0.0
        root = str(Path(ragmem.__file__).resolve().parent.parent)
        environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, with our own words
            [sys.executable, "-I", "-B", "-c", _START, root],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment | {"PYTHONIOENCODING": "utf-8", "OMP_THREAD_LIMIT": "1"},
            start_new_session=True,
            bufsize=0,
        )
        return self._process

    def _exchange(self, process: subprocess.Popen[bytes], asked: bytes) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        deadline = time.monotonic() + self.seconds
        try:
            process.stdin.write(asked)
        except BrokenPipeError as error:
            raise self._end_process(process) from error
        most = wire.most_bytes(self.limits)
        received = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while (length := _length(received)) is None or len(received) < length:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise _GoneError(
                        f"it takes longer than {self.seconds:g} seconds",
                        hint="raise seconds in [documents] of config.toml",
                    )
                block = os.read(process.stdout.fileno(), _BLOCK)
                if not block:
                    raise self._end_process(process)
                received += block
                if len(received) > most:
                    raise _GoneError("its text is longer than the limits allow")
        message: dict[str, Any] = json.loads(received[wire.LENGTH_BYTES :])
        return message

    def _end_process(self, process: subprocess.Popen[bytes]) -> _GoneError:
        status = process.wait()
        if status == OUT_OF_MEMORY:
            return _GoneError(
                f"it takes more than {self.memory_mb:,} MB of memory",
                hint="raise max_memory_mb in [documents] of config.toml",
                out_of_memory=True,
            )
        if status in {-signal.SIGXCPU, -signal.SIGKILL}:
            return _GoneError("it takes too much of the processor or of the memory", out_of_memory=True)
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return _GoneError(f"the process that reads it ended ({how})")


def _length(received: bytearray) -> int | None:
    """Return how long the whole message is, once enough of it is here to tell."""
    if len(received) < wire.LENGTH_BYTES:
        return None
    return wire.LENGTH_BYTES + int.from_bytes(received[: wire.LENGTH_BYTES], "big")
