"""The numbers of a plot as a table and as JSON."""

from typing import Any

from ragmem.charts.model import Columns, Curves, Plot, Stacks

Cell = str | float


def table_of(plot: Plot) -> tuple[list[str], list[list[Cell]]]:
    """Return the column names and the rows of a plot, without its marks."""
    if isinstance(plot, Curves):
        several = len(plot.lines) > 1
        head = [*(["line"] if several else []), plot.x.label, plot.y.label]
        return head, [
            [*([line.name] if several else []), x, y] for line in plot.lines for x, y in line.points
        ]
    if isinstance(plot, Columns):
        head = [plot.x.label, *(layer.name for layer in plot.layers)]
        return head, [
            [name, *(layer.counts[place] for layer in plot.layers)] for place, name in enumerate(plot.classes)
        ]
    if isinstance(plot, Stacks):
        return [plot.category, *plot.parts], [[row.label, *row.counts] for row in plot.rows]
    return [plot.category, plot.unit], [[label, count] for label, count in plot.cells]


def plot_shape(plot: Plot) -> dict[str, Any]:
    """Return a plot as JSON fields: its type, title, note, table and marks."""
    columns, rows = table_of(plot)
    shape: dict[str, Any] = {
        "sort": type(plot).__name__.lower(),
        "title": plot.title,
        "note": plot.note,
        "columns": columns,
        "rows": [[_plain(cell) for cell in row] for row in rows],
    }
    if isinstance(plot, Curves | Columns):
        shape["marks"] = [{"at": _plain(mark.at), "label": mark.label} for mark in plot.marks]
    if isinstance(plot, Curves):
        shape["levels"] = [{"at": _plain(level.at), "label": level.label} for level in plot.levels]
    return shape


def _plain(cell: Cell) -> Cell:
    """Return integers unchanged, other numbers with six significant digits."""
    if isinstance(cell, str | int):
        return cell
    return int(cell) if cell == int(cell) and abs(cell) < 1e15 else float(f"{cell:.6g}")
