"""The reading order of texts on a slide: columns from the left, each from the top."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_DEEPEST = 20
_SLACK = 0.02
"""Tolerated overlap of boxes as a share of the slide, because people do not place them exactly."""


@dataclass(frozen=True, slots=True)
class Box:
    """A text at its position on the slide, in shares of the slide's width and height."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


def sort_shapes(boxes: Sequence[Box], depth: int = 0) -> list[Box]:
    """Return boxes in reading order; overlapping ones are sorted by their upper edges.

    The slide is cut along lines between all boxes: first into columns, then into rows, then each piece again.
    A heading over two columns is cut off as a row, because every vertical line crosses it.
    """
    if len(boxes) < 2 or depth > _DEEPEST:
        return sorted(boxes, key=_by_upper_edge)
    for start, end in (_across, _down):
        pieces = _cut(boxes, start, end)
        if len(pieces) > 1:
            return [box for piece in pieces for box in sort_shapes(piece, depth + 1)]
    return sorted(boxes, key=_by_upper_edge)


def _by_upper_edge(box: Box) -> tuple[float, ...]:
    # Boxes placed by hand at the same height differ by up to a hundredth.
    return (round(box.top, 2), box.left, box.top, box.right, box.bottom)


Edge = Callable[[Box], float]
_across: tuple[Edge, Edge] = (lambda box: box.left, lambda box: box.right)
_down: tuple[Edge, Edge] = (lambda box: box.top, lambda box: box.bottom)


def _cut(boxes: Sequence[Box], start: Edge, end: Edge) -> list[list[Box]]:
    """Return boxes in groups that are separated by gaps in one direction."""
    pieces: list[list[Box]] = []
    reach = 0.0
    for box in sorted(
        boxes, key=lambda box: (start(box), end(box), box.left, box.top, box.right, box.bottom)
    ):
        if not pieces or start(box) >= reach - _SLACK:
            pieces.append([])
            reach = end(box)
        pieces[-1].append(box)
        reach = max(reach, end(box))
    return pieces
