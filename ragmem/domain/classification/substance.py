"""Score how specific a sentence is: its names, its values, and the causes, consequences and rules it states.

A sentence that only narrates work counts nothing, and a report counts in part.
"""

import re
from collections.abc import Mapping, Sequence

from ragmem.domain.classification.filler import SentencePurpose, classify_purpose
from ragmem.domain.text.identifiers import identifiers
from ragmem.domain.text.known_names import KNOWN_NAMES
from ragmem.domain.text.token_types import COMMANDS
from ragmem.patterns import lazy

MAX_SENTENCE_CHARS = 600
"""Only the beginning of a longer sentence (a log line, minified data) is scored."""

SHARES = {SentencePurpose.STATES: 1.0, SentencePurpose.REPORTS: 0.4, SentencePurpose.CHATTER: 0.0}
"""Weight of a sentence by its purpose, relative to a statement."""

STATEMENT = 1.0
PASSING = 0.6
"""Score of a lasting statement, and of one about the present moment, with STATEMENT_WORDS words or more."""

STATEMENT_WORDS = 6

_FLAGS = re.IGNORECASE

_CAUSE = """
because|cause|causes|caused|root cause|due to|the reason|the culprit|turned out|therefore|hence|
that is why|that's why|so that|which means|result in|results in|lead to|leads to|in order to|to avoid|
to prevent|side effect|since the|since it|since they|since we|since no|since there|the fix is|the fix was|
the fix for|the problem is|the problem was|the issue is|the issue was|the bug is|the bug was|the trick is|
the catch is|a workaround|the workaround|fix by|fixed by|fixed in|depends on|depend on
"""
_CONSEQUENCE = """
fail|fails|failed|failing|failure|failures|break|breaks|broke|broken|reject|rejects|refuse|refuses|crash|
crashes|crashed|panic|panics|corrupt|corrupts|corrupted|corruption|lose|loses|lost|leak|leaks|hang|hangs|
stall|stalls|deadlock|deadlocks|overwrites|overwritten|overwriting|times out|time out|timeout|race|races|
error|errors|exception|wipe|wipes|delete|deletes|silently|otherwise|stale|missing|wrong|undefined|ignore|
ignores|ignored|conflict|conflicts|survive|survives|safely|cannot|no longer|does not|do not|did not|
is not|are not|was not|were not|can not|could not|will not|would not|has not|have not|doesn't|don't|
didn't|isn't|aren't|wasn't|weren't|can't|couldn't|won't|wouldn't|hasn't|haven't
"""
_RULE = """
must|never|always|should|only|instead of|rather than|do not|don't|avoid|prefer|require|requires|required|
need to|needs to|has to|have to|before you|before every|before each|before any|before the|
before committing|before pushing|after you|after every|after each|make sure|ensure|as soon as|at least|
at most|unless|beware|careful|not allowed|mandatory|by default|defaults to|default to|in the order|except
"""
_VALUE = lazy(
    r"(?<![\w.])\d[\d.,_]*\s?(?:%|(?:ns|\u00b5s|us|ms|s|secs?|seconds?|m|mins?|minutes?|h|hours?|days?|"
    r"weeks?|[kmgt]?i?b|[kmg]bit|bytes?|bits?|px|hz|[km]?rpm|rps|qps|tokens?|lines?|rows?|files?|items?|"
    r"times?|x|characters?|chars?|commits?|requests?|calls?|tests?|workers?|threads?|dimensions?|chunks?|"
    r"documents?|memories|entries|records?|points?|retries|attempts?|connections?)\b)"
    r"|(?<![\w.])v?\d+\.\d+(?:\.\d+)?\b|(?<![\w.#/])\d{2,6}(?![\w./])",
    _FLAGS,
)
_WORD = lazy(r"[^\W\d_][\w'+#-]*")
_QUOTED = lazy(r"[\"\u201c][^\"\u201d\n]{6,120}[\"\u201d]")
_SLASHED = lazy(
    r"\b\w[\w-]{0,60}/[\w<>./-]+|\b[\w-]{1,60}\.(?:md|py|go|ts|js|rs|toml|ya?ml|json|sh|sql|txt|lock)\b"
)
_COMPOUND = lazy(
    r"\b[a-z]{2,}\d*(?:[-_][a-z0-9]{2,}){1,4}\b|(?<=[a-z,;] )[A-Z][A-Za-z]*[A-Z]\w*|\b[A-Z]{2,}s?\b"
)
_JUST_NOW = lazy(
    r"\b(?:i|me|my|you|your|today|tomorrow|yesterday|tonight|now|just|currently|here|this (?:morning|"
    r"time|week)|(?:ha[sd]|have)(?: not)?(?: \w+)? \w+(?:ed|en|wn|one)|(?:ha[sd]|have) been|complete|"
    r"successfully?|(?:was|were) (?:\w+ )?(?:successful|fixed|added|removed|updated|created))\b",
    _FLAGS,
)
_JUST_NOW_WORDS = frozenset(
    "i me my you your today tomorrow yesterday tonight now just currently here this had has have complete"
    " successful successfull successfully was were".split()
)
"""Words without which no sentence is about the present moment: a fast check before the pattern."""
_LABELLED = lazy(r"\W*\w+:\s")
_LETTERS = lazy(r"[a-z]+")
_CAPITALS = lazy(r"[A-Z][A-Za-z]*[A-Z]")


def _by_first_word(phrases: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for phrase in phrases:
        first = phrase.split()[0]
        found[first] = (*found.get(first, ()), f" {phrase} ")
    return found


SAID = tuple(
    (
        name,
        weight,
        frozenset(word for word in said if " " not in word),
        _by_first_word([w for w in said if " " in w]),
    )
    for name, weight, said in (
        ("cause", 0.8, _CAUSE.replace("\n", "").split("|")),
        ("consequence", 0.5, _CONSEQUENCE.replace("\n", "").split("|")),
        ("rule", 0.6, _RULE.replace("\n", "").split("|")),
    )
)
"""Words and phrases that are evidence, with the score of each type per sentence; phrases by first word."""

FORMS = (("value", 0.5, _VALUE), ("quotation", 0.4, _QUOTED))
"""Patterns that are evidence, scored in the same way."""

NAMED = 0.7
"""Score of the first identifier, path or command of a sentence; each further one adds half."""

MOST_NAMED = 3
KNOWN = 0.4
"""Score of a well-known tool or of a technical compound, once in a sentence."""


def worth_of(sentence: str, *, listed: bool = False) -> float:
    """Return the score of one sentence, 0 if it only narrates work; `listed` marks a list item."""
    part = sentence[:MAX_SENTENCE_CHARS]
    manner = classify_purpose(part, listed=listed)
    if manner is SentencePurpose.CHATTER:
        return 0.0
    stated = manner is SentencePurpose.STATES and len(part.split()) >= STATEMENT_WORDS
    evidence = SHARES[manner] * sum(weight for _, weight in _evidence(part))
    return evidence + (_statement_weight(part) if stated else 0.0)


def evidence_types(sentence: str) -> frozenset[str]:
    """Return the types of evidence in a sentence: cause, consequence, rule, value, identifier and others."""
    return frozenset(name for name, _ in _evidence(sentence[:MAX_SENTENCE_CHARS]))


def _statement_weight(sentence: str) -> float:
    passing = "?" in sentence or _LABELLED.match(sentence)
    # With IGNORECASE some letters of other scripts match ASCII letters.
    if not passing and not (
        sentence.isascii() and _JUST_NOW_WORDS.isdisjoint(_LETTERS.findall(sentence.lower()))
    ):
        passing = _JUST_NOW.search(sentence)
    return PASSING if passing else STATEMENT


def _evidence(sentence: str) -> list[tuple[str, float]]:
    lowered = sentence.lower().replace("\u2019", "'")
    words = set(spoken := _WORD.findall(lowered))
    phrased = f" {' '.join(spoken)} "
    found = [
        (name, weight)
        for name, weight, single, phrases in SAID
        if not words.isdisjoint(single)
        or any(phrase in phrased for first in words.intersection(phrases) for phrase in phrases[first])
    ]
    found += [(name, weight) for name, weight, pattern in FORMS if pattern.search(sentence)]
    named = set(identifiers(sentence)) | {match.group() for match in _SLASHED.finditer(sentence)}
    if named:
        found.append(("identifier", NAMED * (1 + min(MOST_NAMED, len(named) - 1) / 2)))
    if not words.isdisjoint(COMMANDS):
        found.append(("command", KNOWN))
    compound = "-" in sentence or "_" in sentence or _CAPITALS.search(sentence)
    if not words.isdisjoint(KNOWN_NAMES) or (compound and _COMPOUND.search(sentence)):
        found.append(("name", KNOWN))
    return found
