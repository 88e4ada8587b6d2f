"""Convert the tables in a piece of HTML, as notebooks and conversion servers write them."""

from ragmem.readers.documents.tables import write_table


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


_SPAN_MAX = 100


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
