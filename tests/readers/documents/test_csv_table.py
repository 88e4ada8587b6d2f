"""Tables as text: encodings, delimiters, headings, ragged rows, and long ones in parts."""

import codecs
import csv

import pytest

from ragmem.readers.documents.formats.csv_table import read
from ragmem.readers.documents.model import Limits, RefusedError

_ROWS = "Name;Stadt;Betrag\nMüller;Köln;12,50\nŠimek;Brno;7,00\n"


@pytest.fixture
def read_bytes(tmp_path):
    """Return a function that reads a table of these bytes."""

    def given(content, **limits):
        path = tmp_path / "table.csv"
        path.write_bytes(content)
        return read(str(path), Limits(**limits))

    return given


@pytest.mark.parametrize(
    "content",
    [
        _ROWS.encode(),
        codecs.BOM_UTF8 + _ROWS.encode(),
        _ROWS.encode("utf-16"),
        codecs.BOM_UTF16_BE + _ROWS.encode("utf-16-be"),
        _ROWS.encode("utf-16-le"),
        _ROWS.encode("utf-16-be"),
        _ROWS.encode("cp1252"),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16", "utf-16-be", "le without mark", "be without mark", "cp1252"],
)
def test_letters_are_read_in_whatever_encoding(read_bytes, content):
    converted = read_bytes(content)

    assert "Name: Müller; Stadt: Köln; Betrag: 12,50." in converted.parts[0].text
    assert "Name: Šimek; Stadt: Brno; Betrag: 7,00." in converted.parts[0].text
    assert not any("\ufeff" in part.text for part in converted.parts)


def test_an_encoding_that_is_a_guess_is_told(read_bytes):
    assert read_bytes(_ROWS.encode("cp1252")).warnings == (
        "its letters are read as Windows-1252, since it is not UTF-8",
    )
    assert read_bytes(_ROWS.encode()).warnings == ()


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_found_out_also_where_cells_hold_the_others(read_bytes, delimiter):
    rows = [["Port", "Note", "Fee"], ["Oslo", '"deep; wide, | and calm"', "12.5"], ["Bergen", '"a, b"', "3"]]
    content = "\n".join(delimiter.join(row) for row in rows)

    text = read_bytes(content.encode()).parts[0].text

    assert "Port: Bergen; Note: a, b; Fee: 3." in text


@pytest.mark.parametrize(
    ("content", "row"),
    [
        ("12,5;3,5\n7,1;2,2\n9,9;1,0\n", "- 7,1: 2,2"),
        ("Berg, Ada\tOslo\nMoe, Ben\tMoss\n", "| Moe, Ben | Moss |"),
        ("id,name,tags\n1,x,a;b\n2,y,c;d\n3,z,e;f\n", "id: 2; name: y; tags: c;d."),
        ("Fees of 2031, by port\nPort;Fee\nOslo;12\nMoss;14\n", "Port: Oslo; Fee: 12."),
    ],
)
def test_signs_within_cells_are_no_delimiters(read_bytes, content, row):
    assert row in read_bytes(content.encode()).parts[0].text


def test_a_first_line_that_names_the_delimiter_is_no_row(read_bytes):
    text = read_bytes(b"sep=|\nPort|Fee\nOslo, old|12\n").parts[0].text

    assert "Port: Oslo, old; Fee: 12." in text
    assert "sep" not in text


def test_cells_of_several_lines_stay_cells(read_bytes):
    text = read_bytes(b'Port,Note\nOslo,"first line\nsecond ""line"""\nBergen,calm\n').parts[0].text

    assert 'Port: Oslo; Note: first line second "line".' in text
    assert "Port: Bergen; Note: calm." in text


def test_a_table_without_a_heading_gets_none(read_bytes):
    text = read_bytes(b"2031-01-01,12.5,Oslo\n2031-01-02,13.5,Bergen\n2031-01-03,9,Oslo\n").parts[0].text

    assert text.startswith("|  |  |  |\n")
    assert "| 2031-01-01 | 12.5 | Oslo |" in text
    assert "2031-01-01: " not in text


def test_questions_as_long_as_sentences_are_a_heading(read_bytes):
    long = "How satisfied were you with the way in which the harbour office answered your letters this year"
    text = read_bytes(f"Name,{long}?,{long} before?\nAda,4,5\nBen,2,1\n".encode()).parts[0].text

    assert f"Name: Ada; {long}?: 4; {long} before?: 5." in text


def test_lines_before_the_heading_are_the_caption(read_bytes):
    text = read_bytes(b"Fees of the harbour\n\nPort,Fee,Since\nOslo,12,2030\n").parts[0].text

    assert "Fees of the harbour. Port: Oslo; Fee: 12; Since: 2030." in text


def test_ragged_rows_are_kept_and_told(read_bytes):
    converted = read_bytes(b"Port,Fee,Since\nOslo,12,2030\nBergen,14\nMoss,3,2031,new\nFlam,1,2029\n")

    text = converted.parts[0].text
    assert "Port: Bergen; Fee: 14." in text
    assert "Port: Moss; Fee: 3; Since: 2031; new." in text
    assert converted.warnings == ("2 of its 4 rows have another number of cells than the usual 3",)


def test_a_quotation_mark_that_nobody_closed_does_not_swallow_the_table(read_bytes):
    rows = "".join(f"{number},disk {number} of the set\n" for number in range(10_000))
    converted = read_bytes(f'Part,Name\n1,"broken\n{rows}'.encode())

    assert len(converted.parts) > 40
    assert any("quotation mark" in warning for warning in converted.warnings)
    assert "Part: 9999; Name: disk 9999 of the set." in converted.parts[-1].text


def test_a_long_table_comes_in_parts_that_repeat_the_heading(read_bytes):
    content = "Day\tTide\n" + "".join(f"{number}\thigh {number}\n" for number in range(450))

    parts = read_bytes(content.encode()).parts

    assert [part.locator for part in parts] == ["row=1", "row=202", "row=402"]
    assert parts[1].label == "rows 202-401"
    assert all("| Day | Tide |" in part.text for part in parts)
    assert "Day: 449; Tide: high 449." in parts[2].text


def test_a_short_table_has_no_locator(read_bytes):
    (part,) = read_bytes(b"Port,Fee\nOslo,12\n").parts

    assert (part.locator, part.label) == ("", "")


def test_what_is_beyond_the_limit_is_left_out_with_a_warning(read_bytes):
    content = "Day,Tide\n" + "".join(f"{number},high {number}\n" for number in range(5_000))

    converted = read_bytes(content.encode(), characters=10_000)

    assert any("left out" in warning for warning in converted.warnings)
    assert "high 4999" not in converted.parts[-1].text


def test_bytes_that_are_no_text_are_refused(read_bytes):
    with pytest.raises(RefusedError, match="not text"):
        read_bytes(bytes(range(256)) * 8)


def test_other_readers_of_tables_in_the_process_are_left_as_they_were(read_bytes):
    before = csv.field_size_limit()

    read_bytes(b"Item,Price\nBolt,3\nNut,2\n")

    assert csv.field_size_limit() >= before
