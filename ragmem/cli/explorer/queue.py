"""What waits to be taken in, and what was set aside."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filtering import FilterQuery
from ragmem.cli.explorer.listing import ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.services.reporting.queue_list import queue


class Queue(ListPane):
    """Texts and events that wait, oldest first, and the files that nobody could read."""

    COLUMNS = (Column("since", 16), Column("what", 9), Column("it says, or why it was set aside"))
    EMPTY = "Nothing waits, and nothing was set aside."
    NEEDS_MEMORIES = False

    def page(self, memory: Ragmem, asked: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return what waits."""
        found = queue(memory.catalog, memory.settings)
        rows = [
            Row(("", "set aside", one.problem), path=str(one.path), detail=f"{one.path}\n\n{one.problem}")
            for one in found.aside
        ]
        rows += [
            Row(
                (one.since.strftime("%Y-%m-%d %H:%M") if one.since else "", one.what, one.told),
                detail=one.told,
            )
            for one in found.oldest
        ]
        told = (
            f"{found.texts:,} texts and {found.events:,} events wait; {found.vectors:,} memories for vectors"
        )
        return Page(rows, len(found.aside) + found.texts + found.events, told=told)
