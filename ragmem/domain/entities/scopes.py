"""What stands above a statement: its heading, its parent item, the line that leads to its list."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragmem.domain.entities.entities import Mention
from ragmem.domain.entities.statements import Statement
from ragmem.domain.text.blocks import Form

_REFERS_BACK = re.compile(r"(?:This|It|That|These|They|Its|Must|Should|Can|Has|Uses?|The [a-z]+)\b")
_GENERAL = frozenset({"language", "protocol", "host", "organization"})
"""What a heading may name without that what follows belongs to it: "Python setup" is not about Python."""

_LABELS = re.compile(r"[*_`]*:")
_LEADING = re.compile(
    r"(?:[-*+]|\d{1,4}[.)])?\s*(?:\[[ xX]\]\s*)?[*_`\"'(]*(?:(?:[Tt]he|[Aa]n?|[Oo]ur|[Nn]ew)\s+)?[*_`\"'(]*$"
)


@dataclass(slots=True)
class Scope:
    """Where the reading of a text stands: what a statement that comes now belongs to."""

    heading: Mention | None = None
    subject: Mention | None = None
    lead: Mention | None = None
    items: list[tuple[int, Mention | None]] = field(default_factory=list)
    block: Mention | None = None

    def above(self, statement: Statement) -> Mention | None:
        """Return what the statement belongs to, or None; call it before `enter`."""
        if statement.form is Form.ITEM:
            return self._above_item(statement)
        if statement.form is Form.FENCE:
            above, self.lead = self.lead or self.heading, None
            return above
        if statement.form is Form.TABLE:
            return self.lead
        refers_back = not statement.begins and _REFERS_BACK.match(statement.text) is not None
        return (self.block if refers_back else None) or self.heading or self.subject

    def _above_item(self, statement: Statement) -> Mention | None:
        """Return the parent of an item, or of a further sentence the item itself."""
        if statement.begins:
            while self.items and self.items[-1][0] >= statement.depth:
                self.items.pop()
        return self.items[-1][1] if self.items else self.lead or self.heading

    def enter(self, statement: Statement, mentions: Sequence[Mention]) -> None:
        """Take a statement that was read, with what it names, as what the next ones may belong to."""
        first = leader(statement, mentions)
        if statement.form is Form.HEADING:
            named = mentions[0] if len(mentions) == 1 else first
            self.heading = None if named is not None and named.type in _GENERAL else named
            self.subject = self.lead = None
            self.items.clear()
        elif statement.form is Form.ITEM:
            if statement.begins:
                self.items.append((statement.depth, first))
        elif statement.form is Form.PARAGRAPH:
            self.items.clear()
            if statement.begins:
                self.block = first
            opens_list = statement.text.rstrip("*_ ").endswith(":")
            self.lead = (first or (mentions[0] if len(mentions) == 1 else None)) if opens_list else None
            if self.subject is None and first is not None and statement.begins:
                self.subject = None if _LABELS.match(statement.text, first.end) else first
        elif statement.form is Form.FENCE and statement.text.startswith("#"):
            self.lead = mentions[0] if len(mentions) == 1 else None


def leader(statement: Statement, mentions: Sequence[Mention]) -> Mention | None:
    """Return the mention that a statement begins with, or None."""
    if mentions and _LEADING.match(statement.text[: mentions[0].start]):
        return mentions[0]
    return None
