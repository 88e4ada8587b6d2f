"""The typed records of sessions, newest first."""

from typing import Any, ClassVar

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filter_query import FilterQuery, filter_values
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.memories import excerpt
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.records.record_types import RecordType

MOST = 500
"""Maximum number of records in the list."""


class Records(ListPane):
    """The records of sessions."""

    COLUMNS = (
        Column("date", 10),
        Column("type", 18),
        Column("record"),
        Column("project", 14, least=90),
        Column("id", 12, least=80),
    )
    KEYS: ClassVar[tuple[str, ...]] = ("type",)
    HINT = "words of the record, type:gotcha"
    EMPTY = "No session recorded anything yet. `ragmem record --help` tells how."

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the newest records."""
        projects = self.app.reader.projects
        found = memory.records.get(
            filter_values(query, "type", RecordType),
            projects=projects or (),
            everywhere=projects is None,
            limit=MOST,
        )
        return Page(
            [
                Row(
                    (
                        one.memory.event_time.strftime("%Y-%m-%d"),
                        one.type.value,
                        memory.redactor.redact(one.record.title(memory.redactor))[0],
                        one.memory.scope.project,
                        one.memory.short_id,
                    ),
                    key=one.memory.short_id,
                    opens=("memory", one.memory.id),
                    detail=excerpt(one.memory, redactor=memory.redactor),
                )
                for one in found
            ]
        )
