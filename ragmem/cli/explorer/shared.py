"""Review shared memories that nobody has decided on: read, accept, or reject them."""

from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.secrets.redaction import Redactor
from ragmem.errors import RagmemError
from ragmem.services.sharing.review import ReviewItem

MOST = 500
"""Maximum number of records in the list."""


class Shared(ListPane):
    """The records that wait; a filter `from:MEMBER` chooses those of a member."""

    COLUMNS = (
        Column("date", 10),
        Column("from", 16),
        Column("signature", 10, least=70),
        Column("says"),
        Column("id", 12, least=90),
    )
    KEYS: ClassVar[tuple[str, ...]] = ("from",)
    HINT = "words of the title, from:MEMBER"
    EMPTY = "No shared memories wait for your review. `ragmem share fetch` fetches more."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide(True)", "Accept"),
        Binding("n", "decide(False)", "Reject"),
    ]

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return what waits; an unknown member has shared nothing."""
        sharing, projects = memory.sharing, self.app.reader.projects
        keys = [key for key in sharing.projects() if projects is None or key in projects]
        found = [
            one for key in keys for one in sharing.waiting(members=query.of("from"), project=key, limit=MOST)
        ]
        found.sort(key=lambda one: one.row.seen_at, reverse=True)
        total = None if query.of("from") else sum(sharing.count_waiting(project=key) for key in keys)
        status = "not injected until you accept it"
        return Page([_row(one, memory.redactor) for one in found[:MOST]], total, status=status)

    def action_decide(self, accepting: bool) -> None:
        """Accept or reject the record under the cursor."""
        row = self.table.current
        if row is not None and isinstance(row.data, ReviewItem):
            self.run_worker(self._decide(row.data, accepting=accepting), exclusive=True, group="decide")

    async def _decide(self, item: ReviewItem, *, accepting: bool) -> None:
        def work(memory: Ragmem) -> str:
            sharing = memory.sharing
            if not accepting:
                sharing.reject([item], project=item.row.project)
                return ""
            sharing.accept([item], project=item.row.project)
            return sharing.index()

        try:
            note = await self.app.reader.run(work)
        except RagmemError as error:
            self.app.notify(error.full_message, severity="error")
            return
        self.app.notify(", ".join(filter(None, ("accepted" if accepting else "rejected", note))))
        if self.line.value and len(self.table.shown) == 1:
            # An empty table would lose the keys: all others are shown instead.
            self.line.display = False
            self.line.value = ""
        else:
            self.reload()


def _row(one: ReviewItem, redactor: Redactor) -> Row:
    title = redactor.redact(one.title)[0]
    date = one.record.at.strftime("%Y-%m-%d")
    lines = [title, f"from {one.row.member}, {one.row.verdict}", "", redactor.redact(one.text)[0]]
    short = one.id[:SHORT_ID_LENGTH]
    return Row(
        (date, one.row.member, one.row.verdict, title, short), key=short, detail="\n".join(lines), data=one
    )
