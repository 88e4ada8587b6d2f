"""A picture of boxes in layers with arrows between them, as SVG or Mermaid text."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

from ragmem.charts.svg_text import lawful, xml
from ragmem.charts.widths import letters

LETTER, SMALL_LETTER = 7.4, 6.3
"""Pixels of a monospaced letter at 12 and at 10 pixels: the widest of the usual fonts, so nothing is cut."""

MAX_LETTERS = 44
"""Of a line in a box; the whole of it stands in the tooltip."""

BOX, ROW, GAP, EDGE = 34, 42, 110, 24
"""Pixels: height of a box, from box to box, between layers, around everything."""

HEAD = 62
"""Pixels above the boxes: the title, and the names of the layers."""

SWEEPS = 4
"""How often the boxes are put in the order of their neighbours; more changes little."""

MERMAID_ARROWS = 450
"""Mermaid draws none of a picture with more than 500."""

_POINT = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path d="M0 0 8 4 0 8z" fill="#8c959f"/></marker></defs>'
)


class Tint(StrEnum):
    """What sort of thing a box stands for."""

    TARGET = "target"
    PLAIN = "plain"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class Box:
    """Something in the layer `layer` (0 is the left one): its name, a smaller line, and a tooltip."""

    key: str
    layer: int
    name: str
    detail: str = ""
    tooltip: str = ""
    tint: Tint = Tint.PLAIN


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a box to one in the layer to its left."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Layers:
    """What is drawn: boxes in the order of their importance, arrows between them, names of the layers."""

    title: str
    boxes: Sequence[Box]
    arrows: Sequence[Arrow]
    names: Sequence[str] = ()


_STYLE = """\
text { font: 12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.layer, .detail { font-size: 10px; fill: #59636e }
.box { fill: #f6f8fa; stroke: #b7bec6 }
.target { fill: #fff1d6; stroke: #bf8700 }
.test { fill: #ddf4e4; stroke: #3fa661 }
.arrow { fill: none; stroke: #8c959f; stroke-opacity: .65 }
"""


def svg(picture: Layers) -> str:
    """Return a standalone SVG document; layers stand side by side, and every text fits into its box."""
    layers = _ordered(picture)
    widths = [max(map(_width, layer), default=0) for layer in layers]
    lefts = [EDGE, *(EDGE + far for far in accumulate(width + GAP for width in widths))]
    tallest = max((len(layer) for layer in layers), default=0)
    height = HEAD + tallest * ROW + EDGE
    title_width = int(letters(picture.title) * LETTER * 1.3) + 2 * EDGE
    width = max((lefts[-1] - GAP if layers else 0) + EDGE, title_width)
    corners = {
        box.key: (lefts[place], HEAD + row * ROW + (tallest - len(layer)) * ROW // 2, widths[place])
        for place, layer in enumerate(layers)
        for row, box in enumerate(layer)
    }
    extent = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {extent} role="img">',
        f"<title>{xml(picture.title)}</title>",
        f"<style>\n{_STYLE}</style>",
        _POINT,
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text class="title" x="{EDGE}" y="30">{xml(picture.title)}</text>',
    ]
    lines += [
        f'<text class="layer" x="{left}" y="52">{xml(name)}</text>'
        for left, name in zip(lefts, picture.names, strict=False)
    ]
    lines += [_drawn_arrow(arrow, corners) for arrow in picture.arrows]
    lines += [_drawn_box(box, *corners[box.key]) for layer in layers for box in layer]
    return "\n".join([*lines, "</svg>", ""])


def _ordered(picture: Layers) -> list[list[Box]]:
    """Return the layers with neighbours close to each other, so that few arrows cross."""
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
            # From the middle, as they are drawn.
            rows = {box.key: row - len(fixed) / 2 for row, box in enumerate(fixed)}
            means = {box.key: _mean(rows, beside[box.key]) for box in layers[place]}
            layers[place].sort(key=lambda box: means[box.key])
    return layers


def _mean(rows: Mapping[str, float], keys: Sequence[str]) -> float:
    found = [rows[key] for key in keys if key in rows]
    return sum(found) / len(found) if found else 0.0


def _drawn_arrow(arrow: Arrow, corners: Mapping[str, tuple[int, int, int]]) -> str:
    left, top, _ = corners[arrow.source]
    end, end_top, width = corners[arrow.target]
    y, end_y, middle = top + BOX // 2, end_top + BOX // 2, (left + end + width) // 2
    curve = f"M{left} {y}C{middle} {y} {middle} {end_y} {end + width + 2} {end_y}"
    return f'<path class="arrow" marker-end="url(#head)" d="{curve}"><title>{xml(arrow.label)}</title></path>'


def _drawn_box(box: Box, left: int, top: int, width: int) -> str:
    detail = f'<text class="detail" x="{left + 9}" y="{top + 28}">{xml(_shortened(box.detail))}</text>'
    tint = "" if box.tint is Tint.PLAIN else f" {box.tint}"
    return (
        f"<g><title>{xml(box.tooltip or box.name)}</title>"
        f'<rect class="box{tint}" x="{left}" y="{top}" width="{width}" height="{BOX}" rx="5"/>'
        f'<text x="{left + 9}" y="{top + (15 if box.detail else 21)}">{xml(_shortened(box.name))}</text>'
        f"{detail if box.detail else ''}</g>"
    )


def _width(box: Box) -> int:
    name = letters(_shortened(box.name)) * LETTER
    return 18 + int(max(name, letters(_shortened(box.detail)) * SMALL_LETTER))


def _shortened(text: str) -> str:
    """Return the end of a long text: names and paths differ there."""
    while letters(text) > MAX_LETTERS:
        text = "…" + text.removeprefix("…")[1:]
    return text


def mermaid(picture: Layers) -> str:
    """Return a Mermaid flowchart; boxes that would bring it past Mermaid's bound of arrows are left out."""
    numbers = {box.key: f"n{place}" for place, box in enumerate(picture.boxes)}
    arrows = [arrow for arrow in picture.arrows if arrow.source in numbers and arrow.target in numbers]
    while len(arrows) > MERMAID_ARROWS:
        numbers.popitem()
        arrows = [arrow for arrow in arrows if arrow.source in numbers and arrow.target in numbers]
    lines = [f"%% {_plain(picture.title)}", "flowchart RL"]
    for box in picture.boxes[: len(numbers)]:
        detail = f"<br/>{_plain(box.detail)}" if box.detail else ""
        lines.append(f'  {numbers[box.key]}["{_plain(box.name)}{detail}"]:::{box.tint}')
    for arrow in arrows:
        label = f'|"{_plain(arrow.label)}"|' if arrow.label else ""
        lines.append(f"  {numbers[arrow.source]} -->{label} {numbers[arrow.target]}")
    if len(numbers) < len(picture.boxes):
        lines.append(f"  %% left out: {len(picture.boxes) - len(numbers)}")
    lines += [
        "  classDef target fill:#fff1d6,stroke:#bf8700,color:#1f2328",
        "  classDef plain fill:#f6f8fa,stroke:#b7bec6,color:#1f2328",
        "  classDef test fill:#ddf4e4,stroke:#3fa661,color:#1f2328",
    ]
    return "\n".join([*lines, ""])


def _plain(text: str) -> str:
    """Return a text in which nothing is syntax: Mermaid reads `#code;` as the character."""
    line = " ".join(lawful(text).split())
    return re.sub(r"[^\w ./:(),\-…]", lambda found: f"#{ord(found[0])};", line)
