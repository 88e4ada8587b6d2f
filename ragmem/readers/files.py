"""Read the text of files; an error gives the exact reason why a file is not text."""

import codecs
import os
import stat
from enum import StrEnum
from pathlib import Path

from ragmem.errors import SourceError

BYTE_ORDER_MARKS = (
    # The marks of UTF-32 begin like those of UTF-16, so they come first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)


class Reason(StrEnum):
    """Why a file was not read."""

    UNREADABLE = "unreadable"
    BINARY = "binary"
    EMPTY = "empty"
    HUGE = "huge"
    ENCODING = "encoding"
    FOLDER = "folder"
    SPECIAL = "special"
    VANISHED = "vanished"
    NAME = "name"
    FORMAT = "format"
    COSTLY = "costly"
    PICTURE = "picture"
    """A picture or scan in which nothing here found text."""


class ReadError(SourceError):
    """A file could not be read; `reason` says why."""

    def __init__(self, path: Path, reason: Reason, problem: str, *, hint: str = "") -> None:
        super().__init__(f'cannot read "{show(path)}": {problem}', hint=hint)
        self.path = path
        self.problem = problem
        self.reason = reason


def show(path: Path) -> str:
    """Return the path as text for any terminal and database; bytes that are not UTF-8 are escaped."""
    return str(path).encode("utf-8", "backslashreplace").decode("utf-8")


def read_text(path: Path, *, max_bytes: int) -> str:
    r"""Return the text of a file without its byte order mark, with `\n` as line end.

    Reads UTF-8, and UTF-16 or UTF-32 with a mark. Raises ReadError for a file that is larger than
    `max_bytes`, empty or only white space, binary (a NUL character), in another encoding, not a regular
    file, not readable, or missing. Never waits on a pipe.
    """
    raw = _read_bytes(path, max_bytes)
    encoding = next((name for mark, name in BYTE_ORDER_MARKS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        if b"\0" in raw:
            raise ReadError(path, Reason.BINARY, "it is not text") from error
        raise ReadError(
            path,
            Reason.ENCODING,
            f"byte {error.start} is not valid {encoding.removesuffix('-sig').upper()}",
            hint="save the file as UTF-8",
        ) from error
    if "\0" in text:
        raise ReadError(path, Reason.BINARY, "it is not text")
    if not text.strip():
        raise ReadError(path, Reason.EMPTY, "it is empty")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read_bytes(path: Path, max_bytes: int) -> bytes:
    try:
        # Without O_NONBLOCK, opening a pipe without a writer would block for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - a descriptor, not a path
            status = os.fstat(descriptor)
            if stat.S_ISDIR(status.st_mode):
                raise ReadError(path, Reason.FOLDER, "it is a folder")
            if not stat.S_ISREG(status.st_mode):
                raise ReadError(path, Reason.SPECIAL, "it is not a regular file")
            # One byte more than allowed, because a file can grow after its size was read.
            raw = file.read(max_bytes + 1) if status.st_size <= max_bytes else b""
            if status.st_size > max_bytes or len(raw) > max_bytes:
                raise ReadError(
                    path,
                    Reason.HUGE,
                    f"its {max(status.st_size, len(raw)):,} bytes exceed the limit of {max_bytes:,}",
                    hint="raise max_file_mb in [seed] of config.toml, or exclude the file",
                )
            return raw
    except FileNotFoundError as error:
        raise ReadError(path, Reason.VANISHED, "there is no such file") from error
    except IsADirectoryError as error:
        raise ReadError(path, Reason.FOLDER, "it is a folder") from error
    except (OSError, ValueError) as error:
        problem = (getattr(error, "strerror", None) or str(error)).lower()
        raise ReadError(path, Reason.UNREADABLE, problem, hint="check its permissions") from error


def size_of(path: Path) -> int:
    """Return the size of a file in bytes; 0 where it has gone since, or cannot be looked at."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
