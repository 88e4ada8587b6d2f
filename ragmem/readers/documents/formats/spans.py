"""Convert tables with merged cells to plain rows: a merged cell is repeated in each column and row."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragmem.readers.documents.tables import write_table

_WIDEST = 500
"""Maximum columns of a table: a wider span is a mistake or an attack."""

_WIDE = 50
"""A wider span means all columns."""

_MOST_HEADER_ROWS = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, the number of columns and rows that it spans, and whether it is a heading."""

    text: str
    columns: int = 1
    rows: int = 1
    heading: bool = False


def write_merged_table(
    rows: Sequence[Sequence[Cell]], *, headings: int | None = None, caption: str = ""
) -> str:
    """Write a table; `headings` is the number of heading rows, None if it is unknown.

    A first row of one cell over all columns is the caption if there is no other. Several heading rows are
    joined: "2024 Q1". The text of a body row of one cell over all columns is not repeated.
    """
    laid = [row for row in _expand_spans(rows) if any(cell.text for cell in row)]
    if laid and headings is None:
        headings = _count_headings(laid)
    above = []
    while len(laid) > 1 and _is_one_cell(laid[0]):
        if caption and laid[0][0].text != caption:
            above.append(laid[0][0].text)
        caption = caption or laid[0][0].text
        laid, headings = laid[1:], max(0, headings - 1) if headings else headings
    return "\n\n".join([*above, _table(laid, headings or 0, caption)])


def _table(laid: Sequence[Sequence[Cell]], headings: int, caption: str) -> str:
    """Write rows of the same width, of which `headings` are marked as heading rows."""
    if not laid:
        return caption
    if not headings and len(laid[0]) > 1 and all(row[0].heading and not row[1].heading for row in laid):
        return _sideways(laid, caption)
    if not headings:
        headings = _guess_headings(laid)
    texts = [_texts(row) for row in laid]
    headings = min(headings, len(texts))
    if headings > 1:
        united = [" ".join(dict.fromkeys(filter(None, one))) for one in zip(*texts[:headings], strict=True)]
        texts = [united, *texts[headings:]]
    return write_table(texts, header=headings > 0, caption=caption)


def flat(rows: Sequence[Sequence[str]]) -> str:
    """Return a table within a cell as one line: "Header: value; Header: value"."""
    kept = [[text for text in row if text] for row in rows]
    kept = [row for row in kept if row]
    if len(kept) > 1 and all(len(row) == len(kept[0]) for row in kept) and len(kept[0]) > 1:
        named = [
            ", ".join(f"{name}: {text}" for name, text in zip(kept[0], row, strict=True)) for row in kept[1:]
        ]
        return "; ".join(named)
    return "; ".join(", ".join(row) for row in kept)


def _expand_spans(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return rows of the same width, with merged cells repeated at each position."""
    rows = _narrow(rows)
    laid: list[list[Cell]] = []
    hanging: dict[int, tuple[Cell, int]] = {}
    for row in rows:
        line: list[Cell] = []
        waiting = iter(row)
        cell = next(waiting, None)
        while len(line) < _WIDEST:
            if hung := hanging.pop(len(line), None):
                if hung[1] > 1:
                    hanging[len(line)] = (hung[0], hung[1] - 1)
                line.append(hung[0])
            elif cell is not None:
                for _ in range(min(max(cell.columns, 1), _WIDEST - len(line))):
                    if cell.rows > 1:
                        hanging[len(line)] = (cell, cell.rows - 1)
                    line.append(cell)
                cell = next(waiting, None)
            elif any(column > len(line) for column in hanging):
                line.append(Cell(""))
            else:
                break
        laid.append(line)
    width = max((len(line) for line in laid), default=0)
    return [line + [Cell("")] * (width - len(line)) for line in laid]


def _narrow(rows: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
    """Return cells without excessive spans: `colspan="999"` means all columns."""
    widths = (sum(cell.columns for cell in row if cell.columns <= _WIDE) for row in rows)
    most = max(1, *widths) if rows else 1
    return [[cell if cell.columns <= _WIDE else replace(cell, columns=most) for cell in row] for row in rows]


def _is_one_cell(row: Sequence[Cell]) -> bool:
    return len(row) > 1 and row[0].columns >= len(row) and bool(row[0].text)


def _count_headings(laid: Sequence[Sequence[Cell]]) -> int:
    """Return the number of top rows in which all cells are marked as headings."""
    count = 0
    for row in laid[:_MOST_HEADER_ROWS]:
        if not all(cell.heading or not cell.text for cell in row):
            break
        count += 1
    return count


def _guess_headings(laid: Sequence[Sequence[Cell]]) -> int:
    """Return the number of heading rows if none is marked: one, or two if cells of the first are merged."""
    wide = any(1 < cell.columns < len(laid[0]) for cell in laid[0])
    hangs = any(cell.rows == 2 for cell in laid[0])
    return 2 if wide and (hangs or not laid[0][0].text or laid[0][0].rows > 1) and len(laid) > 2 else 1


def _texts(row: Sequence[Cell]) -> list[str]:
    if _is_one_cell(row):
        return [row[0].text, *[""] * (len(row) - 1)]
    return [cell.text for cell in row]


def _sideways(laid: Sequence[Sequence[Cell]], caption: str) -> str:
    """Write a table with headings in its first column; two columns become a list of names and values."""
    if len(laid[0]) > 2:
        return write_table([_texts(row) for row in laid], header=False, caption=caption)
    lines = "\n".join(f"- {row[0].text}: {row[1].text}".rstrip(": ") for row in laid)
    return f"{caption}\n\n{lines}" if caption else lines
