"""A transcript is read record by record from where it was left, and handed on exchange by exchange."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import Exchange
from ragmem.readers.files import ReadError, Reason
from ragmem.readers.transcripts.building import ExchangeBuilder
from ragmem.readers.transcripts.detecting import ASSISTANTS, assistant_of, find_session_format
from ragmem.readers.transcripts.format import Format, RecordReader
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
    no transcript of an assistant that is known.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            name = assistant or assistant_of(path, head) or ""
            if name not in ASSISTANTS:
                raise ReadError(path, Reason.FORMAT, "it is no transcript of " + ", ".join(ASSISTANTS))
            known = find_session_format(name)
            if known.is_document(path, head):
                building = ExchangeBuilder(name, redactor=redactor)
                yield from _document(path, known, building, ended=ended, sidechains=sidechains)
                return
            building = ExchangeBuilder(name, carried or "", position, redactor=redactor)
            reader = known.reader(building, path, sidechains=sidechains)
            for line, after in lines(file, position, torn=ended):
                _take(line, reader, building)
                yield from _closed_steps(building)
                building.close_part(after)
                yield from _closed_steps(building)
                position = after
                building.begin_record(after)
    except OSError as error:
        problem = (error.strerror or str(error)).lower()
        raise ReadError(path, Reason.UNREADABLE, problem, hint="check its permissions") from error
    yield _step(building.left(ended=ended), building, position)


def _document(
    path: Path, known: Format, building: ExchangeBuilder, *, ended: bool, sidechains: bool
) -> Iterator[Step]:
    """Yield the exchanges of a document, which is written anew each time and so read from its beginning."""
    messages = known.read_document(known.reader(building, path, sidechains=sidechains), path)
    if messages is None:
        building.problems["broken document"] += 1
    for _ in messages or ():
        yield from _restart(building)
        building.close_part(0)
        yield from _restart(building)
    yield replace(_step(building.left(ended=ended), building, 0), position=0, carried="")


def _restart(building: ExchangeBuilder) -> Iterator[Step]:
    for step in _closed_steps(building):
        yield replace(step, position=0, carried="")


def _take(line: bytes | None, reader: RecordReader, building: ExchangeBuilder) -> None:
    if line is None:
        building.problems["line too long"] += 1
        return
    if not line.strip() or reader.passes_over(line):
        return
    try:
        record = parse(line)
    except orjson.JSONDecodeError:
        building.problems["broken line"] += 1
        return
    if isinstance(record, dict):
        reader.take(record)
    else:
        building.problems["broken line"] += 1


def _closed_steps(building: ExchangeBuilder) -> Iterator[Step]:
    if building.closed is not None:
        yield _step(building.take_closed(), building, building.position)


def _step(exchange: Exchange | None, building: ExchangeBuilder, position: int) -> Step:
    where, carried = building.resume_from(position)
    problems, left_out = dict(building.problems), dict(building.left_out)
    building.problems.clear()
    building.left_out.clear()
    return Step(exchange, where, carried, problems, left_out)
