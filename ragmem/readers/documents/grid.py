"""Find the tables in rows of cells as a person sees them: separated by empty cells, with their headings."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ragmem.readers.documents.tables import write_table

CELLS_MAX = 1_000_000  # of a sheet: some 200 MB of memory
ROWS_PER_PART = 200  # some 20,000 characters of an ordinary sheet: what a person would still scroll through
_DEPTH_MAX = 50  # nested regions; no person lays out a sheet like that
_GAP = 2  # empty rows before a row of totals
_HEADING_LENGTH = 60  # maximum average characters of the cells of a heading
_TIME = re.compile(r"(?:19|20)\d\d(?:-\d\d-\d\d)?")
_NUMBER = re.compile(
    r"""[-+(]?\s*(?:[$€£¥₹]|[A-Z]{3}\s)?\s*[-+]?\d[\d\s.,'_]*(?:[eE][-+]?\d+)?\s*(?:%|[$€£¥₹]|\s[A-Z]{3})?\)?
    | \d{4}-\d{2}-\d{2}(?:[T\s]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[-+]\d{2}:?\d{2})?)?
    | \d{1,2}[./]\d{1,2}[./]\d{2,4} | \d{1,2}:\d{2}(?::\d{2})? | (?i:true|false|n/?a|null|none|-)""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Value:
    """The visible value of a cell; `is_text` unless it is a number, a date or a boolean.

    `spread` marks the copy of a cell that is merged with others beside it.
    """

    text: str
    is_text: bool = True
    spread: bool = False


Row = tuple[int, Mapping[int, Value]]
"""The number of a row, and its cells by column; empty cells and empty rows are left out."""


@dataclass(slots=True)
class Block:
    """A table, a form of names and values, or lines of text: numbered rows of the same width.

    `header` may be empty; `first` is the row of the caption or the heading.
    """

    rows: list[tuple[int, list[str]]]
    left: int
    right: int
    header: list[str] = field(default_factory=list)
    caption: str = ""
    first: int = 0

    @property
    def last(self) -> int:
        """The number of the last row."""
        return self.rows[-1][0] if self.rows else self.first


@dataclass(frozen=True, slots=True)
class Piece:
    """The text of the rows from `first` to `last`; `count` is the number of rows that are not empty."""

    text: str
    first: int
    last: int
    count: int


def value_of(text: str) -> Value:
    """Return the cell of a text, which may be a number or a date."""
    return Value(text, is_text=_NUMBER.fullmatch(text.strip()) is None)


def blocks(
    rows: Sequence[Row], *, names: Mapping[tuple[int, int], str] | None = None, cut: bool = True
) -> list[Block]:
    """Return the tables among the rows, from top to bottom and left to right.

    `names` are the names of tables by row and column of their first cell: that row is a heading. Unless
    `cut`, empty rows and columns do not end a table.
    """
    found: list[Block] = []
    for region in _cut(rows) if cut else [list(rows)] * bool(rows):
        block = _build_block(region, names or {})
        if found and _is_continuation(found[-1], block):
            before = found[-1]
            before.rows += [(number, _within(before, block, cells)) for number, cells in block.rows]
        else:
            if found and _is_title_of(found[-1], block):
                title = found.pop()
                block.caption = ". ".join(filter(None, [title.rows[0][1][0], block.caption]))
                block.first = title.first
            found.append(block)
    return found


def pieces(block: Block, *, rows: int = ROWS_PER_PART) -> Iterator[Piece]:
    """Yield the text of a block in pieces of so many rows, each with the caption and the heading."""
    if not block.rows:
        yield Piece(
            write_table([block.header], header=True, caption=block.caption), block.first, block.first, 1
        )
        return
    for start in range(0, len(block.rows), rows):
        some = block.rows[start : start + rows]
        first = block.first if start == 0 else some[0][0]
        yield Piece(_text(block, [cells for _, cells in some]), first, some[-1][0], len(some))


def parts(found: Sequence[Piece], *, rows: int = ROWS_PER_PART) -> list[list[Piece]]:
    """Return the pieces in groups of about so many rows, from top to bottom.

    So rows of tables side by side stay near each other. Groups may overlap.
    """
    groups: list[list[Piece]] = []
    count = 0
    # A few pieces stay in their own order, which is the reading order.
    few = sum(piece.count for piece in found) <= rows
    for piece in found if few else sorted(found, key=lambda piece: piece.first):
        if not groups or count + piece.count > rows:
            groups.append([])
            count = 0
        groups[-1].append(piece)
        count += piece.count
    return groups


def merge_cells(rows: list[Row], merges: list[tuple[int, int, int, int]]) -> list[Row]:
    """Return the rows with merged cells repeated in each row and column that they span."""
    by_number = {number: dict(cells) for number, cells in rows}
    before = {number: len(cells) for number, cells in by_number.items()}
    used = sorted({column for cells in by_number.values() for column in cells})
    looked_at = 0
    for top, left, bottom, right in merges:
        value = by_number.get(top, {}).get(left)
        if value is None or looked_at > CELLS_MAX:
            continue
        spread = Value(value.text, is_text=value.is_text, spread=True)
        for number in range(top, min(bottom, top + len(rows)) + 1):
            looked_at += 1
            cells = by_number.get(number)
            if cells is None:
                continue
            cells.setdefault(left, value)
            if before[number] > 1 and right > left:
                cells[left] = spread
                reached = used[bisect_right(used, left) : bisect_right(used, right)]
                looked_at += len(reached)
                for column in reached:
                    cells.setdefault(column, spread)
    return [(number, dict(sorted(cells.items()))) for number, cells in by_number.items()]


def _cut(rows: Sequence[Row], *, depth: int = 0) -> Iterator[list[Row]]:
    """Yield regions without empty rows and empty columns."""
    for band in _bands(rows):
        runs = _runs(sorted({column for _, cells in band for column in cells}))
        if len(runs) == 1 or depth > _DEPTH_MAX:
            yield band
            continue
        starts = [left for left, _ in runs]
        regions: list[list[Row]] = [[] for _ in runs]
        for number, cells in band:
            within: dict[int, dict[int, Value]] = {}
            for column, value in cells.items():
                within.setdefault(bisect_right(starts, column) - 1, {})[column] = value
            for index, some in within.items():
                regions[index].append((number, some))
        for region in regions:
            yield from _cut(region, depth=depth + 1)


def _bands(rows: Sequence[Row]) -> Iterator[list[Row]]:
    band: list[Row] = []
    for row in rows:
        if band and row[0] != band[-1][0] + 1:
            yield band
            band = []
        band.append(row)
    if band:
        yield band


def _runs(columns: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last column of each run of adjacent columns."""
    found: list[tuple[int, int]] = []
    for column in columns:
        if found and column == found[-1][1] + 1:
            found[-1] = (found[-1][0], column)
        else:
            found.append((column, column))
    return found


def _build_block(region: Sequence[Row], names: Mapping[tuple[int, int], str]) -> Block:
    left = min(min(cells) for _, cells in region)
    right = max(max(cells) for _, cells in region)
    rows = list(region)
    captions = []
    while len(rows) > 1 and right > left and _has_one_text(rows[0]) and not _is_named(rows[0], names):
        captions.append(next(iter(rows[0][1].values())).text)
        rows = rows[1:]
    named = [
        names[number, column] for number, cells in rows[:1] for column in cells if (number, column) in names
    ]
    block = Block([], left, right, caption=". ".join([*captions, *named]), first=region[0][0])
    heading = _heading(rows, left, right, known=bool(named))
    if heading:
        block.header = _join_rows(rows[:heading], left, right)
    block.rows = [(number, _cells(cells, left, right)) for number, cells in rows[heading:]]
    return block


def _has_one_text(row: Row) -> bool:
    return len({value.text for value in row[1].values()}) == 1 and next(iter(row[1].values())).is_text


def _is_named(row: Row, names: Mapping[tuple[int, int], str]) -> bool:
    return any((row[0], column) in names for column in row[1])


def _heading(rows: Sequence[Row], left: int, right: int, *, known: bool) -> int:
    """Return the number of heading rows: none, one, or two if the first one has merged cells."""
    if right == left or not rows or (len(rows) == 1 and not known):
        return 0
    first = list(rows[0][1].values())
    names = _is_names(rows[0], left)
    if any(value.spread for value in first) and len(rows) > 2 and names and _is_names(rows[1], left):
        return 2
    if known:
        return 1
    filled = len(first) * 2 > right - left + 1
    return int(names and filled and _is_short(rows) and not _is_form(rows, left, right))


def _is_names(row: Row, left: int) -> bool:
    """Return whether a row can be a heading: words, or years or days in order, maybe after one word."""
    values = [value for _, value in sorted(row[1].items())]
    if all(value.is_text for value in values):
        return True
    rest = values[1:] if left in row[1] else values
    times = [value.text for value in rest if _TIME.fullmatch(value.text)]
    is_run = len(times) > 1 and (times == sorted(set(times)) or times == sorted(set(times), reverse=True))
    words = values[0].is_text or left not in row[1]
    return words and is_run and all(value.is_text or value.text in times for value in rest)


def _is_short(rows: Sequence[Row]) -> bool:
    """Return whether the first row is as short as a heading, or as questions that are longer than answers."""
    first = [len(value.text) for value in rows[0][1].values()]
    if sum(first) <= _HEADING_LENGTH * len(first):
        return True
    below = [value for _, cells in rows[1:] for value in cells.values()]
    lengths = sum(len(value.text) for value in below)
    return not all(value.is_text for value in below) or lengths * len(first) < sum(first) * len(below)


def _is_form(rows: Sequence[Row], left: int, right: int) -> bool:
    """Return whether two columns are names and values: with values of several types, or with a colon."""
    if right != left + 1:
        return False
    labels = [cells[left].text for _, cells in rows if left in cells]
    if labels and labels[0].rstrip().endswith(":"):
        return True
    kinds = {cells[right].is_text for _, cells in rows[1:] if right in cells}
    return len(kinds) == 2 and len(set(labels)) == len(rows)


def _join_rows(rows: Sequence[Row], left: int, right: int) -> list[str]:
    """Return the headings of the columns; two rows are joined without repetitions."""
    lines = [_cells(cells, left, right) for _, cells in rows]
    return [" ".join(dict.fromkeys(filter(None, texts))) for texts in zip(*lines, strict=True)]


def _cells(cells: Mapping[int, Value], left: int, right: int) -> list[str]:
    return [cells[column].text if column in cells else "" for column in range(left, right + 1)]


def _is_continuation(before: Block, block: Block) -> bool:
    """Return whether a block continues the table above it after an empty row."""
    is_near = 0 < block.first - before.last <= _GAP + 1
    is_within = before.left <= block.left and block.right <= before.right and block.right > block.left
    return bool(before.header) and is_near and is_within and not (block.header or block.caption)


def _is_title_of(before: Block, block: Block) -> bool:
    """Return whether a block is one cell above a table, with an empty row between them."""
    is_one_cell = before.left == before.right and len(before.rows) == 1 and not before.caption
    is_near = 0 < block.first - before.last <= _GAP + 1
    return is_one_cell and is_near and before.left == block.left < block.right and bool(block.header)


def _within(before: Block, block: Block, cells: list[str]) -> list[str]:
    return [""] * (block.left - before.left) + cells + [""] * (before.right - block.right)


def _text(block: Block, rows: Sequence[Sequence[str]]) -> str:
    if block.header:
        return write_table([block.header, *rows], header=True, caption=block.caption)
    if block.left == block.right:
        return "\n\n".join(filter(None, [block.caption, "\n".join(cells[0] for cells in rows)]))
    if block.right == block.left + 1:
        lines = [": ".join(filter(None, (cells[0].rstrip(" :"), cells[1]))) for cells in rows]
        return "\n\n".join(filter(None, [block.caption, "\n".join(f"- {line}" for line in lines)]))
    return write_table(rows, header=False, caption=block.caption)
