"""The log of operations, latest first."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.table import Column, Row

MOST = 500
"""Maximum number of operations in the list."""


class Log(ListPane):
    """The writing operations."""

    COLUMNS = (Column("at", 16), Column("operation", 14), Column("detail"), Column("undo", 4, least=60))
    EMPTY = "Nothing was done yet."

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the latest operations."""
        runs = {run.run for run in memory.catalog.archive.runs()}
        rows = []
        for entry in memory.catalog.log.entries(limit=MOST):
            parts = [
                f"{name} {memory.redactor.redact(str(value))[0]}" for name, value in entry["detail"].items()
            ]
            undo = entry["detail"].get("run") in runs
            at = entry["at"].strftime("%Y-%m-%d %H:%M")
            how = f"\n\nragmem gc --undo --run {entry['detail']['run']}" if undo else ""
            rows.append(
                Row(
                    (at, entry["operation"], ", ".join(parts), "yes" if undo else ""),
                    key=str(entry["detail"].get("run", "")),
                    detail=f"{at}  {entry['operation']}\n\n" + "\n".join(parts) + how,
                )
            )
        return Page(rows)
