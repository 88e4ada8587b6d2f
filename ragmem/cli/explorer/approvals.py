"""What waits for a person before it counts: drafted skills and proposed memories."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.domain.model.lifecycle import Approval
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.lifecycle.approval import Proposal

MOST = 500
"""Maximum number of proposals in the list."""


class Approvals(ListPane):
    """The proposals, skills first; the explorer decides nothing."""

    COLUMNS = (
        Column("date", 10),
        Column("what", 6),
        Column("says"),
        Column("project", 14, least=90),
        Column("id", 12),
    )
    HINT = "words of the proposal"
    EMPTY = "Nothing waits for you. [approval] turns this on, `ragmem approve draft` drafts skills."

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return what waits."""
        projects = self.app.reader.projects
        found = memory.approvals.proposals(Approval.PROPOSED, projects=projects, limit=MOST)
        waiting = sum(memory.approvals.count(projects))
        status = "c copies the id for `ragmem approve accept ID` or `reject ID`"
        return Page([_row(one, memory.redactor) for one in found], waiting, status=status)


def _row(one: Proposal, redactor: Redactor) -> Row:
    short = one.id[:SHORT_ID_LENGTH]
    lines = [
        redactor.redact(one.title)[0],
        f"from {', '.join(one.sources)}",
        "",
        redactor.redact(one.text)[0],
    ]
    return Row(
        (one.at.strftime("%Y-%m-%d"), one.sort, one.line(redactor), one.project, short),
        key=short,
        opens=("memory", one.id) if one.sort == "memory" else None,
        detail="\n".join(lines),
    )
