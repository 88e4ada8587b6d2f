"""The collapse of matches that say the same, and what a rank without a score is worth."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragmem.domain.model import Match

RRF_K = 60
"""Where only a rank is known it is worth (k + 1) / (k + rank); k of Cormack, Clarke and Buettcher 2009."""

DUPLICATE_JACCARD = 0.9
"""From this share of common words on, two memories say the same; the gold twins of templates lie below."""

DUPLICATE_CHARS = 4000
"""Characters compared: two long texts with the same beginning of this length are versions of one text."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The best match of a group of duplicates, with the ones behind it, best first."""

    match: Match
    duplicates: tuple[Match, ...] = ()


def collapse(matches: Sequence[Match], *, shown: int | None = None) -> list[Collapsed]:
    """Return the matches best first (ties by memory id), with duplicates behind the best one of their group.

    A duplicate has the same content hash as the group's best match, or shares at least 90 % of its words, and
    belongs to the same project; two matches of one memory are duplicates too, but what is superseded is none
    of what holds. Every match is returned once.
    Of what comes behind the first `shown` groups only equal texts are found, because words cost time.
    """
    ordered = sorted(matches, key=lambda match: (-match.score, match.memory.id, match.chunk.id))
    groups: list[tuple[Match, frozenset[str], list[Match]]] = []
    for match in ordered:
        near = shown is None or len(groups) < shown
        words = _words(match.memory.text) if near else frozenset()
        for best, best_words, behind in groups:
            if _may_be_one(best, match) and (
                best.memory.id == match.memory.id
                or best.memory.content_hash == match.memory.content_hash
                or (near and _alike(best_words, words))
            ):
                behind.append(match)
                break
        else:
            groups.append((match, words, []))
    return [Collapsed(best, tuple(behind)) for best, _, behind in groups]


def _may_be_one(best: Match, match: Match) -> bool:
    """Tell whether two matches are of one project, and both hold or neither."""
    return best.memory.scope.project == match.memory.scope.project and (best.superseded is None) == (
        match.superseded is None
    )


def _words(text: str) -> frozenset[str]:
    """Return the set of words at the beginning of a text, in small letters."""
    return frozenset(_WORD.findall(text[:DUPLICATE_CHARS].lower()))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two word sets overlap by at least DUPLICATE_JACCARD; empty sets are never alike."""
    small, large = len(one), len(other)
    if small > large:
        small, large = large, small
    if not small or small < DUPLICATE_JACCARD * large:
        return False
    common = len(one & other)
    return common >= DUPLICATE_JACCARD * (small + large - common)
