"""Excel workbooks as their sheets show them: tables, numbers, comments, hidden sheets, and limits."""

import io
import zipfile
from datetime import date, datetime, time, timedelta

import openpyxl
import pytest
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image as SheetImage
from openpyxl.worksheet.table import Table
from PIL import Image

from ragmem.readers.documents.formats.excel import read
from ragmem.readers.documents.model import Limits, RefusedError
from ragmem.readers.documents.workbook.cells import format_number


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves a workbook and reads it back."""

    def save(book, **limits):
        path = tmp_path / "book.xlsx"
        book.save(path)
        return read(str(path), Limits(**limits))

    return save


def _sheet(rows, title="Costs"):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    return book


def _with_values(path, cells):
    """Write the values that formulas were computed to into a saved workbook, as Excel does."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        for member in old.namelist():
            data = old.read(member).decode() if member.endswith("sheet1.xml") else old.read(member)
            if isinstance(data, str):
                for cell, value in cells.items():
                    start = data.index(f'<c r="{cell}"')
                    head, tail = data[:start], data[start:]
                    data = head + tail.replace("<v></v>", f"<v>{value}</v>", 1).replace(
                        "<v />", f"<v>{value}</v>", 1
                    )
            new.writestr(member, data)
    path.write_bytes(content.getvalue())


@pytest.mark.parametrize(
    ("value", "code", "told"),
    [
        (1234.5, "General", "1234.5"),
        (0.1 + 0.2, "General", "0.3"),
        (0.125, "0.0%", "12.5%"),
        (1, "0%", "100%"),
        (1234.5, "#,##0.00", "1,234.50"),
        (1234.5, '#,##0.00 "EUR"', "1,234.50 EUR"),
        (-12, '"$"#,##0.00', "-$12.00"),
        (-12, '"$"#,##0.00;[Red]("$"#,##0.00)', "($12.00)"),
        (1234, "[$€-407]#,##0", "€1,234"),
        (1234, '_-* #,##0.00\\ "€"_-', "1,234.00 €"),
        (12_000_000, '0.0,,"M"', "12.0M"),
        (7, '0" items"', "7 items"),
        (0.5, "# ?/?", "0.5"),
        (45_000, "yyyy-mm-dd", "2023-03-15"),
        (45_000.5, "dd.mm.yyyy hh:mm", "2023-03-15 12:00"),
        (0.75, "hh:mm", "18:00"),
        (1.5, "[h]:mm:ss", "36:00:00"),
    ],
)
def test_a_number_is_told_as_its_format_shows_it(value, code, told):
    assert format_number(value, code) == told


def test_dates_of_1904_are_the_days_that_they_mean():
    assert format_number(1, "yyyy-mm-dd", is_1904=True) == "1904-01-02"


def test_each_sheet_is_a_part_with_its_rows_as_sentences(saved):
    book = _sheet([["Item", "Price", "Bought"], ["anchor", 120, date(2031, 4, 5)], ["rope", 8.5, None]])
    book.create_sheet("Crew").append(["only a note"])

    converted = saved(book)

    costs, crew = converted.parts
    assert (costs.locator, costs.label) == ("sheet=Costs", "sheet Costs")
    assert "| anchor | 120 | 2031-04-05 |" in costs.text
    assert "Item: anchor; Price: 120; Bought: 2031-04-05." in costs.text
    assert crew.locator == "sheet=Crew"
    assert "only a note" in crew.text


def test_moments_and_truth_values_are_words(saved):
    rows = [["When", "At", "Lasts", "Done"]]
    rows.append([datetime(2031, 4, 5, 13, 30), time(7, 15), timedelta(hours=30), True])  # noqa: DTZ001

    text = saved(_sheet(rows)).parts[0].text

    assert "When: 2031-04-05 13:30; At: 07:15; Lasts: 30:00:00; Done: TRUE." in text


def test_a_sheet_name_with_signs_of_its_own_stays_one_locator(saved):
    part = saved(_sheet([["a", "b"], [1, 2]], title="R&D = 100%")).parts[0]

    assert part.locator == "sheet=R%26D %3D 100%25"
    assert part.label == "sheet R&D = 100%"


def test_tables_apart_by_empty_rows_and_columns_keep_their_own_headings(saved):
    book = _sheet([["Port", "Depth"], ["Oslo", 12], [], [], [], ["Ship", "Crew"], ["Fram", 13]])
    book.active["E1"], book.active["F1"] = "Berth", "Fee"
    book.active["E2"], book.active["F2"] = "B4", 900

    text = saved(book).parts[0].text

    assert "Port: Oslo; Depth: 12." in text
    assert "Berth: B4; Fee: 900." in text
    assert "Ship: Fram; Crew: 13." in text


def test_an_empty_row_before_the_totals_does_not_end_the_table(saved):
    text = saved(_sheet([["Port", "Fee"], ["Oslo", 12], [], ["Total", 12]])).parts[0].text

    assert "Port: Total; Fee: 12." in text


def test_merged_cells_stand_in_each_row_and_column_that_they_reach(saved):
    book = _sheet([["Region", 2030, None, 2031, None], [None, "Plan", "Actual", "Plan", "Actual"]])
    sheet = book.active
    sheet["B1"], sheet["D1"] = "2030", "2031"
    for row in (["North", 1, 2, 3, 4], [None, 5, 6, 7, 8]):
        sheet.append(row)
    for merged in ("A1:A2", "B1:C1", "D1:E1", "A3:A4"):
        sheet.merge_cells(merged)

    text = saved(book).parts[0].text

    assert "| Region | 2030 Plan | 2030 Actual | 2031 Plan | 2031 Actual |" in text
    assert "Region: North; 2030 Plan: 5; 2030 Actual: 6; 2031 Plan: 7; 2031 Actual: 8." in text


def test_a_title_above_a_table_is_its_caption(saved):
    book = _sheet([["Fees of the harbour", None, None], [], ["Port", "Fee", "Since"], ["Oslo", 12, 2030]])
    book.active.merge_cells("A1:C1")

    text = saved(book).parts[0].text

    assert "Fees of the harbour. Port: Oslo; Fee: 12; Since: 2030." in text


def test_years_in_their_order_are_a_heading(saved):
    text = saved(_sheet([["Port", 2029, 2030, 2031], ["Oslo", 12, 13, 14], ["Moss", 5, 6, 7]])).parts[0].text

    assert "Port: Oslo; 2029: 12; 2030: 13; 2031: 14." in text


def test_years_in_a_row_of_values_are_no_heading(saved):
    text = saved(_sheet([["Oslo", 2031, 1999, 2030], ["Moss", 2001, 2002, 1988]])).parts[0].text

    assert "2031: 2001" not in text


def test_regions_side_by_side_in_thousands_cost_no_more_than_their_cells(saved):
    book = _sheet([])
    for row in range(1, 12):
        for column in range(1, 1_600, 2):
            book.active.cell(row, column, "x")

    parts = saved(book, characters=1_000_000).parts

    assert sum(part.text.count("\nx") for part in parts) == 8_800
    assert len({part.locator for part in parts}) == len(parts)


def test_long_tables_side_by_side_have_places_of_their_own(saved):
    book = _sheet([["Day", "Tide", None, "Ship", "Crew"]])
    for number in range(150):
        book.active.append([number, f"tide {number}", None, f"ship {number}", number])

    parts = saved(book).parts

    assert [part.locator for part in parts] == ["sheet=Costs&row=1", "sheet=Costs&row=1&part=2"]
    assert "Day: 149; Tide: tide 149." in parts[0].text
    assert "Ship: ship 149; Crew: 149." in parts[1].text


def test_names_with_values_are_told_as_such(saved):
    text = saved(_sheet([["Owner:", "Jane"], ["Approved:", date(2030, 1, 2)], ["Limit:", 12]])).parts[0].text

    assert "- Owner: Jane\n- Approved: 2030-01-02\n- Limit: 12" in text


def test_a_formula_is_told_by_its_value_else_as_a_formula(saved, tmp_path):
    book = _sheet([["Port", "Fee", "Share"], ["Oslo", 12, 1], ["All", "=SUM(B2:B2)", "=B3/B2"]])
    converted = saved(book)
    assert "Port: All; Fee: =SUM(B2:B2); Share: =B3/B2." in converted.parts[0].text
    assert any("formulas without a value (2)" in warning for warning in converted.warnings)

    _with_values(tmp_path / "book.xlsx", {"B3": 12, "C3": 1})
    converted = read(str(tmp_path / "book.xlsx"), Limits())

    assert "Port: All; Fee: 12; Share: 1." in converted.parts[0].text
    assert converted.warnings == ()


def test_a_hidden_sheet_is_read_and_says_so(saved):
    book = _sheet([["a", "b"], [1, 2]])
    book.create_sheet("Keys")["A1"] = "the spare key is under the third step"
    book["Keys"].sheet_state = "veryHidden"

    part = saved(book).parts[1]

    assert part.label == "sheet Keys (hidden)"
    assert "This sheet is hidden in the workbook." in part.text
    assert "third step" in part.text


def test_comments_tables_charts_links_and_pictures_are_told(saved):
    book = _sheet([["Port", "Fee"], ["Oslo", 12], ["Bergen", 14]])
    sheet = book.active
    sheet["A2"].comment = Comment("Closed in winter.", "Mara")
    sheet["A3"].hyperlink = "https://bergen.example/port"
    sheet.add_table(Table(displayName="PortFees", ref="A1:B3"))
    chart = BarChart()
    chart.title = "Fees by port"
    chart.add_data(Reference(sheet, min_col=2, min_row=1, max_row=3), titles_from_data=True)
    sheet.add_chart(chart, "D2")
    image = io.BytesIO()
    Image.new("RGB", (80, 60), "navy").save(image, "PNG")
    sheet.add_image(SheetImage(image), "D20")

    part = saved(book).parts[0]

    assert 'Comment on A2 ("Oslo") by Mara: Closed in winter.' in part.text
    assert "PortFees. Port: Oslo; Fee: 12." in part.text
    assert "Chart: Fees by port" in part.text
    assert "Bergen (https://bergen.example/port)" in part.text
    (picture,) = part.pictures
    assert picture.mark in part.text
    assert picture.media_type == "image/png"


def test_a_long_sheet_comes_in_parts_of_200_rows_that_repeat_the_heading(saved):
    book = _sheet([["Day", "Tide"], *([number, f"tide {number}"] for number in range(450))])
    book.active["A440"].comment = Comment("Storm.", "Mara")

    parts = saved(book).parts

    assert [part.locator for part in parts] == [
        "sheet=Costs&row=1",
        "sheet=Costs&row=202",
        "sheet=Costs&row=402",
    ]
    assert all("| Day | Tide |" in part.text for part in parts)
    assert "Day: 200; Tide: tide 200." in parts[1].text
    assert [("Storm" in part.text) for part in parts] == [False, False, True]


def test_a_cell_at_the_end_of_a_million_rows_costs_one_cell(saved):
    book = _sheet([["a", "b"], [1, 2]])
    book.active["XFD1048576"] = "far away"
    # Not through merge_cells, which would make sixteen thousand million cells.
    book.active.merged_cells.add("B2:XFC1048575")

    part = saved(book).parts[0]

    assert "far away" in part.text
    assert len(part.text) < 1_000


def test_what_is_beyond_the_limits_is_left_out_with_a_warning(saved):
    book = _sheet([["Day", "Tide"], *([number, "high water " * 5] for number in range(2_000))])
    converted = saved(book, characters=30_000)
    assert sum(len(part.text) for part in converted.parts) <= 30_000
    assert any("left out" in warning for warning in converted.warnings)

    book = _sheet([["a"]])
    for number in range(5):
        book.create_sheet(f"s{number}")["A1"] = "x"
    converted = saved(book, pages=2)
    assert len(converted.parts) == 2
    assert converted.warnings == ("only the first 2 of 6 sheets are read",)


def test_a_workbook_tells_its_title_author_and_date(saved):
    book = _sheet([["a", "b"], [1, 2]])
    book.properties.title, book.properties.creator = "Harbour fees", "Mara"
    book.properties.modified = datetime(2031, 4, 5, 6, 7, 8)  # noqa: DTZ001 - openpyxl wants it so

    converted = saved(book)

    assert converted.title == "Harbour fees"
    assert converted.metadata["author"] == "Mara"
    assert converted.event_time.startswith("20")


def test_macros_are_not_read_and_that_is_told(saved, tmp_path):
    saved(_sheet([["a", "b"], [1, 2]]))
    path = tmp_path / "book.xlsx"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("xl/vbaProject.bin", b"Sub AutoOpen()")

    converted = read(str(path), Limits())

    assert converted.warnings == ("its macros are not read",)
    assert "AutoOpen" not in converted.parts[0].text


def test_an_archive_without_a_workbook_is_refused(tmp_path):
    path = tmp_path / "no.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/other.xml", "<a/>")

    with pytest.raises(RefusedError, match="damaged"):
        read(str(path), Limits())


def test_entities_of_the_xml_are_not_resolved(saved, tmp_path):
    saved(_sheet([["a", "b"], [1, "word"]]))
    path = tmp_path / "book.xlsx"
    (tmp_path / "secret.txt").write_text("the secret of this machine")
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            if member == "xl/sharedStrings.xml":
                entity = f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{tmp_path}/secret.txt">]>'.encode()
                data = entity + data.replace(b"word", b"&e;")
            new.writestr(member, data)
    path.write_bytes(content.getvalue())

    text = read(str(path), Limits()).parts[0].text

    assert "secret" not in text


@pytest.mark.parametrize(
    ("member", "told"),
    [
        ("xl/comments/comment1.xml", 'the comments of sheet "Costs" are damaged'),
        ("xl/tables/table1.xml", 'the names of tables of sheet "Costs" are damaged'),
        ("docProps/core.xml", ""),
    ],
)
def test_damage_beside_the_cells_takes_none_of_them(saved, tmp_path, member, told):
    book = _sheet([["Port", "Fee"], ["Oslo", 12]])
    book.active["A2"].comment = Comment("Closed in winter.", "Mara")
    book.active.add_table(Table(displayName="PortFees", ref="A1:B2"))
    saved(book)
    path = tmp_path / "book.xlsx"
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        assert member in old.namelist()
        for name in old.namelist():
            new.writestr(name, old.read(name)[:80] if name == member else old.read(name))
    path.write_bytes(content.getvalue())

    converted = read(str(path), Limits())

    assert "Port: Oslo; Fee: 12." in converted.parts[0].text
    assert [told in warning for warning in converted.warnings] == ([True] if told else [])
