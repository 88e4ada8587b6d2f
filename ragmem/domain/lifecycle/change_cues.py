"""Find out what a sentence declares obsolete: the cues of a change, with words for a fast check."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class ChangeCue:
    """A statement that something is over, with the rule of the cue."""

    rule: str
    over: str = ""


_BE = r"(?:is|are|was|were|has been|have been|got|gets)"
_REACH = 90
"""Longest phrase in characters for the obsolete thing; a longer one is a sentence of its own."""

_Side: TypeAlias = Literal["before", "after", "between", "around"]
_ENDED = (
    "gone|removed|dropped|deleted|deprecated|retired|closed|disabled|abandoned|discontinued|obsolete|out|lifted"
    "|ignored|reverted|withdrawn|scrapped|eliminated|cancelled|canceled|phased out|rolled back|switched off"
    "|turned off|dead"
)
_MOVED = (
    "moved|migrated|renamed|switched|changed|went|goes|raised|lowered|bumped|ported|converted|shortened|extended"
    "|reduced|increased|upgraded|downgraded|cut|grew|transitioned|relocated"
)


def _first_words(phrases: str) -> str:
    return " ".join(phrase.split()[0] for phrase in phrases.split("|"))


_CUES: tuple[tuple[str, _Side, str, str], ...] = (
    (
        "moved",
        "between",
        f"from out & {_first_words(_MOVED)}",
        rf"\b(?:{_MOVED})\b.{{0,60}}?\b(?:from|out of) (.{{1,90}}?) (?:in|on)?to\b",
    ),
    (
        "replaced",
        "before",
        "renamed replaced superseded",
        rf"(?: {_BE})?(?: now)? (?:renamed|(?:replaced|superseded) (?:by|with))\b",
    ),
    (
        "replaced",
        "between",
        "renamed replaced swapped & to as by with for",
        r"\b(?:renamed|replaced|swapped) (.{1,60}?) (?:to|as|by|with|for)\b",
    ),
    (
        "replaced",
        "after",
        "replaces supersedes obsoletes takes",
        r"\b(?:replaces|supersedes|obsoletes|takes the place of)\b",
    ),
    ("instead", "after", "instead rather place", r"\b(?:instead of|rather than|in place of)\b"),
    (
        "gone",
        "before",
        f"is are was were been got gets & {_first_words(_ENDED)}",
        rf" {_BE} (?:now |finally |all |since )?(?:{_ENDED})\b(?! of\b)",
    ),
    ("gone", "before", "only & is are", r" (?:is|are) (?:now )?only\b"),
    (
        "gone",
        "before",
        "not no & required needed necessary used supported possible allowed",
        r" (?:is|are) (?:not|no longer) (?:required|needed|necessary|used|supported|possible|allowed)\b",
    ),
    ("no longer", "around", "longer more anymore", r"\b(?:no longer|any ?more|any longer)\b"),
    (
        "no longer",
        "after",
        "nothing unrelated not & with to of by about",
        r"\b(?:nothing to do with|unrelated to|not (?:because of|caused by|due to|about))\b",
    ),
    (
        "gone",
        "before",
        "stopped ceased ended expired given gave",
        r" (?:stopped|ceased|ended|expired|(?:has |have )?(?:given|gave) way)\b",
    ),
    (
        "gone",
        "after",
        "dropped removed retired abandoned disabled got",
        r"\b(?:dropped|removed|retired|abandoned|disabled|got rid of)\b(?! (?:by|in|from|the need)\b)",
    ),
    ("gone", "after", "more", r"\b[Nn]o more\b"),
    (
        "former",
        "after",
        "used formerly previously now",
        r"\b(?:used to(?: be)?|formerly|previously|until now|up to now)\b",
    ),
    (
        "former",
        "after",
        "from of was before old & down up over left was before old",
        r"\b(?:down from|up from|over from|left of|\((?:was|before|old):?)(?= )",
    ),
)
_PHRASES = tuple(
    (
        rule,
        side,
        frozenset(words.split("&")[0].split()),
        frozenset(words.split("&")[-1].split()),
        re.compile(cue, re.IGNORECASE),
    )
    for rule, side, words, cue in _CUES
)
"""The cues, each with two sets of words; a sentence with the cue has one word of each set."""
_NO_LONGER = re.compile(
    r"\b(?:no longer|any ?more|any longer|after all)\b|\b(?:is|are|was|were|does|did|has|have|can) NOT\b"
)
_NOW = re.compile(
    r"(?<!for )(?<!until )(?<!by )(?<!right )\b[Nn]ow\b(?! (?:that|let|we)\b)"
    r"|\b(?:nowadays|these days)\b|\b(?:as of|since) (?:this|version|release|v?\d)"
    r"|\b(?:[Cc]hanged|[Mm]oved|[Ss]witched|[Rr]aised|[Ll]owered|[Bb]umped)\b"
)
_WHOLE = (
    ("no longer", frozenset("longer more anymore all not".split()), _NO_LONGER),
    (
        "now",
        frozenset("now nowadays days of since changed moved switched raised lowered bumped".split()),
        _NOW,
    ),
)
_EVERY = frozenset().union(
    *(one | other for _, _, one, other, _ in _PHRASES), *(words for _, words, _ in _WHOLE)
)
_LETTERS = re.compile(r"[a-z]+")
_SAME_LETTERS = str.maketrans("\u017f\u0130\u0131", "sii")
"""With IGNORECASE a pattern also matches these letters, whose lower case differs."""
_STOPS = re.compile(
    r"[;:.!?()]+(?=\s|$)"
    r"| (?:because|since|so|but|which|when|where|although|otherwise|as|for|by|in order|to|into)\b"
)
_BEGINS = re.compile(r"[;:.!?()]+(?=\s|$)| (?:because|since|so|but|which|when|where|although|otherwise)\b")
_PAUSE = re.compile(r"[,;:.!?()]+(?=\s|$)| (?:because|since|so|but|which|when|where|although|and)\b")
_COMMA = re.compile(r", ")


def change_cues(text: str) -> Iterator[ChangeCue]:
    """Yield the things that a sentence declares obsolete."""
    letters = text if text.isascii() else text.translate(_SAME_LETTERS)
    # Checking for words is cheap, and most sentences have those of few cues.
    there = _EVERY.intersection(_LETTERS.findall(letters.lower()))
    if not there:
        return
    for rule, side, words, others, pattern in _PHRASES:
        if not (words.isdisjoint(there) or others.isdisjoint(there)):
            for match in pattern.finditer(text):
                for over in _subjects(text, side, match):
                    yield ChangeCue(rule, over)
    for rule, words, pattern in _WHOLE:
        if not words.isdisjoint(there) and pattern.search(text):
            yield ChangeCue(rule)


def _subjects(text: str, side: _Side, match: re.Match[str]) -> Iterator[str]:
    """Yield the phrase at one side of a cue, as a list and as the part next to the cue."""
    if side == "between":
        yield match[1]
    elif side == "around":
        begun = max((stop.end() for stop in _PAUSE.finditer(text, 0, match.start())), default=0)
        stop = _PAUSE.search(text, match.end())
        yield text[begun : stop.start() if stop else None]
    elif side == "after":
        phrase = text[match.end() : match.end() + _REACH]
        stop = _STOPS.search(phrase)
        phrase = phrase[: stop.start()] if stop else phrase
        yield phrase
        yield _COMMA.split(phrase)[0]
    else:
        phrase = text[max(0, match.start() - _REACH) : match.start()]
        begun = max((stop.end() for stop in _BEGINS.finditer(phrase)), default=0)
        yield phrase[begun:]
        yield _COMMA.split(phrase[begun:])[-1]
