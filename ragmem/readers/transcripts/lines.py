"""Read the lines of a file that may still grow, one at a time, with bounded memory."""

from collections.abc import Iterator
from typing import BinaryIO

BLOCK = 1 << 20

MAX_LINE = 32 << 20
"""Maximum bytes of a line; a longer one, which only holds pictures, is skipped."""


def lines(file: BinaryIO, position: int, *, torn: bool = False) -> Iterator[tuple[bytes | None, int]]:
    """Yield each line from a position on without its line end, and the position after it.

    A last line without a line end is still being written; it is left out unless `torn` is set. A line of more
    than MAX_LINE bytes comes as None and is never held in memory as a whole.
    """
    file.seek(position)
    held: list[bytes] = []
    size = 0
    while block := file.read(BLOCK):
        begin = 0
        while (end := block.find(b"\n", begin)) >= 0:
            size += end - begin
            position += size + 1
            if size > MAX_LINE:
                yield None, position
            elif held:
                yield b"".join((*held, block[begin:end])), position
            else:
                yield block[begin:end], position
            held.clear()
            size = 0
            begin = end + 1
        size += len(block) - begin
        if size > MAX_LINE:
            held.clear()
        else:
            held.append(block[begin:])
    if torn and size:
        yield None if size > MAX_LINE else b"".join(held), position + size
