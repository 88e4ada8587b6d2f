"""Words on the screen that can neither drive the terminal nor be read as markup."""

from textual.visual import VisualType
from textual.widgets import Static

from ragmem.cli.common import printable


class Plain(Static):
    """A text as it stands.

    Textual lets escapes and most control characters of a text through to the terminal, and memories hold what
    others wrote. What is no plain string (a `Text`, a table) is taken as it is: who makes it keeps to this.
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
        """Show this instead."""
        super().update(printable(content) if isinstance(content, str) else content, layout=layout)
