"""Ask a question as `query` does, and see the score of each answer."""

from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from ragmem.api.memory import Ragmem, now
from ragmem.cli.explorer.filter_query import FilterQuery
from ragmem.cli.explorer.list_pane import ListPane, Page
from ragmem.cli.explorer.memories import BEGINNING, display_title
from ragmem.cli.explorer.memory_detail import score_of
from ragmem.cli.explorer.table import Column, Row
from ragmem.domain.model import Match
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.retrieval.excerpts import excerpt
from ragmem.services.retrieval.query import Question

LIMIT = 20
"""Maximum number of answers."""


class Search(ListPane):
    """A question and its answers; Enter asks it. The answers do not count as recalled."""

    COLUMNS = (
        Column("score", 5, right=True),
        Column("title"),
        Column("date", 10, least=55),
        Column("kind", 12, least=85),
        Column("source", 12, least=100),
    )
    HINT = "type a question, and press Enter"
    EMPTY = "Type a question in the line above, and press Enter."
    FILTERED = True
    UNIT = ("answer",)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("slash", "filter", "Query")]

    def start(self) -> None:
        """Show the input line at once."""
        self.line.display = True
        self.line.placeholder = self.HINT
        self._say_empty(self.app.nothing_stored if not self.app.stored else self.EMPTY)

    def take_focus(self) -> None:
        """Focus the answers if there are some, else the question."""
        (self.table if self.table.shown else self.line).focus()

    def apply_typing(self) -> None:
        """Wait for Enter: an answer takes longer than a list."""

    def apply_enter(self) -> None:
        """Ask the question."""
        self.reload()

    def reload(self) -> None:
        """Ask the question again."""
        if self.line.value.strip():
            self.run_worker(self._ask(), exclusive=True, group="load")

    async def _ask(self) -> None:
        await self._load(0.0)
        if self.table.shown:
            self.table.focus()

    def action_unfilter(self) -> None:
        """Go back to the question, and from there to the previous screen."""
        if self.line.has_focus:
            self.app.go_back()
        else:
            self.line.focus()

    def read_filter(self) -> FilterQuery:
        """Return the question unparsed: its quotes and symbols have a meaning in retrieval."""
        return FilterQuery(self.line.value.strip())

    def page(self, memory: Ragmem, query: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return the answers."""
        routed = memory.retrieval.ask_by_route(
            Question(query.text, projects=self.app.reader.projects, limit=LIMIT),
            now=now(),
        )
        answer = routed.answer
        evidence = ", ".join(f"{name} {value:.2f}" for name, value in answer.evidence.items())
        facts = (f"{fact.name.strip()}: {fact.value}" for fact in routed.shown_facts)
        status = "   ".join(
            filter(None, (*facts, f"searched by {answer.rung}", *answer.notes, evidence, routed.route_line))
        )
        return Page(
            [_row(match, query.text, redactor=memory.redactor) for match in answer.matches], status=status
        )

    def no_match(self) -> str:
        """Return what to do after a question without an answer."""
        return "Nothing answers this. a searches all projects; fewer and rarer words find more."


def _row(match: Match, question: str, redactor: Redactor) -> Row:
    memory = match.memory
    heading = f" / {match.chunk.heading}" if match.chunk.heading else ""
    text = excerpt(match, question, most=BEGINNING, redactor=redactor)
    detail = f"{display_title(memory, redactor)}{heading}\n\n{text}\n\n{score_of(match, redactor)}"
    return Row(
        (
            f"{match.score:.2f}",
            display_title(memory, redactor=redactor),
            memory.event_time.strftime("%Y-%m-%d"),
            memory.kind.value,
            memory.provenance,
        ),
        key=memory.short_id,
        opens=("memory", memory.id),
        path=memory.uri,
        detail=detail,
        data=match,
    )
