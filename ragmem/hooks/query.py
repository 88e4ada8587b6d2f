"""The question of an event, from its prompt or a research tool's input, or the reason why there is none."""

from ragmem.assistants.assistant import PROMPT, START
from ragmem.hooks.event import tool_input

# typing.TYPE_CHECKING without importing typing; type checkers take the name for true.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ragmem.hooks.event import HookEvent

HEAD, TAIL = 12_000, 4_000
"""Characters of a long prompt that are asked: its beginning and its end, without the middle."""

SHORTEST_PATTERN = 4
"""Minimum number of letters of a question."""

OURS = "ragmem"

_OWN_WORDS = ("<task-notification", "<local-command", "<command-", "<system-reminder")
"""Beginnings of prompts that an assistant writes itself."""


def request(happening: "HookEvent", *, max_chars: int, research: bool) -> "dict[str, Any]":
    """Return the request to the memory, or only the field `reason` if there is no question."""
    event, prompt, reason = _question(happening, research=research)
    if reason:
        return {"reason": reason}
    if happening.is_within_agent:
        return {"reason": "a subagent is told nothing unasked"}
    if not happening.session:
        return {"reason": "there is no id of a session"}
    return {
        "op": "context",
        "event": event,
        "assistant": happening.assistant.name,
        "session": happening.session,
        "agent": happening.agent,
        "cwd": happening.cwd,
        "prompt": prompt,
        "again": happening.is_again,
        "max_chars": max_chars,
    }


def _question(happening: "HookEvent", *, research: bool) -> tuple[str, str, str]:
    """Return the event's name for the memory, the question, and the reason if there is none."""
    if happening.what == START:
        return "start", "", ""
    if happening.what == PROMPT:
        prompt = _text(happening.fields, "prompt")
        return "prompt", _shorten(prompt), why_no_question(prompt)
    names = happening.assistant.questions.get(happening.tool)
    if not research or names is None:
        return "", "", "no research"
    given = tool_input(happening)
    if OURS in happening.tool.lower() or _is_about_us(given):
        return "", "", "it is about the memory itself"
    question = " ".join(_question_part(name, _text(given, name)) for name in names).strip()
    if len([letter for letter in question if letter.isalpha()]) < SHORTEST_PATTERN:
        return "", "", "the question says too little"
    return "research", _shorten(question), ""


def why_no_question(prompt: str) -> str:
    """Return why a prompt is not a question to the memory; "" if it is one."""
    text = prompt.strip()
    if not text:
        return "the prompt is empty"
    first = text.split(None, 1)[0]
    name = first[1:]
    if first.startswith("/") and name and all(letter.isalnum() or letter in "-_:." for letter in name):
        return "the prompt is a command"
    if text.startswith(_OWN_WORDS):
        return "the prompt is the assistant's own"
    return ""


def _text(fields: "Mapping[str, Any]", name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def _question_part(name: str, text: str) -> str:
    """Return a text as a question; a pattern is reduced to its words."""
    if name != "pattern":
        return text.strip()
    # `\b`, `\s` and the like are not words.
    parts = text.split("\\")
    plain = parts[0] + "".join(part[1:] if part[:1].isalnum() else part for part in parts[1:])
    spaced = "".join(letter if letter.isalnum() or letter in "-_/." else " " for letter in plain)
    return " ".join(word.strip("./") for word in spaced.split())


def _is_about_us(given: "Mapping[str, Any]") -> bool:
    return any(isinstance(value, str) and OURS in value.lower() for value in given.values())


def _shorten(text: str) -> str:
    if len(text) <= HEAD + TAIL:
        return text
    return f"{text[:HEAD]}\n{text[-TAIL:]}"
