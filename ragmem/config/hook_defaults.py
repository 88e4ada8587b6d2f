"""Defaults of [hooks] and variables of hooks, which have no time to import all settings."""

SWITCH = "RAGMEM_HOOKS"
"""Environment variable; `off`: every hook ends at once and does nothing."""

DEPTH = "RAGMEM_HOOK_DEPTH"
"""Set in the environment of processes that hooks start: hooks of an assistant that these start do nothing."""

LOCK = "RAGMEM_HOOK_LOCK"
"""In the environment of a drain that a hook started: the descriptor of its lock."""

OFF = ("off", "0", "no", "false")

ENABLED = True
WRITE_DEADLINE_S = 0.2
QUERY_DEADLINE_S = 3.0
MAX_CHARS = 9_000
START_CHARS = 1_500
RESEARCH = True
MOMENTS = True
DRAIN_EVERY_S = 30.0

MOST_CHARS = 9_900
"""Assistants cut texts of 10,000 characters or more to a preview."""
