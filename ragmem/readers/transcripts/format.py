"""The description of a format of session files: its reader and its detection. Each format has a module."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from ragmem.frozen import dataclass
from ragmem.readers.files import ReadError, Reason

SQLITE = b"SQLite format 3\0"
"""The beginning of a database, which holds many sessions."""

MAX_DOCUMENT = 64 << 20
"""Maximum bytes of a document, which must fit in memory."""

REACH = 2000
"""Bytes of a truncated line that hold the names of a record, before its text."""


class RecordReader(Protocol):
    """Reads the records of a session into an `ExchangeBuilder`."""

    def passes_over(self, _line: bytes, /) -> bool:
        """Return whether a line need not be parsed; it is counted then. By default every line is parsed."""
        return False

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of a transcript."""


class TextReader(RecordReader, Protocol):
    """Reads a document of text, which has no records, into an `ExchangeBuilder`."""

    _builder: Any

    def take(self, record: Mapping[str, Any]) -> None:
        """Skip a record."""
        self._builder.skip(str(record.get("type", "")), known=False)

    def take_text(self, text: str) -> Iterator[None]:
        """Read the messages one by one; yield after each."""


def read_document(path: Path) -> bytes:
    """Return the content of a document; raises ReadError above MAX_DOCUMENT bytes, and OSError."""
    if path.stat().st_size > MAX_DOCUMENT:
        raise ReadError(path, Reason.HUGE, f"a session of more than {MAX_DOCUMENT >> 20} MB cannot be read")
    return path.read_bytes()


def read_text_document(reader: TextReader, path: Path) -> Iterator[None]:
    """Let a reader take a file of text with line ends of any system; yield after each message.

    Raises what `read_document` does.
    """
    text = read_document(path)[: MAX_DOCUMENT + 1].decode("utf-8-sig", "replace")
    return reader.take_text(text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", ""))


@dataclass(frozen=True, slots=True)
class SessionRead:
    """A session of a database: `messages` yields after each, `carried` is the state behind it, as JSON."""

    messages: Iterator[None]
    builder: Any
    carried: str


def _never(*_arguments: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the `FORMAT` of a module `NAME` here, which an assistant names as its `session_format`."""

    reader: Callable[..., RecordReader]
    """Takes an `ExchangeBuilder`, the path, and `sidechains`."""
    is_record: Callable[[dict[str, Any]], bool] = _never
    """Tells whether a record is of this format and of no other."""
    may_be_record: Callable[[dict[str, Any]], bool] = _never
    """Tells whether a record may be of this format; only the path can decide."""
    is_foreign: Callable[[dict[str, Any]], bool] = _never
    """Tells whether a record is one of another program with a similar format."""
    is_torn: Callable[[bytes], bool] = _never
    """Tells by the beginning of a file whether its first record, which is cut off, is of this format."""
    is_document: Callable[[Path, bytes], bool] = _never
    """Tells whether a file is one document instead of lines."""
    read_document: Callable[[Any, Path], Iterator[None] | None] = lambda *_: None
    """Lets a reader take a document, and yields after each message; None for a broken document."""
    is_database: Callable[[Path], bool] = _never
    """Tells whether an SQLite database holds sessions of this format."""
    read_sessions: Callable[..., Iterator[SessionRead]] = lambda *_: iter(())
    """Takes the path of a database, the state that was carried, a maker of builders, and `sidechains`."""


def find_format(name: str) -> Format:
    """Return the format in the module of this name."""
    found: Format = importlib.import_module(f"ragmem.readers.transcripts.{name}").FORMAT
    return found
