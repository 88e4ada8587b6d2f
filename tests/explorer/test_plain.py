"""What a text of the explorer may show."""

import pytest

from ragmem.cli.explorer.shell import Plain

HOSTILE = "[bold]red[/bold] \x1b[31m\x07\u202ebell"


@pytest.mark.parametrize("shown", [lambda: Plain(HOSTILE), lambda: changed(Plain("before"))])
def test_no_text_controls_the_terminal_or_is_markup(shown):
    content = str(shown().content)
    assert "[bold]red[/bold]" in content
    assert content.isprintable()


def changed(widget):
    widget.update(HOSTILE)
    return widget
