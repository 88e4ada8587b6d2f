"""The interface of the application for its views, and a text widget that cannot control the terminal."""

from collections.abc import Iterable, Mapping

from textual.app import App
from textual.visual import VisualType
from textual.widgets import Static

from ragmem.cli.common import printable
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


class Plain(Static):
    """A text without markup and control characters.

    Textual passes escapes and most control characters on to the terminal, and memories contain texts of
    others. Other content than a string (a `Text`, a table) is not changed; its maker must escape it.
    """

    def __init__(
        self,
        content: str = "",
        *,
        id: str | None = None,  # noqa: A002 - Textual's
        classes: str | None = None,
    ) -> None:
        super().__init__(printable(content), markup=False, id=id, classes=classes)

    def update(self, content: VisualType = "", *, layout: bool = True) -> None:
        """Show another content."""
        super().update(printable(content) if isinstance(content, str) else content, layout=layout)
