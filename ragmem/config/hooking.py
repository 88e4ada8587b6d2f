"""What [hooks] says where nobody says otherwise: read by hooks, which have no time for all the settings."""

SWITCH = "RAGMEM_HOOKS"
"""`off` in the environment: every hook ends at once, having done nothing."""

DEPTH = "RAGMEM_HOOK_DEPTH"
"""Set in the environment of what hooks start: an assistant that this starts in turn is left alone."""

LOCK = "RAGMEM_HOOK_LOCK"
"""Names, in the environment of a drain that a hook has started, the descriptor of the lock that it holds."""

OFF = ("off", "0", "no", "false")

ENABLED = True
WRITE_DEADLINE_S = 0.2
QUERY_DEADLINE_S = 3.0
MAX_CHARS = 9_000
RESEARCH = True
DRAIN_EVERY_S = 30.0

MOST_CHARS = 9_900
"""Assistants cut a text of 10,000 characters and more to a preview."""
