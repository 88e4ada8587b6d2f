"""Compare the code on disk with what is stored of it, and parse what differs."""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ragmem.catalog.code_writing import Seen
from ragmem.domain.code import ParsedFile
from ragmem.domain.redaction import Redactor
from ragmem.readers.code import read_code
from ragmem.readers.code_files import MAX_BYTES, CodeFile
from ragmem.readers.files import ReadError, Reason, read_text
from ragmem.services.progress import Progress

SETTLED_NS = 2_000_000_000
"""A file that was modified so shortly before it was read may change again and keep its time."""

UNSURE = 0
"""The time of such a file: it is opened again, and compared by its content."""

HIDDEN = "[redacted]"
"""What stands in the facts for a text that is a secret by what stands around it."""


@dataclass(slots=True)
class CodeOnDisk:
    """The files as they are now; `parsed` are those that differ, `touched` those whose time alone does."""

    seen: dict[str, Seen] = field(default_factory=dict)
    parsed: dict[str, ParsedFile] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)
    skipped: list[tuple[str, str]] = field(default_factory=list)


def read_disk(
    root: Path,
    files: Sequence[CodeFile],
    known: Mapping[str, Seen],
    *,
    anew: bool,
    progress: Progress,
    redactor: Redactor,
) -> CodeOnDisk:
    """Return what of these files differs from what is known, parsed; all of them where `anew`.

    A file of the known size and time is not opened, one of the known content is not parsed.
    """
    found = CodeOnDisk()
    now = time.time_ns()
    waiting: list[tuple[str, str]] = []
    for file in files:
        before = known.get(file.path)
        if before and not anew and (before.size, before.modified_ns) == (file.size, file.modified_ns):
            found.seen[file.path] = before
            continue
        try:
            text = _text(root / file.path)
        except ReadError as error:
            if error.reason is not Reason.VANISHED:
                found.skipped.append((file.path, error.reason.value))
            continue
        modified = file.modified_ns if file.modified_ns < now - SETTLED_NS else UNSURE
        hashed = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        seen = Seen(hashed, file.size, modified, before.links if before else "")
        found.seen[file.path] = seen
        if before is None or anew or before.content_hash != hashed:
            waiting.append((file.path, text))
        elif seen != before:
            found.touched.add(file.path)
    progress.begin("read code", len(waiting))
    for path, text in waiting:
        found.parsed[path] = parse(path, text, redactor=redactor)
        progress.advance()
    return found


def parse(path: str, text: str, redactor: Redactor) -> ParsedFile:
    """Return a file as it is stored: nothing that is said of it shows a secret."""
    file = read_code(path, text)
    symbols = tuple(
        replace(symbol, doc=redactor.redact(symbol.doc)[0]) if symbol.doc else symbol
        for symbol in file.symbols
    )
    facts = _without_secrets(file.facts, text, redactor=redactor)
    return replace(file, purpose=redactor.redact(file.purpose)[0], symbols=symbols, facts=facts)


def _without_secrets(facts: Mapping[str, Any], text: str, redactor: Redactor) -> Mapping[str, Any]:
    """Return facts of which no text is a secret; what is one, the lines tell that it stands on."""
    clean, hidden = redactor.redact(text)
    if not hidden:
        return facts
    lines = text.split("\n")
    told: dict[str, str] = {}
    for one in dict.fromkeys(_texts(facts)):
        if one in text and one not in clean:
            # By themselves, for what is marked as private may be pages of code.
            around = "\n".join(line for line in lines if one in line)
            if one not in redactor.redact(around)[0]:
                shown = redactor.redact(one)[0]
                told[one] = shown if shown != one else HIDDEN
    return {name: _retold(value, told) for name, value in facts.items()} if told else facts


def _texts(facts: object) -> Iterator[str]:
    """Yield the texts of facts, but for the keys of mappings, which are names in the code."""
    if isinstance(facts, str):
        yield facts
    elif isinstance(facts, Mapping | list | tuple):
        for one in facts.values() if isinstance(facts, Mapping) else facts:
            yield from _texts(one)


def _retold(facts: Any, told: Mapping[str, str]) -> Any:
    if isinstance(facts, str):
        return told.get(facts, facts)
    if isinstance(facts, Mapping):
        return {name: _retold(one, told) for name, one in facts.items()}
    if isinstance(facts, list | tuple):
        return [_retold(one, told) for one in facts]
    return facts


def _text(path: Path) -> str:
    try:
        return read_text(path, max_bytes=MAX_BYTES)
    except ReadError as error:
        if error.reason is Reason.EMPTY:
            # A package is made of files that hold nothing.
            return ""
        raise
