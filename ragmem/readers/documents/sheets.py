"""Make the parts of a sheet: its tables, and its annotations at their rows."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from ragmem.readers.documents.grid import Piece, Row, blocks, parts, pieces
from ragmem.readers.documents.model import Part, Picture


@dataclass(frozen=True, slots=True)
class Annotation:
    """A text on a sheet beside its cells, at a row; 0 for the whole sheet."""

    row: int
    text: str
    pictures: tuple[Picture, ...] = ()


def comment(row: int, cell: str, text: str, *, about: str = "", author: str = "") -> Annotation:
    """Return the comment on a cell with the value `about`."""
    on = f'{cell} ("{about}")' if about else cell
    by = f" by {author}" if author else ""
    return Annotation(row, f"Comment on {on}{by}: {text}")


def sheet_parts(
    name: str,
    rows: Sequence[Row],
    annotations: Sequence[Annotation] = (),
    *,
    names: Mapping[tuple[int, int], str] | None = None,
    is_hidden: bool = False,
) -> Iterator[Part]:
    """Yield the parts of a sheet, one per 200 rows; none for an empty sheet. `names` as in `grid.blocks`."""
    groups = parts([piece for block in blocks(rows, names=names) for piece in pieces(block)]) or [[]]
    lasts = [max((piece.last for piece in group), default=0) for group in groups]
    notes: list[list[Annotation]] = [[] for _ in groups]
    for one in annotations:
        index = next((index for index, last in enumerate(lasts) if one.row <= last), len(groups) - 1)
        notes[index].append(one)
    places: Counter[str] = Counter()
    for index, group in enumerate(groups):
        if not group and not notes[index]:
            continue
        label, locator = f"sheet {name}", f"sheet={quote(name, safe=' ')}"
        if len(groups) > 1:
            # Without the last row, so that the locators of a growing table stay the same.
            label, locator = (
                f"{label}, rows {group[0].first}-{lasts[index]}",
                f"{locator}&row={group[0].first}",
            )
        if is_hidden:
            label += " (hidden)"
        # Tables side by side may have the same rows, but locators must be unique.
        places[locator] += 1
        if (number := places[locator]) > 1:
            locator, label = f"{locator}&part={number}", f"{label}, part {number}"
        pictures = tuple(picture for one in notes[index] for picture in one.pictures)
        yield Part(
            _text(name, group, notes[index], is_hidden=is_hidden and not index),
            locator,
            label,
            name,
            pictures,
        )


def _text(name: str, group: Sequence[Piece], notes: Sequence[Annotation], *, is_hidden: bool) -> str:
    told = "This sheet is hidden in the workbook." if is_hidden else ""
    texts = [f"## {name}", told, *(piece.text for piece in group), *(one.text for one in notes)]
    return "\n\n".join(filter(None, texts))
