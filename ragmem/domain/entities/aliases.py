"""Find statements that two names are one: "Model Context Protocol (MCP)", "X, also known as Y"."""

import re
from collections.abc import Iterator

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

ACRONYM = "acronym"
ALIAS = "alias"
USER_CHOICE = "asked"
"""The rule of a user's statement, which also makes `long` the shown name."""

MAX_STATEMENTS = 20
"""Maximum alias statements of one text; a glossary is split into chunks."""

_WORD = r"[A-Za-z][\w.+#-]{0,30}"
_MARKS = '`*_"'
_LONGEST_NAME = 6 * 31 + 5
"""Characters of six words, the most before parentheses."""

_WORD_BACKWARDS = r"[\w.+#-]{0,30}[A-Za-z]"
_NAMED = lazy(rf"[{_MARKS}]*?({_WORD_BACKWARDS}(?:[ ]{_WORD_BACKWARDS}){{0,5}})")
"""The name before parentheses, backwards: it begins at its end, from which it is found at once."""
_INSIDE = lazy(rf"[{_MARKS}]*({_WORD}(?:[ ][\w.+#-]{{1,30}}){{0,6}})[{_MARKS}]*\)")
_CAPITALISED = r"[A-Z0-9][\w.+#-]{1,30}"
_ALSO_KNOWN_AS = r"[`*\"]*,?[ ]\(?(?:also[ ](?:known|called)(?:[ ]as)?|a\.k\.a\.|aka|AKA)[ ][`*\"]*"
_SAID = ("also known", "also called", "a.k.a.", "aka", "AKA")
"""Every statement with _ALSO_KNOWN_AS has one of them."""

_KNOWN_AS = lazy(
    rf"{_CAPITALISED}(?:[ ]{_CAPITALISED}){{0,3}}{_ALSO_KNOWN_AS}{_CAPITALISED}(?:[ ]{_CAPITALISED}){{0,3}}"
)
_AKA = lazy(_ALSO_KNOWN_AS)
_SMALL = frozenset("a an and at by for from in of on or the to with via".split())
_ACRONYM = lazy(r"[A-Za-z]*[A-Z][A-Za-z]*[A-Z0-9][A-Za-z0-9]*$|[A-Za-z]\d{1,2}[A-Za-z]$")
_PLURAL = lazy(r"([A-Z0-9]{2,})s$")
_HUMPS = lazy(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*|[a-z0-9]+")
_SHORTEST_PREFIX = 4


@dataclass(frozen=True, slots=True)
class Alias:
    """A statement that `short` and `long` are the same thing, and the rule that found it."""

    short: str
    long: str
    rule: str


def aliases(text: str) -> list[Alias]:
    """Return the alias statements of a text, each once, in order: abbreviations and explicit ones."""
    found = dict.fromkeys(_parentheses(text))
    if any(said in text for said in _SAID):
        found |= dict.fromkeys(_named_aliases(text))
    return list(found)[:MAX_STATEMENTS]


def _parentheses(text: str) -> Iterator[Alias]:
    for outside, inside in _parenthesized(text):
        if acronym := _acronym(inside):
            if long := _expansion(acronym, outside.split(), from_end=True):
                yield Alias(acronym, long, ACRONYM)
        elif (acronym := _acronym(outside.split()[-1])) and (
            long := _expansion(acronym, inside.split(), from_end=False)
        ):
            yield Alias(acronym, long, ACRONYM)
        elif long := _long_form(inside, outside):
            yield Alias(inside, long, ALIAS)


def _parenthesized(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names before parentheses, each with the name in them; a name may begin at any letter."""
    end = at = 0
    while (at := text.find(" (", at)) >= 0:
        at += len(" (")
        if not (inside := _INSIDE.match(text, at)):
            continue
        stop = at - len(" (")
        while stop > end and text[stop - 1] in _MARKS:
            stop -= 1
        before = text[max(end, stop - _LONGEST_NAME) : at - len(" (")]
        if named := _NAMED.match(before[::-1]):
            yield named[1][::-1], inside[1].strip()
            end = inside.end()


def _named_aliases(text: str) -> Iterator[Alias]:
    for match in _KNOWN_AS.finditer(text):
        one, other = (part.strip('`*"').rstrip(".") for part in _AKA.split(match[0], maxsplit=1))
        if one.casefold() != other.casefold():
            yield Alias(other, one, ALIAS)


def _acronym(word: str) -> str:
    """Return an acronym in the singular, "" for any other word."""
    plural = _PLURAL.match(word)
    bare = plural[1] if plural else word
    return bare if _ACRONYM.match(bare) and len(bare) <= 8 else ""


def _expansion(acronym: str, words: list[str], *, from_end: bool) -> str:
    """Return the words whose initials form the acronym, from the end or as a whole, or ""."""
    if _is_numeronym(acronym, words[-1]) and (from_end or len(words) == 1):
        return words[-1]
    letters = acronym.lower()
    for count in range(1, len(words) + 1) if from_end else (len(words),):
        taken = words[-count:]
        if taken[0].lower() in _SMALL:
            continue
        humps = [hump for word in taken for hump in _parts(word)]
        if _fits(letters, humps) and len(humps) > 1:
            return " ".join(taken)
    return ""


def _is_numeronym(short: str, long: str) -> bool:
    """Return whether one name is a numeronym of the other, as k8s of Kubernetes."""
    return (
        len(short) > 2
        and short[1:-1].isdigit()
        and len(long) == int(short[1:-1]) + 2
        and (short[0].lower(), short[-1].lower()) == (long[0].lower(), long[-1].lower())
    )


def _parts(word: str) -> list[str]:
    """Return the parts of a word whose initials may form an acronym: itself, hyphenated parts, humps."""
    pieces = [piece for piece in re.split(r"[-_.]", word) if piece]
    return [hump for piece in pieces for hump in (_HUMPS.findall(piece) if not piece.isupper() else [piece])]


def _fits(letters: str, words: list[str]) -> bool:
    """Return whether the letters are the initials of the words in order; small words may be skipped."""
    if not words:
        return not letters
    initial, rest = words[0][0].lower(), words[1:]
    if letters and letters[0] == initial and _fits(letters[1:], rest):
        return True
    return words[0].lower() in _SMALL and _fits(letters, rest)


def _long_form(inside: str, outside: str) -> str:
    """Return the name before the parentheses if they shorten it (Postgres, VS Code), else ""."""
    short, words = inside.split(), outside.split()
    last = words[-1]
    if len(short) == 1:
        # PostgreSQL (Postgres): the beginning of one word, written as a name
        begins = last.lower().startswith(inside.lower()) and len(inside) >= _SHORTEST_PREFIX
        return last if begins and inside[0].isupper() and last[0].isupper() and inside != last else ""
    # Visual Studio Code (VS Code): some words by their initials, the others unchanged
    for count in range(len(short) + 1, len(words) + 1):
        taken = words[-count:]
        same_end = short[-1].lower() == taken[-1].lower() and len(short) == 2
        if same_end and short[0].isupper() and _fits(short[0].lower(), taken[:-1]):
            return " ".join(taken)
    return ""
