"""How the parts of the graph are written for people, and the options that its views share."""

import re
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragmem.cli.common import plural, table, tell
from ragmem.errors import UsageError

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

SAID = 110
"""Characters of a sentence in a table."""

_MARKER = re.compile(r"^(?:(?:[-*+>]|#{1,6}|\d{1,3}[.)]) )+")
"""What a list item or heading begins with."""

ProjectOption = Annotated[
    list[str] | None, typer.Option("--project", "-p", help="Only this project: name, id or path.")
]
AllOption = Annotated[bool, typer.Option("--all", "-a", help="All projects, not only this one and yours.")]


def asked_projects(memory: "Ragmem", names: list[str] | None, *, every: bool) -> tuple[str, ...] | None:
    """Return the projects that are asked, as `query` does: those named, all, or this one and the user's."""
    if every and names:
        raise UsageError("--all and --project exclude each other", hint="give one of them")
    memory.require()
    return memory.named_projects(names) if names else None if every else memory.default_projects()


def say_told(told: list[dict[str, Any]], titles: dict[str, str] | None = None) -> None:
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
            for date, identifier, text in [cells(one)]
        ],
    )


def cells(told: dict[str, Any] | None) -> tuple[str, str, str]:
    """Return the date, the id and the sentence of a memory; where there is none, nothing of each."""
    return (told["event_time"][:10], told["id"], shortened(told["text"])) if told else ("", "", "")


def how(keywords: str) -> str:
    """Return how two entities relate, as a list for people."""
    return ", ".join(part.strip() for part in keywords.split(",") if part.strip())


def first_said(one: dict[str, Any]) -> str:
    """Return the first of the descriptions of an entity or relation."""
    return shortened(one["descriptions"][0]) if one["descriptions"] else ""


def shortened(text: str) -> str:
    """Return a sentence in one line, cut, without the mark of a list or heading before it."""
    line = _MARKER.sub("", " ".join(text.split()))
    return line if len(line) <= SAID else line[: SAID - 1] + "…"


def tell_rest(count: int, noun: str, nouns: str = "") -> None:
    """Tell beside the answer how many more there are, if any."""
    if count > 0:
        tell(f"{plural(count, noun, nouns)} more; -n shows them")
