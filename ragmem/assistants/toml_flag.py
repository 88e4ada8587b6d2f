"""The switch in Codex' config.toml without which older versions call no hook."""

import re
import tomllib
from pathlib import Path
from typing import Any

from ragmem.assistants.json_wiring import LEFT, Insertion, Wiring
from ragmem.config.writing import plan

TABLE, KEY = "features", "hooks"
OLD_KEY = "codex_hooks"
"""What the switch was called before Codex 0.130."""

_HEADER = re.compile(r"(?:\r?\n)?^[ \t]*\[features\][ \t]*(?:\r?\n|\Z)", re.MULTILINE)


def state(text: str) -> bool | None:
    """Return what the file says about hooks, None where it says nothing; raises TOMLDecodeError."""
    features = tomllib.loads(text.removeprefix("\ufeff")).get(TABLE, {})
    said = features.get(KEY, features.get(OLD_KEY)) if isinstance(features, dict) else None
    return said if isinstance(said, bool) else None


def put_in(path: Path, text: str) -> tuple[str, Wiring]:
    """Return the text with the switch on, and what was put in; what already says something is left alone.

    Raises ConfigError for a file that is no TOML, or in which a line cannot be added.
    """
    # `plan` reads the file itself and says what is wrong with it; asked also where nothing is to be done.
    change = plan(path, {TABLE: {KEY: True}})
    if change.before != text or state(text) is not None:
        return text, Wiring()
    after = change.after
    start = next((n for n, (a, b) in enumerate(zip(text, after, strict=False)) if a != b), len(text))
    put = after[start : start + len(after) - len(text)]
    made = frozenset() if TABLE in tomllib.loads(text.removeprefix("\ufeff")) else frozenset({TABLE})
    return after, Wiring((Insertion(after[max(0, start - LEFT) : start], put),), made)


def taken_out(path: Path, text: str, wiring: Wiring) -> str:
    """Return the text without the switch that was put in, unless somebody has turned it off since.

    Raises ConfigError for a file that is no TOML.
    """
    change = plan(path, {TABLE: {KEY: None}})
    if not wiring.insertions or change.before != text or state(text) is not True or change.after == text:
        return text
    by_sense = change.after
    if TABLE in wiring.made and not _values(by_sense).get(TABLE):
        by_sense = _HEADER.sub("", by_sense, count=1)
    put = wiring.insertions[0]
    place = text.find(put.left + put.text)
    if place >= 0:
        place += len(put.left)
        by_letter = text[:place] + text[place + len(put.text) :]
        if _same(by_letter, by_sense):
            return by_letter
    return by_sense


def _values(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"))


def _same(one: str, other: str) -> bool:
    try:
        return _values(one) == _values(other)
    except tomllib.TOMLDecodeError:
        return False
