"""The parts that all SVG pictures share: colours, style, text elements and the document."""

import re
from collections.abc import Sequence
from html import escape

from ragmem.charts.widths import display_width, truncate

LIGHT = ("#0072b2", "#a83c00", "#12a37f", "#551a6b", "#b08f00", "#4d5359")
DARK = ("#56b4e9", "#f0883e", "#1b9e77", "#c04fb8", "#f0e442", "#8b949e")
"""After the palette of Okabe and Ito ("Color universal design", 2008), in the order of `model.TONES`.

Each has a contrast of at least 3 to 1 against its background, and any two differ by at least 15 (CIE 1976),
also for people who cannot see red, green or blue; a test measures it.
"""

LIGHT_GROUND, DARK_GROUND = "#ffffff", "#0d1117"

LETTER, SMALL = 7.4, 6.8
"""Width of a character at 12 and at 11 pixels in the widest of the usual monospaced fonts."""

EDGE = 6
"""Margin of a plot in pixels."""

LINE = 15
"""Height of a line of text in pixels."""

_ROUNDING = 0.01
"""Share of a character that floating-point arithmetic may lose."""


def _variables(colours: Sequence[str], more: str) -> str:
    return "; ".join([*(f"--s{number}: {colour}" for number, colour in enumerate(colours)), more])


_LIGHT = _variables(
    LIGHT, f"--ground: {LIGHT_GROUND}; --ink: #1f2328; --faint: #59636e; --rule: #d1d9e0; --track: #eef1f4"
)
_DARK = _variables(
    DARK, f"--ground: {DARK_GROUND}; --ink: #e6edf3; --faint: #9198a1; --rule: #3d444d; --track: #1c2128"
)

VARIABLES = f"""\
:root {{ color-scheme: light dark; {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
@media print {{ :root {{ color-scheme: light; {_LIGHT} }} }}
"""

_SERIES = "\n".join(
    f".plot .f{number} {{ fill: var(--s{number}) }} .plot .l{number} {{ stroke: var(--s{number}) }}"
    for number in range(len(LIGHT))
)

STYLE = f"""\
.plot text {{ font: 11px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: var(--faint) }}
.plot .name {{ font-size: 12px; fill: var(--ink) }}
.plot .title {{ font-size: 14px; font-weight: 600; fill: var(--ink) }}
.plot .end {{ text-anchor: end }}
.plot .middle {{ text-anchor: middle }}
.plot .ground {{ fill: var(--ground) }}
.plot .track {{ fill: var(--track) }}
.plot .axis {{ stroke: var(--faint); fill: none }}
.plot .grid {{ stroke: var(--rule); fill: none }}
.plot .mark {{ stroke: var(--faint); stroke-dasharray: 3 3; fill: none }}
.plot .line {{ fill: none; stroke-width: 2; stroke-linejoin: round }}
.plot .halo {{ stroke: var(--ground); stroke-width: 4px; paint-order: stroke }}
{_SERIES}
"""

# Not allowed in XML 1.0 at all, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def replace_forbidden(text: str) -> str:
    """Return the text with a replacement character for each character that XML forbids."""
    return _FORBIDDEN.sub("\ufffd", text)


def escape_xml(text: str) -> str:
    """Return the text escaped for an element or an attribute."""
    return escape(replace_forbidden(text))


def text_element(x: float, y: float, text: str, *, room: float, classes: str = "") -> str:
    """Return a text element at a position, cut to `room` pixels."""
    width = LETTER if "name" in classes.split() else SMALL
    shown = truncate(text, max(0, int(room / width + _ROUNDING)))
    attribute = f' class="{classes}"' if classes else ""
    return f'<text{attribute} x="{x:.1f}" y="{y:.1f}">{escape_xml(shown)}</text>'


def text_width(text: str) -> float:
    """Return the width of a small text in pixels."""
    return display_width(text) * SMALL


def title_element(text: str, width: float, *, left: float = EDGE, top: float = 0.0) -> str:
    """Return a title whose baseline is 20 pixels below `top`."""
    return text_element(left, top + 20, text, classes="name title", room=width * 0.86)


def document(
    body: Sequence[str],
    width: int,
    height: int,
    *,
    title: str,
    summary: str,
    name: str,
    style: str = VARIABLES + STYLE,
) -> str:
    """Return an SVG element with a title and description for screen readers.

    Without `style` it has no size and no background: an HTML page gives both. Its ids begin with `name`.
    """
    name = escape_xml(name)
    size = f'width="{width}" height="{height}" ' if style else ""
    ground = [f"<style>\n{style}</style>", '<rect class="ground" width="100%" height="100%"/>']
    named = f'role="img" aria-labelledby="{name}-title {name}-desc"'
    size += f'viewBox="0 0 {width} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size} {named}>',
            f'<title id="{name}-title">{escape_xml(title)}</title>',
            f'<desc id="{name}-desc">{escape_xml(summary or title)}</desc>',
            *(ground if style else []),
            *body,
            "</svg>",
        ]
    )
