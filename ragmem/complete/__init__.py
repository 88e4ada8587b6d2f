"""Values for Tab: read-only, no lock, no heavy import, silence when it fails."""

import sys
from collections.abc import Callable, Sequence

from ragmem.complete import memories, names
from ragmem.complete.rows import LIMIT, Pairs

HINT_LENGTH = 72


def complete(arguments: Sequence[str]) -> int:
    """Print `value TAB hint` lines for `KIND PREFIX`; always return 0, because Tab must never disturb."""
    kind, prefix = [*arguments, "", ""][:2]
    finder = FINDERS.get(kind)
    if finder is None:
        return 0
    try:
        # A value with a control character has no line of its own, and nobody could read it in a list.
        pairs = [(value, hint) for value, hint in finder(prefix) if value and value.isprintable()]
        text = "".join(f"{value}\t{_shortened(hint)}\n" for value, hint in pairs[:LIMIT])
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 - nothing to offer is the answer to whatever is wrong with a home
        return 0
    return 0


def _shortened(hint: str) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in hint).split())
    return line if len(line) <= HINT_LENGTH else line[: HINT_LENGTH - 1] + "…"


FINDERS: dict[str, Callable[[str], Pairs]] = {
    "agent": names.agents,
    "archived": memories.archived,
    "entity": names.entities,
    "event": names.events,
    "folder": memories.folders,
    "ingested": memories.ingested,
    "memory": memories.memories,
    "merge": names.merges,
    "model": names.models,
    "part": memories.parts,
    "project": memories.projects,
    "rule": names.gc_rules,
    "run": memories.runs,
    "session": memories.sessions,
    "source": memories.sources,
    "spec": memories.specs,
    "symbol": names.symbols,
    "tag": memories.tags,
    "undone": names.undone,
}
"""What completes a value of each KIND; each is given what was typed so far."""
