"""Read a transcript record by record from a position, and yield its exchanges."""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO

import orjson

from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.transcript import Exchange
from ragmem.errors import os_reason
from ragmem.frozen import dataclass
from ragmem.readers.files import ReadError, Reason
from ragmem.readers.transcripts.detection import ASSISTANTS, OTHERS, assistant_of, find_session_format
from ragmem.readers.transcripts.exchange_builder import ExchangeBuilder
from ragmem.readers.transcripts.format import SQLITE, RecordReader
from ragmem.readers.transcripts.records import parse

HEAD_BYTES = 256 << 10
"""Bytes at the beginning of a file for detecting its assistant."""

RULES = "3"
"""Version of the rules; a change makes all transcripts be read again."""


@dataclass(frozen=True, slots=True)
class Step:
    """The progress in a transcript, and the exchange that was found, if any.

    Reading on from `position` with `carried` (JSON) gives the rest. The position of an unfinished exchange is
    its beginning, so that it is read again as a whole. `problems` and `left_out` are counts by name since the
    previous step.
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
    """Yield the exchanges of a transcript from a position on, in order, with the position after each.

    Without a name the assistant is detected. The last step is that of the open exchange, if any. With `ended`
    that exchange counts as finished, and an incomplete last line is read as well. Records of subagents are
    left out unless `sidechains` is set. Broken lines and unknown records are counted. Memory does not grow
    with the file. Raises ReadError for a file that is missing, cannot be read, or is not a transcript of a
    known assistant.
    """
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
            name = assistant or assistant_of(path, head) or ""
            if name not in (*ASSISTANTS, *OTHERS):
                raise ReadError(path, Reason.FORMAT, "it is not a transcript of " + ", ".join(ASSISTANTS))
            known = find_session_format(name)
            if head.startswith(SQLITE):
                made = partial(ExchangeBuilder, name, redactor=redactor)
                carried = carried or ""
                for session in known.read_sessions(path, carried, made, sidechains=sidechains):
                    yield from _document(
                        session.messages, session.builder, ended=ended, during=carried, after=session.carried
                    )
                    carried = session.carried
                return
            if known.is_document(path, head):
                builder = ExchangeBuilder(name, redactor=redactor)
                messages = known.read_document(known.reader(builder, path, sidechains=sidechains), path)
                if messages is None:
                    builder.problems["broken document"] += 1
                yield from _document(messages or (), builder, ended=ended)
                return
            builder = ExchangeBuilder(name, carried or "", position, redactor=redactor)
            reader = known.reader(builder, path, sidechains=sidechains)
            for line, after in lines(file, position, torn=ended):
                _take(line, reader, builder)
                yield from _closed_steps(builder)
                builder.close_part(after)
                yield from _closed_steps(builder)
                position = builder.position = after
    except OSError as error:
        problem = os_reason(error)
        raise ReadError(path, Reason.UNREADABLE, problem, hint="check its permissions") from error
    yield _step(builder.rest(ended=ended), builder, position)


def _document(
    messages: Iterable[None], builder: ExchangeBuilder, *, ended: bool, during: str = "", after: str = ""
) -> Iterator[Step]:
    """Yield the exchanges of a document or a session, which is always read as a whole.

    `during` and `after` are the states to carry before and behind its end.
    """
    for _ in messages:
        yield from _restart(builder, during)
        builder.close_part(0)
        yield from _restart(builder, during)
    yield replace(_step(builder.rest(ended=ended), builder, 0), position=0, carried=after)


def _restart(builder: ExchangeBuilder, carried: str) -> Iterator[Step]:
    for step in _closed_steps(builder):
        yield replace(step, position=0, carried=carried)


def _take(line: bytes | None, reader: RecordReader, builder: ExchangeBuilder) -> None:
    if line is None:
        builder.problems["line too long"] += 1
        return
    line = line.removeprefix(BOM_UTF8)
    if not line.strip() or reader.passes_over(line):
        return
    try:
        record = parse(line)
    except orjson.JSONDecodeError:
        builder.problems["broken line"] += 1
        return
    if isinstance(record, dict):
        reader.take(record)
    else:
        builder.problems["broken line"] += 1


def _closed_steps(builder: ExchangeBuilder) -> Iterator[Step]:
    if builder.closed is not None:
        yield _step(builder.take_closed(), builder, builder.position)


def _step(exchange: Exchange | None, builder: ExchangeBuilder, position: int) -> Step:
    where, carried = builder.resume_from(position)
    problems, left_out = dict(builder.problems), dict(builder.left_out)
    builder.problems.clear()
    builder.left_out.clear()
    return Step(exchange, where, carried, problems, left_out)


_BLOCK = 1 << 20

MAX_LINE = 32 << 20
"""Maximum bytes of a line; a longer one, which only holds pictures, is skipped."""


def lines(file: BinaryIO, position: int, *, torn: bool = False) -> Iterator[tuple[bytes | None, int]]:
    """Yield each line from a position on without its line end, and the position after it.

    A last line without a line end is still being written; it is left out unless `torn` is set. A line of more
    than MAX_LINE bytes comes as None and is never held in memory as a whole.
    """
    file.seek(position)
    held: list[bytes] = []
    size = 0
    while block := file.read(_BLOCK):
        begin = 0
        while (end := block.find(b"\n", begin)) >= 0:
            size += end - begin
            position += size + 1
            if size > MAX_LINE:
                yield None, position
            elif held:
                yield b"".join((*held, block[begin:end])), position
            else:
                yield block[begin:end], position
            held.clear()
            size = 0
            begin = end + 1
        size += len(block) - begin
        if size > MAX_LINE:
            held.clear()
        else:
            held.append(block[begin:])
    if torn and size:
        yield None if size > MAX_LINE else b"".join(held), position + size
