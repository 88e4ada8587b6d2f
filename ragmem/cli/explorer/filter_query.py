"""The filter of a list: words and `key:value` pairs, completed while one types."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from textual.suggester import Suggester

from ragmem.errors import UsageError

_PART = re.compile(r'(?:(?P<key>[a-z]+):)?(?P<value>"[^"]*"?|\S+)')


@dataclass(frozen=True, slots=True)
class FilterQuery:
    """A parsed filter: words, and values by their keys."""

    text: str = ""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def of(self, key: str) -> tuple[str, ...]:
        """Return the values of a key."""
        return self.values.get(key, ())


def parse_filter(line: str, keys: Iterable[str]) -> FilterQuery:
    """Parse a filter; a pair with an unknown key is a word.

    A known key without a value is ignored. `project:"two words"` is one value.
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


def filter_values(query: FilterQuery, key: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return the values of a key; raises UsageError with the valid ones for any other."""
    names = list(known)
    for value in query.of(key):
        if value not in names:
            raise UsageError(f'no {key} "{value}"', hint=f"one of {', '.join(names)}")
    return query.of(key)


def has_words(query: FilterQuery, cells: Iterable[str]) -> bool:
    """Return whether one of the cells contains each word, in any case."""
    text = "\n".join(cells).lower()
    return all(word in text for word in query.text.lower().split())


class Suggestions(Suggester):
    """Completes the last word of the filter: a key, or one of its values."""

    def __init__(self, values: Callable[[], Mapping[str, Iterable[str]]]) -> None:
        super().__init__(use_cache=False, case_sensitive=True)
        self._values = values

    async def get_suggestion(self, value: str) -> str | None:
        """Return the filter with its last word completed; None without a completion."""
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
