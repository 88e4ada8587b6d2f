"""Tell an answer while its tokens come, in parts that together are the text of the whole."""

from collections.abc import Callable

_THINKS = "<think>"
_HALF = "\ufffd"
"""What stands for a character of which the rest is in a later token."""


class Parts:
    """Hands on what is new in the text of an answer, each time that there are more tokens.

    `read` makes the text of all tokens so far, without thoughts; `tell` gets the parts.
    """

    def __init__(self, read: Callable[[list[int]], str], tell: Callable[[str], None]) -> None:
        self._read = read
        self._tell = tell
        self._told = ""

    def more(self, tokens: list[int]) -> None:
        """Tell what is sure of the text of these tokens."""
        text = self._read(tokens)
        if not _THINKS.startswith(text[: len(_THINKS)]):
            self.end(text.rstrip(_HALF))

    def end(self, text: str) -> None:
        """Tell what is left of a text."""
        if len(text) > len(self._told) and text.startswith(self._told):
            self._tell(text[len(self._told) :])
            self._told = text
