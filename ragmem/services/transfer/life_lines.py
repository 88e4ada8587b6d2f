"""The lines of an export for the lifecycle; they refer to memories by id."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from ragmem.domain.model.lifecycle import Approval, LifecycleState
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
                **({"approval": item.approval.value} if item.approval else {}),
            }
        case Recall():
            return {
                "type": "recall",
                "id": item.id,
                "session": item.session,
                "recalled_at": moment_text(item.at),
            }
        case Supersession():
            moments = {name: moment_text(getattr(item, name)) for name in ("older_at", "newer_at", "made_at")}
            return {"type": "supersession", **asdict(item), **moments}
        case MergedFrom():
            return {"type": "merge", **asdict(item)}


def key_of(item: Any) -> tuple[str, str]:
    """Return the sort key of such a line among those of its type."""
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
    with Fields({"approval": ""} | dict(line), "type") as fields:
        return LifeRow(
            fields.name("id"),
            fields.choice("life", LifecycleState) if fields.text("life") else None,
            fields.take("pinned", bool, "true or false"),
            fields.number("reprieves"),
            fields.number("checked_age"),
            fields.number("feedback", lowest=-LARGEST),
            fields.text("reason"),
            fields.choice("approval", Approval),
        )


def _recall(line: Line) -> Recall:
    with Fields(line, "type") as fields:
        return Recall(fields.name("id"), fields.name("session"), fields.moment("recalled_at"))


def _supersession(line: Line) -> Supersession:
    with Fields(line, "type") as fields:
        return Supersession(
            fields.name("older"),
            fields.name("newer"),
            fields.moment("older_at"),
            fields.moment("newer_at"),
            fields.text("rule"),
            fields.text("reason"),
            fields.moment("made_at"),
        )


def _merge(line: Line) -> MergedFrom:
    with Fields(line, "type") as fields:
        return MergedFrom(fields.name("merged"), fields.name("original"), fields.text("run"))


READERS: Mapping[str, Callable[[Line], LifeContent]] = {
    "life": _life,
    "recall": _recall,
    "supersession": _supersession,
    "merge": _merge,
}
"""The readers of lines by type; they raise LineError."""
