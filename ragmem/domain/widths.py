"""How wide a text is in a terminal, or in a monospaced font, in narrow letters."""

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
