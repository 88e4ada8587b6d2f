"""What a PDF gives page by page: in reading order, with its headings, tables, notes and captions."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hostile
import pytest
from PIL import Image, ImageDraw
from samples_pdf import SAMPLES
from samples_scans import font

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


def test_a_hyphen_joins_lines_that_are_set_so_close_that_they_overlap(tmp_path: Path) -> None:
    left = ("The sensor is based on optical navi-", "gation and reads the surface of the", "desk below it.")
    right = ("A light shines on the desk and a chip", "compares what it sees, so that the de-", "vice moves.")
    page = both(
        lines("Overlap", size=18, top=800),
        lines(*left, leading=9, size=10),
        lines(*right, leading=9, size=10, left=320),
    )
    assert drawn(tmp_path / "a.pdf", page).parts[0].text.split("\n\n") == [
        "# Overlap",
        "The sensor is based on optical navigation and reads the surface of the desk below it.",
        "A light shines on the desk and a chip compares what it sees, so that the device moves.",
    ]


def test_a_first_line_that_stands_in_or_out_belongs_to_its_paragraph(tmp_path: Path) -> None:
    def page(canvas: Any) -> None:
        lines("The first line of this paragraph stands further in, and", left=108, top=760)(canvas)
        lines("its second line begins at the edge.", "End.", top=747)(canvas)
        lines("Another one begins further in and is broken at a", left=108, top=721)(canvas)
        lines("ragged end.", top=708)(canvas)
        lines("1. An item whose text goes on below the text of", "2. A short one", top=682, leading=26)(
            canvas
        )
        lines("its first line", left=84, top=669)(canvas)

    assert drawn(tmp_path / "a.pdf", page).parts[0].text.split("\n\n") == [
        "The first line of this paragraph stands further in, and its second line begins at the edge. End.",
        "Another one begins further in and is broken at a ragged end.",
        "1. An item whose text goes on below the text of its first line",
        "2. A short one",
    ]


def test_text_with_two_lines_of_space_is_in_paragraphs(tmp_path: Path) -> None:
    told = (
        "This manuscript is set with twice the space between its lines as the usual text",
        "of a letter has.",
    )
    page = both(lines(*told, told[0], told[1], leading=26), lines("A new paragraph.", top=640))
    assert drawn(tmp_path / "a.pdf", page).parts[0].text.split("\n\n") == [
        f"{told[0]} {told[1]}\n{told[0]} {told[1]}",
        "A new paragraph.",
    ]


def test_lines_of_chinese_are_joined_without_a_blank(tmp_path: Path) -> None:
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont
    from reportlab.pdfbase.pdfmetrics import registerFont

    registerFont(UnicodeCIDFont("STSong-Light"))

    def page(canvas: Any) -> None:
        canvas.setFont("STSong-Light", 10)
        canvas.drawString(72, 760, "潮汐表由港务局每年发布一次，码头的船员")
        canvas.drawString(72, 747, "在出海之前必须查看当天的潮位。")

    told = drawn(tmp_path / "a.pdf", page).parts[0].text
    assert told == "潮汐表由港务局每年发布一次，码头的船员在出海之前必须查看当天的潮位。"


def test_words_written_from_right_to_left_are_in_the_order_of_reading(tmp_path: Path) -> None:
    register("Sans")

    def page(canvas: Any) -> None:
        canvas.setFont("Sans", 10)
        # The letters as they are seen from left to right.
        canvas.drawRightString(520, 760, "gnireenigne erawtfos"[::-1] + " " + "כותבים תוכנה לפי"[::-1])
        canvas.drawRightString(520, 747, "ויש 12 שיעורים (בעברית)."[::-1].replace("21", "12"))

    told = drawn(tmp_path / "a.pdf", page).parts[0].text
    assert told == "כותבים תוכנה לפי software engineering ויש 12 שיעורים (בעברית)."


def test_columns_as_close_as_words_are_not_mixed(tmp_path: Path) -> None:
    left = [f"The pilot of boat {n} must wait at the outer buoy until" for n in range(10, 20)]
    right = [f"Salt of barge {n} is weighed at the old quay before noon" for n in range(30, 40)]

    def page(canvas: Any) -> None:
        canvas.setFont("Helvetica", 10)
        width = 4 + max(canvas.stringWidth(text) for text in (*left, *right))
        # Justified: all lines of the left column end eight points before the right one.
        for start, column in ((72.0, left), (80.0 + width, right)):
            for number, text in enumerate(column):
                space = (width - canvas.stringWidth(text)) / text.count(" ")
                canvas.drawString(start, 700 - 12 * number, text, wordSpace=space)

    told = drawn(tmp_path / "a.pdf", page).parts[0].text
    assert " ".join(told.split()) == " ".join([*left, *right])


def test_a_page_on_which_the_engine_fails_does_not_refuse_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("no kernel image")

    monkeypatch.setattr("ragmem.readers.documents.rapid_ocr.recognize", fail)
    monkeypatch.setattr("ragmem.readers.documents.ocr.engine_name", lambda _: "rapidocr")

    def scan(canvas: Any) -> None:
        canvas.drawInlineImage(Image.effect_noise((400, 200), 50), 72, 500)

    document = drawn(tmp_path / "a.pdf", lines("The lamp was renewed."), scan, limits=Limits())
    assert [part.text for part in document.parts] == ["The lamp was renewed."]
    assert document.warnings == (
        "1 picture or scanned page is left out, because rapidocr failed (RuntimeError)",
    )
    assert (document.unread, document.unseen) == (("page=2",), 1)


def test_a_weight_beyond_all_weights_makes_no_headings(tmp_path: Path) -> None:
    register("Stems", stem=1_000)

    def page(canvas: Any) -> None:
        canvas.setFont("Stems", 10)
        for number, text in enumerate(("One line alone", "Another line alone", "A third line alone")):
            canvas.drawString(72, 760 - 40 * number, text)

    assert "#" not in drawn(tmp_path / "a.pdf", page).parts[0].text


def register(name: str, *, stem: int = 87) -> None:
    """Give reportlab DejaVu Sans under a name, with a width of its stems as some programs state it."""
    from reportlab.pdfbase.pdfmetrics import registerFont
    from reportlab.pdfbase.ttfonts import TTFont

    face = TTFont(name, font("DejaVuSans", 10).path)
    face.face.stemV = stem
    registerFont(face)


def test_code_and_addresses_keep_their_lines(tmp_path: Path) -> None:
    wide = "This is a long line of running text that tells how wide the column of this page is."
    told = drawn(tmp_path / "a.pdf", both(lines(wide, wide), lines("Quay 4", "Tideline", "Isle", top=600)))
    assert told.parts[0].text == f"{wide} {wide}\n\nQuay 4\nTideline\nIsle"


def test_rows_of_two_labels_without_any_other_line_at_their_edge_are_read(tmp_path: Path) -> None:
    labels = both(
        lines("Date: 3 May", "Berth: 7", leading=11),
        lines("Voyage: 12", "Draught: 4 m", left=300, leading=11),
    )
    [page] = drawn(tmp_path / "labels.pdf", labels).parts
    assert page.text == "Date: 3 May  Voyage: 12 Berth: 7  Draught: 4 m"


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
    assert drawn(tmp_path / "d.pdf", page, Title="doi:10.1000/j.tide.2026.01").title == "The tide tables"


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
        ("39 pages after page 1 were skipped for lack of time",),
    )


@pytest.mark.parametrize(("cost", "pages"), [(1.0, 150), (1.7, 150), (3.0, 31)])
def test_a_long_document_gets_more_time_while_its_pages_come(
    cost: float, pages: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile.many_pages(tmp_path / "days.pdf", 150)
    clock = itertools.count(0.0, cost)  # the reader looks at it once a page
    monkeypatch.setattr("ragmem.readers.documents.formats.pdf.time.monotonic", lambda: next(clock))
    assert len(pdf.read(str(tmp_path / "days.pdf"), Limits(seconds=60, ocr=False)).parts) == pages


def test_the_time_of_a_long_document_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile.many_pages(tmp_path / "days.pdf", 400)
    clock = itertools.count()
    monkeypatch.setattr("ragmem.readers.documents.formats.pdf.time.monotonic", lambda: next(clock))
    document = pdf.read(str(tmp_path / "days.pdf"), Limits(seconds=60, ocr=False))
    assert len(document.parts) == 361
    assert document.warnings == ("39 pages after page 361 were skipped for lack of time",)


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


def scan(path: Path, *texts: str, size: tuple[int, int] = (1_240, 600), height: int = 40) -> Path:
    """Write a picture of some lines."""
    picture = Image.new("L", size, 255)
    for number, text in enumerate(texts):
        ImageDraw.Draw(picture).text((80, 60 + 80 * number), text, 0, font("DejaVuSerif", height))
    picture.save(path)
    return path


def test_a_scanned_page_is_read_in_the_process_apart(tmp_path: Path) -> None:
    picture = scan(tmp_path / "scan.png", "The keeper signed the lease")

    def page(canvas: Any) -> None:
        canvas.drawImage(str(picture), 0, 400, 595, 288)

    drawn(tmp_path / "a.pdf", page)
    with Converter() as converter:  # which opens no socket, writes no file and starts no other program
        converted = converter.convert(tmp_path / "a.pdf")
    assert "keeper signed the lease" in converted.parts[0].text
    assert (converted.unseen, converted.unread) == (0, ())


def test_the_reading_of_scans_has_time_of_its_own(tmp_path: Path) -> None:
    """The models alone take longer to load than this document may take."""
    picture = scan(tmp_path / "scan.png", "The keeper signed the lease", "The owner did not")
    drawn(tmp_path / "a.pdf", lambda canvas: canvas.drawImage(str(picture), 0, 400, 595, 288))
    with Converter(Limits(seconds=1.0), seconds=1.0) as converter:
        hostile.good_pdf(tmp_path / "b.pdf")
        assert converter.convert(tmp_path / "b.pdf").parts
        assert "keeper signed" in converter.convert(tmp_path / "a.pdf").parts[0].text


def test_a_picture_between_text_is_read_once_in_its_place(tmp_path: Path) -> None:
    picture = scan(tmp_path / "scan.png", "Pump 7 leaks at the flange", size=(1_000, 200))

    def page(canvas: Any) -> None:
        lines("Above the picture there is a line of text.", top=800)(canvas)
        canvas.drawImage(str(picture), 72, 560, 400, 80)
        lines("Below the picture there is another line.", top=500)(canvas)

    (part,) = drawn(tmp_path / "a.pdf", page, limits=Limits()).parts
    assert part.text.split("\n\n") == [
        "Above the picture there is a line of text.",
        "Pump 7 leaks at the flange",
        "Below the picture there is another line.",
    ]


def test_pictures_on_top_of_each_other_are_read_once(tmp_path: Path) -> None:
    picture = scan(tmp_path / "scan.png", "Pump 7 leaks at the flange", size=(1_000, 200))
    layer = scan(tmp_path / "layer.png", "", size=(1_000, 200))

    def page(canvas: Any) -> None:
        lines("Above the picture there is a line of text.", top=800)(canvas)
        canvas.drawImage(str(layer), 72, 560, 400, 80)
        canvas.drawImage(str(picture), 72, 560, 400, 80)

    (part,) = drawn(tmp_path / "a.pdf", page, limits=Limits()).parts
    assert part.text.count("Pump 7") == 1


def test_a_scan_with_a_text_layer_is_not_read_twice(tmp_path: Path) -> None:
    text = "The keeper of the light signed the lease of the quay"
    picture = scan(tmp_path / "scan.png", text, size=(1_650, 500))

    def page(canvas: Any) -> None:
        canvas.drawImage(str(picture), 0, 500, 595, 180)
        layer = canvas.beginText(29, 645)
        layer.setTextRenderMode(3)  # invisible, as programs write it that make scans searchable
        layer.setFont("Helvetica", 16)
        layer.textLine(text)
        canvas.drawText(layer)

    (part,) = drawn(tmp_path / "a.pdf", page, limits=Limits()).parts
    assert part.text == text


def test_a_text_layer_of_nonsense_is_replaced_by_what_is_seen(tmp_path: Path) -> None:
    picture = scan(tmp_path / "scan.png", "The boiler was inspected in June")

    def page(canvas: Any) -> None:
        canvas.drawImage(str(picture), 0, 400, 595, 288)
        layer = canvas.beginText(72, 500)
        layer.setTextRenderMode(3)
        layer.textLine("~ | \\ _ | ~ -- .. ;; :: __ || == ~~ ^^ '' ,, .. | ~")
        canvas.drawText(layer)

    (part,) = drawn(tmp_path / "a.pdf", page, limits=Limits()).parts
    assert "The boiler was inspected in June" in part.text
    assert "~" not in part.text


def test_a_scan_that_nothing_reads_is_counted_and_not_lost(tmp_path: Path) -> None:
    picture = scan(tmp_path / "scan.png", "The keeper signed the lease")

    def page(canvas: Any) -> None:
        canvas.drawImage(str(picture), 0, 400, 595, 288)

    converted = drawn(tmp_path / "a.pdf", lines("A page of text."), page, lambda _: None)
    assert (converted.unseen, converted.unread) == (1, ("page=2",))
    assert converted.warnings == ("page 3 has no text",)


def test_a_huge_page_is_drawn_within_the_limit_of_pixels(tmp_path: Path) -> None:
    picture = scan(tmp_path / "scan.png", "Plan of the sluice", height=90, size=(1_240, 400))

    def page(canvas: Any) -> None:
        canvas.setPageSize((14_000, 14_000))
        canvas.drawImage(str(picture), 0, 9_000, 14_000, 4_500)

    assert "Plan of the sluice" in drawn(tmp_path / "a.pdf", page, limits=Limits()).parts[0].text


def test_a_pdf_with_a_password_is_refused_and_one_with_an_empty_password_is_read(tmp_path: Path) -> None:
    hostile.encrypted_pdf(tmp_path / "a.pdf", user="secret")
    with pytest.raises(RefusedError, match="it is encrypted"):
        pdf.read(str(tmp_path / "a.pdf"), Limits())
    hostile.encrypted_pdf(tmp_path / "b.pdf", user="")
    assert "rent of the quay" in pdf.read(str(tmp_path / "b.pdf"), Limits()).parts[0].text


def test_an_equation_of_scripts_and_fractions_is_latex_between_prose(tmp_path: Path) -> None:
    from samples_equations import drawn as equations

    line = r"The sum $\sum_{k=0}^{\infty} \frac{x^k}{k!}$ is read as one, and $\alpha + \beta$ as it stands."
    equations(line, face="stix")(tmp_path / "a.pdf")
    text = pdf.read(str(tmp_path / "a.pdf"), Limits(ocr=False)).parts[0].text
    told = r"The sum $\sum_{k = 0}^{\infty}\frac{x^{k}}{k!}$ is read as one, and α + β as it stands."
    assert text == told


def test_rows_of_signs_that_are_no_equation_stay_as_they_are(tmp_path: Path) -> None:
    def matrix(canvas: Any) -> None:
        canvas.setFont("Helvetica", 11)
        for row, signs in enumerate(("a = 1 0", "x 0 1", "y 2 2")):
            canvas.setFont("Helvetica" if row else "Symbol", 11)
            canvas.drawString(72, 700 - 8 * row, signs)

    assert "$" not in drawn(tmp_path / "a.pdf", matrix).parts[0].text


def test_notes_and_raised_signs_of_prose_are_no_equations(tmp_path: Path) -> None:
    def page(canvas: Any) -> None:
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 700, "The quay of the harbour was renewed in autumn")
        canvas.setFont("Helvetica", 7)
        canvas.drawString(
            72 + canvas.stringWidth("The quay of the harbour was renewed in autumn", "Helvetica", 11),
            704,
            "1",
        )
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 680, "when the level was \u00b12 m, and the width 3 \u00d7 4 m.")

    (part,) = drawn(tmp_path / "a.pdf", page).parts
    assert part.text == (
        "The quay of the harbour was renewed in autumn[^1] when the level was ±2 m, and the width 3 × 4 m."
    )


def test_a_page_full_of_signs_and_rules_takes_no_longer_than_text(tmp_path: Path) -> None:
    def page(canvas: Any) -> None:
        for number in range(6_000):
            canvas.setFont("Symbol", 3 + number % 2)
            canvas.drawString(10 + 9 * (number % 60), 800 - 8 * (number // 60), "\u2211")
            canvas.line(10 + 9 * (number % 60), 800, 16 + 9 * (number % 60), 800)

    with Converter(seconds=20) as converter:
        drawn(tmp_path / "a.pdf", page)
        assert "∑" in converter.convert(tmp_path / "a.pdf").parts[0].text
