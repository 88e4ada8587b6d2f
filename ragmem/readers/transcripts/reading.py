"""A transcript is read record by record from where it was left, and handed on exchange by exchange."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import orjson

from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import Exchange
from ragmem.readers.files import ReadError, Reason
from ragmem.readers.transcripts.building import Building
from ragmem.readers.transcripts.claude import Claude
from ragmem.readers.transcripts.codex import Codex
from ragmem.readers.transcripts.cursor import Cursor
from ragmem.readers.transcripts.detecting import ASSISTANTS, assistant_of
from ragmem.readers.transcripts.gemini import Gemini, document_in, is_document
from ragmem.readers.transcripts.lines import lines
from ragmem.readers.transcripts.records import parse

HEAD_BYTES = 256 << 10
"""Bytes of a file's beginning by which its assistant is told."""

RULES = "1"
"""Raised when reading changes, so that transcripts are read anew."""


@dataclass(frozen=True, slots=True)
class Step:
    """How far a transcript was read, and the exchange that was found on the way, if any.

    What lies before `position` is done with: reading on from there with `carried` (JSON) gives what follows.
    An exchange that is not finished has its position where it begins, so that it is read again as a whole.
    `problems` and `left_out` count, by name, since the step before.
    """

    exchange: Exchange | None
    position: int
    carried: str
    problems: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)


class _Taker(Protocol):
    def passes_over(self, line: bytes, /) -> bool:
        """Tell whether a line need not be parsed; it was counted then."""

    def take(self, record: Mapping[str, Any]) -> None:
        """Take the next record of a transcript."""


_TAKERS: Mapping[str, Callable[..., _Taker]] = {
    "claude": Claude,
    "codex": Codex,
    "gemini": Gemini,
    "cursor": Cursor,
}


def read(
    path: Path,
    assistant: str = "",
    *,
    position: int = 0,
    carried: str | None = None,
    ended: bool = False,
    sidechains: bool = False,
    redactor: Redactor,
) -> Iterator[Step]:
    """Yield the exchanges of a transcript from a position on, in order, and where each leaves off.

    Without a name of the assistant the content tells. The last step is that of the exchange still open, or of
    none. With `ended` that one counts as finished, and a last line without an end is read as well. Records of
    subagents are left out unless `sidechains` asks for them. Broken lines and unknown records are counted.
    Memory does not grow with the file. Raises ReadError for a file that is not there, cannot be read, or is
    no transcript of the four assistants.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            name = assistant or assistant_of(path, head) or ""
            if name not in ASSISTANTS:
                raise ReadError(path, Reason.FORMAT, "it is no transcript of " + ", ".join(ASSISTANTS))
            if name == "gemini" and is_document(path, head):
                yield from _document(path, ended=ended, sidechains=sidechains, redactor=redactor)
                return
            building = Building(name, carried or "", position, redactor=redactor)
            taker = _TAKERS[name](building, path, sidechains=sidechains)
            for line, after in lines(file, position, torn=ended):
                _take(line, taker, building)
                yield from _closed(building)
                building.close_part(after)
                yield from _closed(building)
                position = after
                building.begin_record(after)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise ReadError(path, Reason.UNREADABLE, problem, hint="check its permissions") from error
    yield _step(building.left(ended=ended), building, position)


def _document(path: Path, *, ended: bool, sidechains: bool, redactor: Redactor) -> Iterator[Step]:
    """Yield the exchanges of a document, which is written anew each time and so read from its beginning."""
    building = Building("gemini", redactor=redactor)
    document = document_in(path)
    if document is None:
        building.problems["broken document"] += 1
    else:
        for _ in Gemini(building, path, sidechains=sidechains).messages(document):
            yield from _anew(building)
            building.close_part(0)
            yield from _anew(building)
    yield replace(_step(building.left(ended=ended), building, 0), position=0, carried="")


def _anew(building: Building) -> Iterator[Step]:
    for step in _closed(building):
        yield replace(step, position=0, carried="")


def _take(line: bytes | None, taker: _Taker, building: Building) -> None:
    if line is None:
        building.problems["line too long"] += 1
        return
    if not line.strip() or taker.passes_over(line):
        return
    try:
        record = parse(line)
    except orjson.JSONDecodeError:
        building.problems["broken line"] += 1
        return
    if isinstance(record, dict):
        taker.take(record)
    else:
        building.problems["broken line"] += 1


def _closed(building: Building) -> Iterator[Step]:
    if building.closed is not None:
        yield _step(building.take_closed(), building, building.position)


def _step(exchange: Exchange | None, building: Building, position: int) -> Step:
    where, carried = building.resume_from(position)
    problems, left_out = dict(building.problems), dict(building.left_out)
    building.problems.clear()
    building.left_out.clear()
    return Step(exchange, where, carried, problems, left_out)
