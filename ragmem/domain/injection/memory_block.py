"""The part of a file that ragmem writes, between two marks; the rest of the file is untouched."""

import re
from collections.abc import Iterator, Sequence

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

BEGIN = "<!-- BEGIN ragmem: written by `ragmem refresh`, what you change in here is lost -->"
END = "<!-- END ragmem -->"

_MARK = "ragmem"
_BEGIN = lazy(r"[ \t]*<!--[ \t]*BEGIN[ \t]+ragmem\b[^\n]*-->[ \t]*")
_END = lazy(r"[ \t]*<!--[ \t]*END[ \t]+ragmem\b[^\n]*-->[ \t]*")
_FENCE = lazy(r"[ \t]*(`{3,}|~{3,})")
_AS_SHOWN = r"^[ \t>|\d:\u2192-]{0,16}"
"""The prefix of lines that are quoted or shown with line numbers."""
_SHOWN = lazy(
    rf"{_AS_SHOWN}<!--[ \t]*BEGIN[ \t]+ragmem\b[^\n]*-->[ \t]*\r?\n"
    rf"(?:(?!{_AS_SHOWN}<!--[ \t]*(?:BEGIN|END)[ \t]+ragmem\b)[^\n]*\n)*?"
    rf"{_AS_SHOWN}<!--[ \t]*END[ \t]+ragmem\b[^\n]*-->[ \t]*(?:\r?\n|\Z)",
    re.MULTILINE,
)


class InvalidMarksError(ValueError):
    """The marks of a file do not match; `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class BlockSpan:
    """The span of the block in a text, `text[start:end]`, including its last line end."""

    start: int
    end: int


def find_block(text: str) -> BlockSpan | None:
    """Return the span of the block; None if there is none. Marks within closed code fences are ignored.

    Raises InvalidMarksError for an unpaired mark and for a second block.
    """
    if _MARK not in text:
        return None
    begun: tuple[int, int] | None = None
    found: BlockSpan | None = None
    for number, start, line, end in _lines_outside_fences(text):
        if _BEGIN.fullmatch(line):
            if begun is not None or found is not None:
                raise InvalidMarksError("a second BEGIN ragmem", number)
            begun = number, start
        elif _END.fullmatch(line):
            if begun is None:
                raise InvalidMarksError("an END ragmem without its BEGIN", number)
            found, begun = BlockSpan(begun[1], end), None
    if begun is not None:
        raise InvalidMarksError("a BEGIN ragmem without its END", begun[0])
    return found


def with_block(text: str, lines: Sequence[str]) -> str:
    """Return the text with these lines between the marks: in the existing block, else at the end.

    The text outside the marks and the type of line ends are unchanged. Raises InvalidMarksError.
    """
    place = find_block(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    block = newline.join((BEGIN, *lines, END)) + newline
    if place is not None:
        whole = text[place.start : place.end]
        if not whole.endswith("\n"):
            # The mark was the end of the file.
            block = block.removesuffix(newline)
        return f"{text[: place.start]}{block}{text[place.end :]}"
    if not text:
        return block
    gap = newline if text.endswith("\n") else 2 * newline
    return f"{text}{gap}{block}"


def outside(text: str) -> str:
    """Return the text without its block. Raises InvalidMarksError."""
    place = find_block(text)
    return text if place is None else f"{text[: place.start]}{text[place.end :]}"


def without_block(text: str) -> str:
    """Remove any such block from a text for storage, whole, quoted or shown with line numbers."""
    return _SHOWN.sub("", text) if _MARK in text else text


def _lines_outside_fences(text: str) -> Iterator[tuple[int, int, str, int]]:
    """Yield (number, start, line without its end, end) of the lines outside of closed code fences."""
    rows = []
    at = 0
    for number, line in enumerate(text.split("\n"), start=1):
        end = min(at + len(line) + 1, len(text))
        rows.append((number, at, line.rstrip("\r"), end))
        at += len(line) + 1
    index = 0
    never_closed: set[str] = set()
    while index < len(rows):
        opened = _FENCE.match(rows[index][2])
        if opened and opened[1] not in never_closed:
            closed = _fence_close(rows, index, opened[1])
            if closed is not None:
                index = closed + 1
                continue
            never_closed.add(opened[1])
        yield rows[index]
        index += 1


def _fence_close(rows: Sequence[tuple[int, int, str, int]], opened: int, fence: str) -> int | None:
    """Return the row that closes a fence; None if it is never closed and therefore not a fence."""
    for index in range(opened + 1, len(rows)):
        line = rows[index][2].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return index
    return None
