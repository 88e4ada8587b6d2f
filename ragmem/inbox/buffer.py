"""`ragmem ingest --buffer`: accept texts into the inbox without loading the command line or a model."""

import os
import sys
import time

from ragmem import inbox
from ragmem.config.folders import folder_of
from ragmem.errors import EXIT_OK, StorageError, UsageError
from ragmem.inbox.redaction import redact_write
from ragmem.readers.roots import marked_root

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

WORD = "--buffer"
STDIN = "-"

_VALUES = {
    "--text": "texts",
    "--type": "type",
    "--title": "title",
    "--tag": "tags",
    "-t": "tags",
    "--project": "project",
    "-p": "project",
    "--spec": "spec",
    "--session": "session",
    "--agent": "agent",
}
_FLAGS = {WORD: "", "--json": "as_json", "--jsonl": "as_lines", "--quiet": "quiet", "-q": "quiet"}
_LINE_FIELDS = ("event_time", "title", "type", "source", "uri", "project", "spec", "session")


class Request:
    """The texts to accept, from options, files or standard input, and the fields that all of them share."""

    def __init__(
        self,
        *,
        texts: "Sequence[str]" = (),
        paths: "Sequence[str]" = (),
        tags: "Sequence[str]" = (),
        as_lines: bool = False,
        as_json: bool = False,
        quiet: bool = False,
        event_time: "datetime | None" = None,
        **said: str,
    ) -> None:
        self.texts = texts
        self.paths = paths
        self.tags = tags
        self.as_lines = as_lines
        self.as_json = as_json
        self.quiet = quiet
        self.event_time = event_time
        self.said = said


def request_of(arguments: "Sequence[str]") -> Request | None:
    """Parse the words after `ragmem ingest`; return None if the full command line must handle them.

    That is the case without --buffer, and with anything that is wrong or unknown here.
    """
    if WORD not in arguments:
        return None
    found: dict[str, Any] = {"texts": [], "paths": [], "tags": []}
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        if word == STDIN or not word.startswith("-"):
            found["paths"].append(word)
        elif word == "--":
            found["paths"] += words
        elif word in _FLAGS:
            found[_FLAGS[word]] = True
        elif name in _VALUES and (word == name or word.startswith("--")):
            given = value if equals else next(words, None)
            if given is None or (name == "--type" and given not in inbox.TYPES):
                return None
            _set(found, _VALUES[name], given)
        else:
            return None
    asked = found.pop("", False)
    if not asked or ("as_lines" in found and STDIN not in found["paths"]):
        return None
    return Request(**found) if _can_be_read(found["texts"], found["paths"]) else None


def _set(found: "dict[str, Any]", name: str, value: str) -> None:
    if isinstance(found.get(name), list):
        found[name].append(value)
    else:
        found[name] = value


def _can_be_read(texts: "Sequence[str]", paths: "Sequence[str]") -> bool:
    return bool(texts or paths) and all(path == STDIN or os.path.isfile(path) for path in paths)


def accept(
    request: Request, *, environ: "Mapping[str, str]", home: str, cwd: str, now_ns: "Any" = time.time_ns
) -> int:
    """Put all texts into the inbox, print a line for each as soon as it is durable; return the exit code.

    All texts are checked first, so that one wrong text or line rejects all. Raises UsageError and
    StorageError; texts that were printed are stored nevertheless.
    """
    data = folder_of("data", environ, home=home, cwd=cwd)
    sealed = []
    for said in _writes(request, cwd):
        write = redact_write(said, environ=environ, home=home, cwd=cwd)
        place = os.path.dirname(write["read_from"]) if "read_from" in write else cwd
        sealed.append(inbox.seal(folder=place, root=marked_root(place, home), at_ns=now_ns(), **write))
    receipts: list[inbox.Receipt] = []
    for one in sealed:
        try:
            receipt = inbox.keep(data, one)
        except StorageError as error:
            if not receipts:
                raise
            kept = f"{len(receipts)} of {len(sealed)} texts were accepted before"
            raise StorageError(f"{error}; {kept}", hint=error.hint) from error
        receipts.append(receipt)
        if not request.as_json:
            of = "" if receipt.status == "accepted" else "of "
            sys.stdout.write(f"{receipt.status} {of}{receipt.short}\n")
            sys.stdout.flush()
    if request.as_json:
        # No value needs an escape, and importing json would take longer than everything else.
        lines = [f'    {{"status": "{receipt.status}", "id": "{receipt.short}"}}' for receipt in receipts]
        body = ",\n".join(lines)
        sys.stdout.write(f'{{\n  "schema": 1,\n  "writes": [\n{body}\n  ]\n}}\n')
    return EXIT_OK


def _writes(request: Request, cwd: str) -> "Iterator[dict[str, Any]]":
    """Yield the arguments of `inbox.seal` for each text."""
    said: dict[str, Any] = {**request.said, "tags": request.tags, "event_time": request.event_time}
    if agent := said.pop("agent", ""):
        said["metadata"] = {"agent": agent}
    for text in request.texts:
        yield {**said, "text": text}
    for path in request.paths:
        if path != STDIN:
            file = os.path.join(cwd, path)
            modified = os.stat(file).st_mtime_ns
            yield {**said, "text": _read(path), "read_from": file, "modified_ns": modified}
    if STDIN in request.paths:
        text = _decode(_standard_input(request), "standard input")
        if request.as_lines:
            for number, line in enumerate(text.split("\n"), start=1):
                if line.strip():
                    found = _parse_line(line, number)
                    metadata = {**said.get("metadata", {}), **found.get("metadata", {})}
                    yield {**said, **found, "metadata": metadata}
        else:
            yield {**said, "text": text}


def _standard_input(request: Request) -> bytes:
    if sys.stdin.isatty() and not request.quiet:
        sys.stderr.write("reading from the terminal; end with ^D\n")
    if request.as_lines:
        return sys.stdin.buffer.read()
    return sys.stdin.buffer.read(inbox.MOST_BYTES + 1)


def _read(path: str) -> str:
    with open(path, "rb") as file:
        raw = file.read(inbox.MOST_BYTES + 1)
    if raw.startswith(_DOCUMENTS):
        raise UsageError(f'"{path}" is a document, and the inbox takes texts', hint="leave out --buffer")
    return _decode(raw, f'"{path}"')


def _decode(raw: bytes, what: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(raw) > inbox.MOST_BYTES:
            # The text was cut within a character; `seal` will reject its length.
            return raw.decode("utf-8", "replace")
        raise UsageError(
            f"{what} is not UTF-8: byte {error.start} is invalid", hint="convert it: iconv -t utf-8"
        ) from error


def _parse_line(line: str, number: int) -> "dict[str, Any]":
    """Parse one JSON line: a text, or an object with `text` and further fields."""
    import json

    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"line {number} is not JSON: {error}", hint=_LINE_HINT) from error
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise UsageError(f"line {number} has no text", hint=_LINE_HINT)
    found: dict[str, Any] = {"text": value.pop("text")}
    for name, given in value.items():
        if not _is_known(name, given):
            raise UsageError(f'line {number}: "{name}" is unknown or has an invalid value', hint=_LINE_HINT)
        found[name] = _parse_time(given, number) if name == "event_time" else given
    return found


def _is_known(name: str, value: object) -> bool:
    """Return whether a field of a line exists and its value has the right form."""
    if name == "tags":
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    if name == "metadata":
        return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
    return name in _LINE_FIELDS and isinstance(value, str)


def _parse_time(text: str, number: int) -> "datetime":
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f'line {number}: "{text}" is not a date', hint="write 2026-03-15T10:00:00Z"
        ) from error


_DOCUMENTS = (b"%PDF-", b"PK\x03\x04")  # PDF; office files and e-books
_LINE_HINT = '{"text": "what to remember", "type": "decision", "title": "...", "tags": ["..."]}'
