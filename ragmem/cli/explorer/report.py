"""The base of views that scroll a text: it is read in a thread, and drawn for the width."""

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize

from ragmem.cli.explorer.shell import Plain
from ragmem.errors import RagmemError

if TYPE_CHECKING:
    from ragmem.cli.explorer.shell import Shell


class ReportPane(VerticalScroll):
    """A scrolling text; a subclass reads its content in `read` and returns the text from `draw`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]

    app: "Shell"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id, classes="pane")

    async def read(self) -> None:
        """Read the content, and call `redraw`."""
        raise NotImplementedError

    def draw(self) -> Text | None:
        """Return the text for the current width and colours; None before anything was read."""
        raise NotImplementedError

    def compose(self) -> ComposeResult:
        """Lay out the text."""
        yield Plain("reading…", classes="plain")

    def on_mount(self) -> None:
        """Read the content."""
        self.reload()

    def take_focus(self) -> None:
        """Focus the text, so that keys scroll it."""
        self.focus()

    def reload(self) -> None:
        """Read the content again."""
        self.run_worker(self._load(), exclusive=True, group="load")

    def redraw(self) -> None:
        """Draw the text again, for another width or other colours."""
        if (drawing := self.draw()) is not None:
            self.query_one(Plain).update(drawing)

    def on_resize(self, event: Resize) -> None:  # noqa: ARG002 - Textual's
        """Fit the text to the new width."""
        self.redraw()

    async def _load(self) -> None:
        text = self.query_one(Plain)
        if not self.app.stored:
            text.update(self.app.nothing_stored)
            return
        try:
            await self.read()
        except RagmemError as error:
            text.update(error.full_message)
