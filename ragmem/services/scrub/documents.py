"""The texts of a stored value: those of its JSON document, or the value itself."""

import json
import re
from collections.abc import Iterator
from typing import Any

import orjson

_SECRET_NAME = re.compile(r"pass|pwd|secret|credential|token|key", re.IGNORECASE)
"""Names of values that are likely to be secrets."""


def texts_of(value: str, *, with_names: bool) -> Iterator[str]:
    """Yield the texts of a stored value; `with_names`: with each name that suggests a secret."""
    document = parse(value)
    if document is None:
        yield value
        return
    for name, text in _named_texts(document, ""):
        if with_names and _SECRET_NAME.search(name):
            yield f"{name}: {text}"
        else:
            yield from texts_of(text, with_names=with_names)


def parse(value: str) -> Any:
    """Return the JSON object or list that a value is; None for any other."""
    if value[:1] not in {"{", "["}:
        return None
    try:
        return orjson.loads(value)
    except ValueError:
        pass
    try:
        # What orjson refuses: a lone surrogate, a number that is none.
        return json.loads(value)
    except (ValueError, RecursionError):
        return None


def _named_texts(part: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the texts of a JSON document with the key above each; the keys themselves as well."""
    if isinstance(part, str):
        yield name, part
    elif isinstance(part, dict):
        for key, value in part.items():
            yield "", key
            yield from _named_texts(value, key)
    elif isinstance(part, list):
        for item in part:
            yield from _named_texts(item, name)
