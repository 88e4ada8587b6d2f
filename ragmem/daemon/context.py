"""Answer a hook's request from an open memory, in the warm process or without one."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from ragmem.errors import RagmemError, UsageError
from ragmem.mcp.arguments import folder_field, text_field

if TYPE_CHECKING:
    from ragmem.api.memory import Ragmem

REHEARSAL = "add a test in April and release it"
"""A prompt that sets out to do something and names a time: rules are read, and the patterns of dates made."""


def answer(
    memory: "Ragmem", request: Mapping[str, Any], *, rung: str = "direct", due: float = math.inf
) -> dict[str, Any]:
    """Return the context for a session, its reason, the ids of its memories and its rung.

    `request` has `session`, and may have `event`, `prompt`, `agent`, `assistant`, `again`, `cwd` and
    `max_chars`; the events and their prompts are those of `services.context.anticipation`. The projects are
    those of `cwd`, even if it was deleted. The context of an empty home is empty. A memory that is found
    after `due` (time.monotonic) is left out and may be injected later. Never raises RagmemError: errors are
    reported in the field `error`.
    """
    try:
        return _build_answer(memory, request, rung, due)
    except RagmemError as error:
        return {**empty_answer(str(error), rung), "error": str(error)}


def rehearse(memory: "Ragmem") -> None:
    """Build the block for a prompt and drop it: what is compiled and read once makes no prompt wait then.

    No server is asked for what nobody wants to know: it may cost money.
    """
    from ragmem.backends import is_in_process
    from ragmem.services.context.anticipation import MAX_PROMPT_CHARS, MOST
    from ragmem.services.context.context import context
    from ragmem.services.retrieval.question import Question

    if memory.is_stored() and is_in_process(memory.settings.models.backend):
        question = Question(REHEARSAL, limit=MOST, discarded="never", nearest=True)
        answer = memory.retrieval.ask(question, careful=False)
        context(answer, max_chars=MAX_PROMPT_CHARS, redactor=memory.catalog.redactor)


def empty_answer(reason: str, rung: str) -> dict[str, Any]:
    """Return an answer without a context, and the reason."""
    return {"text": "", "reason": reason, "rung": rung, "ids": []}


def _build_answer(memory: "Ragmem", request: Mapping[str, Any], rung: str, due: float) -> dict[str, Any]:
    from ragmem.services.context.anticipation import Event

    event = text_field(request, "event")
    if event not in get_args(Event):
        raise UsageError(f'"{event[:40]}" is not an event', hint=", ".join(filter(None, get_args(Event))))
    if not memory.is_stored():
        return empty_answer("there is no memory yet", rung)
    injection = memory.injections.anticipate(
        text_field(request, "session"),
        text_field(request, "prompt"),
        event=event,  # type: ignore[arg-type]  # it is one of them
        agent=text_field(request, "agent"),
        assistant=text_field(request, "assistant"),
        again=request.get("again") is True,
        cwd=folder_field(request, "cwd"),
        max_chars=_number(request, "max_chars"),
        until=due,
    )
    block = injection.context
    return {
        "text": block.text,
        "reason": injection.reason,
        "rung": rung,
        "ids": [each.id for each in block.memories],
        "notes": list(injection.notes),
    }


def _number(request: Mapping[str, Any], name: str) -> int | None:
    value = request.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise UsageError(f"{name} is not a number above 0", hint="send a JSON number")
    return value
