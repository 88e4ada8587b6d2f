"""What OCR reads in one picture, whatever engine does it."""

from ragmem.frozen import dataclass


@dataclass(frozen=True, slots=True)
class TextLine:
    """A recognised line and its box in pixels of the upright picture, deskewed."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Recognition:
    """The lines of a picture in any order, in pixels of its upright `size`, or its `text` in reading order.

    It `is_cut` if it ended for lack of time.
    """

    lines: tuple[TextLine, ...] = ()
    size: tuple[float, float] = (1.0, 1.0)
    text: str = ""
    is_cut: bool = False
