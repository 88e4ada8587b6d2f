"""Values for Tab: read-only, without locks, without heavy imports, silent on errors."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ragmem.complete import values
from ragmem.storage import completion
from ragmem.storage.completion import LIMIT, Pairs
from ragmem.storage.operational import OPERATIONAL_NAME

HINT_LENGTH = 72


def complete(arguments: Sequence[str]) -> int:
    """Print `value TAB hint` lines for `KIND PREFIX`; always return 0, because Tab must never disturb."""
    kind, prefix = [*arguments, "", ""][:2]
    finder = FINDERS.get(kind)
    if finder is None:
        return 0
    try:
        # A value with a control character could span lines, and nobody could read it in a list.
        pairs = [(value, hint) for value, hint in finder(prefix) if value and value.isprintable()]
        text = "".join(f"{value}\t{_shorten(hint)}\n" for value, hint in pairs[:LIMIT])
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except Exception:  # noqa: BLE001 - a broken home completes nothing
        return 0
    return 0


def _shorten(hint: str) -> str:
    line = " ".join("".join(letter if letter.isprintable() else " " for letter in hint).split())
    return line if len(line) <= HINT_LENGTH else line[: HINT_LENGTH - 1] + "…"


def _in_memory(query: Callable[[Path | None, str], Pairs]) -> Callable[[str], Pairs]:
    return lambda prefix: query(values.find_database(), prefix)


def _in_operational(query: Callable[[Path | None, str], Pairs]) -> Callable[[str], Pairs]:
    # The data of agents is on this machine, wherever the memory is.
    return lambda prefix: query(values.find_home().data / OPERATIONAL_NAME, prefix)


FINDERS: dict[str, Callable[[str], Pairs]] = {
    "agent": _in_operational(completion.agents),
    "archived": _in_memory(completion.archived),
    "entity": _in_memory(completion.entities),
    "event": _in_operational(completion.events),
    "folder": _in_memory(completion.folders),
    "ingested": _in_memory(completion.storing_runs),
    "member": _in_memory(completion.members),
    "memory": _in_memory(completion.memories),
    "merge": _in_memory(completion.merges),
    "model": values.models,
    "part": _in_memory(completion.project_parts),
    "project": values.projects,
    "proposal": _in_memory(completion.proposals),
    "rule": values.gc_rules,
    "run": _in_memory(completion.gc_runs),
    "session": _in_memory(completion.sessions),
    "shared": _in_memory(completion.shared),
    "source": values.sources,
    "spec": _in_memory(completion.specs),
    "symbol": _in_memory(completion.symbols),
    "tag": _in_memory(completion.tags),
    "topic": values.topics,
    "undone": _in_memory(completion.undone_merges),
}
"""The completer of each KIND; each takes the prefix typed so far."""
