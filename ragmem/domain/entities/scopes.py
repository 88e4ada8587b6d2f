"""Track the context above a statement: its heading, its parent item, the line before its list."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragmem.domain.entities.entities import Mention
from ragmem.domain.entities.statements import Statement
from ragmem.domain.text.blocks import BlockType
from ragmem.patterns import lazy

_REFERS_BACK = lazy(r"(?:This|It|That|These|They|Its|Must|Should|Can|Has|Uses?|The [a-z]+)\b")
_GENERAL = frozenset({"language", "protocol", "host", "organization"})
"""A heading may name these types without being about them: "Python setup" is not about Python."""

_LABELS = lazy(r"[*_`]*:")
_LEADING = lazy(
    r"(?:[-*+]|\d{1,4}[.)])?\s*(?:\[[ xX]\]\s*)?[*_`\"'(]*(?:(?:[Tt]he|[Aa]n?|[Oo]ur|[Nn]ew)\s+)?[*_`\"'(]*$"
)


@dataclass(slots=True)
class Scope:
    """The position in a text: the mentions that the next statement belongs to."""

    heading: Mention | None = None
    subject: Mention | None = None
    lead: Mention | None = None
    items: list[tuple[int, Mention | None]] = field(default_factory=list)
    block: Mention | None = None

    def above(self, statement: Statement) -> Mention | None:
        """Return the mention that the statement belongs to, or None; call it before `enter`."""
        if statement.form is BlockType.ITEM:
            return self._above_item(statement)
        if statement.form is BlockType.FENCE:
            above, self.lead = self.lead or self.heading, None
            return above
        if statement.form is BlockType.TABLE:
            return self.lead
        refers_back = not statement.begins and _REFERS_BACK.match(statement.text) is not None
        return (self.block if refers_back else None) or self.heading or self.subject

    def _above_item(self, statement: Statement) -> Mention | None:
        """Return the mention of the parent item; for a further sentence of an item, that of the item."""
        if statement.begins:
            while self.items and self.items[-1][0] >= statement.depth:
                self.items.pop()
        return self.items[-1][1] if self.items else self.lead or self.heading

    def enter(self, statement: Statement, mentions: Sequence[Mention]) -> None:
        """Add a statement and its mentions, which the next statements may belong to."""
        first = leader(statement, mentions)
        if statement.form is BlockType.HEADING:
            named = mentions[0] if len(mentions) == 1 else first
            self.heading = None if named is not None and named.type in _GENERAL else named
            self.subject = self.lead = None
            self.items.clear()
        elif statement.form is BlockType.ITEM:
            if statement.begins:
                self.items.append((statement.depth, first))
        elif statement.form is BlockType.PARAGRAPH:
            self.items.clear()
            if statement.begins:
                self.block = first
            opens_list = statement.text.rstrip("*_ ").endswith(":")
            self.lead = (first or (mentions[0] if len(mentions) == 1 else None)) if opens_list else None
            if self.subject is None and first is not None and statement.begins:
                self.subject = None if _LABELS.match(statement.text, first.end) else first
        elif statement.form is BlockType.FENCE and statement.text.startswith("#"):
            self.lead = mentions[0] if len(mentions) == 1 else None


def leader(statement: Statement, mentions: Sequence[Mention]) -> Mention | None:
    """Return the mention at the beginning of a statement, or None."""
    if mentions and _LEADING.match(statement.text[: mentions[0].start]):
        return mentions[0]
    return None
