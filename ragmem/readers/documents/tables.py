"""Write a table, or those in a piece of HTML: in Markdown for readers, as a sentence per row for search."""

from collections.abc import Sequence

_NEEDED_COLUMNS = 2  # a single column is a list, whose rows need no sentences

_SPAN_MAX = 100


def write_table(rows: Sequence[Sequence[str]], *, header: bool = True, caption: str = "") -> str:
    r"""Write the caption, the table in Markdown, and its rows as `Header: value; Header: value.` lines.

    `rows` may be ragged; the first is the header unless `header` is False, and then there are no row lines.
    Empty rows and columns are left out, line ends within a cell become spaces. Each row line begins with the
    caption, so that a piece of a long table still names it. Empty without cells.

    >>> print(write_table([["Part", "Price"], ["bolt", "0.40"]], caption="Table 2: costs"))
    Table 2: costs
    <BLANKLINE>
    | Part | Price |
    | --- | --- |
    | bolt | 0.40 |
    <BLANKLINE>
    Table 2: costs. Part: bolt; Price: 0.40.
    """
    table = _without_empty([[_cell(value) for value in row] for row in rows])
    caption = _cell(caption)
    if not table:
        return caption
    blocks = [caption] if caption else []
    blocks.append(_markdown(table, header=header))
    if header and len(table[0]) >= _NEEDED_COLUMNS and len(table) > 1:
        blocks.append("\n".join(_sentence(table[0], row, caption) for row in table[1:]))
    return "\n\n".join(blocks)


def _cell(value: str) -> str:
    return " ".join(value.split())


def _without_empty(table: list[list[str]]) -> list[list[str]]:
    """Return the rows with the same width, without empty rows and columns."""
    kept = [row for row in table if any(row)]
    width = max((len(row) for row in kept), default=0)
    filled = [row + [""] * (width - len(row)) for row in kept]
    columns = [number for number in range(width) if any(row[number] for row in filled)]
    return [[row[number] for number in columns] for row in filled]


def _markdown(table: list[list[str]], *, header: bool) -> str:
    """Return the table in Markdown; without a header it gets an empty one, which Markdown requires."""
    width = len(table[0])
    first, rest = (table[0], table[1:]) if header else ([""] * width, table)
    return "\n".join(_line(cells) for cells in (first, ["---"] * width, *rest))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _sentence(names: Sequence[str], row: Sequence[str], caption: str) -> str:
    """Return one row in words; a cell without a heading is just its value, an empty cell is left out."""
    words = [f"{name}: {value}" if name else value for name, value in zip(names, row, strict=True) if value]
    front = f"{caption.rstrip('.:')}. " if caption else ""
    return f"{front}{'; '.join(words).rstrip('.')}."


def convert_tables(html: str, *, caption: str = "") -> str:
    """Return the tables of a piece of HTML, in Markdown and row by row; empty without any.

    A cell over several columns or rows is repeated in each of them.
    """
    if "<table" not in html.lower():
        return ""
    from lxml import etree  # noqa: PLC0415 - only where a document has tables in HTML
    from lxml import html as parser  # noqa: PLC0415

    try:
        root = parser.fromstring(html)
    except (etree.ParserError, ValueError):
        return ""
    tables = []
    for table in root.iter("table"):
        own = " ".join("".join(each.text_content() for each in table.iter("caption")).split())
        rows = _rows(list(table.iter("tr")))
        has_header = table.find(".//th") is not None or len(rows) > 1
        tables.append(write_table(rows, header=has_header, caption=caption or own))
    return "\n\n".join(filter(None, tables))


def _rows(lines: list[object]) -> list[list[str]]:
    grid: dict[tuple[int, int], str] = {}
    for row, line in enumerate(lines):
        column = 0
        for cell in line.iter("th", "td"):  # type: ignore[attr-defined]
            while (row, column) in grid:
                column += 1
            text = " ".join(cell.text_content().split())
            down, across = _span(cell.get("rowspan")), _span(cell.get("colspan"))
            for below in range(min(down, len(lines) - row)):
                for beside in range(across):
                    grid[row + below, column + beside] = text
            column += across
    width = max((column for _, column in grid), default=-1) + 1
    return [[grid.get((row, column), "") for column in range(width)] for row in range(len(lines))]


def _span(value: str | None) -> int:
    return min(int(value), _SPAN_MAX) if value and value.isdecimal() and int(value) > 0 else 1
