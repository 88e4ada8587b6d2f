"""The collapse of matches that say the same."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.domain.model import UNASSIGNED, Match, Memory

DUPLICATE_JACCARD = 0.9
"""From this share of common words on, two memories say the same; the gold twins of templates lie below."""

DUPLICATE_LENGTH = 0.8
"""A text that is shorter than this share of another one lacks something that the other one says."""

DUPLICATE_OWN_WORDS = 4
"""Distinct words that only one of two duplicates has: two replaced ones. A sentence of its own has more, and
a tenth of the words of a long text is a paragraph that somebody may ask for."""

PIECE_CHARS, PIECES_CHANGED = 40, 2
"""A passage is looked for in another text in pieces of this length, because parts of two versions of a text
may begin at different places; so many pieces may lack there: a replaced word reaches into two at most."""

OWN_RECORD = frozenset({"edits", "dates"})
"""Terms of a match that was found by what is recorded of it alone: which files it edited, when it was."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The best match of a group of duplicates, with the ones behind it, best first."""

    match: Match
    duplicates: tuple[Match, ...] = ()

    @property
    def elsewhere(self) -> tuple[Memory, ...]:
        """The memories behind it that have the same text in other projects."""
        project = self.match.memory.scope.project
        return tuple(other.memory for other in self.duplicates if other.memory.scope.project != project)


class _Known:
    """A match whose words are only looked at when something may say the same."""

    def __init__(self, match: Match) -> None:
        self.match = match
        self._words: frozenset[str] | None = None
        self._passage: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        """The distinct words of the whole text, in small letters."""
        if self._words is None:
            self._words = _words(self.match.memory.text)
        return self._words

    @property
    def passage(self) -> frozenset[str]:
        """The distinct words of what was found in it."""
        if self._passage is None:
            self._passage = _words(self.match.chunk.text)
        return self._passage


def collapse(matches: Sequence[Match], *, shown: int | None = None) -> list[Collapsed]:
    """Return the matches best first, with duplicates behind the best one of their group.

    Of equal scores the more relevant match comes first, then the engine's rank, then the memory id decides.

    A duplicate has the same content hash as the group's best match, in any project. Within a project also one
    of about the same length is a duplicate that has the same words but for a few, where what was found in
    either stands in the other too, unless nobody knows their project: of two documents that begin alike both
    answer, and so do two that were found by an edit or a date of their own. Two matches of one memory are
    duplicates as well, but what is superseded is none of what holds. Every match is returned once.
    Of what comes behind the first `shown` groups only equal texts are found, because words cost time.
    """
    ordered = sorted(
        matches,
        key=lambda match: (
            -match.score,
            -match.terms.get("relevance", 0.0),
            match.terms.get("engine_rank", 0.0),
            match.memory.id,
            match.chunk.id,
        ),
    )
    groups: list[tuple[_Known, list[Match]]] = []
    for match in ordered:
        near = shown is None or len(groups) < shown
        known = _Known(match)
        for best, behind in groups:
            if _is_same(best.match, match) or (near and _is_near(best, known)):
                behind.append(match)
                break
        else:
            groups.append((known, []))
    return [Collapsed(best.match, tuple(behind)) for best, behind in groups]


def _is_same(best: Match, match: Match) -> bool:
    """Tell whether two matches have one text, or are of one memory, and both hold or neither."""
    one, other = best.memory, match.memory
    return (one.id == other.id or one.content_hash == other.content_hash) and (best.superseded is None) == (
        match.superseded is None
    )


def _is_near(best: _Known, known: _Known) -> bool:
    """Tell whether two matches of a project say nearly the same, as a whole and in what was found."""
    one, other = best.match, known.match
    # Two of no known project may be of two.
    if one.memory.scope.project != other.memory.scope.project or one.memory.scope.project == UNASSIGNED:
        return False
    if (one.superseded is None) != (other.superseded is None):
        return False
    if OWN_RECORD & (one.terms.keys() | other.terms.keys()):
        return False
    short, long = sorted((len(one.memory.text), len(other.memory.text)))
    return (
        short >= DUPLICATE_LENGTH * long
        and (_alike(best.passage, known.passage) or (_has(one, other) and _has(other, one)))
        and _alike(best.words, known.words)
    )


def _has(match: Match, other: Match) -> bool:
    """Tell whether what was found in a match stands in the other's text, but for a few words."""
    passage, changed = match.chunk.text.strip(), 0
    for start in range(0, len(passage), PIECE_CHARS):
        changed += passage[start : start + PIECE_CHARS] not in other.memory.text
        if changed > PIECES_CHANGED:
            return False
    return len(passage) > PIECE_CHARS * PIECES_CHANGED


def _words(text: str) -> frozenset[str]:
    """Return the set of words of a text, in small letters."""
    return frozenset(_WORD.findall(text.lower()))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two word sets are the same but for a few words of either; empty sets are never alike."""
    small, large = len(one), len(other)
    if small > large:
        small, large = large, small
    if not small or small < DUPLICATE_JACCARD * large:
        return False
    common = len(one & other)
    return (
        common >= DUPLICATE_JACCARD * (small + large - common)
        and small + large - 2 * common <= DUPLICATE_OWN_WORDS
    )
