"""The interface of the explorer's application for its views."""

from collections.abc import Iterable, Mapping

from textual.app import App

from ragmem.cli.explorer.reader import Reader
from ragmem.cli.explorer.table import Row


class Shell(App[None]):
    """An application with one memory, queried by `reader`; `known` are the values that filters complete."""

    reader: Reader
    stored: bool
    nothing_stored: str
    known: Mapping[str, Iterable[str]]

    def open_row(self, row: Row) -> None:
        """Open the screen of the item in a row."""
        raise NotImplementedError

    def go_back(self) -> None:
        """Go back to the previous screen, or to the list of views."""
        raise NotImplementedError

    def way(self) -> str:
        """Return the screens that led to this one."""
        raise NotImplementedError

    def copy(self, text: str) -> None:
        """Copy a text to the clipboard."""
        raise NotImplementedError

    def edit(self, path: str) -> None:
        """Open a file in the person's editor."""
        raise NotImplementedError
