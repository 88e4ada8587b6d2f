"""How several ranked lists become one: fusion of ranks, and the collapse of duplicates."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ragmem.domain.model import Hit, Match

RRF_K = 60
"""Cormack, Clarke and Buettcher 2009: damps the lead of the first ranks."""

DUPLICATE_JACCARD = 0.9
"""From this share of common words on, two memories say the same; the gold twins of templates lie below."""

DUPLICATE_CHARS = 4000
"""Characters compared: two long texts with the same beginning of this length are versions of one text."""

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Fused:
    """A chunk after fusion: its fused score and its rank (from 1) in each list that found it."""

    chunk_id: str
    memory_id: str
    score: float
    ranks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Collapsed:
    """The best match of a group of duplicates, with the ones behind it, best first."""

    match: Match
    duplicates: tuple[Match, ...] = ()


def reciprocal_rank_fusion(
    lists: Mapping[str, Sequence[Hit]], *, weights: Mapping[str, float] | None = None, k: float = RRF_K
) -> list[Fused]:
    """Return the chunks of all lists by the sum of weight / (k + rank), best first, ties by chunk id.

    The rank is that of the hit; where a list names a chunk twice, its better rank counts. A list without a
    weight weighs 1; a list that weighs 0 adds nothing, not even its chunks. No lists give an empty result.
    Raises ValueError for a negative weight or k.
    """
    weights = weights or {}
    if k < 0 or any(weight < 0 for weight in weights.values()):
        raise ValueError("k and the weights of a fusion must not be negative")
    ranks: dict[str, dict[str, int]] = {}
    memory_ids: dict[str, str] = {}
    for name, hits in lists.items():
        if weights.get(name, 1.0) == 0:
            continue
        for hit in hits:
            mine = ranks.setdefault(hit.chunk_id, {})
            mine[name] = min(hit.rank, mine.get(name, hit.rank))
            memory_ids[hit.chunk_id] = hit.memory_id
    fused = [
        Fused(
            chunk_id,
            memory_ids[chunk_id],
            sum(weights.get(name, 1.0) / (k + rank) for name, rank in mine.items()),
            mine,
        )
        for chunk_id, mine in ranks.items()
    ]
    return sorted(fused, key=lambda item: (-item.score, item.chunk_id))


def collapse(matches: Sequence[Match]) -> list[Collapsed]:
    """Return the matches best first (ties by memory id), with duplicates behind the best one of their group.

    A duplicate has the same content hash as the group's best match, or shares at least 90 % of its words, and
    belongs to the same project; two matches of one memory are duplicates too. Every match is returned once.
    """
    ordered = sorted(matches, key=lambda match: (-match.score, match.memory.id, match.chunk.id))
    groups: list[tuple[Match, frozenset[str], list[Match]]] = []
    for match in ordered:
        words = _words(match.memory.text)
        for best, best_words, behind in groups:
            if best.memory.scope.project == match.memory.scope.project and (
                best.memory.id == match.memory.id
                or best.memory.content_hash == match.memory.content_hash
                or _alike(best_words, words)
            ):
                behind.append(match)
                break
        else:
            groups.append((match, words, []))
    return [Collapsed(best, tuple(behind)) for best, _, behind in groups]


def _words(text: str) -> frozenset[str]:
    """Return the set of words at the beginning of a text, in small letters."""
    return frozenset(_WORD.findall(text[:DUPLICATE_CHARS].lower()))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two word sets overlap by at least DUPLICATE_JACCARD; empty sets are never alike."""
    small, large = sorted((len(one), len(other)))
    if not small or small < DUPLICATE_JACCARD * large:
        return False
    common = len(one & other)
    return common >= DUPLICATE_JACCARD * (small + large - common)
