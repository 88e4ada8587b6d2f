"""What in an assistant's own settings keeps hooks from running, or lets them run too long."""

from ragmem.assistants.assistant import Assistant
from ragmem.services.wiring.json_hooks import Hook

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
"""Other tools that remember sessions, by a word in the commands of their hooks."""

LONGEST_SENSIBLE_S = 600
"""No hook is meant to run for longer; such a number was meant in milliseconds."""

_SHORTEST_SENSIBLE_MS = 100
"""A shorter time-out was meant in seconds."""


def wrong_unit(assistant: Assistant, hook: Hook) -> str:
    """Return what a time-out really means that was given in another unit; empty for a sensible one."""
    timeout = hook.timeout
    if not isinstance(timeout, int | float) or isinstance(timeout, bool):
        return ""
    if assistant.units_per_second == 1 and timeout > LONGEST_SENSIBLE_S:
        return f"{timeout:g} seconds, which is {timeout / 60:.0f} minutes"
    if assistant.units_per_second > 1 and 0 < timeout < _SHORTEST_SENSIBLE_MS:
        return f"{timeout:g} milliseconds, in which nothing starts"
    return ""


def other_memory(hook: Hook) -> str:
    """Return the name of another memory that a hook belongs to, empty for none that is known."""
    command = hook.command.lower()
    return next((name for name in OTHER_MEMORIES if name in command), "")
