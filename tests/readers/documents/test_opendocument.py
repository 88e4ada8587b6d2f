"""Texts, slides and sheets of LibreOffice as a person reads them, and files that mean harm."""

import io

import odf_files as odf
import pytest
from odf_files import cell, frame, paragraph, row, table
from PIL import Image

from ragmem.readers.documents.formats import module_of, opendocument
from ragmem.readers.documents.model import Limits, RefusedError


@pytest.fixture
def read(tmp_path):
    def converted(kind, body, limits=None, **parts):
        path = odf.write(tmp_path / "made.odt", kind, body, **parts)
        assert module_of(str(path)) == "opendocument"
        return opendocument.read(str(path), limits or Limits())

    return converted


def text_of(document):
    return "\n\n".join(part.text for part in document.parts)


def test_headings_are_numbered_as_the_outline_says(read):
    outline = (
        '<office:styles><text:outline-style style:name="Outline">'
        '<text:outline-level-style text:level="1" style:num-format="1"/>'
        '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>'
        "</text:outline-style></office:styles>"
    )
    body = "".join(
        f'<text:h text:style-name="H" text:outline-level="{level}">{words}</text:h>'
        for level, words in [(1, "Scope"), (1, "Tides"), (2, "Ebb"), (2, "Flood")]
    )
    whole = text_of(read("text", body, styles=outline))
    assert whole.split("\n\n") == ["# 1 Scope", "# 2 Tides", "## 2.1 Ebb", "## 2.2 Flood"]


def test_a_paragraph_in_the_style_of_a_heading_is_a_heading(read):
    style = '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Heading_20_2"/>'
    document = read("text", paragraph("Tides", "P1") + paragraph("They turn twice."), automatic=style)
    assert text_of(document) == "## Tides\n\nThey turn twice."
    assert document.title == "Tides"


def test_a_list_has_its_numbers_and_levels(read):
    styles = (
        '<text:list-style style:name="L"><text:list-level-style-number text:level="1" style:num-format="a" '
        'style:num-suffix=")"/><text:list-level-style-bullet text:level="2"/></text:list-style>'
    )
    inner = f"<text:list><text:list-item>{paragraph('rope')}</text:list-item></text:list>"
    items = f"<text:list-item>{paragraph('anchor')}{inner}</text:list-item>"
    items += f"<text:list-item>{paragraph('oars')}</text:list-item>"
    more = f"<text:list-item>{paragraph('bailer')}</text:list-item>"
    body = (
        f'<text:list text:style-name="L">{items}</text:list>'
        f'<text:list text:style-name="L" text:continue-numbering="true">{more}</text:list>'
        f'<text:list text:style-name="L">{more}</text:list>'
    )
    assert text_of(read("text", body, automatic=styles)) == (
        "- a) anchor\n    - rope\n- b) oars\n- c) bailer\n- a) bailer"
    )


def test_a_table_a_note_a_comment_and_a_link(read):
    note = (
        '<text:note text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>'
        f"{paragraph('At spring tide.')}</text:note-body></text:note>"
    )
    comment = f"<office:annotation><dc:creator>Ann</dc:creator>{paragraph('Check this.')}</office:annotation>"
    link = '<text:a xlink:href="https://tides.example/x">the office</text:a>'
    rows = row(cell("Port"), cell("Depth")) + row(cell("Emden"), cell("8 m"))
    whole = text_of(read("text", paragraph(f"Deep{note} enough{comment}, says {link}.") + table(rows)))
    assert whole.startswith(
        "Deep[^1] enough, says [the office](https://tides.example/x).\n\n"
        "[^1]: At spring tide.\n\n> Comment by Ann: Check this.\n\n| Port | Depth |"
    )
    assert "Port: Emden; Depth: 8 m." in whole


def test_deleted_text_and_contents_are_left_out_and_breaks_and_spaces_kept(read):
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion>"
        f"{paragraph('Deleted words')}</text:deletion></text:changed-region></text:tracked-changes>"
        f"<text:table-of-content>{paragraph('Tides 7')}</text:table-of-content>"
        + paragraph("one<text:s text:c='3'/>two<text:line-break/>three<text:tab/>four")
    )
    assert text_of(read("text", body)) == "one two\nthree four"


def test_code_keeps_its_indentation(read):
    code = "".join(paragraph(line, "Preformatted_20_Text") for line in ["if x:", "<text:s text:c='4'/>y()"])
    assert text_of(read("text", code)) == "```\nif x:\n    y()\n```"


def test_a_picture_and_a_formula_are_in_their_places(read):
    packed = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(packed, "PNG")
    picture = (
        '<draw:frame><draw:image xlink:href="Pictures/a.png"/><svg:title>A buoy</svg:title></draw:frame>'
    )
    formula = '<draw:frame><draw:object xlink:href="./Object 1"/><draw:image xlink:href="x"/></draw:frame>'
    math = b'<math xmlns="http://www.w3.org/1998/Math/MathML"><mi>a</mi><mo>+</mo><mn>1</mn></math>'
    members = {"Pictures/a.png": packed.getvalue(), "Object 1/content.xml": math}
    document = read("text", paragraph(f"Here {formula} {picture}"), members=members)
    assert text_of(document) == "Here $a+1$\n\nImage: A buoy\n\n[[picture 1]]"
    assert [picture.media_type for picture in document.parts[0].pictures] == ["image/png"]


def test_the_facts_of_a_file_are_its_metadata(read):
    meta = (
        "<dc:title>Tides</dc:title><meta:initial-creator>Ann</meta:initial-creator>"
        "<dc:date>2024-03-02T10:11:12.123456789</dc:date>"
    )
    document = read("text", paragraph("Words"), meta=meta)
    assert (document.title, document.metadata["author"]) == ("Tides", "Ann")
    assert document.event_time.startswith("2024-03-02T10:11:12")


def test_a_slide_has_a_title_texts_in_reading_order_a_table_and_notes(read):
    rows = row(cell("Port"), cell("Depth")) + row(cell("Emden"), cell("8 m"))
    picture = "<draw:image xlink:href='p.svm'/>"
    grid = f"<draw:frame svg:x='1cm' svg:y='15cm' svg:width='24cm'>{table(rows)}{picture}</draw:frame>"
    notes = f"<presentation:notes>{frame(paragraph('Say hello.'), kind='notes')}</presentation:notes>"
    numbered = frame(paragraph("<text:page-number>3</text:page-number>"), kind="page-number")
    page = (
        frame(paragraph("right"), x=15, y=5)
        + frame(paragraph("left"), x=1, y=5)
        + frame(paragraph("Tides"), kind="title", width=24)
        + grid
        + numbered
        + notes
    )
    meta = "<dc:title>Blue Curve</dc:title>"
    document = read("presentation", f"<draw:page>{page}</draw:page><draw:page/>", meta=meta)
    assert document.title == "Tides"
    (slide,) = document.parts
    assert (slide.locator, slide.label, slide.title) == ("slide=1", "slide 1", "Tides")
    texts = slide.text.split("\n\n")
    assert texts[:3] == ["# Tides", "left", "right"]
    assert "Port: Emden; Depth: 8 m." in slide.text
    assert texts[-2:] == ["## Speaker notes", "Say hello."]


def test_slides_beyond_the_limit_are_unread(read):
    pages = "".join(f"<draw:page>{frame(paragraph(f'slide {n}'))}</draw:page>" for n in range(3))
    document = read("presentation", pages, Limits(pages=2))
    assert [part.locator for part in document.parts] == ["slide=1", "slide=2"]
    assert document.unread == ("slide=3",)
    assert document.warnings == ("slides after the first 2 are left out",)


def test_a_sheet_shows_its_values_dates_comments_and_repetitions(read):
    note = f"<office:annotation><dc:creator>Ann</dc:creator>{paragraph('Too dear.')}</office:annotation>"
    sheet = table(
        row(cell("Part"), cell("Euros"), cell("Bought")),
        row(
            cell("rope"),
            cell("41.00 €", kind="currency", more='office:value="41"', inner=note),
            cell("12.03.24", kind="date", more='office:date-value="2024-03-12T00:00:00"'),
        ),
        row(cell("oar"), cell("7", kind="float"), cell(), more='table:number-rows-repeated="2"'),
        row(cell(more='table:number-columns-repeated="1024"'), more='table:number-rows-repeated="1048500"'),
    )
    hidden = '<style:table-properties table:display="false"/>'
    hidden = f'<style:style style:name="ta2" style:family="table">{hidden}</style:style>'
    second = table(row(cell("secret")), name="Two # words", more='table:style-name="ta2"')
    copy = table("<table:table-source/>", row(cell("copied")), name="'file:///x'#$A")
    costs, other = read("spreadsheet", sheet + second + copy, automatic=hidden).parts
    assert (costs.locator, costs.label) == ("sheet=Costs", "sheet Costs")
    assert "Part: rope; Euros: 41.00 €; Bought: 2024-03-12." in costs.text
    assert costs.text.count("Part: oar; Euros: 7.") == 2
    assert costs.text.endswith('Comment on B2 ("41.00 €") by Ann: Too dear.')
    assert (other.locator, other.label) == ("sheet=Two %23 words", "sheet Two # words (hidden)")


def test_merged_cells_and_links_of_a_sheet(read):
    wide = cell("2024", more='table:number-columns-spanned="2"')
    link = '<text:a xlink:href="https://tides.example">site</text:a>'
    sheet = table(
        row(cell("Port"), wide, "<table:covered-table-cell/>"),
        row(cell("Name"), cell("Spring"), cell("Autumn")),
        row(cell(link), cell("8", kind="float"), cell("9", kind="float")),
    )
    whole = text_of(read("spreadsheet", sheet))
    assert "Port Name: site (https://tides.example); 2024 Spring: 8; 2024 Autumn: 9." in whole


def test_a_row_repeated_a_million_times_ends_at_the_limit(read):
    sheet = table(
        *[
            row(
                cell("x" * 50, more='table:number-columns-repeated="16384"'),
                more='table:number-rows-repeated="1000000"',
            )
        ]
    )
    document = read("spreadsheet", sheet, Limits(characters=100_000))
    assert 'sheet "Costs" is read up to row' in document.warnings[0]


def test_an_encrypted_file_is_refused(read):
    entry = "<manifest:file-entry><manifest:encryption-data/></manifest:file-entry>"
    manifest = f"<manifest:manifest {odf.NAMES}>{entry}</manifest:manifest>"
    with pytest.raises(RefusedError, match="it is encrypted"):
        read("text", "", members={"META-INF/manifest.xml": manifest.encode()})


@pytest.mark.parametrize("kind", ["text", "spreadsheet"])
def test_entities_are_not_expanded(read, kind):
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "ha" * 10}">' for n in range(9))
    head = f"<!DOCTYPE x [{entities}<!ENTITY f SYSTEM 'file:///etc/hostname'>]>"
    body = paragraph("&e8;&f;kept") if kind == "text" else table(row(cell("&e8;&f;kept")))
    try:
        assert "haha" not in text_of(read(kind, body, head=head))
    except RefusedError as error:
        assert "not well-formed" in error.problem  # noqa: PT017 - refused is as good as empty
