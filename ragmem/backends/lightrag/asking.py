"""What a query must be for LightRAG's own retrieval to take it."""

from ragmem.errors import UsageError
from ragmem.ports import Mode

SHORTEST_QUERY = 3
"""Characters that LightRAG's own retrieval needs at least."""


def askable(query: str, mode: Mode) -> str:
    """Return the query without the space around it; raises UsageError where it is too short for LightRAG."""
    text = query.strip()
    if len(text) < SHORTEST_QUERY:
        raise UsageError(
            f'the query "{text}" is too short for the mode {mode}',
            hint=f"use at least {SHORTEST_QUERY} characters, or leave out the mode",
        )
    return text
