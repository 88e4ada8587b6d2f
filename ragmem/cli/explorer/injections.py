"""The memories that assistants were given, with the session and the feedback."""

from typing import Any

from ragmem.api.memory import Ragmem
from ragmem.cli.common import moment
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.model import SHORT_ID_LENGTH
from ragmem.services.context.injection_list import ListedInjection

MOST = 1_000
"""Maximum number of injections in the list."""


class Injections(ListPane):
    """The log of injections, latest first."""

    COLUMNS = (
        Column("at", 16),
        Column("session", 9),
        Column("event", 8, least=80),
        Column("score", 5, least=70, right=True),
        Column("use", 5),
        Column("memory"),
        Column("question", least=110),
    )
    HINT = "words of the session, memory or question"
    EMPTY = "No assistant was given anything yet. `ragmem connect` wires one to this memory."

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the latest injections."""
        found = memory.injections.log(limit=MOST)
        status = "use: what `ragmem feedback` said" + (f"; the latest {MOST:,}" if len(found) == MOST else "")
        return Page([_row(one) for one in found], status=status)


def _row(item: ListedInjection) -> Row:
    one = item.injection
    use = "good" if item.feedback > 0 else "bad" if item.feedback < 0 else ""
    title = f"{item.title} ({item.state})" if item.state else item.title
    terms = "\n".join(f"  {name} {value:.2f}" for name, value in one.detail.get("terms", {}).items())
    others = "\n".join(f"  {score:.2f}  {other}" for _, other, score in item.others)
    into = f"session {one.session}" + (f", agent {one.agent}" if one.agent else "")
    lines = [
        title,
        f"{moment(one.injected_at)} into {into}" + (f" of {one.assistant}" if one.assistant else ""),
        f"because: {one.event}: {one.reason}",
        f"question: {one.question or 'none: the session began'}",
        f"{one.tokens} tokens" + (f", score {one.score:.2f}" if one.score is not None else ""),
        f"of use: {use or 'nobody said'}",
    ]
    lines += ["", "terms", terms] if terms else []
    lines += ["", "found beside it", others] if others else []
    return Row(
        (
            one.injected_at.strftime("%Y-%m-%d %H:%M"),
            one.session[:9],
            one.event,
            "" if one.score is None else f"{one.score:.2f}",
            use,
            title,
            one.question,
        ),
        key=one.memory[:SHORT_ID_LENGTH],
        opens=("memory", one.memory) if one.memory and not item.state else None,
        detail="\n".join(lines),
    )
