"""A text widget whose content can neither control the terminal nor be parsed as markup."""

from textual.visual import VisualType
from textual.widgets import Static

from ragmem.cli.common import printable


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
