"""Extract the keywords of a question by rule, without a language model."""

from collections.abc import Iterable

from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_KEYWORDS = 12

_TOKEN = lazy(r"`[^`\n]{1,100}`|\"[^\"\n]{2,100}\"|[^\s`\",;!?()\[\]{}<>]{1,100}")
_WORD = lazy(r"\w")
_WORDS = lazy(r"\w+")
_STOP = """
a about after again all also am an and any anything are as at be because been before being between both but
by can could did do does doing done down each else ever every few for from further get gets getting give go
going got had has have having he her here hers him his how i if in into is it its just know let like list
make many may me might mine more most much must my need no nor not now of off on once one only or other our
out over own please really same say see shall she should show so some something such tell than that the
their them then there these they thing things this those through to too under until up us use used using
very was way we were what when where which while who whom whose why will with work works would you your
don't didn't doesn't isn't can't what's i'm it's i've we've there's
"""
_STOP_WORDS = frozenset(_STOP.split())


def is_stop_word(word: str) -> bool:
    """Return whether a lower-case word is a stop word."""
    return word in _STOP_WORDS


def without_stop_words(words: Iterable[str]) -> frozenset[str]:
    """Return the distinct ones of some lower-case words that are no stop words."""
    return frozenset(words) - _STOP_WORDS


INTENTS = {
    "why": "cause reason",
    "how": "way procedure",
    "when": "time date",
    "where": "place location",
    "who": "person author",
    "which": "choice",
}
"""Question word -> a theme that is added to those of the question; the first one counts."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The keywords for LightRAG's graph: `low` for entities, `high` for relations."""

    low: tuple[str, ...]
    high: tuple[str, ...]


def levels(query: str) -> Levels:
    """Return the low-level and high-level keywords of a question.

    Low are names, identifiers, quotations and single words. High are the phrases between stop words,
    including single words, and the theme of the question word (a cause, a way, ...). Both are empty only for
    a query without a letter, digit or underscore.
    """
    low = keywords(query)
    runs: list[list[str]] = [[]]
    end = 0
    for found in _TOKEN.finditer(query):
        if query[end : found.start()].strip():
            runs.append([])
        end = found.end()
        token = found.group().strip("`\"'.:*#|-=").strip()
        if not _WORD.search(token) or token.lower() in _STOP_WORDS:
            runs.append([])
        else:
            runs[-1].append(token)
        if found.group()[-1] in ".:":
            runs.append([])
    themes = dict.fromkeys(" ".join(run) for run in runs if run)
    intents = [INTENTS[word] for word in _WORDS.findall(query.lower()) if word in INTENTS]
    high = [*themes, *intents[:1]]
    return Levels(low, tuple(high[:MAX_KEYWORDS]) or low)


def keywords(query: str) -> tuple[str, ...]:
    """Return up to 12 keywords of a question: first the specific ones, then the words that carry meaning.

    Quoted phrases, code, paths and names keep their form; other words are in lower case, each once, in the
    order of the question. Empty only for a query without a letter, digit or underscore.
    """
    specific: dict[str, None] = {}
    plain: dict[str, None] = {}
    spare: dict[str, None] = {}
    for at, found in enumerate(_TOKEN.finditer(query)):
        raw = found.group()
        token = raw.strip("`\"'.:*#|-=").strip() or raw.strip("`\"' ")
        if not _WORD.search(token):
            continue
        lowered = token.lower()
        if raw[0] in '`"' or _is_specific(token, first=at == 0):
            specific.setdefault(token)
        elif lowered in _STOP_WORDS:
            spare.setdefault(lowered)
        else:
            plain.setdefault(lowered)
    return tuple([*specific, *plain] or spare)[:MAX_KEYWORDS]


def _is_specific(token: str, *, first: bool) -> bool:
    """Return whether a word is a name or an identifier; an initial capital of the question does not count."""
    if any(mark in token for mark in "_/.:@") and any(part.isalnum() for part in token):
        return True
    if any(letter.isdigit() for letter in token) and any(letter.isalpha() for letter in token):
        return True
    capitals = sum(letter.isupper() for letter in token)
    return capitals > 1 or (capitals == 1 and (not token[0].isupper() or not first))
