"""Judge whether a value is a secret, a name, an id, or only shows where a secret would stand."""

import math
import re
from collections import Counter
from dataclasses import dataclass

MIN_ENTROPY = 3.0
"""Bits a character that a random value has at least; a short one 80 % of what it can have."""

MIN_TURNS = 0.2
"""Changes between small letters, capitals and digits a character: 0.4 in random strings, few in names."""

MIN_LETTERS = 3
"""Different characters at the end of a value; with fewer it is a row of x or of zeros."""

READ = 64
"""Characters of a value in which the words that make it a placeholder are looked for."""

MIN_STRONG = 10
"""Characters of a password that is known as one without quotes or an equals sign before it."""

_PLACEHOLDERS = tuple(
    "your example placeholder changeme change-me change_me xxxx *** ... … dummy fake sample redacted insert "
    "replace todo notareal not_a_real not-a-real ${ {{ %(".split()
)
"""Words and marks by which a value says that it is none."""

_TRIAL = re.compile(r"12345|abc123|abcdef|foobar|qwerty|p[a@]ss?w[o0]rd|secret|^test|test$", re.IGNORECASE)
"""In the value of a telling name: what people type to try something."""

STAND_INS = frozenset("password passwd pass pwd secret token key pw user admin root test guest".split())

UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
HEX = re.compile(r"[0-9a-f]+", re.IGNORECASE)
_RUN = re.compile(r"[A-Za-z0-9]+")
_TURN = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
_REFERENCE = re.compile(
    r"[$%@&~./]|[a-z][a-z0-9+.-]{1,12}://"
    r"|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$"
    r"|[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+$"
)
"""The beginning of a path, an address or a variable; a name in capitals; an expression in code."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret found in a text, `text[start:end]`, and what sort it is."""

    start: int
    end: int
    kind: str


def stands_in(value: str) -> bool:
    """Tell whether a value only shows where a secret would stand."""
    if len(set(value[-16:])) <= MIN_LETTERS:
        return True
    small = value[:READ].lower()
    return any(word in small for word in _PLACEHOLDERS)


def is_ordinary(value: str) -> bool:
    """Tell whether the value of a telling name is one that nobody hides: tried, shown or referred to."""
    return bool(stands_in(value) or _TRIAL.search(value) or _REFERENCE.match(value))


def is_mixed(value: str) -> bool:
    """Tell whether a value is more than words and numbers side by side, as names are."""
    return any(
        not (run.isdigit() or (run.isalpha() and (run[1:].islower() or run.isupper())))
        for run in _RUN.findall(value)
    )


def is_random(value: str) -> bool:
    """Tell whether letters and digits change as in a random string, and are as many different ones."""
    turns = len(_TURN.findall(value))
    counts = Counter(value)
    entropy = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return turns >= max(2, MIN_TURNS * len(value)) and entropy >= min(
        MIN_ENTROPY, 0.8 * math.log2(len(value))
    )


def is_strong(value: str) -> bool:
    """Tell whether a value is a secret by itself: random, or letters, digits and marks within one word."""
    if len(value) < MIN_STRONG:
        return False
    digits = sum(map(str.isdigit, value))
    marks = sum(not (one.isalnum() or one in "-_./:") for one in value[:-1])
    cased = any(map(str.isupper, value)) and any(map(str.islower, value))
    return is_random(value) or bool(is_mixed(value) and cased and digits and (marks or digits > 2))
