"""Questions of two hops: they describe a thing instead of naming it, and another memory names it.

"Who founded the company behind Redis" needs one memory that names the company and another one about it.
"""

import re
from collections.abc import Container
from functools import cache

from ragmem.domain.text.words import words_of

LONGEST = 400
"""Characters; a longer text is pasted, or tells a story, and some of its words would always be cues."""

FEWEST_WORDS = 5
"""A question of fewer words has no room for a second clause."""

CLAUSE = frozenset(
    "who whose whom which that where dont où qui que qu'il cuyo cuya cuyos cuyas donde quien".split()
)
"""Words that begin a relative clause behind a noun with an article: "the company that". Without the article
they ask ("in which file"), or join sentences ("I thought that")."""

ARTICLES = frozenset(
    "the a an der die das den dem des ein eine einen einem einer le la les l un une el los las una".split()
)

NEAR = 4
"""Words before a relative clause among which the article of its noun stands."""

GERMAN_CLAUSE = frozenset("der die das den dem dessen deren wo welche welcher welches welchen".split())
"""The same in German, where they are articles as well, and follow a comma."""

PREPOSITIONS = frozenset("of by from behind von vom des aus hinter de du del".split())
"""Two links make a chain: "the head of the team behind the broker", "the head of Marta's team". Those of
places and times ("in", "for", "with") are in every other question, and tell nothing."""

NO_LINK = frozenset(
    "name names kind kinds type types sort sorts number one some most all many part because instead out"
    " lot".split()
)
"""Words before "of" that lead to no other thing: the name of a thing, or a kind of it, is told beside it."""

COMPARISON = frozenset("both same beide derselbe dieselbe dasselbe derselben même misma mismo".split())
"""Words that say that two things have one in common."""

CONTRACTIONS = frozenset("it that what who how where here there he she let".split())
"""Words behind which 's is a verb; behind others it tells an owner."""


def needs_hops(question: str) -> bool:
    """Return whether a question may need two memories, by its form; a superfluous yes costs time only."""
    words = question.replace("\u2019", "'").split()
    if len(question) > LONGEST or len(words) < FEWEST_WORDS:
        return False
    plain = [word.rstrip(",;?.!").lower() for word in words]
    chain = 0
    for at, (before, this) in enumerate(zip(words, plain[1:], strict=False), start=1):
        if this in COMPARISON or (before[-1] == "," and this in GERMAN_CLAUSE):
            return True
        if (
            this in CLAUSE
            and plain[at - 1] not in PREPOSITIONS
            and any(word.partition("'")[0] in ARTICLES for word in plain[max(0, at - NEAR) : at])
        ):
            return True
        owner, apostrophe, ending = before.partition("'")
        if apostrophe and owner and ending in {"", "s"} and owner.lower() not in CONTRACTIONS:
            if owner.islower():  # "the deputy's keys" describes the owner, "Marta's keys" names one
                return True
            chain += 1
        chain += this in PREPOSITIONS and not (this == "of" and plain[at - 1] in NO_LINK)
    return chain > 1


FIRST_WORDS = frozenset(
    "the a an in on at of by for from with as his her its their this that it he she".split()
)
"""Words with a capital at the beginning of a sentence that belong to no name."""


@cache
def _pattern() -> re.Pattern[str]:
    # Most questions need no names, and compiling takes a millisecond.
    # The capitals of Latin, Greek and Cyrillic.
    capital = "A-Z\u00c0-\u00de\u0100-\u017f\u0391-\u03a9\u0400-\u042f"
    word, joint = rf"[{capital}][\w'\u2019.-]*", r"(?:(?:of|the|and|de|la|van|von|for|in|&|a)\s+){0,2}"
    return re.compile(rf"[\"“]([^\"”\n]{{2,60}})[\"”]|({word}(?:\s+{joint}(?:{word}|\d+))*)")


@cache
def _joint() -> re.Pattern[str]:
    return re.compile(r"\s+(?:of|the|and|in|for|&|a)\s+(?:the\s+)?")


def capitalized_names(text: str) -> list[str]:
    """Return the titles in quotation marks and the runs of capitalized words, with their parts, in order.

    Many are no names: whoever looks them up sees which ones other memories have.
    """
    found: dict[str, None] = {}
    for match in _pattern().finditer(text):
        name = (match[1] or match[2]).strip(" .-'\u2019").removesuffix("'s").removesuffix("\u2019s")
        first, blank, rest = name.partition(" ")
        if match[2] and blank and first.lower() in FIRST_WORDS:
            name = rest.lstrip()
        parts = _joint().split(name) if match[2] else ()
        found |= dict.fromkeys(part for part in (name, *parts) if part)
    return list(found)


def rest_of(question: str, known: Container[str], empty: Container[str]) -> str:
    """Return what a question leaves open: without the words that a text has (`known`: their stems).

    The `empty` words (in lower case) stay, so that the rest reads like a question.
    """
    kept = []
    for word in question.split():
        stems = words_of(word)
        if word.lower() in empty or not all(one in known for one in stems):
            kept.append(word.strip(',;?.!"“”'))
    return " ".join(kept)
