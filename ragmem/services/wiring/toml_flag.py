"""The switch in settings of TOML without which an assistant calls no hook."""

import re
import tomllib
from pathlib import Path
from typing import Any

from ragmem.assistants.assistant import Assistant
from ragmem.config.toml_edit import plan
from ragmem.services.wiring.hook_insertion import CONTEXT, Insertion, InsertionRecord

_HEADER = r"(?:\r?\n)?^[ \t]*\[{}\][ \t]*(?:\r?\n|\Z)"


def state(text: str, assistant: Assistant) -> bool | None:
    """Return whether the file turns hooks on or off, None without the switch; raises TOMLDecodeError."""
    table, *keys = assistant.switch
    values = _values(text).get(table, {})
    found = [values[key] for key in keys if key in values] if isinstance(values, dict) else []
    return found[0] if found and isinstance(found[0], bool) else None


def insert_flag(path: Path, text: str, assistant: Assistant) -> tuple[str, InsertionRecord]:
    """Return the text with the switch on, and what was inserted; an existing switch is left alone.

    Raises ConfigError for a file that is not TOML, or in which a line cannot be added.
    """
    # `plan` reads the file itself and reports faults, also where nothing has to be done.
    table, key, *_ = assistant.switch
    change = plan(path, {table: {key: True}})
    if change.before != text or state(text, assistant) is not None:
        return text, InsertionRecord()
    after = change.after
    start = next((n for n, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), len(text))
    put = after[start : start + len(after) - len(text)]
    made = frozenset() if table in _values(text) else frozenset({table})
    return after, InsertionRecord((Insertion(after[max(0, start - CONTEXT) : start], put),), made)


def remove_flag(path: Path, text: str, assistant: Assistant, wiring: InsertionRecord) -> str:
    """Return the text without the inserted switch, unless it is off by now; raises ConfigError if no TOML."""
    table, key, *_ = assistant.switch
    change = plan(path, {table: {key: None}})
    as_put = change.before == text and state(text, assistant) is True
    if not wiring.insertions or not as_put or change.after == text:
        return text
    by_content = change.after
    if table in wiring.made and not _values(by_content).get(table):
        header = re.compile(_HEADER.format(re.escape(table)), re.MULTILINE)
        by_content = header.sub("", by_content, count=1)
    put = wiring.insertions[0]
    place = text.find(put.left + put.text)
    if place >= 0:
        place += len(put.left)
        by_letter = text[:place] + text[place + len(put.text) :]
        if _same(by_letter, by_content):
            return by_letter
    return by_content


def _values(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"))


def _same(one: str, other: str) -> bool:
    try:
        return _values(one) == _values(other)
    except tomllib.TOMLDecodeError:
        return False
