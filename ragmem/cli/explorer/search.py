"""Ask a question as `query` does, and see why each answer stands where it does."""

from typing import Any, ClassVar

from textual.binding import Binding, BindingType

from ragmem.api.memory import Ragmem, now
from ragmem.cli.explorer.filtering import FilterQuery
from ragmem.cli.explorer.listing import ListPane, Page
from ragmem.cli.explorer.memories import display_title
from ragmem.cli.explorer.plain import Plain
from ragmem.cli.explorer.table import Column, Row
from ragmem.cli.explorer.whole import score_of
from ragmem.domain.model import Match
from ragmem.domain.secrets.redaction import Redactor
from ragmem.services.retrieval.query import Question
from ragmem.services.retrieval.shapes import found_text

LIMIT = 20
"""Answers of a question."""


class Search(ListPane):
    """The question stands above its answers; Enter asks it. Nothing counts as recalled."""

    COLUMNS = (
        Column("score", 5, right=True),
        Column("title"),
        Column("date", 10, least=55),
        Column("kind", 12, least=85),
        Column("source", 12, least=100),
    )
    HINT = "ask a question, and press Enter"
    EMPTY = "Ask a question in the line above, and press Enter."
    FILTERED = True
    BINDINGS: ClassVar[list[BindingType]] = [Binding("slash", "filter", "Ask")]

    def start(self) -> None:
        """Show the line for the question at once."""
        self.line.display = True
        self.line.placeholder = self.HINT
        self._say_empty(self.app.nothing_stored if not self.app.stored else self.EMPTY)

    def take_focus(self) -> None:
        """Let the keys go to the question, or to its answers where there are some."""
        (self.table if self.table.shown else self.line).focus()

    def typed(self) -> None:
        """Wait for Enter: an answer takes longer than a list."""

    def entered(self) -> None:
        """Ask."""
        self.reload()

    def reload(self) -> None:
        """Ask again."""
        if self.line.value.strip():
            self.run_worker(self._ask(), exclusive=True, group="load")

    async def _ask(self) -> None:
        await self._load(0.0)
        if self.table.shown:
            self.table.focus()

    def action_unfilter(self) -> None:
        """Go back to the question, and from there to where one came from."""
        if self.line.has_focus:
            self.app.go_back()
        else:
            self.line.focus()

    def asked(self) -> FilterQuery:
        """Return the question as it stands: its quotes and signs mean something to who answers."""
        return FilterQuery(self.line.value.strip())

    def page(self, memory: Ragmem, asked: FilterQuery, after: Any) -> Page:  # noqa: ARG002 - of every list
        """Return what answers the question."""
        routed = memory.retrieval.ask_by_route(
            Question(asked.text, projects=self.app.reader.projects, limit=LIMIT),
            now=now(),
        )
        answer = routed.answer
        evidence = ", ".join(f"{name} {value:.2f}" for name, value in answer.evidence.items())
        facts = (f"{fact.name.strip()}: {fact.value}" for fact in routed.shown)
        told = "   ".join(
            filter(None, (*facts, f"rung: {answer.rung}", *answer.notes, evidence, routed.told))
        )
        return Page([_row(match, redactor=memory.redactor) for match in answer.matches], told=told)

    def _say_empty(self, text: str) -> None:
        super()._say_empty(text)
        if self.line.value.strip():
            self.query_one(".empty", Plain).update(
                "Nothing answers this. a asks all projects; fewer and rarer words find more."
            )


def _row(match: Match, redactor: Redactor) -> Row:
    memory = match.memory
    heading = f" / {match.chunk.heading}" if match.chunk.heading else ""
    text = found_text(match, redactor).strip()
    detail = f"{display_title(memory, redactor)}{heading}\n\n{text}\n\n{score_of(match, redactor)}"
    return Row(
        (
            f"{match.score:.2f}",
            display_title(memory, redactor=redactor),
            memory.event_time.strftime("%Y-%m-%d"),
            memory.kind.value,
            memory.source,
        ),
        key=memory.short_id,
        opens=("memory", memory.id),
        path=memory.uri,
        detail=detail,
        data=match,
    )
