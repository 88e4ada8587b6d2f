r"""Patterns of words and of lines, for texts in which many of them are searched for.

`re` tries a pattern such as `\b(?:always|never)\b` at each character. Here the words of a text are indexed
once by their first characters, and a pattern is tried only where a word begins as one of its phrases does.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

KEY_CHARS = 3
"""Characters of the beginning of a phrase that are compared."""

HEADING = r"^(?:#{1,6}[ \t]|\*\*)"
"""The beginning of a pattern of headings and bold lines."""

_WORD = re.compile(r"\w+")


class CuePattern:
    r"""A case-sensitive pattern whose matches begin at words (`\b(?:...)`) or at lines (`^...`).

    It finds what `re` finds with re.MULTILINE, and compiles when a text has a place for a match. Any other
    pattern is searched for at each character, as usual.
    """

    def __init__(self, source: str) -> None:
        """Take the source of a pattern; its first use raises re.error for a wrong one."""
        self.pattern = source

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches in order, without overlap."""
        places = self._places(text)
        if places is None:
            yield from self._compiled.finditer(text)
            return
        end = 0
        for place in places:
            if place >= end and (found := self._compiled.match(text, place)) is not None:
                yield found
                end = found.end()

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match, or None."""
        return next(self.finditer(text), None)

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern, re.MULTILINE)

    @cached_property
    def _leads(self) -> tuple[frozenset[str], tuple[str, ...]] | None:
        """All that a match may begin with, and the parts of it below KEY_CHARS; None if not only words do."""
        branches = _branches(self.pattern)
        if not all(branch.startswith(r"\b") for branch in branches):
            return None
        leads = frozenset(lead for branch in branches for lead in _lead(branch, ""))
        if not all(_WORD.match(lead) for lead in leads):
            return None
        return leads, tuple(lead for lead in leads if len(lead) < KEY_CHARS)

    @cached_property
    def _begins_lines(self) -> bool:
        return self.pattern.startswith("^") and len(_branches(self.pattern)) == 1

    def _places(self, text: str) -> Sequence[int] | None:
        """Return the places in order at which a match may begin, or None for all."""
        if self._leads is not None:
            leads, short = self._leads
            words = _words(text)
            found = [words[key] for key in words.keys() & leads]
            if short:
                found += [places for key, places in words.items() if key.startswith(short)]
            return found[0] if len(found) == 1 else sorted(place for places in found for place in places)
        if self._begins_lines:
            lines, headings = _lines(text)
            return headings if self.pattern.startswith(HEADING) else lines
        return None


@lru_cache(maxsize=4)
def _words(text: str) -> Mapping[str, list[int]]:
    """Return the places of words by KEY_CHARS characters from there, fewer at the end of the text."""
    words: dict[str, list[int]] = {}
    for word in _WORD.finditer(text):
        start = word.start()
        key = text[start : start + KEY_CHARS]
        if key in words:
            words[key].append(start)
        else:
            words[key] = [start]
    return words


@lru_cache(maxsize=4)
def _lines(text: str) -> tuple[list[int], list[int]]:
    """Return the places of all lines, and of those that may match HEADING."""
    starts = [0]
    while at := text.find("\n", starts[-1]) + 1:
        starts.append(at)
    return starts, [start for start in starts if text.startswith(("#", "**"), start)]


def _branches(source: str) -> list[str]:
    """Return the alternatives of a pattern, split at each `|` that is in no group."""
    found, start, at = [], 0, 0
    while at < len(source):
        if source[at] == "|":
            found.append(source[start:at])
            start = at + 1
        at = _end(source, at)
    return [*found, source[start:]]


def _end(source: str, at: int) -> int:
    """Return the end of the character, escape, class or group that begins at a place of a pattern."""
    if source[at] == "\\":
        return at + (6 if source[at + 1] == "u" else 2)
    if source[at] == "[":
        at += 3 if source[at + 1] == "^" else 2  # A bracket that comes first is a character of the class.
        while source[at] != "]":
            at += 2 if source[at] == "\\" else 1
    elif source[at] == "(":
        at += 1
        while source[at] != ")":
            at = _end(source, at)
    return at + 1


def _lead(rest: str, lead: str) -> Iterator[str]:
    """Yield the first KEY_CHARS characters of the matches of one alternative, fewer where others may follow.

    `lead` is what stands before it.
    """
    while rest and len(lead) < KEY_CHARS:
        end = _end(rest, 0)
        part, after = rest[:end], rest[end:]
        if part.startswith(r"\u"):
            rest = part.encode().decode("unicode_escape") + after
        elif part == r"\b" or part.startswith(("(?<!", "(?<=", "(?!", "(?=")):
            rest = after
        elif part.startswith("(?:") and not after.startswith(("*", "+", "{")):
            if after.startswith("?"):
                after = after[1:]
                yield from _lead(after, lead)
            for branch in _branches(part[3:-1]):
                yield from _lead(branch + after, lead)
            return
        elif part[0] in "\\[(.^$" or after.startswith(("?", "*", "+", "{")):
            break
        else:
            lead, rest = lead + part, after
    yield lead[:KEY_CHARS]
