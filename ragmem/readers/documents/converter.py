"""Convert documents in a separate process, which may crash, hang or run out of memory without harm."""

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
from ragmem.readers.documents.model import LONGEST, ConvertedDocument, Limits, RefusedError

FILES_A_PROCESS = 100
"""Files that one process reads before a new one replaces it, because libraries leak."""

_USED_UP = 0.7
"""Share of the memory beyond which a new process reads the next file; reading pictures takes half of it."""

_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TESSDATA_PREFIX", "SYSTEMROOT")
_BLOCK = 1 << 16
_NONSENSE = (AttributeError, KeyError, OverflowError, RecursionError, TypeError, ValueError)
# Isolated, so that neither the current folder nor a variable can shadow modules. This ragmem is found before
# an installed one; nothing else in its folder is found before the libraries.
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); import ragmem; sys.path.append(sys.path.pop(0));"
    "from ragmem.readers.documents.worker import main; sys.exit(main())"
)


class _WorkerError(Exception):
    """The process ended or was stopped before it answered, maybe because it was `out_of_memory`."""

    def __init__(self, problem: str, *, hint: str = "", out_of_memory: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint
        self.out_of_memory = out_of_memory


class Converter:
    """Reads documents one after the other in a separate process, which starts with the first.

    Importing the libraries takes longer than most documents, so the process is reused for the next file;
    after a failure a new one starts. Close it, or use it in a `with`.
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
        """The peak memory of the current process, according to its last answer."""
        self._process: subprocess.Popen[bytes] | None = None
        self._read = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def convert(self, path: Path) -> ConvertedDocument:
        """Return a converted document; raises RefusedError for any file that cannot be converted.

        Takes at most `seconds`, plus the start of the process, plus `ocr_seconds` of the limits if text in
        pictures is read; a document that is read page by page takes at most ten times as long, and `seconds`
        a page. Nothing in the file is run or fetched.
        """
        used = self._read > 0
        try:
            return self._request(path)
        except _WorkerError as error:
            if used and error.out_of_memory:
                # Perhaps leaks of earlier files used up the memory.
                with suppress(_WorkerError):
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

    def _request(self, path: Path) -> ConvertedDocument:
        if self._read >= FILES_A_PROCESS or self.peak_mb > _USED_UP * self.memory_mb:
            self.close()
        process = self._process or self._start()
        request = wire.request(
            str(path),
            self.limits,
            seconds=self.seconds,
            memory_mb=self.memory_mb,
            pictures=self.pictures,
            redactor=self.redactor,
        )
        self._read += 1
        try:
            message = self._exchange(process, request)
            self.peak_mb = message["peak_kb"] / 1_000
            return wire.restore(message)
        except RefusedError:
            raise
        except _NONSENSE as error:
            self.close()
            raise RefusedError("the process that reads it returned no valid answer") from error
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

    def _exchange(self, process: subprocess.Popen[bytes], request: bytes) -> dict[str, Any]:
        assert process.stdin is not None
        assert process.stdout is not None
        begun = page = time.monotonic()
        ocr = 0.0
        try:
            process.stdin.write(request)
        except BrokenPipeError as error:
            raise self._exit_error(process) from error
        most = wire.most_bytes(self.limits)
        received = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while (length := _length(received)) is None or len(received) < length:
                deadline = min(page + self.seconds, begun + LONGEST * self.seconds) + ocr
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    raise _WorkerError(
                        f"it takes longer than {self.seconds:g} seconds",
                        hint="raise seconds in [documents] of config.toml",
                    )
                block = os.read(process.stdout.fileno(), _BLOCK)
                if not block:
                    raise self._exit_error(process)
                received += block
                while received.startswith((wire.OCR_BEGINS, wire.PAGE_ENDS)):
                    if received.startswith(wire.OCR_BEGINS):
                        ocr = self.limits.ocr_seconds
                    else:
                        page = time.monotonic()
                    del received[: wire.LENGTH_BYTES]
                if len(received) > most:
                    raise _WorkerError("its text is longer than the limits allow")
        message: dict[str, Any] = json.loads(received[wire.LENGTH_BYTES :])
        return message

    def _exit_error(self, process: subprocess.Popen[bytes]) -> _WorkerError:
        status = process.wait()
        if status == OUT_OF_MEMORY:
            return _WorkerError(
                f"it takes more than {self.memory_mb:,} MB of memory",
                hint="raise max_memory_mb in [documents] of config.toml",
                out_of_memory=True,
            )
        if status in {-signal.SIGXCPU, -signal.SIGKILL}:
            return _WorkerError("it takes too much of the processor or of the memory", out_of_memory=True)
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return _WorkerError(f"the process that reads it ended ({how})")


def _length(received: bytearray) -> int | None:
    """Return the length of the whole message, once it is known."""
    if len(received) < wire.LENGTH_BYTES:
        return None
    return wire.LENGTH_BYTES + int.from_bytes(received[: wire.LENGTH_BYTES], "big")
