"""A picture of boxes in layers with arrows between them, as SVG or Mermaid text."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from ragmem.charts.svg_parts import (
    LETTER,
    SMALL,
    STYLE,
    VARIABLES,
    document,
    escape_xml,
    replace_forbidden,
    text_element,
    title_element,
)
from ragmem.charts.widths import display_width

MAX_LETTERS = 44
"""Most columns of a line in a box; the tooltip has the whole text."""

BOX, ROW, GAP, EDGE = 34, 42, 110, 24
"""Pixels: height of a box, distance of boxes, gap between layers, margin."""

HEAD = 62
"""Pixels above the boxes: the title, and the names of the layers."""

SWEEPS = 4
"""Rounds in which boxes are sorted by their neighbours; more rounds change little."""

MERMAID_ARROWS = 450
"""Arrows in a Mermaid flowchart; Mermaid refuses more than 500."""

_HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>'
)

_STYLE = f"""\
{VARIABLES}{STYLE}
.box {{ fill: var(--track); stroke: var(--rule) }}
.target {{ fill: var(--s4); fill-opacity: .15; stroke: var(--s4) }}
.test {{ fill: var(--s2); fill-opacity: .15; stroke: var(--s2) }}
.arrow {{ fill: none; stroke: var(--faint); stroke-opacity: .65 }}
.head {{ fill: var(--faint) }}
"""


class Tint(StrEnum):
    """The meaning of a box."""

    TARGET = "target"
    PLAIN = "plain"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Box:
    """A box in the layer `layer` (0 is the left one): its name, a smaller line, and a tooltip."""

    key: str
    layer: int
    name: str
    detail: str = ""
    tooltip: str = ""
    tint: Tint = Tint.PLAIN


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from a box to one in the layer to its left."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Layers:
    """Boxes in the order of their importance, arrows between them, and the names of the layers."""

    title: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]
    names: Sequence[str] = ()


def svg(picture: Layers) -> str:
    """Return a standalone SVG document with the layers side by side."""
    layers = _order(picture)
    widths = [max(map(_width, layer), default=0) for layer in layers]
    lefts = [EDGE, *(EDGE + far for far in accumulate(width + GAP for width in widths))]
    tallest = max((len(layer) for layer in layers), default=0)
    height = HEAD + tallest * ROW + EDGE
    title_width = int(display_width(picture.title) * LETTER * 1.3) + 2 * EDGE
    width = max((lefts[-1] - GAP if layers else 0) + EDGE, title_width)
    corners = {
        box.key: (lefts[place], HEAD + row * ROW + (tallest - len(layer)) * ROW // 2, widths[place])
        for place, layer in enumerate(layers)
        for row, box in enumerate(layer)
    }
    body = [_HEAD, title_element(picture.title, width, left=EDGE, top=10)]
    body += [
        text_element(left, 52, name, room=width) for left, name in zip(lefts, picture.names, strict=False)
    ]
    body += [_draw_arrow(arrow, corners) for arrow in picture.arrows]
    body += [_draw_box(box, *corners[box.key]) for layer in layers for box in layer]
    return document(body, width, height, title=picture.title, summary="", name="layers", style=_STYLE) + "\n"


def _order(picture: Layers) -> list[list[Box]]:
    """Return the layers, sorted so that few arrows cross."""
    layers: list[list[Box]] = [[] for _ in range(max((box.layer + 1 for box in picture.boxes), default=0))]
    for box in picture.boxes:
        layers[box.layer].append(box)
    beside: dict[str, list[str]] = defaultdict(list)
    for arrow in picture.arrows:
        beside[arrow.source].append(arrow.target)
        beside[arrow.target].append(arrow.source)
    for sweep in range(SWEEPS):
        ahead = sweep % 2 == 0
        for place in range(1, len(layers)) if ahead else range(len(layers) - 2, -1, -1):
            fixed = layers[place - 1] if ahead else layers[place + 1]
            # Counted from the middle, as the rows are drawn.
            rows = {box.key: row - len(fixed) / 2 for row, box in enumerate(fixed)}
            means = {box.key: _mean(rows, beside[box.key]) for box in layers[place]}
            layers[place].sort(key=lambda box: means[box.key])
    return layers


def _mean(rows: Mapping[str, float], keys: Sequence[str]) -> float:
    found = [rows[key] for key in keys if key in rows]
    return sum(found) / len(found) if found else 0.0


def _draw_arrow(arrow: Arrow, corners: Mapping[str, tuple[int, int, int]]) -> str:
    left, top, _ = corners[arrow.source]
    end, end_top, width = corners[arrow.target]
    y, end_y, middle = top + BOX // 2, end_top + BOX // 2, (left + end + width) // 2
    curve = f"M{left} {y}C{middle} {y} {middle} {end_y} {end + width + 2} {end_y}"
    title = f"<title>{escape_xml(arrow.label)}</title>"
    return f'<path class="arrow" marker-end="url(#head)" d="{curve}">{title}</path>'


def _draw_box(box: Box, left: int, top: int, width: int) -> str:
    tint = "" if box.tint is Tint.PLAIN else f" {box.tint}"
    name, detail = _shorten(box.name), _shorten(box.detail)
    return (
        f"<g><title>{escape_xml(box.tooltip or box.name)}</title>"
        f'<rect class="box{tint}" x="{left}" y="{top}" width="{width}" height="{BOX}" rx="5"/>'
        f"{text_element(left + 9, top + (15 if detail else 21), name, classes='name', room=width)}"
        f"{text_element(left + 9, top + 28, detail, room=width) if detail else ''}</g>"
    )


def _width(box: Box) -> int:
    name, detail = _shorten(box.name), _shorten(box.detail)
    return 18 + int(max(display_width(name) * LETTER, display_width(detail) * SMALL))


def _shorten(text: str) -> str:
    """Return the end of a long text, because names and paths differ there."""
    while display_width(text) > MAX_LETTERS:
        text = "…" + text.removeprefix("…")[1:]
    return text


def mermaid(picture: Layers) -> str:
    """Return a Mermaid flowchart, without the last boxes if it had too many arrows."""
    numbers = {box.key: f"n{place}" for place, box in enumerate(picture.boxes)}
    arrows = [arrow for arrow in picture.arrows if arrow.source in numbers and arrow.target in numbers]
    while len(arrows) > MERMAID_ARROWS:
        numbers.popitem()
        arrows = [arrow for arrow in arrows if arrow.source in numbers and arrow.target in numbers]
    lines = [f"%% {_escape(picture.title)}", "flowchart RL"]
    for box in picture.boxes[: len(numbers)]:
        detail = f"<br/>{_escape(box.detail)}" if box.detail else ""
        lines.append(f'  {numbers[box.key]}["{_escape(box.name)}{detail}"]:::{box.tint}')
    for arrow in arrows:
        label = f'|"{_escape(arrow.label)}"|' if arrow.label else ""
        lines.append(f"  {numbers[arrow.source]} -->{label} {numbers[arrow.target]}")
    if len(numbers) < len(picture.boxes):
        lines.append(f"  %% left out: {len(picture.boxes) - len(numbers)}")
    lines += [
        "  classDef target fill:#fff1d6,stroke:#bf8700,color:#1f2328",
        "  classDef plain fill:#f6f8fa,stroke:#b7bec6,color:#1f2328",
        "  classDef test fill:#ddf4e4,stroke:#3fa661,color:#1f2328",
    ]
    return "\n".join([*lines, ""])


def _escape(text: str) -> str:
    """Return a text without syntax: Mermaid reads `#code;` as the character."""
    line = " ".join(replace_forbidden(text).split())
    return re.sub(r"[^\w ./:(),\-…]", lambda found: f"#{ord(found[0])};", line)
