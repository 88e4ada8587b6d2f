"""The order in which a person reads what is placed on a slide: columns from the left, each from the top."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_DEEPEST = 20
_SLACK = 0.02
"""How far boxes may reach into one another, as a share of the slide: people do not place them exactly."""


@dataclass(frozen=True, slots=True)
class Box:
    """A text at its place on the slide; all as shares of its width and height."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


def sort_shapes(boxes: Sequence[Box], depth: int = 0) -> list[Box]:
    """Return boxes in the order of reading; those that overlap by their upper edges.

    The slide is cut where a line goes between all boxes: first into columns, then into rows, then each piece
    again. A heading over two columns is cut off as a row, because no line from top to bottom misses it.
    """
    if len(boxes) < 2 or depth > _DEEPEST:
        return sorted(boxes, key=_by_upper_edge)
    for start, end in (_across, _down):
        pieces = _cut(boxes, start, end)
        if len(pieces) > 1:
            return [box for piece in pieces for box in sort_shapes(piece, depth + 1)]
    return sorted(boxes, key=_by_upper_edge)


def _by_upper_edge(box: Box) -> tuple[float, ...]:
    # What was placed by hand at one height is so by about a hundredth.
    return (round(box.top, 2), box.left, box.top, box.right, box.bottom)


Edge = Callable[[Box], float]
_across: tuple[Edge, Edge] = (lambda box: box.left, lambda box: box.right)
_down: tuple[Edge, Edge] = (lambda box: box.top, lambda box: box.bottom)


def _cut(boxes: Sequence[Box], start: Edge, end: Edge) -> list[list[Box]]:
    """Return boxes in groups between which there is a gap in one direction."""
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
