"""Read values of records safely: other programs write them, so they may have any type."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from ragmem.patterns import lazy

_ESCAPE = lazy(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
_HALF = lazy(rb"\\u[dD][89a-fA-F]")


def parse(line: bytes) -> Any:
    """Return the JSON value of a line, with U+FFFD in place of lone surrogates.

    JavaScript writes those where it has cut a text. Raises orjson.JSONDecodeError.
    """
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        if not _HALF.search(line):
            raise
    return orjson.loads(_ESCAPE.sub(lambda found: rb"\ufffd" if found["half"] else found[0], line))


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a value if it is an object; an empty one for any other type."""
    return value if isinstance(value, Mapping) else {}


def word(record: Mapping[str, Any], name: str) -> str:
    """Return a value of a record if it is text; empty for any other type."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def texts_of(content: Any, kinds: Iterable[str]) -> str:
    """Return the text of a message's content, which is a string or a list of blocks, of these kinds only."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    found = []
    for block in content:
        if isinstance(block, str):
            found.append(block)
        elif isinstance(block, dict) and (word(block, "type") or "text") in kinds:
            found.append(word(block, "text"))
    return "\n\n".join(part for part in found if part.strip())
