"""The progress of reading transcripts, and the transcripts that were never read."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.common import plural, shorten_home, size
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.services.reporting.transcript_list import transcript_states


class Transcripts(ListPane):
    """Transcripts that were read, latest first, then those that were never read."""

    COLUMNS = (
        Column("last read", 16),
        Column("assistant", 12),
        Column("exchanges", 9, right=True),
        Column("size", 9, least=70, right=True),
        Column("file"),
    )
    EMPTY = "No transcript of an assistant was found. sources.toml turns the source `transcripts` on."
    NEEDS_MEMORIES = False

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return all known transcripts."""
        found = transcript_states(memory.catalog, memory.settings, home=memory.home)
        rows = [
            Row(
                (
                    one.read_at.strftime("%Y-%m-%d %H:%M"),
                    one.assistant,
                    f"{one.exchanges:,}",
                    size(one.size),
                    shorten_home(one.path),
                ),
                key=one.session,
                path=one.path,
                detail=f"{one.path}\nsession {one.session}\nproject {one.project or 'none'}\n"
                f"read to byte {one.position:,} of {one.size:,}",
            )
            for one in found.read
        ]
        rows += [
            Row(
                ("never", "", "", size(one.size), shorten_home(one.path)),
                path=one.path,
                detail=f"{one.path}\nnever read: ragmem seed --source transcripts",
            )
            for one in found.unread
        ]
        waits = plural(found.waiting, "exchange waits", "exchanges wait")
        return Page(rows, status=f"{waits} for vectors" if found.waiting else "")
