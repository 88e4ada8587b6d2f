"""Plots: whatever the numbers and names are, all of it lies within its box, in lines or as SVG."""

import math
import re
from itertools import pairwise

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given, settings
from hypothesis import strategies as st

from ragmem.charts.histogram import histogram_of
from ragmem.charts.model import (
    Axis,
    Columns,
    Curves,
    Layer,
    Line,
    Mark,
    Row,
    Scale,
    Sheet,
    Stacks,
    Strip,
    Tone,
    bars_of,
)
from ragmem.charts.numbers import plot_shape, table_of
from ragmem.charts.svg import inline, sheet_svg, svg
from ragmem.charts.svg_parts import LETTER, SMALL
from ragmem.charts.terminal import ASCII, BLOCKS, NARROWEST, WIDEST, lines, shares
from ragmem.charts.ticks import axis_range, format_number, spread
from ragmem.charts.widths import display_width, pad, truncate

SVG = "{http://www.w3.org/2000/svg}"

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NUMBERS = st.floats(-1e300, 1e300) | st.integers(-5, 5) | st.just(7.0)
POSITIVE = st.floats(1e-300, 1e300) | st.integers(1, 10**6)
COUNTS = st.floats(0, 1e295) | st.integers(0, 10**9) | st.just(0)
MARKS = st.lists(st.builds(Mark, NUMBERS, NAMES), max_size=2)


def curves(values, scale):
    line = st.builds(Line, NAMES, st.lists(st.tuples(values, values), max_size=6))
    axis = st.builds(Axis, NAMES, NAMES, st.just(scale))
    marks = st.lists(st.builds(Mark, values, NAMES), max_size=2)
    return st.builds(
        Curves, NAMES, axis, axis, st.lists(line, max_size=12), marks, marks, NAMES, st.booleans()
    )


@st.composite
def columns(draw):
    classes = draw(st.lists(NAMES, max_size=8)) * draw(st.sampled_from([1, 1, 9]))
    size = len(classes)
    layer = st.builds(Layer, NAMES, st.lists(COUNTS, min_size=size, max_size=size))
    layers = draw(st.lists(layer, max_size=8))
    return Columns(
        draw(NAMES),
        Axis(draw(NAMES)),
        Axis("memories"),
        classes,
        layers,
        draw(MARKS),
        draw(NAMES),
        from_edges=draw(st.booleans()),
    )


@st.composite
def stacks(draw):
    parts = draw(st.lists(NAMES, min_size=1, max_size=8))
    row = st.builds(Row, NAMES, st.lists(COUNTS, min_size=len(parts), max_size=len(parts)), NAMES)
    return Stacks(draw(NAMES), "memories", parts, draw(st.lists(row, max_size=8)), draw(NAMES))


STRIPS = st.builds(Strip, NAMES, NAMES, st.lists(st.tuples(NAMES, COUNTS), max_size=40))
PLOTS = curves(NUMBERS, Scale.LINEAR) | curves(POSITIVE, Scale.LOG) | columns() | stacks() | STRIPS


@settings(max_examples=60)
@given(PLOTS, st.sampled_from([1, 40, 80, 200]), st.sampled_from([BLOCKS, ASCII]))
def test_no_line_is_wider_than_the_terminal(plot, width, signs):
    drawn = lines(plot, width=width, signs=signs)
    for line in drawn:
        assert display_width(line) <= max(NARROWEST, min(width, WIDEST))
        assert line.isprintable()
        assert signs is BLOCKS or line.isascii()
    assert len(drawn) > 1


def assert_within_its_box(root):
    assert root.get("role") == "img"
    named = root.get("aria-labelledby").split()
    assert [root[0].get("id"), root[1].get("id")] == named
    assert (root[0].tag, root[1].tag) == (f"{SVG}title", f"{SVG}desc")
    _, _, wide, high = map(float, root.get("viewBox").split())
    places = [(root, 0.0, 0.0)]
    for parent, dx, dy in places:
        for child in parent:
            move = re.findall(r"[\d.]+", child.get("transform", ""))
            x, y = (dx + float(move[0]), dy + float(move[1])) if move else (dx, dy)
            places.append((child, x, y))
            if child.tag == f"{SVG}text":
                classes = child.get("class", "").split()
                size = display_width(child.text or "") * (
                    8.7 if "title" in classes else LETTER if "name" in classes else SMALL
                )
                at = x + float(child.get("x"))
                left = at - size if "end" in classes else at - size / 2 if "middle" in classes else at
                assert left >= -0.5
                assert left + size <= wide + 0.5
                assert 0 <= y + float(child.get("y")) <= high
            elif child.tag == f"{SVG}rect" and child.get("x"):
                assert x + float(child.get("x")) >= 0
                assert x + float(child.get("x")) + float(child.get("width")) <= wide + 0.1
                assert y + float(child.get("y")) + float(child.get("height")) <= high + 0.1
            elif child.tag == f"{SVG}circle":
                assert 0 <= x + float(child.get("cx")) <= wide
                assert 0 <= y + float(child.get("cy")) <= high
            elif child.tag == f"{SVG}path":
                numbers = re.findall(r"-?[\d.]+|nan|inf", child.get("d"))
                assert all(math.isfinite(float(number)) for number in numbers)


@settings(max_examples=60)
@given(PLOTS)
def test_a_picture_is_well_formed_and_nothing_of_it_leaves_its_box(plot):
    assert_within_its_box(fromstring(svg(plot)))


@settings(max_examples=20)
@given(st.builds(Sheet, NAMES, st.text(max_size=300), st.lists(PLOTS, max_size=5)))
def test_no_plot_of_a_sheet_leaves_the_sheet(sheet):
    root = fromstring(sheet_svg(sheet))
    assert_within_its_box(root)
    assert sum(child.tag == f"{SVG}g" for child in root) == len(sheet.plots)


def test_a_picture_needs_nothing_from_elsewhere_and_knows_light_and_dark():
    bars = bars_of("States", {"buffer": 3}, unit="memories")
    for text in (svg(bars), sheet_svg(Sheet("A title", "A summary.", [bars]))):
        assert "prefers-color-scheme: dark" in text
        assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"url\(|@import|<script|<image", text)


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=8), st.integers(8, 100))
def test_the_shares_fill_the_room_and_what_is_not_nothing_is_seen(values, room):
    cells = shares(values, room)
    assert sum(cells) == (room if any(values) else 0)
    assert [bool(cell) for cell in cells] == [bool(value) for value in values]


@given(NAMES, st.integers(0, 30))
def test_a_text_is_padded_to_its_width_and_cut_with_a_sign(text, width):
    assert display_width(pad(text, width)) == width
    assert truncate(text, width) == text or truncate(text, width).endswith("…") or width == 0


def test_a_mark_stands_below_its_place():
    marks = [Mark(5, "half"), Mark(9.5, "nearly all of it, and more")]
    plot = Columns("x", Axis("x"), Axis("memories"), ["a"] * 10, [Layer("n", [1] * 10)], marks)
    drawn = lines(plot, width=40)
    axis = next(line for line in drawn if "─" in line)
    half, most = (next(line for line in drawn if word in line) for word in ("half", "nearly"))
    assert half.index("▲") - axis.index("─") == 15
    assert most.endswith("▲")


def test_parts_have_the_tones_that_they_are_given():
    plot = Stacks("x", "memories", ["a", "b"], [Row("r", [1, 1])], tones=[Tone.GONE, Tone.FIRM])
    assert re.findall(r'class="(f\d)"', svg(plot)) == ["f5", "f2", "f5", "f2"]
    tones = []
    lines(plot, paint=lambda text, tone: tones.append(tone) or text)
    assert tones == [Tone.GONE, Tone.FIRM, Tone.GONE, Tone.FIRM]


@given(PLOTS)
def test_every_plot_has_its_numbers_as_a_table(plot):
    head, rows = table_of(plot)
    assert all(len(row) == len(head) for row in rows)
    shape = plot_shape(plot)
    assert len(shape["rows"]) == len(rows)
    assert shape["title"] == plot.title


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1e301, 10**400])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="cannot be drawn"):
        Curves("x", Axis("x"), Axis("y"), [Line("a", [(0, value)])])
    with pytest.raises(ValueError, match="cannot be drawn"):
        Columns("x", Axis("x"), Axis("y"), ["a"], [Layer("a", [value])])
    with pytest.raises(ValueError, match="cannot be drawn"):
        bars_of("x", {"a": value}, unit="memories")
    with pytest.raises(ValueError, match="cannot be drawn"):
        Strip("x", "memories", [("a", value)])
    with pytest.raises(ValueError, match="cannot be drawn"):
        histogram_of("x", [value], Axis("x"), unit="memories")


def test_counts_below_nought_and_values_off_a_logarithmic_axis_are_refused():
    with pytest.raises(ValueError, match="is no count"):
        bars_of("x", {"a": -1}, unit="memories")
    with pytest.raises(ValueError, match="no place on a logarithmic axis"):
        Curves("x", Axis("x", scale=Scale.LOG), Axis("y"), [Line("a", [(0, 1)])])
    with pytest.raises(ValueError, match="has 1 counts of 2"):
        Columns("x", Axis("x"), Axis("y"), ["a", "b"], [Layer("a", [1])])


@given(st.lists(NUMBERS, max_size=8), st.integers(1, 9))
def test_the_ticks_of_an_axis_are_round_and_hold_the_values(values, wanted):
    axis = axis_range(values, Axis("x"), wanted=wanted)
    assert axis.low < axis.high
    assert all(axis.low <= value <= axis.high for value in values)
    assert len(axis.ticks) <= wanted + 3
    assert sorted(axis.ticks) == list(axis.ticks)
    assert all(0 <= axis.share(value) <= 1 for value in values)
    assert all(len(label) <= 11 for label in axis.labels)


def test_ticks_are_the_numbers_that_people_write():
    assert axis_range([0, 97], Axis("x")).labels == ["0", "20", "40", "60", "80", "100"]
    assert axis_range([0.12, 0.31], Axis("x")).labels == ["0.1", "0.15", "0.2", "0.25", "0.3", "0.35"]
    assert axis_range([3, 45_000], Axis("x", scale=Scale.LOG)).labels == [
        "1",
        "10",
        "100",
        "1,000",
        "10,000",
        "100,000",
    ]
    assert [format_number(value) for value in (0, -250, 1234.4, 2_500_000, 0.00001)] == [
        "0",
        "-250",
        "1,234",
        "2.5M",
        "1e-05",
    ]


@given(st.lists(st.floats(-50, 250), max_size=20), st.floats(5, 30))
def test_labels_keep_their_order_and_their_distance(wanted, gap):
    places = spread(wanted, gap=gap, low=0, high=200)
    given_places = [(place, value) for place, value in zip(places, wanted, strict=True) if place is not None]
    assert all(0 <= place <= 200 + 1e-6 for place, _ in given_places)
    given_places.sort()
    for (one, before), (other, after) in pairwise(given_places):
        assert other - one >= gap - 1e-6
        assert before <= after
    assert len(given_places) == min(len(wanted), int(200 / gap + 1e-9) + 1)


def test_a_histogram_counts_every_value_once_in_classes_between_round_numbers():
    plot = histogram_of(
        "x", [1, 2, 2, 9.5, 10, 0], Axis("x"), unit="runs", classes=10, marks=[Mark(2.5, "here")]
    )
    assert list(plot.classes) == ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]
    assert plot.layers[0].counts == [1, 1, 2, 0, 0, 0, 0, 0, 0, 2]
    assert plot.marks[0].at == 2.5
    labels = {
        text.text: float(text.get("x"))
        for text in fromstring(inline(plot, name="a")).iter(f"{SVG}text")
        if "middle" in text.get("class", "")
    }
    bars = [float(box.get("x")) for box in fromstring(inline(plot, name="a")).iter(f"{SVG}rect")]
    assert all(abs(labels[name] - x) < 4 for name, x in zip(["0", "1", "2", "9"], bars, strict=True))
    times = histogram_of("x", [1, 9.9, 10, 99], Axis("x", "ms", Scale.LOG), unit="runs")
    assert sum(times.totals) == 4
    assert times.classes[0] == "1"
    assert times.classes[10] == "10"
    assert times.layers[0].counts[10] == 1


def test_a_column_and_a_bar_are_as_long_as_their_numbers_say():
    plot = bars_of("x", {"one": 40, "half": 20, "none": 0}, unit="memories")
    drawn = [line.count("█") for line in lines(plot, width=80, head=False)]
    assert drawn[0] == 2 * drawn[1] > 0
    assert drawn[2] == 0
    boxes = [
        (box.get("class"), float(box.get("width")))
        for box in fromstring(inline(plot, name="a")).iter(f"{SVG}rect")
        if box.get("class") == "f0"
    ]
    assert len(boxes) == 2
    assert abs(boxes[0][1] - 2 * boxes[1][1]) < 2
    two = Columns("x", Axis("x"), Axis("memories"), ["a", "b"], [Layer("n", [100, 50])])
    drawn = lines(two, width=60, signs=ASCII, head=False)
    heights = [sum(line[place : place + 1] == "#" for line in drawn) for place in (8, 16)]
    assert heights == [8, 4]


def test_lines_and_parts_are_told_apart_without_colours():
    points = [
        Line(name, [(0, start), (10, start)]) for name, start in (("high", 9), ("middle", 5), ("low", 1))
    ]
    plot = Curves("x", Axis("x"), Axis("y"), points)
    drawn = lines(plot, width=80, signs=ASCII, head=False)
    for sign, name in (("*", "high"), ("+", "middle"), ("o", "low")):
        [line] = [line for line in drawn if line.endswith(f"{sign} {name}")]
        assert f"{sign}{sign}{sign}" in line
    dashes = {
        path.get("stroke-dasharray")
        for path in fromstring(svg(plot)).iter(f"{SVG}path")
        if "line" in path.get("class")
    }
    assert len(dashes) == 3
    stacked = Stacks("x", "memories", ["a", "b", "c"], [Row("r", [1, 1, 1])])
    for signs in (BLOCKS, ASCII):
        legend, bar = lines(stacked, width=80, signs=signs, head=False)
        assert len(set(bar.split()[-1])) == 3
        assert set(bar.split()[-1]) <= set(legend)


def test_colours_change_nothing_but_colours():
    plot = Stacks("x", "memories", ["a", "b"], [Row("r", [3, 1]), Row("s", [1, 0])])
    painted = lines(plot, width=60, paint=lambda text, tone: f"\x1b[1m{text}\x1b[0m")
    assert [re.sub(r"\x1b\[\d+m", "", line).rstrip() for line in painted] == lines(plot, width=60)


def test_a_plot_of_nothing_says_so():
    empty = bars_of("Recalls", {}, unit="recalls")
    assert lines(empty) == ["Recalls", "  no recalls"]
    assert "no recalls" in svg(empty)


def test_hostile_names_are_text_in_a_picture_and_cannot_drive_a_terminal():
    name = '</svg><script>alert(1)</script>"\x1b[31m\x00'
    plot = bars_of(name, {name: 3}, unit=name, note=name)
    root = fromstring(svg(plot))
    assert not list(root.iter(f"{SVG}script"))
    assert "\x1b" not in "".join(lines(plot))
