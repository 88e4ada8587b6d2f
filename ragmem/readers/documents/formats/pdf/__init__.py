"""PDF: page by page in reading order, with headings, tables, footnotes and captions."""

import io
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import PurePath
from typing import Any

from ragmem.readers.documents.confinement import report_page
from ragmem.readers.documents.formats.pdf.pdf_blocks import Block, blocks_of, join_captions
from ragmem.readers.documents.formats.pdf.pdf_lines import Line, lines_of
from ragmem.readers.documents.formats.pdf.pdf_order import reading_order
from ragmem.readers.documents.formats.pdf.pdf_scans import is_nonsense, scan_lines
from ragmem.readers.documents.formats.pdf.pdf_tables import RuledTables
from ragmem.readers.documents.formats.pdf.pdf_words import Box
from ragmem.readers.documents.formats.pictures import Pictures
from ragmem.readers.documents.model import LONGEST, ConvertedDocument, Limits, Part, Picture, RefusedError
from ragmem.readers.documents.ocr import Ocr

_HEADING = 1.14  # minimum size, relative to the text
_HEADING_CHARS = 150
_BOLD_CHARS = 90
_LEVELS = 4
_EDGE_LINES = 2  # at the top and at the bottom, for headers and footers
_REPEATED = 0.4  # share of all pages
_FEWEST_REPEATED = 3
_READING = 0.6  # share of the seconds for reading pages; the layout takes less
_PAGES_A_TURN = 20  # that get the seconds once more
_MOST_UNREAD = 10_000  # pages after the last one that is read
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:([+-])(\d\d)'?(\d\d)?)?")
_NO_TITLE = re.compile(
    r"untitled|\(?anonymous\)?|\(?unspecified\)?"
    r"|microsoft \w+ - .*|doi:.*|.*\.(?:docx?|pptx?|xlsx?|tex|indd|dvi|pdf)",
    re.IGNORECASE,
)
_LEADER = re.compile(r"(?:\s?\.){4,}")  # of a table of contents
_NUMBER = re.compile(r"\d+|\b[ivxl]+$")
_LETTER = re.compile(r"[^\W\d_]")


@dataclass(frozen=True, slots=True)
class _Page:
    number: int
    lines: list[Line]
    tables: dict[str, list[list[str]]]
    pictures: tuple[Picture, ...]
    is_blank: bool
    """Whether nothing is drawn on it."""


def read(path: str, limits: Limits) -> ConvertedDocument:
    """Return the pages that hold text; raises RefusedError for an encrypted or damaged document."""
    import pypdfium2  # type: ignore[import-untyped]

    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise RefusedError("it is encrypted", hint="save a copy without the password") from error
        raise RefusedError("the file is damaged or cut short") from error
    try:
        if len(document) == 0:
            raise RefusedError("the file is damaged or cut short")
        pages, warnings, unread, unseen = _pages(document, path, limits)
        converted = _convert(document, path, pages, warnings, seconds=limits.seconds)
        return replace(converted, unread=tuple(f"page={number}" for number in unread), unseen=unseen)
    finally:
        document.close()


def _pages(document: Any, path: str, limits: Limits) -> tuple[list[_Page], list[str], list[int], int]:
    """Return the pages that hold text, warnings, the numbers of unread pages, and the count of mute scans."""
    count = min(len(document), limits.pages)
    warnings = []
    if len(document) > count:
        warnings.append(f"{len(document) - count:,} pages beyond {count:,} are left out")
    pages: list[_Page] = []
    blank: list[int] = []
    unread: list[int] = []
    end = count
    characters = 0
    begun = time.monotonic()
    pictures = Pictures(limits)
    ocr = Ocr(limits)
    unseen = 0
    with RuledTables(path) as ruled:
        for number in range(count):
            turns = min(1 + number / _PAGES_A_TURN, LONGEST)
            if number and time.monotonic() - begun - ocr.spent > _READING * limits.seconds * turns:
                warnings.append(f"{count - number:,} pages after page {number} were skipped for lack of time")
                end = number
                break
            page = _page(document, number, ruled, pictures, ocr)
            report_page(limits.seconds)
            if page is None:
                warnings.append(f"page {number + 1} is damaged")
                unread.append(number + 1)
                continue
            if page.lines:
                pages.append(page)
            else:
                # A page that is not blank may be a scan that was read before.
                (blank if page.is_blank else unread).append(number + 1)
                unseen += not page.is_blank
            characters += sum(len(line.text) for line in page.lines)
            if characters > limits.characters:
                warnings.append(f"{len(document) - number - 1:,} pages after page {number + 1} are left out")
                end = number + 1
                break
        if ruled.gave_up:
            warnings.append(f"the tables of {ruled.gave_up:,} pages are read as text")
    if blank:
        warnings.append(_describe_blank(blank))
    warnings += ocr.warnings()
    unseen = max(0, unseen - ocr.cut)
    unread += range(end + 1, min(len(document), end + _MOST_UNREAD) + 1)
    return pages, warnings, unread, unseen


def _page(document: Any, number: int, ruled: RuledTables, pictures: Pictures, ocr: Ocr) -> _Page | None:
    """Return a page; None if PDFium cannot load it."""
    import pypdfium2

    limits = pictures.limits

    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return None
    try:
        found = ruled.of(page, number)
        lines = lines_of(page, without=[box for box, _ in found])
        tables = {f"table {place}": cells for place, (_, cells) in enumerate(found)}
        lines += [Line(name, box, 0.0, is_table=True) for name, (box, _) in zip(tables, found, strict=True)]
        if ocr.engine:
            if is_nonsense(lines):
                lines = scan_lines(page, (), ocr, limits) or lines
            else:
                lines += scan_lines(page, lines, ocr, limits)
        if limits.described:
            lines += _image_lines(page, pictures)
        is_blank = not any(True for _ in page.get_objects(max_depth=1))
        return _Page(number + 1, lines, tables, pictures.take(), is_blank)
    finally:
        page.close()


def _describe_blank(pages: Sequence[int]) -> str:
    shown = ", ".join(map(str, pages[:10]))
    more = f" and {len(pages) - 10:,} more" if len(pages) > 10 else ""
    return f"page {shown} has no text" if len(pages) == 1 else f"pages {shown}{more} have no text"


def _convert(
    document: Any, path: str, pages: Sequence[_Page], warnings: list[str], *, seconds: float
) -> ConvertedDocument:
    sizes = Counter[float]()
    for page in pages:
        for line in page.lines:
            sizes[line.size] += 0 if line.is_table else len(line.text)
    usual = sizes.most_common(1)[0][0] if sizes else 0.0
    running = _repeated_marks(pages, usual)
    sizes.clear()
    laid: list[tuple[_Page, list[Block]]] = []
    for page in pages:
        edges = _edge_lines(page)
        kept = [line for line in page.lines if line not in edges or _line_mark(line, usual) not in running]
        kept = kept or page.lines  # a form of one line a page
        blocks = join_captions(blocks_of(reading_order(kept)), page.tables)
        report_page(seconds)
        laid.append((page, blocks))
        for block in blocks:
            if not block.is_table:
                sizes[block.size] += len(block.text)
    body = sizes.most_common(1)[0][0] if sizes else 0.0
    levels = _levels((block for _, blocks in laid for block in blocks), body)
    parts, section = [], ""
    for page, blocks in laid:
        texts, first = [], ""
        for block in blocks:
            level = _level(block, body, levels)
            text = " ".join(block.text.split()) if level else _LEADER.sub(" …", block.text)
            texts.append(f"{'#' * level} {text}" if level else text)
            if level:
                first = first or (text if not texts[:-1] else section or text)
                section = text
        number, title = page.number, first or section
        parts.append(Part("\n\n".join(texts), f"page={number}", f"page {number}", title, page.pictures))
    facts = document.get_metadata_dict(skip_empty=True)
    title = _title(facts.get("Title", ""), laid, levels, body) or PurePath(path).stem
    metadata = {
        name.lower(): told
        for name in ("Author", "Subject", "Keywords")
        if (told := facts.get(name, "").strip()) and not _NO_TITLE.fullmatch(told)
    }
    return ConvertedDocument(
        tuple(parts), title, _moment(facts.get("CreationDate", "")), metadata, tuple(warnings)
    )


def _repeated_marks(pages: Sequence[_Page], usual: float) -> set[str]:
    """Return the marks of lines at the edges of many pages: headers, footers and page numbers."""
    counts = Counter[str]()
    for page in pages:
        counts.update({_line_mark(line, usual) for line in _edge_lines(page)})
    enough = max(_FEWEST_REPEATED, _REPEATED * len(pages))
    return {mark for mark, count in counts.items() if count >= enough}


def _edge_lines(page: _Page) -> list[Line]:
    """Return the lines at the top and at the bottom of a page."""
    tops = sorted({line.box.top for line in page.lines})
    outer = {*tops[:_EDGE_LINES], *tops[-_EDGE_LINES:]}
    return [line for line in page.lines if line.box.top in outer and not line.is_table]


def _line_mark(line: Line, usual: float) -> str:
    """Return a key that is equal for the same line on other pages: its size and words without numbers.

    In larger lines numbers count, because "Section 2" and "Section 1" are different headings.
    """
    text = line.text.casefold()
    return f"{line.size:g} {text if line.size >= _HEADING * usual else _NUMBER.sub('#', text)}"


def _levels(blocks: Iterable[Block], body: float) -> dict[float, int]:
    """Return the heading level of each size, the largest first."""
    sizes = sorted({block.size for block in blocks if _is_large(block, body)}, reverse=True)
    return {size: min(level, _LEVELS) for level, size in enumerate(sizes, start=1)}


def _is_large(block: Block, body: float) -> bool:
    return (
        not block.is_table
        and block.size >= _HEADING * body
        and len(block.text) <= _HEADING_CHARS
        and bool(_LETTER.search(block.text))
    )


def _level(block: Block, body: float, levels: dict[float, int]) -> int:
    """Return the level of a heading, which is larger than the text or a bold line; 0 for other blocks."""
    if _is_large(block, body):
        return levels[block.size]
    stands_alone = (
        block.bold
        and not block.is_table
        and block.lines == 1
        and block.size >= body
        and len(block.text) <= _BOLD_CHARS
        and not block.text.endswith((".", ":", ",", ";"))
        and bool(_LETTER.search(block.text))
    )
    return min(len(set(levels.values())) + 1, _LEVELS + 1) if stands_alone else 0


def _title(
    told: str, laid: Sequence[tuple[_Page, list[Block]]], levels: dict[float, int], body: float
) -> str:
    """Return the title in the document's metadata, else the largest heading of its first page."""
    told = " ".join(told.split())
    if told and not _NO_TITLE.fullmatch(told):
        return told
    headings = [block for block in laid[0][1] if _is_large(block, body)] if laid else []
    best = min(headings, key=lambda block: levels[block.size], default=None)
    return " ".join(best.text.split()) if best else ""


def _moment(told: str) -> str:
    """Return a date of a PDF (D:20260315101500+01'00') as RFC 3339; empty for any other text."""
    found = _DATE.match(told)
    if found is None:
        return ""
    year, month, day, hour, minute, second, sign, hours, minutes = found.groups()
    zone = f"{sign}{hours}:{minutes or '00'}" if sign else "+00:00"
    return f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}{zone}"


_IMAGES = 50  # of a page


def _image_lines(page: Any, pictures: Pictures) -> list[Line]:
    """Return a line for each picture of a page that a model describes, at its position."""
    import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

    lines = []
    height = page.get_height()
    for item in islice(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3), _IMAGES):
        width, depth = item.get_px_size()
        if width * depth > pictures.limits.pixels:
            continue
        packed = io.BytesIO()
        item.get_bitmap().to_pil().convert("RGB").save(packed, "PNG")
        if mark := pictures.describe(packed.getvalue()):
            left, bottom, right, top = item.get_bounds()
            lines.append(Line(mark, Box(left, height - top, right, height - bottom), 0.0, is_table=True))
    return lines
