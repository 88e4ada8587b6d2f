"""The help screen with the keys."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen

from ragmem.cli.explorer.plain import Plain

KEYS = """\
Go
  1 … 9, 0   a view by its number; [ and ] the one before and after
  Tab        from the list of views to the view, and back
  ↑ ↓ j k    line by line; g and G to the first and the last
  Enter      open what is under the cursor
  Escape     back, or take the filter away

In a list
  /          filter: words, and kind: source: project: state: tier:
  →          take the completion of the filter
  c          copy the id
  d          show what is told of a line beside the list, or no longer
  e          open the file in $EDITOR
  y n        of what others have shared: accept, reject

In a memory or an entity
  1 … 6      a tab by its number; [ and ] the one before and after
  Enter      walk on to a connection, an entity, a memory

Everywhere
  a          all projects, or this one and yours
  r          read again
  t          light or dark
  ?          these keys
  q          quit

The explorer changes no memory of yours. Every view is a command as well, with --json:
ragmem inspect --help
"""


class HelpScreen(ModalScreen[None]):
    """The keys; any of Escape, q and ? closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        with VerticalScroll(id="help"):
            yield Plain(KEYS)

    def on_mount(self) -> None:
        """Let the keys scroll."""
        self.query_one("#help").focus()
