"""The agents that work in this home."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.table import Column, Row


class Agents(ListPane):
    """The agents, the most recently seen first."""

    COLUMNS = (
        Column("agent", 14),
        Column("status", 10),
        Column("heard of", 16),
        Column("task"),
    )
    EMPTY = "No agent has checked in. `ragmem agents heartbeat NAME` does."
    NEEDS_MEMORIES = False

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return all agents."""
        return Page(
            [
                Row(
                    (
                        one.id,
                        f"{one.status} (stale)" if one.stale else one.status,
                        one.last_seen.strftime("%Y-%m-%d %H:%M"),
                        memory.redactor.redact(one.current_task)[0],
                    ),
                    key=one.id,
                    detail=f"{one.id}\n{one.status}\n\n{memory.redactor.redact(one.current_task)[0]}",
                )
                for one in memory.agents.agents()
            ]
        )
