"""What is known of an assistant: its events, the shape and the units of its settings."""

import math
from dataclasses import dataclass
from typing import Literal

Shape = Literal["groups", "flat", "plugin"]
"""How hooks are written: groups with a matcher, a flat list for each event, or a plugin that calls ragmem."""

LEAST_ALLOWED_S = 5
"""Seconds until an assistant stops a hook: more than a hook's own deadlines, which it keeps by itself.

Also what writes gets so long, because on a busy machine Python alone takes a second to start.
"""

MARGIN_S = 2
"""Seconds that an assistant waits beyond the deadline of a hook."""

LONGEST_SENSIBLE_S = 600
"""No hook of anybody is meant to run for longer; such a number was meant in milliseconds."""


def allowed_s(deadline_s: float) -> int:
    """Return the seconds that a hook is allowed whose own deadline is so long."""
    return max(LEAST_ALLOWED_S, math.ceil(deadline_s) + MARGIN_S)


@dataclass(frozen=True, slots=True)
class Wire:
    """An event in the assistant's own name, and the tools that it is wired for (empty: all)."""

    event: str
    matcher: str = ""


@dataclass(frozen=True, slots=True)
class Assistant:
    """One assistant; `per_second` is how many of its units of time are a second."""

    name: str
    title: str
    shape: Shape
    wires: tuple[Wire, ...]
    programs: tuple[str, ...]
    per_second: int = 1
    named: bool = False
    """Whether an entry has a name, by which the person can turn it off."""
    version: int | None = None
    """What the key `version` of the settings has to say, where they need one."""
    after: str = ""
    """What the person has to do before the hooks run."""

    def entry(self, wire: Wire, command: str, allowed_s: int) -> dict[str, object]:
        """Return what is written for an event, whose hook may take so many seconds."""
        timed: dict[str, object] = {"command": command, "timeout": allowed_s * self.per_second}
        matcher: dict[str, object] = {"matcher": wire.matcher} if wire.matcher else {}
        if self.shape == "flat":
            return {**matcher, **timed}
        name: dict[str, object] = {"name": "ragmem"} if self.named else {}
        return {**matcher, "hooks": [{**name, "type": "command", **timed}]}
