"""Tables with merged cells lose nothing."""

from hypothesis import given
from hypothesis import strategies as st

from ragmem.readers.documents.formats.spans import Cell, flat, write_merged_table


def cell(words, columns=1, rows=1, *, heading=False):
    return Cell(words, columns, rows, heading)


def test_a_first_row_over_all_columns_is_the_caption():
    table = [[cell("Fares", 2)], [cell("To"), cell("Euros")], [cell("Juist"), cell("23")]]
    assert write_merged_table(table).startswith("Fares\n\n| To | Euros |")
    assert write_merged_table(table, caption="Table 1").startswith("Fares\n\nTable 1\n\n| To | Euros |")


def test_a_row_within_that_is_one_cell_is_told_once():
    table = [[cell("To"), cell("Euros")], [cell("Islands", 2)], [cell("Juist"), cell("23")]]
    assert "| Islands |  |" in write_merged_table(table)


def test_three_rows_of_headings_that_are_marked_become_one():
    table = [
        [cell("Port", rows=3, heading=True), cell("Depth", 2, heading=True)],
        [cell("summer", 2, heading=True)],
        [cell("ebb", heading=True), cell("flood", heading=True)],
        [cell("Emden"), cell("8"), cell("11")],
    ]
    assert write_merged_table(table).endswith("Port: Emden; Depth summer ebb: 8; Depth summer flood: 11.")


def test_headings_at_the_side_of_three_columns_need_none_above():
    table = [
        [cell("Built", heading=True), cell("1793"), cell("stone")],
        [cell("Lit", heading=True), cell("1801"), cell("")],
    ]
    assert (
        write_merged_table(table)
        == "|  |  |  |\n| --- | --- | --- |\n| Built | 1793 | stone |\n| Lit | 1801 |  |"
    )


def test_a_table_in_a_cell_is_a_line():
    assert (
        flat([["Role", "Name"], ["Cook", "Ida"], ["Mate", "Ole"]])
        == "Role: Cook, Name: Ida; Role: Mate, Name: Ole"
    )
    assert flat([["a"], ["b", "c"], [""]]) == "a; b, c"


CELLS = st.builds(
    Cell,
    st.text("abcxyz", max_size=4),
    st.sampled_from([1, 1, 1, 2, 3, 900]),
    st.sampled_from([1, 1, 1, 2, 3, 70_000]),
    st.booleans(),
)


@given(
    st.lists(st.lists(CELLS, max_size=4), max_size=6),
    st.none() | st.integers(0, 9),
    st.sampled_from(["", "Table 1"]),
)
def test_every_cell_is_in_what_is_told(rows, headings, caption):
    found = write_merged_table(rows, headings=headings, caption=caption)
    assert all(each.text in found for row in rows for each in row)
    assert caption in found
