"""How a text becomes chunks that fit the embedder's window, along its headings."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragmem.domain.blocks import MAX_HEADING_CHARS, Block, Form, blocks, lines, sentences, trim
from ragmem.domain.model import Chunk, digest

MAX_CHARS = 900
"""Four characters a token: 225 of a window of 256 WordPiece tokens, the rest for the heading path."""

MIN_CHARS = 300
"""A smaller section says too little alone and is merged with its neighbour under the same parent."""

MAX_TITLE_CHARS = 80
"""Characters of one heading within the heading path, so that the path leaves the window to the text."""

SEPARATOR = " > "

_CHEAP_BYTES = bytes(code for code in range(256) if code > 127 or chr(code).isalpha() or chr(code).isspace())
_OTHER = re.compile(r"[\u0370-\U0010ffff]+")
_DENSE = re.compile(r"[\u0370-\u1fff]+")
_LETTER_COST = 0.625
_MARK_EXTRA = 4
_DENSE_EXTRA = 1.5
_WIDE_EXTRA = 3.5
_DENSEST = 5
"""Quarters of a token, fitted with the MiniLM vocabulary on developers' notes: six letters share a token, a
digit or mark takes one alone, as does a Chinese character; in other scripts two letters share one."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A span that will be (a part of) a chunk.

    `path` is what all of it stands under, `tail` what its end stands under; `bare` when it is headings only.
    """

    start: int
    end: int
    size: int
    path: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    bare: bool = False


def chunk(
    text: str, *, memory_id: str, max_chars: int = MAX_CHARS, min_chars: int = MIN_CHARS
) -> tuple[Chunk, ...]:
    """Return the chunks of a text in order; a blank text has none.

    Each chunk is `text[start:end]` without white space at its ends; together they hold every non-blank
    character exactly once. A chunk follows the headings of the text; a section that is too large is split
    between paragraphs, list items, sentences, lines and words, in this order, and a code fence or table is
    kept whole where it fits. `heading` is the path of headings ("A > B") that all of the chunk's text stands
    under. No chunk has more than `max_chars` characters besides a heading, and fewer where digits,
    punctuation or other scripts take more than a token for four characters. The same text and memory id give
    the same chunks; the time is linear. Raises ValueError unless 0 <= min_chars <= max_chars and max_chars >
    0.
    """
    if not (0 <= min_chars <= max_chars and max_chars > 0):
        raise ValueError("min_chars must lie between 0 and max_chars, and max_chars above 0")
    pieces: list[_Piece] = []
    for path, section in _sections(text):
        atoms = [atom for block in section for atom in _atoms(text, block, max_chars)]
        pieces.extend(_pack(text, atoms, path, max_chars=max_chars, min_chars=min_chars))
    chunks = []
    for order, piece in enumerate(_merge(pieces, max_chars=max_chars, min_chars=min_chars)):
        part = text[piece.start : piece.end]
        heading = SEPARATOR.join(_clip(title) for title in piece.path if title)
        identity = chunk_id(memory_id, order, part)
        chunks.append(Chunk(identity, memory_id, order, part, heading, piece.start, piece.end))
    return tuple(chunks)


def chunk_id(memory_id: str, order: int, part: str) -> str:
    """Return the id of the chunk with this text at this place of a memory."""
    return digest("chunk", memory_id, str(order), part)


def _clip(title: str) -> str:
    """Return a title that is not longer than a path may bear."""
    return title if len(title) <= MAX_TITLE_CHARS else title[: MAX_TITLE_CHARS - 1] + "…"


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], list[Block]]]:
    """Yield the sections with their heading path; its first block is its heading, where it has one."""
    path: list[tuple[int, str]] = []
    section: list[Block] = []
    for block in blocks(text):
        if block.form is Form.HEADING:
            if section:
                yield tuple(title for _, title in path), section
            while path and path[-1][0] >= block.level:
                path.pop()
            path.append((block.level, block.title))
            section = [block]
        else:
            section.append(block)
    if section:
        yield tuple(title for _, title in path), section


def _size(text: str, start: int, end: int) -> int:
    """Return what a span takes of the budget: its characters, or four for each token where that is more."""
    part = text[start:end]
    marks = len(part.encode("utf-8", "surrogatepass").translate(None, _CHEAP_BYTES))
    cost = _LETTER_COST * len(part) + _MARK_EXTRA * marks
    if not part.isascii():
        other = "".join(_OTHER.findall(part))
        dense = sum(map(len, _DENSE.findall(other)))
        cost += _DENSE_EXTRA * dense + _WIDE_EXTRA * (len(other) - dense)
    return max(len(part), math.ceil(cost))


def _atoms(text: str, block: Block, max_chars: int) -> Iterator[_Piece]:
    """Yield the smallest parts of a block that need not be split, none larger than the budget."""
    size = _size(text, block.start, block.end)
    if block.form is Form.HEADING:
        yield _Piece(block.start, block.end, size, bare=True)
    elif size <= max_chars:
        yield _Piece(block.start, block.end, size)
    else:
        split = lines if block.form in {Form.FENCE, Form.TABLE} else sentences
        for start, end in split(text, block.start, block.end):
            yield from _fragments(text, start, end, max_chars)


def _fragments(text: str, start: int, end: int, max_chars: int) -> Iterator[_Piece]:
    """Yield a sentence or line in parts within the budget: its lines, then at white space, then anywhere."""
    size = _size(text, start, end)
    if size <= max_chars:
        yield _Piece(start, end, size)
        return
    for left, right in lines(text, start, end):
        size = _size(text, left, right)
        if size <= max_chars:
            yield _Piece(left, right, size)
            continue
        step = max_chars if size == right - left else max(1, max_chars // _DENSEST)
        begin = left
        while begin < right:
            stop = min(right, begin + step)
            if stop < right:
                blank = max(text.rfind(" ", begin, stop), text.rfind("\t", begin, stop))
                stop = blank + 1 if blank > begin else stop
            span = trim(text, begin, stop)
            if span[0] < span[1]:
                yield _Piece(*span, _size(text, *span))
            begin = stop


def _pack(
    text: str, atoms: Sequence[_Piece], path: tuple[str, ...], *, max_chars: int, min_chars: int
) -> list[_Piece]:
    """Return the pieces of one section: as many atoms each as fit; the last two share their atoms evenly."""
    groups: list[list[_Piece]] = []
    size = 0
    for atom in atoms:
        grown = size + atom.start - groups[-1][-1].end + atom.size if groups else 0
        if groups and (grown <= max_chars or all(member.bare for member in groups[-1])):
            groups[-1].append(atom)
            size = grown
        else:
            groups.append([atom])
            size = atom.size
    if len(groups) > 1 and size < min_chars:
        groups[-2:] = _halve(groups[-2] + groups[-1], max_chars)
    return [_join(text, group, path) for group in groups]


def _halve(atoms: list[_Piece], max_chars: int) -> list[list[_Piece]]:
    """Return the atoms in two groups whose sizes differ least; a heading stays with what follows it."""
    whole = sum(atom.size for atom in atoms) + sum(b.start - a.end for a, b in pairwise(atoms))
    best = len(atoms) - 1
    least = whole + 1
    left = 0
    for at in range(1, len(atoms)):
        left += atoms[at - 1].size + atoms[at].start - atoms[at - 1].end
        if atoms[at - 1].bare or left > max_chars + MAX_HEADING_CHARS:
            continue
        if whole - left <= max_chars and abs(whole - 2 * left) < least:
            best, least = at, abs(whole - 2 * left)
    return [atoms[:best], atoms[best:]]


def _join(text: str, atoms: Sequence[_Piece], path: tuple[str, ...]) -> _Piece:
    """Return the piece from the first to the last atom."""
    start, end = trim(text, atoms[0].start, atoms[-1].end)
    return _Piece(start, end, _size(text, start, end), path, path, all(atom.bare for atom in atoms))


def _merge(pieces: Sequence[_Piece], *, max_chars: int, min_chars: int) -> list[_Piece]:
    """Return the pieces with small ones merged into a neighbour under the same parent, where both fit."""
    merged: list[_Piece] = []
    for at, piece in enumerate(pieces):
        follows = pieces[at + 1].path if at + 1 < len(pieces) else ()
        if merged and _belongs(merged[-1], piece, follows, max_chars=max_chars, min_chars=min_chars):
            last = merged[-1]
            size = last.size + piece.start - last.end + piece.size
            if size <= max_chars or (
                last.bare and last.size <= MAX_HEADING_CHARS and piece.size <= max_chars
            ):
                path = piece.path if last.bare else _common(last.path, piece.path)
                merged[-1] = _Piece(last.start, piece.end, size, path, piece.tail, last.bare and piece.bare)
                continue
        merged.append(piece)
    return merged


def _belongs(
    last: _Piece, piece: _Piece, follows: tuple[str, ...], *, max_chars: int, min_chars: int
) -> bool:
    """Tell whether a piece may be merged into the one before it.

    One of them must be small, and they must share a parent; an introduction stays with what it introduces.
    """
    if last.size + piece.size > max_chars + MAX_HEADING_CHARS or min(last.size, piece.size) >= min_chars:
        return False
    common = len(_common(last.path, piece.path))
    if common < min(len(last.path), len(piece.path)) - 1:
        return False
    introduces = len(follows) > len(piece.path) and follows[: len(piece.path)] == piece.path
    return not introduces or last.bare or last.tail == piece.path[: len(last.tail)]


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the longest path that both paths begin with."""
    length = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        length += 1
    return one[:length]
