"""The help of every command from a generated file, without the command line, which takes longer to import.

A line of a help is stored as it is or, where a text is to be wrapped, as four fields between tabs: the indent
of the further lines, the columns that the text may not use, what stands before it, and the text.
"""

import os
import sys

FILE = os.path.join(os.path.dirname(__file__), "help.tsv")  # noqa: PTH118, PTH120 - pathlib takes longer than all this

BREAK = "\x1f"
"""Stands in a text where a word may be broken after a hyphen."""

WIDEST = 98
NARROWEST = 50
"""Columns of a help at most and at least, whatever the terminal has."""


def read_help(words: list[str]) -> str | None:
    """Return the help of a command, wrapped for this terminal.

    None if there is no such command, or the terminal is so narrow that Typer sets the help in another form.
    """
    width = columns()
    with open(FILE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib, as above
        for line in file:
            name, lines, least = line.rstrip("\n").split("\t")
            stored = [next(file) for _ in range(int(lines))]
            if name.split() == words:
                return render(stored, width) if width >= int(least) else None
    return None


def columns() -> int:
    """Return how many columns a help uses: those of the terminal but two, or of COLUMNS, within the caps."""
    try:
        given = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        given = 0
    if given <= 0:
        try:
            given = os.get_terminal_size(sys.__stdout__.fileno()).columns  # type: ignore[union-attr]
        except (AttributeError, ValueError, OSError):  # closed, or no terminal
            given = 0
    return max(min((given or 80) - 2, WIDEST), NARROWEST)


def render(stored: list[str], width: int) -> str:
    """Return the lines of a stored help, wrapped to `width` columns."""
    shown: list[str] = []
    for record in stored:
        if "\t" not in record:
            shown.append(record.rstrip("\n"))
            continue
        indent, margin, line, text = record.rstrip("\n").split("\t")
        room, used, gap = max(width - int(margin), 10), 0, ""
        for word in text.replace(BREAK, f" {BREAK}").split(" "):
            part = word.removeprefix(BREAK)
            if not part:
                gap += " "  # of two spaces
                continue
            gap = gap[1:] if part != word else gap
            if used and used + len(gap) + len(part) > room:
                shown.append(line)
                line, used = " " * int(indent), 0
            space = gap if used else ""
            line += space + part
            used += len(space) + len(part)
            gap = " "
        shown.append(line)
    return "\n".join(shown) + "\n"
