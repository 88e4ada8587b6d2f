"""The texts and events that wait, and the files that were set aside."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.services.reporting.queue_list import queue


class Queue(ListPane):
    """Waiting texts and events, oldest first, and unreadable files."""

    COLUMNS = (Column("since", 16), Column("what", 9), Column("it says, or why it was set aside"))
    EMPTY = "Nothing waits, and nothing was set aside."
    NEEDS_MEMORIES = False

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the queue."""
        found = queue(memory.catalog, memory.settings)
        rows = [
            Row(("", "set aside", one.problem), path=str(one.path), detail=f"{one.path}\n\n{one.problem}")
            for one in found.aside
        ]
        rows += [
            Row(
                (one.since.strftime("%Y-%m-%d %H:%M") if one.since else "", one.what, one.text),
                detail=one.text,
            )
            for one in found.oldest
        ]
        status = (
            f"{found.texts:,} texts and {found.events:,} events wait; {found.vectors:,} memories for vectors"
        )
        return Page(rows, len(found.aside) + found.texts + found.events, status=status)
