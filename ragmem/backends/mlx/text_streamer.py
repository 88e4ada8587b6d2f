"""Stream the text of an answer while its tokens come; the parts add up to the whole text."""

from collections.abc import Callable

_THINKS = "<think>"
_HALF = "\ufffd"
"""The replacement for a character whose rest is in a later token."""


class TextStreamer:
    """Emits the new text of an answer each time there are more tokens.

    `decode` returns the text of all tokens so far, without thoughts; `emit` gets the parts.
    """

    def __init__(self, decode: Callable[[list[int]], str], emit: Callable[[str], None]) -> None:
        self._decode = decode
        self._emit = emit
        self._emitted = ""

    def put(self, tokens: list[int]) -> None:
        """Emit the certain text of these tokens."""
        text = self._decode(tokens)
        if not _THINKS.startswith(text[: len(_THINKS)]):
            self.end(text.rstrip(_HALF))

    def end(self, text: str) -> None:
        """Emit the rest of the final text."""
        if len(text) > len(self._emitted) and text.startswith(self._emitted):
            self._emit(text[len(self._emitted) :])
            self._emitted = text
