"""The shape of a word: the features of a piece of text between two blanks."""

import re
from functools import partial

from ragmem.domain.text.known_names import AMBIGUOUS_NAMES, COMMON_WORDS, KNOWN_NAMES, NAME_STARTERS
from ragmem.domain.text.token_types import MAX_NAME_CHARS, classify_token
from ragmem.frozen import dataclass
from ragmem.heap import word_cache
from ragmem.patterns import lazy

PROPER = lazy(r"[A-Z][A-Za-z0-9]*(?:[.&+'\u2019-][A-Za-z0-9]+)*[+#]{0,2}$")
POSSESSIVE = lazy(r"['\u2019]s?$")

_NEGATED = lazy(r"n['\u2019]t$", re.IGNORECASE)
_CONTRACTED = lazy(r"['\u2019](?:m|re|ve|ll|d)$", re.IGNORECASE)
_ELIDED = lazy(
    r"(?:[cdjlmnst]|[CDJLMNST](?=['\u2019](?:[^\W\dA-Z_]|[A-Z]{2}))|(?:jus|lors|puis|quoi)?qu|Qu)['\u2019](?=\w)"
)

_AROUND = "\"'*_,;:!?[]{}<>|=\u2014\u2013\u2022\u2192\u201c\u201d\u2018\u2019\u2705\u274c"
_AROUND_PLAIN = "(\"'*_,;:!?.)"
_ENDS_SENTENCE = (".", "!", "?", ":", ";", "|")
_ENDS_NAME = (*_ENDS_SENTENCE, ",", ")", "]")
_TAG = lazy(r"</?[a-zA-Z][\w-]*/?>?$")
_QUALIFIED = lazy(
    r"(?<=[A-Za-z0-9])-(?:based|compatible|specific|only|like|style|native|powered|driven|aware|backed|ready|"
    r"class|related|friendly|side|level|agnostic|free|first|hosted|managed|generated|formatted|wide)$"
)
_NEVER_IN_NAMES = frozenset({"config", "event", "version", "error", "model", "command"})
_MIN_SLASHED = 3


@dataclass(frozen=True, slots=True)
class Shape:
    """The features of a piece of text between blanks; `text` is "" if it has no name.

    `alone` is the entity of the word by itself: name, type and weight. `common` words name nothing. The
    capital of a word that `opens` may come from the beginning of a sentence. `labels`: the word is bold or
    followed by a colon. `parts` are names joined by slashes.
    """

    text: str = ""
    offset: int = 0
    alone: tuple[str, str, float] | None = None
    capital: bool = False
    common: bool = False
    opens: bool = False
    labels: bool = False
    ends_name: bool = False
    ends_sentence: bool = False
    opens_bracket: bool = False
    parts: tuple[str, ...] = ()


@word_cache(8192)
def shape_of(raw: str) -> Shape:
    """Return the shape of a piece of text between blanks."""
    shape = partial(
        Shape,
        ends_name=raw.rstrip("*_\"'").endswith(_ENDS_NAME),
        ends_sentence=raw.endswith(_ENDS_SENTENCE),
        opens_bracket=raw[0] in "([",
    )
    plain = raw.strip(_AROUND_PLAIN)
    if plain.isalpha() and plain.islower() and plain not in KNOWN_NAMES:
        return shape(plain)
    word = _bare(raw)
    if not word:
        return shape()
    offset = max(raw.find(word), 0)
    alone = classify_token(word)
    if alone is None and "/" in word and (parts := _slash_parts(word)):
        return shape(word, offset, parts=parts)
    lowered = word.lower()
    return shape(
        word,
        offset,
        alone,
        capital=bool(PROPER.match(word))
        and (alone is None or alone[1] not in _NEVER_IN_NAMES or lowered in KNOWN_NAMES),
        common=alone is None and lowered in COMMON_WORDS,
        opens=lowered in NAME_STARTERS or lowered in AMBIGUOUS_NAMES,
        labels=raw.startswith(("**", "__")) or raw.rstrip("*_").endswith(":"),
    )


def _slash_parts(word: str) -> tuple[str, ...]:
    """Return the names that slashes join: all proper or known, or three words of which one is known."""
    parts = tuple(word.split("/"))
    if len(parts) > 1 and all(PROPER.match(part) or part in KNOWN_NAMES for part in parts):
        return parts
    if len(parts) < _MIN_SLASHED or not all(part.isalnum() for part in parts):
        return ()
    known = any(part in KNOWN_NAMES and part not in AMBIGUOUS_NAMES for part in parts)
    return parts if known and COMMON_WORDS.isdisjoint(parts) else ()


def _strip_contraction(word: str) -> str:
    """Return the word in a contraction (I'm) or elision (l'API); "" for a negated verb (don't)."""
    if _NEGATED.search(word):
        return ""
    return _ELIDED.sub("", _CONTRACTED.sub("", word), count=1)


def _bare(raw: str) -> str:
    """Return a word without the punctuation around it, or "" if no name remains."""
    if len(raw) > 2 * MAX_NAME_CHARS or _TAG.match(raw):
        return ""
    word = raw.strip(_AROUND).rstrip("." + _AROUND)
    if word.startswith("("):
        word = word.strip("()" + _AROUND).rstrip(".")
    elif word.endswith(")") and "(" not in word:
        word = word.rstrip(")" + _AROUND).rstrip(".")
    elif "(" in word and ")" not in word:
        word = word.split("(", 1)[0]
    if raw.startswith("__") and word.endswith("__.py"):
        word = f"__{word}"
    if "'" in word or "\u2019" in word:
        word = POSSESSIVE.sub("", _strip_contraction(word))
    if not word.startswith("~/"):
        word = word.strip("~")
    if word[:1].isupper():
        word = _QUALIFIED.sub("", word)
    return word if any(letter.isalnum() for letter in word) else ""
