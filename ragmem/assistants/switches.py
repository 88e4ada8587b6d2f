"""What in an assistant's own settings keeps hooks from running, or lets them run too long."""

from collections.abc import Iterator, Mapping
from typing import Any

from ragmem.assistants.json_hooks import Hook
from ragmem.assistants.model import LONGEST_SENSIBLE_S, Assistant

OTHER_MEMORIES = (
    "agentmemory",
    "basic-memory",
    "claude-mem",
    "hindsight",
    "mcp-memory-service",
    "mem0",
    "memos-cli",
    "mempalace",
    "memsearch",
    "supermemory",
)
"""Tools that remember sessions too, by what stands in the commands of their hooks."""

_SHORTEST_SENSIBLE_MS = 100
"""A hook that is stopped before was meant to have so many seconds."""


def switched_off(assistant: Assistant, settings: Any) -> Iterator[str]:
    """Yield the keys of the settings that keep our hooks from running."""
    if not isinstance(settings, Mapping):
        return
    if assistant.name == "claude-code" and settings.get("disableAllHooks") is True:
        yield "disableAllHooks is true"
    if assistant.name != "gemini":
        return
    # Newer versions have hooksConfig; older ones said the same within hooks and tools.
    for table, key in (("hooksConfig", "enabled"), ("hooks", "enabled"), ("tools", "enableHooks")):
        said = settings.get(table)
        if isinstance(said, Mapping) and said.get(key) is False:
            yield f"{table}.{key} is false"
    for table in ("hooksConfig", "hooks"):
        said = settings.get(table)
        named = said.get("disabled") if isinstance(said, Mapping) else None
        if isinstance(named, list) and "ragmem" in named:
            yield f'{table}.disabled names "ragmem"'


def wrong_unit(assistant: Assistant, hook: Hook) -> str:
    """Return what a time-out really means that was given in another unit; empty for a sensible one."""
    timeout = hook.timeout
    if not isinstance(timeout, int | float) or isinstance(timeout, bool):
        return ""
    if assistant.per_second == 1 and timeout > LONGEST_SENSIBLE_S:
        return f"{timeout:g} seconds, which is {timeout / 60:.0f} minutes"
    if assistant.per_second > 1 and 0 < timeout < _SHORTEST_SENSIBLE_MS:
        return f"{timeout:g} milliseconds, in which nothing starts"
    return ""


def other_memory(hook: Hook) -> str:
    """Return the name of another memory that a hook belongs to, empty for none that is known."""
    command = hook.command.lower()
    return next((name for name in OTHER_MEMORIES if name in command), "")
