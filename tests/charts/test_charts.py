"""Charts: all of it within its width, on a terminal and as a picture, whatever the names and numbers are."""

import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from ragmem.charts.chart_lines import NARROWEST, PLAIN, drawn, shares
from ragmem.charts.chart_svg import EDGE, LETTER, SMALL, WIDTH, svg
from ragmem.charts.charts import Bar, Bars, Histogram, Mark, Parts, Sheet, Tone
from ragmem.charts.widths import fitted, letters, padded

SVG = "{http://www.w3.org/2000/svg}"
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=60)
COUNTS = st.integers(0, 10**7)
MANY_BARS = st.lists(st.builds(Bar, NAMES, COUNTS, NAMES, st.sampled_from(Tone)), max_size=7)
HISTOGRAMS = st.builds(
    Histogram,
    title=NAMES,
    low=st.just(-0.2),
    high=st.just(1.0),
    counts=st.lists(COUNTS, min_size=1, max_size=30),
    marks=st.lists(st.builds(Mark, st.floats(-0.5, 1.5), NAMES), max_size=3),
    note=NAMES,
)
CHARTS = st.builds(Parts, NAMES, MANY_BARS, NAMES) | st.builds(Bars, NAMES, MANY_BARS, NAMES) | HISTOGRAMS
SHEETS = st.builds(Sheet, NAMES, st.text(max_size=300), st.lists(CHARTS, max_size=5))


@given(SHEETS, st.integers(1, 200))
def test_no_line_is_wider_than_the_terminal(sheet, width):
    for line in drawn(sheet, width=width):
        assert letters(line) <= max(width, NARROWEST)
        assert "\n" not in line


@given(SHEETS)
def test_a_picture_can_be_read_and_none_of_its_text_is_cut_by_an_edge(sheet):
    root = ET.fromstring(svg(sheet))
    height = float(root.get("height"))
    assert (root[0].tag, root[1].tag) == (f"{SVG}title", f"{SVG}desc")
    for text in root.iter(f"{SVG}text"):
        classes = text.get("class", "").split()
        size = SMALL if "small" in classes else LETTER * (1.4 if "title" in classes else 1.0)
        wide, x = letters(text.text or "") * size, float(text.get("x"))
        begin = x - wide if "end" in classes else x
        assert begin >= EDGE - 6
        assert begin + wide <= WIDTH
        assert 0 <= float(text.get("y")) <= height
    for box in root.iter(f"{SVG}rect"):
        if box.get("x"):
            assert float(box.get("x")) + float(box.get("width")) <= WIDTH - EDGE + 2
            assert float(box.get("y")) + float(box.get("height")) <= height


def test_a_picture_needs_nothing_from_elsewhere_and_knows_light_and_dark():
    text = svg(Sheet("A title", "What is told.", [Parts("States", [Bar("buffer", 3, tone=Tone.FRESH)])]))
    assert "prefers-color-scheme: dark" in text
    assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"url\(|@import|<script|<image", text)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=8), st.integers(8, 100))
def test_the_shares_fill_the_room_and_what_is_not_nothing_is_seen(values, room):
    cells = shares(values, room)
    assert sum(cells) == (room if any(values) else 0)
    assert [bool(cell) for cell in cells] == [bool(value) for value in values]


def test_the_longest_bar_is_as_long_however_the_numbers_are_scaled():
    def lengths(factor):
        bars = Bars("x", [Bar("one", 4 * factor), Bar("half", 2 * factor), Bar("none", 0)])
        return [line.count("█") for line in list(drawn(Sheet("", "", [bars]), width=80))[2:]]

    assert lengths(1) == lengths(100) == [40, 20, 0]


def test_parts_are_told_apart_without_colours_and_without_blocks():
    parts = Parts("x", [Bar("a", 1), Bar("b", 1), Bar("c", 1), Bar("d", 1), Bar("e", 1), Bar("f", 1)])
    for brush in ({}, {"brush": PLAIN}):
        bar = list(drawn(Sheet("", "", [parts]), width=60, **brush))[2].strip()
        assert len(set(bar)) == 6
    assert "\n".join(drawn(Sheet("", "", [parts]), width=60, brush=PLAIN)).isascii()


def test_paint_changes_nothing_but_colours():
    sheet = Sheet("", "", [Parts("x", [Bar("a", 3), Bar("b", 1)]), Bars("y", [Bar("c", 2), Bar("d", 1)])])
    painted = drawn(sheet, width=60, paint=lambda text, _: f"\x1b[1m{text}\x1b[0m")
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in painted] == list(drawn(sheet, width=60))


def test_a_mark_stands_below_its_place():
    chart = Histogram("x", 0.0, 1.0, [1] * 10, [Mark(0.5, "half"), Mark(0.95, "nearly all of it, and more")])
    lines = list(drawn(Sheet("", "", [chart]), width=40))
    half, most = (next(line for line in lines if word in line) for word in ("half", "nearly"))
    assert half.index("▲") - 2 == 15
    assert most.rstrip().endswith("▲")


@given(NAMES, st.integers(0, 30))
def test_a_text_is_padded_to_its_width_and_cut_with_a_sign(text, width):
    assert letters(padded(text, width)) == width
    assert fitted(text, width) == text or fitted(text, width).endswith("…") or width == 0
