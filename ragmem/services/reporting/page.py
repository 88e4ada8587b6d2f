"""A report as one HTML file: no script, nothing from elsewhere, readable in light, in dark, and on paper."""

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

from ragmem.charts.model import Plot
from ragmem.charts.numbers import Cell, table_of
from ragmem.charts.svg import inline
from ragmem.charts.svg_parts import STYLE, VARIABLES, escape_xml
from ragmem.charts.ticks import format_count
from ragmem.services.reporting.report import CHAPTERS, Report

_PAGE_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
_ALL_STYLE = f"\n{VARIABLES}{STYLE}{_PAGE_STYLE}"


def page(report: Report) -> str:
    """Return the document; the same for the same report."""
    digest = base64.b64encode(hashlib.sha256(_ALL_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="color-scheme" content="light dark">',
            f'<meta name="generator" content="ragmem {escape_xml(report.version)}">',
            f"<title>{escape_xml(report.title)}</title>",
            f"<style>{_ALL_STYLE}</style>",
            "</head>",
            "<body>",
            *_header(report),
            "<main>",
            *_summary(report),
            *_chapters(report),
            "</main>",
            *_footer(report),
            "</body>",
            "</html>",
            "",
        ]
    )


def _header(report: Report) -> Iterator[str]:
    yield "<header>"
    yield f"<h1>{escape_xml(report.title)}</h1>"
    made = f"{report.made:%Y-%m-%dT%H:%M:%SZ}"
    yield (
        f'<p class="made">As of <time datetime="{made}">{report.made:%Y-%m-%d %H:%M} UTC</time>,'
        f" {report.memories:,} memories, ragmem {escape_xml(report.version)}</p>"
    )
    yield '<nav aria-label="Contents"><ul>'
    yield '<li><a href="#told">What stands out</a></li>'
    for number, chapter in enumerate(_nonempty_chapters(report), 1):
        yield f'<li><a href="#chapter-{number}">{escape_xml(chapter)}</a></li>'
    yield "</ul></nav>"
    yield "</header>"


def _summary(report: Report) -> Iterator[str]:
    yield '<section aria-labelledby="told">'
    yield '<h2 id="told">What stands out</h2>'
    yield "<ul>"
    for sentence in report.sentences:
        parts = escape_xml(sentence[:1].upper() + sentence[1:]).split("`")
        # Text between backticks is a command.
        parts[1::2] = [f"<code>{part}</code>" for part in parts[1::2]]
        yield f"<li>{''.join(parts)}</li>"
    yield "</ul>"
    yield "</section>"


def _nonempty_chapters(report: Report) -> dict[str, list[str]]:
    found = {chapter: [name for name in names if name in report.plots] for chapter, names in CHAPTERS.items()}
    return {chapter: names for chapter, names in found.items() if names}


def _chapters(report: Report) -> Iterator[str]:
    for number, (chapter, names) in enumerate(_nonempty_chapters(report).items(), 1):
        yield f'<section aria-labelledby="chapter-{number}">'
        yield f'<h2 id="chapter-{number}">{escape_xml(chapter)}</h2>'
        yield '<div class="plots">'
        for name in names:
            yield from _figure(name, report.plots[name])
        yield "</div>"
        yield "</section>"


def _figure(name: str, plot: Plot) -> Iterator[str]:
    title = escape_xml(plot.title)
    yield f'<figure id="{name}" aria-labelledby="{name}-name">'
    yield f'<h3 id="{name}-name">{title}</h3>'
    yield inline(plot, name=name)
    if plot.note:
        yield f"<figcaption>{escape_xml(plot.note)}</figcaption>"
    columns, rows = table_of(plot)
    if rows:
        yield "<details>"
        yield f"<summary>Numbers: {title}</summary>"
        # It scrolls, so it must be reachable by keyboard, and then it needs a name.
        yield f'<div class="scroll" role="region" tabindex="0" aria-label="{title}: numbers">'
        yield f"<table><caption>{title}</caption>"
        head = "".join(_heading(column, rows, place) for place, column in enumerate(columns))
        yield f"<thead><tr>{head}</tr></thead>"
        yield "<tbody>"
        for row in rows:
            yield f"<tr>{''.join(map(_cell, range(len(row)), row))}</tr>"
        yield "</tbody></table>"
        yield "</div>"
        yield "</details>"
    yield "</figure>"


def _heading(column: str, rows: list[list[Cell]], place: int) -> str:
    number = "" if isinstance(rows[0][place], str) else ' class="number"'
    return f'<th scope="col"{number}>{escape_xml(column)}</th>'


def _cell(place: int, cell: Cell) -> str:
    text = escape_xml(cell) if isinstance(cell, str) else format_count(cell)
    number = "" if isinstance(cell, str) else ' class="number"'
    return f"<td{number}>{text}</td>" if place else f'<th scope="row"{number}>{text}</th>'


def _footer(report: Report) -> Iterator[str]:
    yield "<footer>"
    if report.private:
        yield "<p>Without titles and names: only counts.</p>"
    yield "<p>Counted on the machine that stores the memory. This file loads nothing and sends nothing.</p>"
    yield "</footer>"
