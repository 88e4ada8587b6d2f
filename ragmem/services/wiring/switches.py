"""Settings of assistants that stop hooks from working: wrong time-outs, and hooks of other tools."""

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

MAX_SENSIBLE_S = 600
"""No hook runs for longer; a larger number was meant in milliseconds."""

_MIN_SENSIBLE_MS = 100
"""A shorter time-out was meant in seconds."""


def wrong_unit(assistant: Assistant, hook: Hook) -> str:
    """Return the real meaning of a time-out in the wrong unit; an empty text for a sensible one."""
    timeout = hook.timeout
    if not isinstance(timeout, int | float) or isinstance(timeout, bool):
        return ""
    if assistant.units_per_second == 1 and timeout > MAX_SENSIBLE_S:
        return f"{timeout:g} seconds, which is {timeout / 60:.0f} minutes"
    if assistant.units_per_second > 1 and 0 < timeout < _MIN_SENSIBLE_MS:
        return f"{timeout:g} milliseconds, in which nothing starts"
    return ""


def other_memory(hook: Hook) -> str:
    """Return the name of another memory tool that a hook belongs to, or an empty text."""
    command = hook.command.lower()
    return next((name for name in OTHER_MEMORIES if name in command), "")
