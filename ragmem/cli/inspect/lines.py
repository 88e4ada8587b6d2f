"""Functions that the views of `ragmem inspect` share: write parts of the graph, and the life of a memory."""

import re
from collections.abc import Mapping
from typing import Any

from ragmem.cli.common import bold, plural, say_fitted, table

SAID = 110
"""Characters of a sentence in a table."""

_MARKER = re.compile(r"^(?:(?:[-*+>]|#{1,6}|\d{1,3}[.)]) )+")
"""The marker of a list item or heading."""


def say_evidence(told: list[dict[str, Any]], titles: dict[str, str] | None = None) -> None:
    """Write the sentences of memories, one a line; with `titles` also the names of their projects."""
    table(
        ("date", "memory", *(["project"] if titles is not None else []), "sentence"),
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
        ("entity", "type", "relations", *(["project"] if several else []), "sentence"),
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


_WIDTH = 12


def describe_life(life: Mapping[str, Any]) -> str:
    """Return a memory's type, its lifecycle state, and the reasons to keep it."""
    parts = [
        life["type"],
        "pinned" if life["pinned"] else life["life"],
        f"{life['age']} newer in its project",
        plural(life["connections"], "connection"),
    ]
    if life["reprieves"]:
        parts.append(plural(life["reprieves"], "reprieve"))
    if life["sessions"]:
        parts.append(f"recalled in {plural(life['sessions'], 'session')}")
    if life["feedback"]:
        parts.append(f"feedback {life['feedback']:+d}")
    if life["approval"]:
        parts.append(life["approval"])
    if life["superseded_by"]:
        parts.append(f"superseded by {life['superseded_by'][:_WIDTH]}")
    return ", ".join(parts)


def say_life(life: Mapping[str, Any]) -> None:
    """Show the life of a memory, and the rule that decides about it."""
    say_fitted(f"{bold('life'.ljust(_WIDTH))} {describe_life(life)}", indent=_WIDTH + 1)
    told = f"{life['action']}, {life['rule']}: {life['reason']}"
    say_fitted(f"{bold('rule'.ljust(_WIDTH))} {told}", indent=_WIDTH + 1)


def say_ageing(ageing: Mapping[str, float]) -> None:
    """Show the effect of age on a memory's score: the terms of `query --explain`, with the half-life."""
    say_fitted(
        f"{bold('ageing'.ljust(_WIDTH))} age_days={ageing['age_days']:g}"
        f"  half_life_days={ageing['half_life_days']:g}  recency={ageing['recency']:g}"
        f"  age_factor={ageing['age_factor']:g}",
        indent=_WIDTH + 1,
    )
