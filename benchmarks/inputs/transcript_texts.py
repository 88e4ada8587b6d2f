"""The messages, thoughts and tool calls of transcripts as texts, for a benchmark of a large store.

Claude Code (JSON Lines of messages) and Codex (JSON Lines of response items). What the programs say in a
person's name is left out. A call of a tool is one line, and what it returned the beginning of that.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDERS = ("transcripts_claude", "transcripts_codex", "transcripts_gemini")

CALL, RETURNED = 400, 1_500
"""Characters of a call, and of what a tool returned, that are kept."""

_NOT_SAID = re.compile(
    r"^\s*(?:<(?:command-|local-command|system-reminder|environment_context|permissions|user_instructions"
    r"|INSTRUCTIONS|bash-|task-notification|ide_)|Caveat: The messages below|\[Request interrupted"
    r"|# AGENTS\.md instructions)"
)


@dataclass(frozen=True, slots=True)
class Said:
    """One text of a session: of which sort, when, in which project (owner/name), at which place of the file.

    `sort` is said, thought, done (a call of a tool) or returned (what a tool answered).
    """

    project: str
    place: str
    at: datetime
    sort: str
    text: str


def said_in(corpus: Path) -> list[Said]:
    """Return all texts of the corpus's transcripts in the order in which they were said."""
    found = []
    for folder in FOLDERS:
        for path in sorted((corpus / folder).glob("*.json*")):
            project = "/".join(path.name.split("__")[:2])
            last = datetime(2025, 1, 1, tzinfo=UTC)
            for number, (sort, at, text) in enumerate(_texts(path)):
                last = at or last
                if text.strip() and not _NOT_SAID.match(text):
                    place = f"{folder}/{path.name}#{number}|{sort}"
                    found.append(Said(project, place, last, sort, text.strip()))
    return sorted(found, key=lambda one: (one.at, one.place))


def _texts(path: Path) -> Iterator[tuple[str, datetime | None, str]]:
    for row in map(_loaded, path.read_text(encoding="utf-8", errors="replace").splitlines()):
        is_item = row.get("type") == "response_item"
        message = row.get("payload") if is_item else row.get("message")
        if not isinstance(message, dict) or row.get("isMeta") or row.get("isCompactSummary"):
            continue
        at = _moment(row.get("timestamp"))
        if message.get("role") in {"user", "assistant"}:
            for sort, text in _parts(message.get("content")):
                yield sort, at, text
        elif is_item and message.get("type") == "function_call":
            yield "done", at, _call(str(message.get("name")), _loaded(str(message.get("arguments"))))
        elif is_item and message.get("type") == "function_call_output":
            yield "returned", at, str(message.get("output"))[:RETURNED]


def _loaded(text: str) -> dict[str, Any]:
    """Return the JSON object; an empty one for what is none."""
    try:
        found = json.loads(text)
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _parts(content: Any) -> Iterator[tuple[str, str]]:
    if isinstance(content, str):
        yield "said", content
        return
    for part in content if isinstance(content, list) else ():
        kind = part.get("type") if isinstance(part, dict) else ""
        if kind in {"text", "input_text", "output_text"}:
            yield "said", str(part.get("text") or "")
        elif kind == "thinking":
            yield "thought", str(part.get("thinking") or "")
        elif kind == "tool_use":
            yield "done", _call(str(part.get("name")), part.get("input") or {})
        elif kind == "tool_result":
            inner = part.get("content")
            told = inner if isinstance(inner, str) else "\n".join(text for _, text in _parts(inner))
            yield "returned", told[:RETURNED]


def _call(name: str, given: dict[str, Any]) -> str:
    """Return a call as a line, as one who logs what an assistant does would write it."""
    values = (str(value) for value in given.values() if isinstance(value, str | int) and str(value).strip())
    return " ".join(f"{name}: {' | '.join(values)}".split())[:CALL]


def _moment(text: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
