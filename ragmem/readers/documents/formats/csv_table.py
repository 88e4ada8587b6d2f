"""Tables as text (CSV, TSV): encoding, delimiter and heading are detected; long tables come in parts."""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator

from ragmem.readers.documents.grid import Block, Row, Value, blocks, parts, pieces, value_of
from ragmem.readers.documents.model import ConvertedDocument, Limits, Part, RefusedError
from ragmem.readers.files import BYTE_ORDER_MARKS

_DELIMITERS = "\t;|,"  # in order of preference: a comma is also in numbers and names
_SAMPLE = 64_000  # characters for detecting the delimiter
_SAMPLE_ROWS = 200
_LONGEST_FIELD = 100_000  # a longer one comes from an unclosed quotation mark
_BLOCK = 1 << 20


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return the table at `path` in one part, or in parts of 200 rows that each repeat the heading.

    Rows are counted as in a spreadsheet, even if a cell has several lines. Raises RefusedError for a file
    that is not text; OSError.
    """
    warnings: list[str] = []
    encoding = _detect_encoding(path)
    if encoding == "cp1252":
        warnings.append("its letters are read as Windows-1252, since it is not UTF-8")
    with open(path, encoding=encoding, newline="", errors="replace") as stream:  # noqa: PTH123
        text = stream.read(limits.characters + 1)
    if len(text) > limits.characters:
        warnings.append(f"text beyond {limits.characters:,} characters is left out")
        text = text[: limits.characters].rpartition("\n")[0]
    text = text.replace("\x00", "")
    declared, text, skipped = _split_declaration(text)
    dialect = _detect_dialect(text, declared)
    if isinstance(dialect, _UnquotedDialect):
        warnings.append("a quotation mark in it is not closed, so that all of them are read as they are")
    rows, widths = _rows(text, dialect, skipped)
    found = blocks(rows, cut=False)
    warnings += _width_warnings(found, widths)
    return ConvertedDocument(tuple(_parts(found, limits, warnings)), warnings=tuple(warnings))


def _parts(found: list[Block], limits: Limits, warnings: list[str]) -> Iterator[Part]:
    groups = parts([piece for block in found for piece in pieces(block)])
    if len(groups) > limits.pages:
        warnings.append(f"only the first {limits.pages:,} of {len(groups):,} parts are read")
    for group in groups[: limits.pages]:
        text = "\n\n".join(piece.text for piece in group)
        first, last = group[0].first, group[-1].last
        is_whole = len(groups) == 1
        yield Part(
            text,
            # Without the last row, so that the locators of a growing table stay the same.
            "" if is_whole else f"row={first}",
            "" if is_whole else f"rows {first}-{last}",
        )


def _detect_encoding(path: str) -> str:
    """Return the encoding: by the byte order mark, else UTF-8 if the file is valid, else Windows-1252."""
    with open(path, "rb") as stream:  # noqa: PTH123
        head = stream.read(_BLOCK)
        for mark, name in BYTE_ORDER_MARKS:
            if head.startswith(mark):
                return name
        if b"\x00" in head:
            return _detect_utf16(head)
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            block = head
            while block:
                decoder.decode(block)
                block = stream.read(_BLOCK)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _detect_utf16(head: bytes) -> str:
    """Return the byte order of UTF-16 by the zero bytes of plain letters."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 4 * even and odd * 4 > len(head):
        return "utf-16-le"
    if even > 4 * odd and even * 4 > len(head):
        return "utf-16-be"
    raise RefusedError("its content is not text")


def _split_declaration(text: str) -> tuple[str, str, int]:
    """Return the delimiter in a first line `sep=;`, the text after it, and the number of skipped rows."""
    first, _, rest = text.partition("\n")
    name, _, value = first.rstrip("\r").partition("=")
    if name.lower() == "sep" and len(value) == 1:
        return value, rest, 1
    return "", text, 0


class _Dialect(csv.Dialect):
    """Cells as in RFC 4180, with a detected delimiter."""

    delimiter = ","
    quotechar = '"'
    doublequote = True
    skipinitialspace = False
    lineterminator = "\n"
    quoting = csv.QUOTE_MINIMAL


class _UnquotedDialect(_Dialect):
    """The same, with quotation marks as ordinary characters."""

    quoting = csv.QUOTE_NONE  # type: ignore[assignment]  # typeshed narrows it to the value above


def _detect_dialect(text: str, declared: str) -> csv.Dialect:
    """Return the dialect with the delimiter by which most rows have the same number of cells."""
    sample = text[:_SAMPLE]
    if len(text) > _SAMPLE:
        sample = sample.rpartition("\n")[0] or sample
    best = 0.0
    dialect: csv.Dialect = _Dialect()
    dialect.delimiter = declared or ","
    for delimiter in "" if declared else _DELIMITERS:
        tried = _Dialect()
        tried.delimiter = delimiter
        rows = [row for row in _parse(sample, tried, rows=_SAMPLE_ROWS) if any(row)]
        wide = Counter(len(row) for row in rows if len(row) > 1)
        if not wide:
            continue
        share = wide.most_common(1)[0][1] / len(rows)
        if len(rows[0]) == 1:
            # A delimiter that is not in the heading is probably part of the cells.
            share /= 2
        if share > best:
            best, dialect = share, tried
    if any(len(cell) > _LONGEST_FIELD for row in _parse(text, dialect) for cell in row):
        unquoted = _UnquotedDialect()
        unquoted.delimiter = dialect.delimiter
        return unquoted
    return dialect


def _parse(text: str, dialect: csv.Dialect, *, rows: int | None = None) -> Iterator[list[str]]:
    # The limit is global to the process, so it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    for number, row in enumerate(csv.reader(io.StringIO(text, newline=""), dialect)):
        if number == rows:
            return
        yield row


def _rows(text: str, dialect: csv.Dialect, skipped: int) -> tuple[list[Row], dict[int, int]]:
    """Return the rows that are not empty, and the number of cells in each."""
    found: list[Row] = []
    widths: dict[int, int] = {}
    for number, row in enumerate(_parse(text, dialect), 1 + skipped):
        cells: dict[int, Value] = {}
        for column, cell in enumerate(row, 1):
            if shown := " ".join(cell.split()):
                cells[column] = value_of(shown)
        if cells:
            found.append((number, cells))
            widths[number] = len(row)
    return found, widths


def _width_warnings(found: list[Block], widths: dict[int, int]) -> list[str]:
    """Return a warning if rows of a table have more or fewer cells than most."""
    if not found or not found[0].header:
        return []
    counted = Counter(widths[number] for number, _ in found[0].rows)
    usual, count = counted.most_common(1)[0]
    others = counted.total() - count
    told = f"{others:,} of its {counted.total():,} rows have another number of cells than the usual {usual}"
    return [told] if others else []
