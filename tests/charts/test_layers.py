"""Pictures: every box in its layer, none over another, every text within its box, nothing read as syntax."""

import itertools
import re
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from ragmem.charts.layered_diagram import MERMAID_ARROWS, Arrow, Box, Layers, Tint, mermaid, svg

SVG = "{http://www.w3.org/2000/svg}"


def drawn(picture):
    """Return (x, y, width, height, texts) of each box, and the size of the whole."""
    root = ET.fromstring(svg(picture))
    boxes = [
        (
            *(float(group.find(f"{SVG}rect").get(name)) for name in ("x", "y", "width", "height")),
            [text.text for text in group.findall(f"{SVG}text")],
        )
        for group in root.iter(f"{SVG}g")
    ]
    return boxes, (float(root.get("width")), float(root.get("height")))


def some(sizes, name="module.Class.method"):
    boxes = [
        Box(f"{layer}.{place}", layer, f"{name}_{place}", "folder/file.py:12", tint=Tint.PLAIN)
        for layer, size in enumerate(sizes)
        for place in range(size)
    ]
    arrows = [
        Arrow(source.key, target.key, "calls")
        for source, target in itertools.product(boxes, boxes)
        if source.layer == target.layer + 1
    ]
    return Layers("a title", boxes, arrows, [f"depth {layer}" for layer in range(len(sizes))])


@given(st.lists(st.integers(1, 12), max_size=4), st.text(max_size=60))
def test_no_box_lies_over_another_or_beyond_the_edge(sizes, name):
    boxes, (width, height) = drawn(some(sizes, name))
    assert len(boxes) == sum(sizes)
    for x, y, wide, high, _ in boxes:
        assert x >= 0
        assert y >= 0
        assert x + wide <= width
        assert y + high <= height
    for one, other in itertools.combinations(boxes, 2):
        apart_x = one[0] + one[2] < other[0] or other[0] + other[2] < one[0]
        apart_y = one[1] + one[3] < other[1] or other[1] + other[3] < one[1]
        assert apart_x or apart_y


def test_a_layer_stands_right_of_what_it_refers_to():
    boxes, _ = drawn(some([1, 3, 5]))
    columns = sorted({x for x, *_ in boxes})
    assert [sum(x == column for x, *_ in boxes) for column in columns] == [1, 3, 5]


@given(st.text(alphabet="aW_.日本\U0001f600", max_size=80))
def test_a_text_fits_into_its_box_and_keeps_its_end(name):
    boxes, _ = drawn(Layers("", [Box("a", 0, name, name)], []))
    (_, _, width, _, texts) = boxes[0]
    for text, size in zip(texts, (7.4, 6.3), strict=False):
        letters = sum(1 if letter.isascii() or letter == "…" else 2 for letter in text or "")
        assert letters * size <= width - 16
        assert name.endswith((text or "").removeprefix("…"))


def test_a_picture_of_nothing_has_its_title_only():
    assert drawn(Layers("nothing", [], []))[0] == []
    assert "nothing" in svg(Layers("nothing", [], []))


def test_names_are_never_markup():
    evil = '<script>alert("x")</script>&\x00\x1b'
    document = svg(Layers(evil, [Box("a", 0, evil, evil, evil)], [], [evil]))
    assert "<script" not in document
    assert "\x00" not in document
    root = ET.fromstring(document)
    assert root.find(f"{SVG}title").text == '<script>alert("x")</script>&\ufffd\ufffd'


@given(st.text(max_size=30))
def test_nothing_in_a_name_is_syntax_of_mermaid(name):
    text = mermaid(Layers(name, [Box("a", 0, name), Box("b", 1, "b")], [Arrow("b", "a", name)]))
    lines = text.splitlines()
    assert re.fullmatch(r'  n0\["[^"<>\[\]{}|`]*"\]:::plain', lines[2])
    assert re.fullmatch(r'  n1 -->(\|"[^"<>\[\]{}|`]*"\|)? n0', lines[4])


def test_mermaid_gets_no_more_arrows_than_it_draws_and_is_told_what_is_left_out():
    text = mermaid(some([1, 40, 40]))
    assert 0 < text.count(" -->") <= MERMAID_ARROWS
    boxes, left_out = text.count(":::"), int(re.search(r"left out: (\d+)", text)[1])
    assert boxes + left_out == 81
