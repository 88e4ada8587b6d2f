"""The life of one memory as `inspect memory` shows it."""

from collections.abc import Mapping
from typing import Any

from ragmem.cli.common import bold, plural, say_fitted

WIDTH = 12


def describe_life(life: Mapping[str, Any]) -> str:
    """Return a memory's type, its lifecycle state, and what speaks for keeping it."""
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
        parts.append(f"superseded by {life['superseded_by'][:WIDTH]}")
    return ", ".join(parts)


def say_life(life: Mapping[str, Any]) -> None:
    """Show the life of a memory, and the rule that decides about it."""
    say_fitted(f"{bold('life'.ljust(WIDTH))} {describe_life(life)}", indent=WIDTH + 1)
    told = f"{life['action']}, {life['rule']}: {life['reason']}"
    say_fitted(f"{bold('rule'.ljust(WIDTH))} {told}", indent=WIDTH + 1)


def say_ageing(ageing: Mapping[str, float]) -> None:
    """Show the effect of age on a memory's score: the terms of `query --explain`, with the half-life."""
    say_fitted(
        f"{bold('ageing'.ljust(WIDTH))} age_days={ageing['age_days']:g}"
        f"  half_life_days={ageing['half_life_days']:g}  recency={ageing['recency']:g}"
        f"  age_factor={ageing['age_factor']:g}",
        indent=WIDTH + 1,
    )
