"""Pack spans of a text into pieces that fit the embedder's window."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from posixpath import commonprefix

from ragmem.domain.text.blocks import MAX_HEADING_CHARS, Block, BlockType, lines, sentences, trim
from ragmem.domain.text.definitions import parts
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

_CHEAP_BYTES = bytes(code for code in range(256) if code > 127 or chr(code).isalpha() or chr(code).isspace())
_OTHER = lazy(r"[^\x00-\u036f]+")  # from U+0370 on; written so, it compiles in 0.2 ms instead of 4
_DENSE = lazy(r"[\u0370-\u1fff]+")
_LETTER_COST = 0.625
_MARK_EXTRA = 4
_DENSE_EXTRA = 1.5
_WIDE_EXTRA = 3.5
_DENSEST = 5
"""Quarters of a token, fitted with the MiniLM vocabulary on developers' notes: six letters share a token, a
digit or mark takes one alone, as does a Chinese character; in other scripts two letters share one."""


@dataclass(frozen=True, slots=True)
class Budget:
    """The maximum size of a piece, and the size below which it is merged with a neighbour."""

    most: int
    least: int


@dataclass(frozen=True, slots=True)
class Piece:
    """The span of a future chunk, or of a part of one.

    `path` is the heading path of all of it, `tail` that of its end; `bare` means headings only.
    """

    start: int
    end: int
    size: int
    path: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    bare: bool = False


def size_of(text: str, start: int, end: int) -> int:
    """Return the size of a span: its characters, or four for each token if that is more."""
    part = text[start:end]
    marks = len(part.encode("utf-8", "surrogatepass").translate(None, _CHEAP_BYTES))
    cost = _LETTER_COST * len(part) + _MARK_EXTRA * marks
    if not part.isascii():
        other = "".join(_OTHER.findall(part))
        dense = sum(map(len, _DENSE.findall(other)))
        cost += _DENSE_EXTRA * dense + _WIDE_EXTRA * (len(other) - dense)
    return max(len(part), math.ceil(cost))


def atoms_of(text: str, block: Block, most: int) -> Iterator[Piece]:
    """Yield the smallest parts of a block, none larger than `most`."""
    size = size_of(text, block.start, block.end)
    if block.form is BlockType.HEADING:
        yield Piece(block.start, block.end, size, bare=True)
    elif size <= most:
        yield Piece(block.start, block.end, size)
    elif block.form is BlockType.FENCE:
        yield from (atom for _, atom in atoms_of_code(text, block.start, block.end, most))
    else:
        split = lines if block.form is BlockType.TABLE else sentences
        for start, end in split(text, block.start, block.end):
            yield from fragments(text, start, end, most)


def atoms_of_code(text: str, start: int, end: int, most: int) -> Iterator[tuple[tuple[str, ...], Piece]]:
    """Yield the definitions of a program, or parts of them that fit, each with the names around it."""
    for part in parts(text, start, end, lambda begin, stop: size_of(text, begin, stop) <= most):
        span = trim(text, part.start, part.end)
        size = size_of(text, *span)
        if size <= most:
            yield part.path, Piece(*span, size)
        else:
            for begin, stop in lines(text, *span):
                yield from ((part.path, atom) for atom in fragments(text, begin, stop, most))


def fragments(text: str, start: int, end: int, most: int) -> Iterator[Piece]:
    """Split a sentence or line into parts within the budget: at line ends, white space, then anywhere."""
    size = size_of(text, start, end)
    if size <= most:
        yield Piece(start, end, size)
        return
    for left, right in lines(text, start, end):
        size = size_of(text, left, right)
        if size <= most:
            yield Piece(left, right, size)
            continue
        step = most if size == right - left else max(1, most // _DENSEST)
        begin = left
        while begin < right:
            stop = min(right, begin + step)
            if stop < right:
                blank = max(text.rfind(" ", begin, stop), text.rfind("\t", begin, stop))
                stop = blank + 1 if blank > begin else stop
            span = trim(text, begin, stop)
            if span[0] < span[1]:
                yield Piece(*span, size_of(text, *span))
            begin = stop


def pack(text: str, atoms: Sequence[Piece], path: tuple[str, ...], budget: Budget) -> list[Piece]:
    """Return the pieces of one section, each with as many atoms as fit; the last two are balanced."""
    groups: list[list[Piece]] = []
    size = 0
    for atom in atoms:
        grown = size + atom.start - groups[-1][-1].end + atom.size if groups else 0
        if groups and (grown <= budget.most or all(member.bare for member in groups[-1])):
            groups[-1].append(atom)
            size = grown
        else:
            groups.append([atom])
            size = atom.size
    if len(groups) > 1 and size < budget.least:
        groups[-2:] = _halve(groups[-2] + groups[-1], budget.most)
    return [_join(text, group, path) for group in groups]


def _halve(atoms: list[Piece], most: int) -> list[list[Piece]]:
    """Split the atoms into two groups of similar size; a heading stays with its text."""
    whole = sum(atom.size for atom in atoms) + sum(b.start - a.end for a, b in pairwise(atoms))
    best = len(atoms) - 1
    least = whole + 1
    left = 0
    for at in range(1, len(atoms)):
        left += atoms[at - 1].size + atoms[at].start - atoms[at - 1].end
        if atoms[at - 1].bare or left > most + MAX_HEADING_CHARS:
            continue
        if whole - left <= most and abs(whole - 2 * left) < least:
            best, least = at, abs(whole - 2 * left)
    return [atoms[:best], atoms[best:]]


def _join(text: str, atoms: Sequence[Piece], path: tuple[str, ...]) -> Piece:
    """Return the piece from the first to the last atom."""
    start, end = trim(text, atoms[0].start, atoms[-1].end)
    return Piece(start, end, size_of(text, start, end), path, path, all(atom.bare for atom in atoms))


def merge(pieces: Sequence[Piece], budget: Budget) -> list[Piece]:
    """Merge small pieces into a neighbour under the same parent, if both fit."""
    merged: list[Piece] = []
    for at, piece in enumerate(pieces):
        follows = pieces[at + 1].path if at + 1 < len(pieces) else ()
        if merged and _fits_with(merged[-1], piece, follows, budget):
            last = merged[-1]
            size = last.size + piece.start - last.end + piece.size
            if size <= budget.most or (
                last.bare and last.size <= MAX_HEADING_CHARS and piece.size <= budget.most
            ):
                path = piece.path if last.bare else _common(last.path, piece.path)
                merged[-1] = Piece(last.start, piece.end, size, path, piece.tail, last.bare and piece.bare)
                continue
        merged.append(piece)
    return merged


def _fits_with(last: Piece, piece: Piece, follows: tuple[str, ...], budget: Budget) -> bool:
    """Return whether a piece may be merged into the one before it.

    One of them must be small, and they must share a parent; an introduction stays with its subject.
    """
    if last.size + piece.size > budget.most + MAX_HEADING_CHARS or min(last.size, piece.size) >= budget.least:
        return False
    common = len(_common(last.path, piece.path))
    if common < min(len(last.path), len(piece.path)) - 1:
        return False
    introduces = len(follows) > len(piece.path) and follows[: len(piece.path)] == piece.path
    return not introduces or last.bare or last.tail == piece.path[: len(last.tail)]


def _common(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Return the longest common prefix of two paths."""
    return tuple(commonprefix((one, other)))
