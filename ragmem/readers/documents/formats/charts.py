"""Charts and diagrams of Office files: the data of a chart as a table, the words of a diagram as a list."""

import re
from datetime import datetime, timedelta
from typing import Any

from ragmem.readers.documents.formats.package import Package, child, every, local, relation_id, whole, within
from ragmem.readers.documents.tables import write_table

_MOST_POINTS = 5_000

_FIRST_DAY = datetime(1899, 12, 30)  # noqa: DTZ001 -- day 0 of spreadsheets, which have no time zones
_LAST_DAY = 2_958_466  # the first day of the year 10,000
_NOT_OF_FORM = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]|general')
_OF_DATES = re.compile(r"[ymd]")


def graphic(package: Package, part: str, node: Any) -> str:
    """Return the content of the chart or diagram that an element (`chart`, `relIds`) of a part refers to."""
    is_chart = local(node) == "chart"
    root = package.tree(package.related_part(part, relation_id(node, "id" if is_chart else "dm")))
    if root is None:
        return ""
    return chart(root) if is_chart else diagram(root)


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
    return write_table([head, *rows], caption=f"Chart: {title}" if title else "Chart")


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
    """Return number and text of each point; of several levels, those of the first."""
    holder = child(series, name)
    level = next((each for each in every(holder, "lvl")), None)
    form = next((each.text or "" for each in every(holder, "formatCode")), "")
    found: list[tuple[int, str]] = []
    for point in every(holder if level is None else level, "pt"):
        text = next((each.text or "" for each in point if local(each) == "v"), "")
        if len(found) < _MOST_POINTS:
            form_of_point = point.get("formatCode") or form
            found.append((whole(point.get("idx"), len(found)), _show(text, form_of_point)))
    return found


def _show(text: str, form: str) -> str:
    """Return a number as a person writes it: 0.3 for 0.30000000000000004, dates and percentages as such."""
    try:
        number = float(text)
    except ValueError:
        return text
    bare = _NOT_OF_FORM.sub("", form.lower())
    if _OF_DATES.search(bare) and 0 < number < _LAST_DAY:
        day = _FIRST_DAY + timedelta(days=number)
        return day.isoformat(" ", "minutes") if number % 1 else day.date().isoformat()
    if bare.endswith("%"):
        return f"{number * 100:.12g}%"
    return f"{number:.12g}" if "." in text or "e" in text.lower() else text
