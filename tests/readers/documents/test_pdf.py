"""What a PDF gives page by page: in reading order, with its headings, tables, notes and captions."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hostile
import pytest
from samples_pdf import SAMPLES

from ragmem.readers.documents.converter import Converter
from ragmem.readers.documents.formats import pdf
from ragmem.readers.documents.model import ConvertedDocument, Limits, RefusedError

A4 = (595.0, 842.0)
BY_NAME = {sample.name: sample for sample in SAMPLES}


def sample(tmp_path: Path, name: str) -> list[str]:
    BY_NAME[name].make(tmp_path / name)
    return [part.text for part in pdf.read(str(tmp_path / name), Limits()).parts]


def drawn(
    path: Path, *pages: Callable[[Any], None], limits: Limits | None = None, **facts: str
) -> ConvertedDocument:
    """Return what is read of pages that are drawn on a canvas."""
    from reportlab.pdfgen.canvas import Canvas

    canvas = Canvas(str(path), pagesize=A4, invariant=1)
    for name, value in facts.items():
        getattr(canvas, f"set{name}")(value)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return pdf.read(str(path), limits or Limits(ocr=False))


def lines(*texts: str, size: int = 10, left: int = 72, top: int = 760, leading: int = 13):
    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", size)
        for number, text in enumerate(texts):
            canvas.drawString(left, top - number * leading, text)

    return draw


def both(*drawings: Callable[[Any], None]) -> Callable[[Any], None]:
    def draw(canvas: Any) -> None:
        for drawing in drawings:
            drawing(canvas)

    return draw


def test_columns_are_read_one_after_the_other_under_the_title(tmp_path: Path) -> None:
    first, second = sample(tmp_path, "tides-article.pdf")
    assert first.startswith("# Predicting storm surges with few gauges\n\nL. Brandt")
    assert (
        "Most coasts have few, and some of their gauges are old. We ask how many gauges are needed" in first
    )
    assert first.index("brought to the same datum by levelling") < first.index("Wind and pressure come")
    assert second.index("stood north of the strait") < second.index("which is the cheapest to keep")


def test_columns_above_a_part_over_the_whole_page_are_read_before_it(tmp_path: Path) -> None:
    """As a browser prints them: both columns end together, a heading and short lines follow below."""

    def column(name: str, left: int) -> Callable[[Any], None]:
        texts = [f"{name} line {number} of a text that fills its column." for number in range(8)]
        return lines(*texts, left=left, top=700)

    below = lines("Costs", "Energy", "Crew", "Paint", top=560)
    told = drawn(tmp_path / "a.pdf", both(column("Left", 40), column("Right", 310), below)).parts[0].text
    order = ["Left line 0", "Left line 7", "Right line 0", "Right line 7", "Costs"]
    places = [told.index(text) for text in order]
    assert places == sorted(places)
    assert "|" not in told


def test_a_footnote_is_marked_where_it_belongs_and_where_it_stands(tmp_path: Path) -> None:
    text = sample(tmp_path, "tides-article.pdf")[0]
    assert "before anybody noticed.[^1] The remaining eight" in text
    assert "\n\n[^1]: The harbour master of Skarvik kept the log by local time.\n" in text


def test_a_ruled_table_is_kept_and_told_row_by_row_under_its_caption(tmp_path: Path) -> None:
    text = sample(tmp_path, "harbour-report.pdf")[1]
    assert "| Terminal | Q1 | Q2 | Q3 | Q4 |\n| --- | --- | --- | --- | --- |\n| Container | 12.8 |" in text
    assert "in millions of crowns. Terminal: Grain; Q1: 4.4; Q2: 3.9; Q3: 5.1; Q4: 8.7." in text
    assert text.count("\nTable 1: Revenue of the terminals by quarter, in millions of crowns\n") == 1


def test_a_table_without_rules_is_one_as_well(tmp_path: Path) -> None:
    text = sample(tmp_path, "crane-manual.pdf")[2]
    assert "| E47 | encoder of the slewing gear lost | call the workshop |" in text
    assert "Code: E47; Meaning: encoder of the slewing gear lost; Remedy: call the workshop." in text


def test_headers_and_footers_are_left_out_and_numbered_headings_are_not(tmp_path: Path) -> None:
    report = "\n".join(sample(tmp_path, "harbour-report.pdf"))
    assert "Port of Tideline" not in report
    assert "Page 2" not in report
    law = sample(tmp_path, "constitution.pdf")
    assert law[0].startswith("# The Constitution of the United States\n\n# Article I\n\n## Section 1\n\nAll")
    assert law[1].startswith("## Section 3\n")


def test_bold_lines_of_their_own_are_headings_and_bullets_are_items(tmp_path: Path) -> None:
    text = sample(tmp_path, "board-minutes.pdf")[0]
    assert "\n\n## Pilots\n\nThe pilots asked" in text
    assert "\n\n- Decided: the night shift is kept by two pilots instead of one from May on.\n" in text


def test_words_that_the_end_of_a_line_parts_are_put_together(tmp_path: Path) -> None:
    told = drawn(
        tmp_path / "a.pdf",
        lines("The harbour mas-", "ter of Skarvik signed the North-", "South treaty in the end of it all."),
    )
    assert told.parts[0].text == (
        "The harbour master of Skarvik signed the North- South treaty in the end of it all."
    )


def test_code_and_addresses_keep_their_lines(tmp_path: Path) -> None:
    wide = "This is a long line of running text that tells how wide the column of this page is."
    told = drawn(tmp_path / "a.pdf", both(lines(wide, wide), lines("Quay 4", "Tideline", "Isle", top=600)))
    assert told.parts[0].text == f"{wide} {wide}\n\nQuay 4\nTideline\nIsle"


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_page_that_is_shown_turned_is_read_as_it_is_shown(tmp_path: Path, turn: int) -> None:
    def page(canvas: Any) -> None:
        canvas.setPageRotation(turn)
        width, height = A4
        canvas.translate(*{90: (width, 0), 180: (width, height), 270: (0, height)}[turn])
        canvas.rotate(turn)
        lines("Turned pages are common", "in landscape tables.", top=400)(canvas)

    told = drawn(tmp_path / "a.pdf", page)
    assert told.parts[0].text == "Turned pages are common in landscape tables."


def test_pages_without_text_are_told_and_have_no_memory(tmp_path: Path) -> None:
    told = drawn(tmp_path / "a.pdf", lines("First."), lines(), lines("Third."), lines())
    assert [part.locator for part in told.parts] == ["page=1", "page=3"]
    assert told.warnings == ("pages 2, 4 have no text",)


def test_what_the_document_says_of_itself_is_kept_unless_it_says_nothing(tmp_path: Path) -> None:
    page = both(lines("The tide tables", size=20, top=780), lines("Low water at six."))
    told = drawn(tmp_path / "a.pdf", page, Title="Tides of 2026", Author="Ada", Subject="Harbour")
    assert (told.title, told.metadata) == ("Tides of 2026", {"author": "Ada", "subject": "Harbour"})
    assert told.event_time == "2000-01-01T00:00:00+00:00"
    plain = drawn(tmp_path / "b.pdf", page, Title="Microsoft Word - final2.doc")
    assert plain.title == "The tide tables"
    assert drawn(tmp_path / "c.pdf", lines("Text alone.")).title == "c"


def test_a_page_is_told_under_the_heading_that_it_continues(tmp_path: Path) -> None:
    told = drawn(
        tmp_path / "a.pdf",
        both(lines("Dredging", size=18, top=790), lines(*["The channel was dredged again."] * 3)),
        lines(*["It took a whole month."] * 3),
    )
    assert [part.title for part in told.parts] == ["Dredging", "Dredging"]


def test_pages_beyond_the_limits_are_left_out_and_told(tmp_path: Path) -> None:
    hostile.many_pages(tmp_path / "days.pdf", 40)
    few = pdf.read(str(tmp_path / "days.pdf"), Limits(pages=5))
    assert (len(few.parts), few.warnings) == (5, ("35 pages beyond 5 are left out",))
    short = pdf.read(str(tmp_path / "days.pdf"), Limits(characters=200))
    assert len(short.parts) == 6
    assert short.warnings == ("34 pages after page 6 are left out",)
    late = pdf.read(str(tmp_path / "days.pdf"), Limits(seconds=0))
    assert (len(late.parts), late.warnings) == (
        1,
        ("39 pages after page 1 are left out for lack of time",),
    )


def test_an_image_is_handed_on_where_somebody_looks_at_it(tmp_path: Path) -> None:
    from PIL import Image

    Image.effect_noise((80, 60), 90).save(tmp_path / "noise.png")

    def page(canvas: Any) -> None:
        lines("Above the picture.")(canvas)
        canvas.drawImage(str(tmp_path / "noise.png"), 72, 500, 200, 150)
        lines("Below the picture.", top=400)(canvas)

    blind = drawn(tmp_path / "a.pdf", page)
    assert (blind.parts[0].text, blind.parts[0].pictures) == ("Above the picture.\n\nBelow the picture.", ())
    (part,) = drawn(tmp_path / "a.pdf", page, limits=Limits(ocr=False, described=True)).parts
    assert part.text == "Above the picture.\n\n[[picture 1]]\n\nBelow the picture."
    assert part.pictures[0].data.startswith(b"\x89PNG")


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_a_scanned_page_is_read_by_tesseract(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw, ImageFont

    scan = Image.new("RGB", (1240, 600), "white")
    ImageDraw.Draw(scan).text(
        (80, 200), "The keeper signed the lease", fill="black", font=ImageFont.load_default(60)
    )
    scan.save(tmp_path / "scan.png")

    def page(canvas: Any) -> None:
        canvas.drawImage(str(tmp_path / "scan.png"), 0, 400, 595, 288)

    assert "keeper signed the lease" in drawn(tmp_path / "a.pdf", page, limits=Limits()).parts[0].text
    with Converter() as converter:  # where programs may not be started, but for this one
        assert "keeper signed the lease" in converter.convert(tmp_path / "a.pdf").parts[0].text


def test_a_pdf_with_a_password_is_refused_and_one_with_an_empty_password_is_read(tmp_path: Path) -> None:
    hostile.encrypted_pdf(tmp_path / "a.pdf", user="secret")
    with pytest.raises(RefusedError, match="it is encrypted"):
        pdf.read(str(tmp_path / "a.pdf"), Limits())
    hostile.encrypted_pdf(tmp_path / "b.pdf", user="")
    assert "rent of the quay" in pdf.read(str(tmp_path / "b.pdf"), Limits()).parts[0].text
