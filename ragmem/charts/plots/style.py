"""Colours and letters of plots as pictures, on light ground, on dark ground and on paper."""

from ragmem.charts.palette import DARK, DARK_GROUND, LIGHT, LIGHT_GROUND

FONT = 'ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace'
LETTER, SMALL = 7.4, 6.8
"""Pixels of a letter at 12 and at 11 pixels: the widest of the usual monospaced fonts, so nothing is cut."""


def _variables(colours: tuple[str, ...], more: str) -> str:
    return "; ".join([*(f"--s{number}: {colour}" for number, colour in enumerate(colours)), more])


LIGHT_VARIABLES = _variables(
    LIGHT, f"--ground: {LIGHT_GROUND}; --ink: #1f2328; --faint: #59636e; --rule: #d1d9e0; --track: #eef1f4"
)
DARK_VARIABLES = _variables(
    DARK, f"--ground: {DARK_GROUND}; --ink: #e6edf3; --faint: #9198a1; --rule: #3d444d; --track: #1c2128"
)

_SERIES = "\n".join(
    f".plot .f{number} {{ fill: var(--s{number}) }} .plot .l{number} {{ stroke: var(--s{number}) }}"
    for number in range(len(LIGHT))
)

VARIABLES = f"""\
:root {{ color-scheme: light dark; {LIGHT_VARIABLES} }}
@media (prefers-color-scheme: dark) {{ :root {{ {DARK_VARIABLES} }} }}
@media print {{ :root {{ color-scheme: light; {LIGHT_VARIABLES} }} }}
"""

STYLE = f"""\
.plot text {{ font: 11px {FONT}; fill: var(--faint) }}
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

SERIES = len(LIGHT)

DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "12 4")
"""How lines are broken, so that colour alone tells nothing."""
