"""The line above a list: words, and `key:value` for what is shown, completed while one types."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from textual.suggester import Suggester

from ragmem.errors import UsageError

_PART = re.compile(r'(?:(?P<key>[a-z]+):)?(?P<value>"[^"]*"?|\S+)')


@dataclass(frozen=True, slots=True)
class FilterQuery:
    """What a line asks for: words, and values by their keys."""

    text: str = ""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, key: str) -> tuple[str, ...]:
        """Return the values of a key."""
        return self.values.get(key, ())


def parse_filter(line: str, keys: Iterable[str]) -> FilterQuery:
    """Return what a line asks for; what stands behind an unknown key is a word as any other.

    A key without its value yet asks for nothing. `project:"two words"` is one value.
    """
    known = frozenset(keys)
    words: list[str] = []
    values: dict[str, tuple[str, ...]] = {}
    for part in _PART.finditer(line):
        key, value = part["key"], part["value"].strip('"')
        if key in known:
            if value:
                values[key] = (*values.get(key, ()), value)
        elif part[0].rstrip(":") not in known or not part[0].endswith(":"):
            words.append(part[0].strip('"'))
    return FilterQuery(" ".join(words), values)


def filter_values(asked: FilterQuery, key: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the values of a key, each one of the known; raises UsageError that names them."""
    names = list(known)
    for value in asked.of(key):
        if value not in names:
            raise UsageError(f'no {key} "{value}"', hint=f"one of {', '.join(names)}")
    return asked.of(key)


def has_words(asked: FilterQuery, cells: Iterable[str]) -> bool:
    """Tell whether each word stands in one of the cells, in any case."""
    text = "\n".join(cells).lower()
    return all(word in text for word in asked.text.lower().split())


class Suggestions(Suggester):
    """Completes the last word of the line: a key, or a value that the key has."""

    def __init__(self, values: Callable[[], Mapping[str, Iterable[str]]]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._values = values

    async def get_suggestion(self, value: str) -> str | None:
        """Return the line with its last word completed, None where nothing begins so."""
        before, _, last = value.rpartition(" ")
        if not last:
            return None
        key, colon, begun = last.partition(":")
        known = self._values()
        if not colon:
            found = next((name for name in known if name.startswith(last)), None)
            word = f"{found}:" if found else None
        else:
            found = next((one for one in known.get(key, ()) if begun and one.startswith(begun)), None)
            word = f"{key}:{found}" if found and " " not in found else None
        return None if word is None else f"{before} {word}".lstrip() if before else word
