"""Charts and diagrams of Office files: the figures behind a chart as a table, a diagram's words as a list."""

from typing import Any

from ragmem.readers.documents.formats.package import child, every, local, whole, within
from ragmem.readers.documents.tables import written

_MOST_POINTS = 5_000


def chart(root: Any) -> str:
    """Return the title of a chart and its data, a column for each series."""
    title = _words(within(root, "chart", "title"))
    series = list(every(root, "ser"))
    names = [_first(each, "tx") or f"Series {number}" for number, each in enumerate(series, 1)]
    places: dict[int, str] = {}
    columns = []
    for each in series:
        for number, text in _points(each, "cat") or _points(each, "xVal"):
            places.setdefault(number, text)
        columns.append(dict(_points(each, "val") or _points(each, "yVal")))
    numbers = sorted({*places, *(number for column in columns for number in column)})
    if not numbers:
        return f"Chart: {title}" if title else ""
    head = [_axis(root) or "Category", *names]
    rows = [[places.get(n, str(n + 1)), *(column.get(n, "") for column in columns)] for n in numbers]
    return written([head, *rows], caption=f"Chart: {title}" if title else "Chart")


def diagram(root: Any) -> str:
    """Return the words of a diagram (SmartArt) as a list."""
    texts = (_words(each) for each in every(root, "pt"))
    return "\n".join(f"- {text}" for text in texts if text)


def _axis(root: Any) -> str:
    return _words(child(next(iter(every(root, "catAx")), None), "title"))


def _words(node: Any) -> str:
    paragraphs = ("".join(each.text or "" for each in every(p, "t")) for p in every(node, "p"))
    return " ".join(" ".join(paragraphs).split())


def _first(series: Any, name: str) -> str:
    return next((each.text or "" for each in every(child(series, name), "v")), "")


def _points(series: Any, name: str) -> list[tuple[int, str]]:
    """Return number and text of each point, of the first level where there are several."""
    level = next((each for each in every(child(series, name), "lvl")), None)
    found: list[tuple[int, str]] = []
    for point in every(child(series, name) if level is None else level, "pt"):
        text = next((each.text or "" for each in point if local(each) == "v"), "")
        if len(found) < _MOST_POINTS:
            found.append((whole(point.get("idx"), len(found)), _number(text)))
    return found


def _number(text: str) -> str:
    """Return a number as a person writes it: 0.30000000000000004 is what a file says for 0.3."""
    try:
        return f"{float(text):.12g}" if "." in text or "E" in text else text
    except ValueError:
        return text
