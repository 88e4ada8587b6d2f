"""The width of a text in columns of a terminal, and text without control characters."""

import re
import unicodedata
from collections.abc import Iterator


def display_width(text: str) -> int:
    """Return the width of a text in columns: two for a wide character, none for a combining one."""
    return sum(map(_width, text))


def _width(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def truncate(text: str, width: int) -> str:
    """Return the beginning of a text in at most `width` columns, with an ellipsis if it was cut."""
    if display_width(text) <= width:
        return text
    kept, room = "", width - 1
    for letter in text:
        room -= _width(letter)
        if room < 0:
            break
        kept += letter
    return f"{kept.rstrip()}…" if width > 0 else ""


def pad(text: str, width: int) -> str:
    """Return a text cut or padded to exactly `width` columns."""
    shown = truncate(text, width)
    return shown + " " * (width - display_width(shown))


def wrap(text: str, width: int) -> Iterator[str]:
    """Yield the words of a text in lines of at most `width` columns."""
    line = ""
    for word in text.split():
        if line and display_width(line) + 1 + display_width(word) > width:
            yield line
            line = ""
        line = f"{line} {word}" if line else truncate(word, width)
    if line:
        yield line


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def replace_controls(text: str) -> str:
    """Return the text with a replacement character for each character that could control a terminal.

    These are control characters except newline and tab, line and paragraph separators, and the marks,
    overrides and isolates of text direction.
    """
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def escape_controls(document: bytes) -> bytes:
    """Return the JSON document with each character escaped that could control a terminal."""
    text = document.decode("utf-8", "surrogatepass")
    escaped = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return document if escaped == text else escaped.encode("utf-8", "surrogatepass")
