"""How the views of `ragmem inspect` choose projects, and how they write parts of the graph."""

import re
from typing import TYPE_CHECKING, Any

from ragmem.cli.common import table
from ragmem.errors import UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

SAID = 110
"""Characters of a sentence in a table."""

_MARKER = re.compile(r"^(?:(?:[-*+>]|#{1,6}|\d{1,3}[.)]) )+")
"""What a list item or heading begins with."""


def select_projects(memory: "Ragmem", names: list[str] | None, *, every: bool) -> tuple[str, ...] | None:
    """Return the projects that are asked, as `query` does: those named, all, or this one and the user's."""
    if every and names:
        raise UsageError("--all and --project exclude each other", hint="give one of them")
    memory.require()
    return memory.projects.resolve(names) if names else None if every else memory.projects.default()


def say_evidence(told: list[dict[str, Any]], titles: dict[str, str] | None = None) -> None:
    """Write what memories say, a line each; with `titles` of the projects also whose they are."""
    table(
        ("date", "memory", *(["project"] if titles is not None else []), "said"),
        [
            (
                date,
                identifier,
                *([titles.get(one["project"], one["project"])] if titles is not None else []),
                text,
            )
            for one in told
            for date, identifier, text in [evidence_cells(one)]
        ],
    )


def evidence_cells(told: dict[str, Any] | None) -> tuple[str, str, str]:
    """Return the date, the id and the sentence of a memory; where there is none, nothing of each."""
    return (told["event_time"][:10], told["id"], shorten_sentence(told["text"])) if told else ("", "", "")


def relation_label(keywords: str) -> str:
    """Return how two entities relate, as a list for people."""
    return ", ".join(part.strip() for part in keywords.split(",") if part.strip())


def first_description(one: dict[str, Any]) -> str:
    """Return the first of the descriptions of an entity or relation."""
    return shorten_sentence(one["descriptions"][0]) if one["descriptions"] else ""


def shorten_sentence(text: str) -> str:
    """Return a sentence in one line, cut, without the mark of a list or heading before it."""
    line = _MARKER.sub("", " ".join(text.split()))
    return line if len(line) <= SAID else line[: SAID - 1] + "…"


def say_entities(found: list[dict[str, Any]], titles: dict[str, str]) -> None:
    """Write entities as a table; `titles` are the names of their projects."""
    several = len({one["project"] for one in found}) > 1
    table(
        ("entity", "type", "relations", *(["project"] if several else []), "said"),
        [
            (
                one["name"],
                one["type"],
                one["degree"],
                *([titles.get(one["project"], one["project"])] if several else []),
                first_description(one),
            )
            for one in found
        ],
    )
