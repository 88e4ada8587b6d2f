"""Detect the runs of capitalized words that are surely names."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from ragmem.domain.entities.ordinary_words import is_ordinary
from ragmem.domain.text.blocks import BlockType
from ragmem.domain.text.known_names import COMMON_WORDS, GENERIC_NOUNS, KIND_NOUNS, KNOWN_NAMES, MADE_IN
from ragmem.domain.text.token_types import (
    KNOWN_WEIGHT,
    MAX_NAME_CHARS,
    MIN_NAME_CHARS,
    NAME_WEIGHT,
    WEAK_WEIGHT,
)
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

MAX_NAME_WORDS = 4
"""Maximum words of a name; a longer run of capitalized words is a title."""

_SINGLE_CAPITALS = 5
"""A longer word in capitals is emphasis; shorter ones are acronyms."""

_NAMED_BY_KIND = frozenset({"tool", "library", "service", "protocol", "dataset"})
"""Type of two capitalized words, also in a heading, by the second one: "Email Service"."""

_TITLE_SHARE = 0.7
_LISTED = 2
_ACTS = lazy(r" (?:is|was|has|can|will|does|[a-z]{3,}[^s]s) ")
_ENGLISH = lazy(r" (?:the|is|and|of|with|from|to|on|by|an?) ")
_SENTENCES = frozenset((BlockType.PARAGRAPH, BlockType.ITEM))
_GOES_ON = lazy(r" [a-z]")
_HYPHENATED = lazy(r"-[a-z]")
_INSIDE_MARKS = ",;&)%'\u2019/$"

Named = tuple[int, int, str, str, float]
"""Start, end, name, type and weight."""


@dataclass(frozen=True, slots=True)
class Word:
    """A capitalized word that may belong to a proper name, and the entity that it is alone, if any.

    `inside`: it stands in the middle of a sentence. `opens`: its capital may come from the beginning of one.
    `bold`: it is marked as a term.
    """

    start: int
    text: str
    alone: tuple[str, str, float] | None
    inside: bool
    opens: bool = False
    bold: bool = False

    @property
    def end(self) -> int:
        """The end offset of the word in the statement."""
        return self.start + len(self.text)


def is_inside(text: str, start: int) -> bool:
    """Return whether a word is in the middle of a sentence, where a capital indicates a name."""
    before = text[max(0, start - 12) : start].rstrip(" *_\"'(")
    return bool(before) and (before[-1].isalnum() or before[-1] in _INSIDE_MARKS)


def names_of(text: str, run: Sequence[Word], form: BlockType) -> Iterator[Named]:
    """Yield the names in a run of capitalized words: one, or each word that is a name alone."""
    words = _trim(run)
    for phrase in (run, words):
        if (known := _known_phrase(phrase)) is not None:
            yield phrase[0].start, phrase[-1].end, *known, KNOWN_WEIGHT
            return
    if len(words) == 1 and words[0].alone is not None:
        if not words[0].opens or words[0].bold:
            yield words[0].start, words[0].end, *words[0].alone
        return
    name = " ".join(word.text for word in words)
    if (
        form is not BlockType.FENCE
        and text[words[0].start : words[-1].end] == name
        and _is_name(text, words, form)
    ):
        weight = NAME_WEIGHT if words[0].inside else WEAK_WEIGHT
        kinds = [word.alone[1] for word in words if word.alone is not None]
        alone = "model" if "model" in kinds else kinds[0] if kinds else "concept"
        kind = KIND_NOUNS.get(words[-1].text.lower()) or alone
        if kind == "organization" and words[-1].alone is None and words[-1].text.lower() not in KIND_NOUNS:
            kind = "concept"  # what the organization makes or does: Apple Books
        yield words[0].start, words[-1].end, name, kind, weight
        return
    for word in words:
        if word.alone is not None and not word.opens:
            yield word.start, word.end, *word.alone


def _known_phrase(words: Sequence[Word]) -> tuple[str, str] | None:
    """Return name and type of a known phrase of several words."""
    if len(words) > 1:
        return KNOWN_NAMES.get(" ".join(word.text for word in words).lower())
    return None


def _trim(run: Sequence[Word]) -> Sequence[Word]:
    """Return a run without the words around a name that only describe it.

    In front, these are words whose capital may come from the beginning of the sentence; at the end, generic
    nouns after a word that is a name alone.
    """
    words = list(run)
    while len(words) > 1 and words[0].alone is None and (words[0].opens or _describes(words[0], words[1])):
        words.pop(0)
    while len(words) > 1 and _is_generic(words[-1].text.lower(), words[:-1]):
        words.pop()
    return words


def _describes(word: Word, following: Word) -> bool:
    """Return whether a word that may begin a sentence only describes the next name or acronym."""
    return not word.inside and (
        following.alone is not None or (following.text.isupper() and following.text.isalpha())
    )


def _is_generic(noun: str, before: Sequence[Word]) -> bool:
    """Return whether a noun is not part of the name before it; a product may have an SDK, a language not."""
    known = [word.alone[1] for word in before if word.alone is not None]
    return bool(known) and (noun in GENERIC_NOUNS or (noun in MADE_IN and known == ["language"]))


def _is_name(text: str, words: Sequence[Word], form: BlockType) -> bool:
    """Return whether a run of capitalised words is surely a name.

    A single word is a name if it is inside a sentence, or is an acronym before lower-case words, and is
    neither common nor emphasized. Several words are if they are inside a sentence, are the subject of one,
    end in a kind (Server, Protocol), or contain a name or an acronym. In headings and titles every word has a
    capital, so that only known names count.
    """
    name = " ".join(word.text for word in words)
    emphasized = len(name) > _SINGLE_CAPITALS and all(word.text.isupper() for word in words)
    if emphasized or len(words) > MAX_NAME_WORDS or not (MIN_NAME_CHARS < len(name) <= MAX_NAME_CHARS):
        return False
    kind = KIND_NOUNS.get(words[-1].text.lower())
    if any(word.alone is not None for word in words):
        pair = len(words) == _LISTED and (kind is not None or words[-1].alone is not None)
        return pair or form is not BlockType.HEADING
    common = [word.opens or word.text.lower() in COMMON_WORDS for word in words]
    if len(words) > 1 and kind in _NAMED_BY_KIND and not all(common[:-1]):
        return True
    listed = form is BlockType.ITEM and text.count(",") >= _LISTED
    if all(common) or form is BlockType.HEADING or (_is_title(text) and not listed):
        return False
    if len(words) == 1:
        is_subject = (name.isupper() and bool(_GOES_ON.match(text, words[0].end))) or (
            form in _SENTENCES and not any(common) and _is_unknown_subject(text, words[0])
        )
        return (words[0].inside or is_subject) and kind is None and not _HYPHENATED.search(name)
    is_subject = (
        form is BlockType.PARAGRAPH and _ACTS.match(text, words[-1].end) is not None and not any(common)
    )
    return words[0].inside or is_subject or any(word.text.isupper() for word in words)


def _is_unknown_subject(text: str, word: Word) -> bool:
    """Return whether a word that begins an English sentence is no word of English and does something."""
    return (
        _ACTS.match(text, word.end) is not None
        and _ENGLISH.search(text, word.end) is not None
        and not is_ordinary(word.text.lower())
    )


@lru_cache(maxsize=64)
def _is_title(text: str) -> bool:
    """Return whether most words of a statement are capitalized, so that a capital means nothing."""
    words = [word for word in text.split() if word[0].isalpha()]
    capitals = sum(word[0].isupper() for word in words)
    return len(words) > 1 and capitals >= _TITLE_SHARE * len(words)
