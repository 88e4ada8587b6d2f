"""Functions that the views of `ragmem inspect` share: write parts of the graph."""

import re
from typing import Any

from ragmem.cli.common import table

SAID = 110
"""Characters of a sentence in a table."""

_MARKER = re.compile(r"^(?:(?:[-*+>]|#{1,6}|\d{1,3}[.)]) )+")
"""The marker of a list item or heading."""


def say_evidence(told: list[dict[str, Any]], titles: dict[str, str] | None = None) -> None:
    """Write the sentences of memories, one a line; with `titles` also the names of their projects."""
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
    """Return the date, the id and the sentence of a memory; empty texts if there is none."""
    return (told["event_time"][:10], told["id"], shorten_sentence(told["text"])) if told else ("", "", "")


def relation_label(keywords: str, valid: str = "") -> str:
    """Return the keywords of a relation as a list for people, with the time for which it holds."""
    told = ", ".join(part.strip() for part in keywords.split(",") if part.strip())
    return f"{told} ({valid})" if valid else told


def first_description(one: dict[str, Any]) -> str:
    """Return the first description of an entity or relation."""
    return shorten_sentence(one["descriptions"][0]) if one["descriptions"] else ""


def shorten_sentence(text: str) -> str:
    """Return a sentence as one line of limited length, without the marker of a list or heading."""
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
