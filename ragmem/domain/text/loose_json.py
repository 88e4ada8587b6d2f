"""Parse JSON from language models: fenced, within prose, with extra commas, or truncated."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from typing import Any

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_CHARS = 50_000
"""Maximum characters that are parsed; a longer text is not an answer."""

_THOUGHT = lazy(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
# An unclosed string ends with its line; a search for its end from each quote would be quadratic.
_STRING = r'"(?:[^"\\\n]|\\.)*+"?'
_STRING_OR_COMMA = lazy(rf"{_STRING}|,(?=\s*[}}\]])")
_STRING_OR_BRACE = lazy(rf"{_STRING}|[{{}}]")


@dataclass(frozen=True, slots=True)
class LooseJson:
    """The JSON values of a text. `whole`: they are one document, else its complete parts."""

    values: list[Any] = field(default_factory=list)
    whole: bool = False


def parse_loose_json(text: str) -> LooseJson:
    """Return the JSON document in a text, or the innermost objects of a broken one; never raises.

    A leading section of thoughts is skipped. If a key occurs twice with lists, the lists are joined.
    """
    content = _THOUGHT.sub("", text[:MAX_CHARS])
    for candidate in _documents(content):
        found, value = _read(candidate)
        if found:
            return LooseJson([value], whole=True)
    return LooseJson([value for found, value in map(_read, _innermost(content)) if found])


def _documents(content: str) -> Iterator[str]:
    """Yield candidates for the whole document: the text, then from its first bracket to the last."""
    yield content
    starts = [at for at in (content.find("{"), content.find("[")) if at >= 0]
    for start in sorted(starts):
        end = content.rfind("}" if content[start] == "{" else "]")
        if end > start:
            yield content[start : end + 1]


def _innermost(content: str) -> Iterator[str]:
    """Yield the objects that contain no other object."""
    start = -1
    for found in _STRING_OR_BRACE.finditer(content):
        if found.group() == "{":
            start = found.start()
        elif found.group() == "}" and start >= 0:
            yield content[start : found.end()]
            start = -1


def _read(content: str) -> tuple[bool, Any]:
    """Return whether a text is JSON, except for trailing commas, and its value."""
    # Models write line breaks within strings.
    reader = json.JSONDecoder(strict=False, object_pairs_hook=_object)
    with suppress(ValueError, RecursionError):
        return True, reader.decode(content)
    with suppress(ValueError, RecursionError):
        return True, reader.decode(_STRING_OR_COMMA.sub(lambda one: "" if one[0] == "," else one[0], content))
    return False, None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for key, value in pairs:
        before = read.get(key)
        read[key] = before + value if isinstance(before, list) and isinstance(value, list) else value
    return read
