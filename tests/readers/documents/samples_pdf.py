"""Six PDF documents made with reportlab: tables, two columns, footnotes, captions, lists, a legal text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reportlab.lib.colors import black, grey
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.platypus import (
    BaseDocTemplate,
    Frame,
    FrameBreak,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)
from sample import Sample

_STYLES = getSampleStyleSheet()
_BODY = ParagraphStyle("body", parent=_STYLES["BodyText"], fontSize=10, leading=13, alignment=4)
_NOTE = ParagraphStyle("note", parent=_BODY, fontSize=7.5, leading=9)
_CAPTION = ParagraphStyle("caption", parent=_BODY, fontSize=9, leading=11, fontName="Helvetica-Oblique")
_KINDS = {"#": "Title", "##": "Heading1", "###": "Heading2"}

RULED = TableStyle([("GRID", (0, 0), (-1, -1), 0.5, grey), ("FONTNAME", (0, 0), (-1, 0), "Helvetica-Bold")])
UNRULED = TableStyle([("LINEBELOW", (0, 0), (-1, 0), 0.7, black), ("FONTSIZE", (0, 0), (-1, -1), 9)])


def text_of(name: str) -> list[Any]:
    """Return the blocks of a text: a list of rows for a table, else a line that its first word marks."""
    whole = (Path(__file__).parent / "pdf_texts.txt").read_text()
    section = whole.split(f"=== {name}\n")[1].split("\n=== ")[0]
    blocks: list[Any] = []
    for block in section.strip().split("\n\n"):
        if block.startswith("| "):
            rows = [line.removeprefix("| ").split(" | ") for line in block.splitlines()]
            blocks.append(rows)
        else:
            blocks.append(" ".join(block.split("\n")))
    return blocks


def flowables(blocks: Sequence[Any], *, ruled: bool = True) -> list[Any]:
    """Return what reportlab lays out: "## text" is a heading, "^ text" a note, "> text" a caption."""
    laid: list[Any] = []
    for block in blocks:
        if isinstance(block, list):
            laid += [Table(block, style=RULED if ruled else UNRULED, hAlign="LEFT"), Spacer(1, 4 * mm)]
            continue
        mark, _, text = block.partition(" ")
        if block == "---":
            laid.append(PageBreak())
        elif mark in _KINDS:
            laid.append(Paragraph(text, _STYLES[_KINDS[mark]]))
        elif mark == "^":
            laid.append(Paragraph(text, _NOTE))
        elif mark == ">":
            laid.append(Paragraph(text, _CAPTION))
        elif mark == "*":
            laid.append(Paragraph(text, _BODY, bulletText="\u2022"))
        else:
            laid.append(Paragraph(block, _BODY))
    return laid


def _running(header: str) -> Any:
    def draw(canvas: Any, document: Any) -> None:
        canvas.setFont("Helvetica", 8)
        canvas.drawString(20 * mm, A4[1] - 12 * mm, header)
        canvas.drawRightString(A4[0] - 20 * mm, 10 * mm, f"Page {document.page}")

    return draw


def simple(path: Path, blocks: Sequence[Any], title: str, *, header: str = "", ruled: bool = True) -> None:
    document = SimpleDocTemplate(
        str(path), pagesize=A4, title=title, author="Tideline Board", invariant=1, topMargin=25 * mm
    )
    draw = _running(header) if header else lambda *_: None
    document.build(flowables(blocks, ruled=ruled), onFirstPage=draw, onLaterPages=draw)


def two_columns(path: Path, blocks: Sequence[Any], title: str) -> None:
    """Write the first block over both columns, then two columns a page; "|||" goes to the next column."""
    document = BaseDocTemplate(str(path), pagesize=A4, title=title, invariant=1)
    left, bottom, width, height = 20 * mm, 20 * mm, A4[0] - 40 * mm, A4[1] - 40 * mm
    column = width / 2 - 3 * mm
    top = Frame(left, bottom + height - 35 * mm, width, 35 * mm, id="top")
    first = [
        Frame(x, bottom, column, height - 35 * mm, id=f"first{x}") for x in (left, left + column + 6 * mm)
    ]
    later = [Frame(x, bottom, column, height, id=f"later{x}") for x in (left, left + column + 6 * mm)]
    document.addPageTemplates([PageTemplate("first", [top, *first]), PageTemplate("later", later)])
    story: list[Any] = []
    for block in blocks:
        story += [FrameBreak()] if block == "|||" else flowables([block])
    story.insert(0, NextPageTemplate("later"))
    document.build(story)


SAMPLES = [
    Sample(
        "harbour-report.pdf",
        lambda path: simple(
            path, text_of("report"), "Annual report of the harbour 2025", header="Port of Tideline"
        ),
        (
            ("how much did the container terminal earn in the third quarter", "14.2", "page=2"),
            ("why were the dredging costs higher than planned", "sand bank", "page=3"),
            ("who audited the accounts of the harbour", "Kessel & Rowe", "page=4"),
        ),
    ),
    Sample(
        "tides-article.pdf",
        lambda path: two_columns(path, text_of("article"), "Predicting storm surges with few gauges"),
        (
            ("which gauge was left out of the surge model because of its faulty clock", "Skarvik", "page=1"),
            ("what error did the surge forecast have twelve hours ahead", "11 centimetres", "page=2"),
            ("who paid for the study of storm surges", "Northern Waters Trust", "page=2"),
        ),
    ),
    Sample(
        "crane-manual.pdf",
        lambda path: simple(path, text_of("manual"), "Operating manual of the gantry crane", ruled=False),
        (
            ("at which wind speed must the crane stop", "20 m/s", "page=1"),
            ("what does the fault code E47 of the crane mean", "encoder", "page=3"),
            ("how often is the hoist rope greased", "250 hours", "page=2"),
        ),
    ),
    Sample(
        "pump-datasheet.pdf",
        lambda path: simple(path, text_of("data_sheet"), "Data sheet of the bilge pumps BP series"),
        (
            ("how many litres a minute does the pump BP-40 deliver", "310", "page=1"),
            ("which fuse does the BP-25 pump need on 24 volts", "7.5 A", "page=2"),
            ("what is the order number of the seal kit for the bilge pump", "SK-2291", "page=3"),
        ),
    ),
    Sample(
        "board-minutes.pdf",
        lambda path: simple(path, text_of("minutes"), "Minutes of the board, March 2026"),
        (
            ("what did the board decide about the night shift", "two pilots", "page=1"),
            ("who will negotiate the lease of the north quay", "Ines Duarte", "page=2"),
            ("when does the board meet next", "18 June 2026", "page=2"),
        ),
    ),
    Sample(
        "constitution.pdf",
        lambda path: simple(
            path, text_of("constitution"), "The Constitution of the United States, Articles I to III"
        ),
        (
            ("how old must a senator be", "Age of thirty Years", "page=2"),
            ("what majority overrides a veto of the President", "two thirds of that House", "page=3"),
            ("what is treason", "levying War against them", "page=5"),
        ),
    ),
]
