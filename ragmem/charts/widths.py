"""How wide a text is in a terminal, or in a monospaced font, in narrow letters."""

import re
import unicodedata


def letters(text: str) -> int:
    """Return how many narrow letters are as wide as the text."""
    return sum(map(_width, text))


def _width(letter: str) -> int:
    if unicodedata.combining(letter) or unicodedata.category(letter) == "Cf":
        return 0
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def fitted(text: str, width: int) -> str:
    """Return as much of a text as is `width` letters wide, with an ellipsis where it was cut."""
    if letters(text) <= width:
        return text
    kept, room = "", width - 1
    for letter in text:
        room -= _width(letter)
        if room < 0:
            break
        kept += letter
    return f"{kept.rstrip()}…" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """Return a text that is exactly `width` letters wide: cut, or with spaces behind it."""
    shown = fitted(text, width)
    return shown + " " * (width - letters(shown))


_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def without_controls(text: str) -> str:
    """Return the text with a replacement character for each character that could drive a terminal.

    These are the controls but for the line end and the tab, the line and paragraph separators, and the marks,
    overrides and isolates of direction.
    """
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def escaped_controls(document: bytes) -> bytes:
    """Return a JSON document that says the same, with escapes for what could drive a terminal."""
    text = document.decode("utf-8", "surrogatepass")
    escaped = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return document if escaped == text else escaped.encode("utf-8", "surrogatepass")
