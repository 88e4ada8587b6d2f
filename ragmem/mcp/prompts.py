"""The text of a prompt: the briefing for a new session."""

from typing import Any

from ragmem.errors import NotFoundError, UsageError
from ragmem.mcp.call import Call, Result
from ragmem.mcp.definitions import PROMPTS
from ragmem.mcp.timeline import session_briefing

LEAST, MOST = 100, 20_000
"""Tokens of a briefing."""


def render_prompt(call: Call, name: str) -> Result:
    """Return the text of a prompt; raises NotFoundError for an unknown one, UsageError for a bad argument."""
    known = next((prompt for prompt in PROMPTS if prompt.name == name), None)
    if known is None:
        names = ", ".join(prompt.name for prompt in PROMPTS)
        raise NotFoundError(f'there is no prompt "{name[:60]}"', hint=f"prompts: {names}")
    given: dict[str, Any] = {key: value.strip() for key, value in call.arguments.items() if value.strip()}
    for key in given:
        if key not in known.arguments:
            raise UsageError(
                f'{name} has no argument "{key[:60]}"', hint=f"it has: {', '.join(known.arguments)}"
            )
    if "budget" in given:
        given["budget"] = _tokens(given["budget"])
    return session_briefing(call.with_arguments(given))


def _tokens(text: str) -> int:
    wanted = int(text) if text.isdecimal() and len(text) < 10 else 0
    if not LEAST <= wanted <= MOST:
        raise UsageError(f'the budget is "{text[:60]}"', hint=f"give tokens, from {LEAST} to {MOST:,}")
    return wanted
