"""A command in a terminal of its own: keys are pressed, and what stands on the screen at the end is read."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from quick_commands import COMMANDS

_SEQUENCE = re.compile(r"\x1b\[(\??)([0-9;]*)([A-Za-z])")


@dataclass(frozen=True)
class Shown:
    """The exit code, all that was written, and the lines that are left on the screen."""

    code: int
    written: str
    lines: list[str]


def in_terminal(
    *arguments: str, keys: str = "", after: str = "", timeout: float = 60, **environ: str
) -> Shown:
    """Run `ragmem` in a terminal; press keys once it has written `after`."""
    environ = {
        **os.environ,
        "RAGMEM_MODELS_BACKEND": "fake",
        "RAGMEM_STORE_BACKEND": "fake",
        "TERM": "xterm",
        "COLUMNS": "200",
        **environ,
    }
    code, written = COMMANDS.on_terminal(
        arguments,
        environ=environ,
        cwd=Path.cwd(),
        timeout=timeout,
        keys=keys.encode(),
        after=after.encode(),
    )
    assert after.encode() in written, f"it never wrote {after!r}: {written!r}"
    text = written.decode()
    return Shown(code, text, screen(text))


def screen(text: str) -> list[str]:
    """Return the lines that a terminal shows after it was sent a text: what drives its cursor is obeyed."""
    lines, row, column = [""], 0, 0
    place = 0
    while place < len(text):
        found = _SEQUENCE.match(text, place)
        if found:
            place = found.end()
            count = int(found[2] or 1) if found[2].isdigit() or not found[2] else 1
            match found[3]:
                case "A":
                    row = max(0, row - count)
                case "K":
                    lines[row] = "" if found[2] == "2" else lines[row][:column]
                case "m" | "h" | "l":
                    pass
                case other:
                    raise AssertionError(f"a sequence that is not known here: {found[0]!r} {other}")
            continue
        character = text[place]
        place += 1
        if character == "\r":
            column = 0
        elif character == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        else:
            lines[row] = lines[row].ljust(column)[:column] + character + lines[row][column + 1 :]
            column += 1
    return [line.rstrip() for line in lines if line.strip()]
