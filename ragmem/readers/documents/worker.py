"""The process that reads documents: it answers the requests on its input one after the other."""

import importlib
import json
import os
import re
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.documents import confinement, wire
from ragmem.readers.documents.formats import module_of
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError

EXTRA = 'pip install "ragmem[documents]"'
_FORMATS = "ragmem.readers.documents.formats"
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_LONGEST_LINE = 300  # characters of a warning or refusal
_LONGEST_VALUE = 1_000  # characters of a document's metadata, which each of its parts has
_LONGEST_LABEL = 200
_MOST_WARNINGS = 20
_MOST_UNREAD = 20_000


def main() -> int:
    """Answer requests until the input ends; the output of libraries is discarded."""
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process

    def send(signal: bytes) -> None:
        answers.write(signal)
        answers.flush()

    confinement.set_signals(ocr=partial(send, wire.OCR_BEGINS), page=partial(send, wire.PAGE_ENDS))
    confined = False
    while (asked := _read_request(requests)) is not None:
        if not confined:
            confinement.confine(asked["memory_mb"])
            confined = True
        confinement.allow_seconds(asked["seconds"])
        answers.write(_answer(asked))
        answers.flush()
    return 0


def _read_request(requests: BinaryIO) -> dict[str, Any] | None:
    length = requests.read(wire.LENGTH_BYTES)
    if len(length) < wire.LENGTH_BYTES:
        return None
    asked: dict[str, Any] = json.loads(requests.read(int.from_bytes(length, "big")))
    return asked


def _answer(asked: dict[str, Any]) -> bytes:
    redactor = _redactor(asked["redactor"])
    try:
        limits = Limits(**asked["limits"])
        converted = _limit_document(
            _read(asked["path"], limits), limits, pictures=asked["pictures"], redactor=redactor
        )
        return wire.answer(converted, peak_kb=confinement.peak_kb())
    except RefusedError as error:
        # The problem may quote the document.
        problem = redactor.truncate(_line(error.problem), _LONGEST_LINE)
        return wire.refusal(problem, _line(error.hint), peak_kb=confinement.peak_kb())
    except MemoryError:
        os._exit(confinement.OUT_OF_MEMORY)  # this process is no longer reliable
    except RecursionError:
        return wire.refusal("it is nested too deeply", "", peak_kb=confinement.peak_kb())


def _redactor(rules: Mapping[str, Any]) -> Redactor:
    return Redactor(rules["stored"], tuple(rules["allow"]), tuple(rules["extra"]))


def _read(path: str, limits: Limits) -> ConvertedDocument:
    try:
        name = module_of(path)
    except OSError as error:
        raise RefusedError((error.strerror or "it cannot be opened").lower()) from error
    module = _import_format(name)
    try:
        converted: ConvertedDocument = module.read(path, limits)
    except (RefusedError, MemoryError, RecursionError):
        raise
    except ModuleNotFoundError as error:
        raise _missing_library(error) from error
    except Exception as error:
        # Any error of a library counts as damage of the file.
        raise RefusedError(f"its content is damaged ({type(error).__name__})") from error
    return converted


def _import_format(name: str) -> Any:
    try:
        return importlib.import_module(f"{_FORMATS}.{name}")
    except ModuleNotFoundError as error:
        raise _missing_library(error) from error


def _missing_library(error: ModuleNotFoundError) -> RefusedError:
    return RefusedError(f"it needs {error.name}, which is not installed: {EXTRA}", hint=EXTRA)


def _limit_document(
    converted: ConvertedDocument, limits: Limits, *, pictures: bool, redactor: Redactor
) -> ConvertedDocument:
    """Return the document with clean texts, within its limit of characters, and with pictures if requested.

    Locators are unique: sheets of the same name get a number.
    """
    left = limits.characters
    room, most = wire.PICTURES_BYTES, wire.PICTURES
    parts: list[Part] = []
    unread = [*converted.unread]
    places = Counter[str]()
    cut = 0
    for part in converted.parts:
        text, shown = part.text, []
        for picture in part.pictures:
            if pictures and most > 0 and len(picture.data) <= room:
                shown.append(picture)
                room, most = room - len(picture.data), most - 1
            else:
                text = text.replace(f"{picture.mark}\n\n", "").replace(picture.mark, "")
        text = _clean(text).strip()
        cut += max(0, len(text) - left)
        whole, text = text, text[:left].rstrip()
        left -= len(text)
        placed = _place_part(part, places, redactor)
        if text:
            parts.append(replace(placed, text=text, title=_line(part.title), pictures=tuple(shown)))
        elif whole:
            unread.append(placed.locator)
    warnings = [redactor.truncate(_line(each), _LONGEST_LINE) for each in converted.warnings[:_MOST_WARNINGS]]
    if (more := len(converted.warnings) - _MOST_WARNINGS) > 0:
        warnings.append(f"{more:,} more warnings are left out")
    if cut:
        warnings.append(f"{cut:,} characters beyond {limits.characters:,} are left out")
    metadata = {
        _line(name): redactor.truncate(_line(value), _LONGEST_VALUE)
        for name, value in converted.metadata.items()
        if value.strip()
    }
    return ConvertedDocument(
        tuple(parts),
        _line(converted.title),
        converted.event_time,
        metadata,
        tuple(warnings),
        tuple(unread[:_MOST_UNREAD]),
        converted.unseen,
    )


def _place_part(part: Part, places: Counter[str], redactor: Redactor) -> Part:
    """Return a part with a unique locator."""
    locator = _line(part.locator).replace("#", "%23")
    label = redactor.truncate(_line(part.label), _LONGEST_LABEL)
    places[locator] += 1
    if (number := places[locator]) > 1:
        locator = f"{locator}&part={number}" if locator else f"part={number}"
        label = f"{label}, part {number}" if label else f"part {number}"
    return replace(part, locator=locator, label=label)


def _clean(text: str) -> str:
    """Return a text without lone surrogates and control characters, for any database and terminal."""
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _CONTROLS.sub("", whole.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n"))


def _line(text: str) -> str:
    return " ".join(_clean(text).split())


if __name__ == "__main__":
    with suppress(BrokenPipeError):  # the parent is gone
        sys.exit(main())
