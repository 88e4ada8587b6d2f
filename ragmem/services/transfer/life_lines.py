"""The lines of an export for what the lifecycle knows; they name memories by their ids alone."""

from collections.abc import Callable, Mapping
from typing import Any

from ragmem.domain.model.lifecycle import Life
from ragmem.services.transfer.export_lines import moment_text
from ragmem.services.transfer.line_fields import LARGEST, Fields, Line
from ragmem.storage.lifecycle.lifecycle_state import LifeRow, Recall
from ragmem.storage.lifecycle.supersessions import Supersession
from ragmem.storage.maintenance.lifecycle_export import LifeContent, MergedFrom


def life_line(item: LifeContent) -> Line:
    """Return the line of a life, a recall, a supersession or a merge."""
    match item:
        case LifeRow():
            return {
                "type": "life",
                "id": item.id,
                "life": item.life.value if item.life else "",
                "pinned": item.pinned,
                "reprieves": item.reprieves,
                "checked_age": item.checked_age,
                "feedback": item.feedback,
                "reason": item.reason,
            }
        case Recall():
            return {
                "type": "recall",
                "id": item.id,
                "session": item.session,
                "recalled_at": moment_text(item.at),
            }
        case Supersession():
            return {
                "type": "supersession",
                "older": item.older,
                "newer": item.newer,
                "older_at": moment_text(item.older_at),
                "newer_at": moment_text(item.newer_at),
                "rule": item.rule,
                "reason": item.reason,
                "made_at": moment_text(item.made_at),
            }
        case MergedFrom():
            return {"type": "merge", "merged": item.merged, "original": item.original, "run": item.run}


def key_of(item: Any) -> tuple[str, str]:
    """Return the place of such a line among those of its sort."""
    match item:
        case Recall():
            return item.id, item.session
        case Supersession():
            return item.older, ""
        case MergedFrom():
            return item.merged, item.original
        case _:
            return item.id, ""


def _life(line: Line) -> LifeRow:
    fields = Fields(line, {"type"})
    row = LifeRow(
        fields.name("id"),
        fields.choice("life", Life) if fields.text("life") else None,
        fields.take("pinned", bool, "true or false"),
        fields.number("reprieves"),
        fields.number("checked_age"),
        fields.number("feedback", lowest=-LARGEST),
        fields.text("reason"),
    )
    fields.end()
    return row


def _recall(line: Line) -> Recall:
    fields = Fields(line, {"type"})
    recall = Recall(fields.name("id"), fields.name("session"), fields.moment("recalled_at"))
    fields.end()
    return recall


def _supersession(line: Line) -> Supersession:
    fields = Fields(line, {"type"})
    found = Supersession(
        fields.name("older"),
        fields.name("newer"),
        fields.moment("older_at"),
        fields.moment("newer_at"),
        fields.text("rule"),
        fields.text("reason"),
        fields.moment("made_at"),
    )
    fields.end()
    return found


def _merge(line: Line) -> MergedFrom:
    fields = Fields(line, {"type"})
    found = MergedFrom(fields.name("merged"), fields.name("original"), fields.text("run"))
    fields.end()
    return found


READERS: Mapping[str, Callable[[Line], LifeContent]] = {
    "life": _life,
    "recall": _recall,
    "supersession": _supersession,
    "merge": _merge,
}
"""What reads a line of each type; raises LineError."""
