"""Read a file of reflections as one draft per JSON line, in searchable text."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from ragmem.config.settings import SourceSpec
from ragmem.domain.model import Draft, Scope, digest
from ragmem.domain.secrets.redaction import Redactor
from ragmem.readers.dates import Changed, first_time
from ragmem.readers.fields import KINDS, TIME_KEYS, as_fields, as_tags, as_text, clean

KEY_LENGTH = 12
"""Characters of a line's key: 60 bits, ample for the lines of one file."""

MAX_TITLE_CHARS = 160
MAX_WARNINGS = 20

_QUESTIONS = {
    "reflection_q1": "What I would do differently",
    "reflection_q2": "What a smarter approach would have done",
    "reflection_q3": "What I should have used",
}
_TASK_KEYS = ("task_description", "task", "title")
_TIME_KEYS = ("timestamp", *TIME_KEYS)
_SENTENCE_FIELDS = frozenset(
    {*_QUESTIONS, *_TASK_KEYS, *_TIME_KEYS, "criteria_count", "criteria_passed", "criteria_failed", "tags"}
)


def read(
    path: Path, text: str, spec: SourceSpec, *, changed: Changed, scope: Scope, redactor: Redactor
) -> tuple[list[Draft], list[str]]:
    """Return a draft per line, in the order of the file, and a warning per line that is not a JSON object.

    A draft's uri is `path#key`. The key comes from the line's time and task, so that a line whose other
    fields change stays the same memory; without both it comes from the content. Identical lines count once.
    Unknown fields are kept with their names. Never raises for any text.
    """
    drafts: dict[str, Draft] = {}
    contents: set[str] = set()
    warnings: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.strip() in contents:
            continue
        entry = _entry(line)
        if isinstance(entry, str):
            warnings.append(f"line {number}: {entry}")
            continue
        contents.add(line.strip())
        key = _key(entry, line)
        count = 1
        while (uri := f"{path}#{key}" + (f"-{count}" if count > 1 else "")) in drafts:
            count += 1
        kind = entry.get("kind")
        drafts[uri] = Draft(
            source=spec.name,
            uri=uri,
            text=_render_text(entry),
            title=redactor.truncate(clean(_first(entry, _TASK_KEYS)) or "Reflection", MAX_TITLE_CHARS),
            event_time=first_time(entry.get(key) for key in _TIME_KEYS) or changed(),
            scope=scope,
            kind=(KINDS.get(kind.lower()) if isinstance(kind, str) else None) or spec.kind,
            tags=as_tags(entry.get("tags")),
            metadata=as_fields(entry, leave_out={*_QUESTIONS, *_TASK_KEYS, "tags"}),
        )
    if len(warnings) > MAX_WARNINGS:
        warnings[MAX_WARNINGS:] = [f"and {len(warnings) - MAX_WARNINGS} more lines"]
    return list(drafts.values()), warnings


def _entry(line: str) -> dict[str, Any] | str:
    """Return the object of a line, or the problem with it."""
    try:
        entry = orjson.loads(line)
    except (orjson.JSONDecodeError, RecursionError):
        return "not valid JSON; the line was skipped"
    if not isinstance(entry, dict) or not entry:
        return "not a JSON object; the line was skipped"
    return entry


def _key(entry: Mapping[str, Any], line: str) -> str:
    moment = next((text for key in _TIME_KEYS if (text := as_text(entry.get(key)))), "")
    task = _first(entry, _TASK_KEYS)
    parts = (moment, task) if moment and task else (line.strip(),)
    return digest("reflection", *parts, length=KEY_LENGTH)


def _render_text(entry: Mapping[str, Any]) -> str:
    paragraphs = [f"# Reflection: {clean(_first(entry, _TASK_KEYS)) or 'no task given'}"]
    paragraphs += [
        f"{question}: {answer}" for key, question in _QUESTIONS.items() if (answer := _first(entry, (key,)))
    ]
    if criteria := _criteria(entry):
        paragraphs.append(criteria)
    facts = as_fields(entry, leave_out=_SENTENCE_FIELDS)
    if facts:
        paragraphs.append("\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in facts.items()))
    return "\n\n".join(paragraphs)


def _criteria(entry: Mapping[str, Any]) -> str:
    count, passed, failed = (as_text(entry.get(f"criteria_{name}")) for name in ("count", "passed", "failed"))
    text = f"{passed or '?'} of {count} criteria passed" if count else ""
    return f"{text}, {failed} failed." if text and failed not in {"", "0"} else text and f"{text}."


def _first(entry: Mapping[str, Any], keys: tuple[str, ...]) -> str:
    """Return the first of these fields that is text, without NUL characters."""
    for key in keys:
        value = entry.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip().replace("\0", "")
    return ""
