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

LONGEST_TITLE = 20
"""Letters of the title of a section at most; what is longer and ends with a colon is a sentence."""

_BOLD, _DIM, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"

_LAST = "End:"
"""Stands behind the lines of a help, so that its last section is closed."""


def read_help(words: list[str], *, framed: bool = False) -> str | None:
    """Return the help of a command, wrapped for this terminal; `framed` for one with colours, in panels.

    None if there is no such command, or the terminal is so narrow that Typer sets the help in another form.
    """
    width = columns()
    with open(FILE, encoding="utf-8") as file:  # noqa: PTH123 - pathlib, as above
        for line in file:
            name, lines, least = line.rstrip("\n").split("\t")
            stored = [next(file) for _ in range(int(lines))]
            if name.split() == words:
                if framed and width > NARROWEST:
                    return _frame(render(stored, width - 2).splitlines(), width)
                return render(stored, width) if width >= int(least) else None
    return None


def on_terminal() -> bool:
    """Return whether a person looks at stdout on a terminal with colours: no dumb one, and no NO_COLOR."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in {"dumb", "unknown"}
    return not plain and sys.stdout.isatty()


def can_draw() -> bool:
    """Return whether the terminal can draw lines, by the encoding of stdout and the locale."""
    names = (os.environ.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next(filter(None, names), "")
    return (sys.stdout.encoding or "").lower().startswith("utf") and locale not in {"C", "POSIX"}


def _frame(lines: list[str], width: int) -> str:
    """Return a help with a panel around each section; titles and terms are bold, lines dim."""
    (left, right, left_end, right_end), dash, wall = ("╭╮╰╯", "─", "│") if can_draw() else ("++++", "-", "|")
    shown: list[str] = []
    end = f"{_DIM}{left_end}{dash * width}{right_end}{_PLAIN}"
    inner, room = -1, width - 2  # the indent of the open section, if any; the columns within a panel
    for line in [*lines, _LAST]:
        text = line.strip()
        titled = (
            text.endswith(":") and text[0].isupper() and len(text) <= LONGEST_TITLE and line[:4] != "    "
        )
        if titled and inner >= 0:
            while not shown[-1]:
                shown.pop()
            shown.append(end)
        if line is _LAST:
            break
        if titled:
            inner, rule = len(line) - len(text), dash * (room - len(text))
            shown.append(f"{_DIM}{left}{dash}{_PLAIN} {_BOLD}{text[:-1]}{_PLAIN} {_DIM}{rule}{right}{_PLAIN}")
        elif inner < 0 or not text:
            shown.append(line)
        else:
            row, indent = line[inner + 2 :], "  "
            while row:
                # A line of examples or exit codes was not wrapped.
                cut = len(row) if len(row) <= room else row.rfind(" ", len(indent), room + 1)
                cut = cut if cut > 0 else room
                part, row = row[:cut], row[cut:].lstrip()
                row = row and indent + row
                term, gap, rest = part.partition("  ") if part[0] != " " else ("", "", part)
                rest = f"{gap}{rest}".ljust(room - len(term))
                shown.append(f"{_DIM}{wall}{_PLAIN} {_BOLD}{term}{_PLAIN}{rest} {_DIM}{wall}{_PLAIN}")
    return "\n".join(shown) + "\n"


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
