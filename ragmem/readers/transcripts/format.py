"""A format of session files: what reads it, and how it is recognized. Each has a module of its own here."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

REACH = 2000
"""Bytes of a torn line in which the names of a record stand, before its text."""


class RecordReader(Protocol):
    """Reads the records of a session into a `Building`."""

    def passes_over(self, line: bytes, /) -> bool:
        """Tell whether a line need not be parsed; it was counted then."""

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of a transcript."""


def _never(*_arguments: Any) -> bool:
    return False


def _nothing(*_arguments: Any) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Format:
    """A format. A module `NAME` here has one as `FORMAT`; an assistant names it as its `session_format`."""

    reader: Callable[..., RecordReader]
    """Takes a `Building`, the path, and `sidechains`."""
    is_record: Callable[[dict[str, Any]], bool]
    """Tells whether a record is of this format and of no other."""
    may_be_record: Callable[[dict[str, Any]], bool] = _never
    """Tells whether a record is of this format or of another, which only the path can tell."""
    is_foreign: Callable[[dict[str, Any]], bool] = _never
    """Tells whether a record is that of another program, which writes nearly the same."""
    is_torn: Callable[[bytes], bool] = _never
    """Tells by the beginning of a file whether its first record, which is longer, is of this format."""
    is_document: Callable[[Path, bytes], bool] = _never
    """Tells whether a file is one document, not lines."""
    read_document: Callable[[Any, Path], Iterator[None] | None] = _nothing
    """Lets a reader take a document, and yields after each message; None for a broken document."""


def find_format(name: str) -> Format:
    """Return the format in the module of this name."""
    found: Format = importlib.import_module(f"ragmem.readers.transcripts.{name}").FORMAT
    return found
