"""Collapse matches with the same content."""

from collections.abc import Sequence

from ragmem.domain.model import UNASSIGNED, Match, Memory
from ragmem.frozen import dataclass
from ragmem.patterns import lazy

DUPLICATE_JACCARD = 0.9
"""Minimum share of common words of two duplicates; different memories from one template have fewer."""

DUPLICATE_LENGTH = 0.8
"""Minimum length of the shorter duplicate as a share of the longer one."""

DUPLICATE_OWN_WORDS = 4
"""Maximum distinct words that only one of two duplicates has: two replaced words. An additional sentence has
more, and in a long text a tenth of the words is a paragraph that may be the answer."""

PIECE_CHARS, PIECES_CHANGED = 40, 2
"""A passage is searched in another text in pieces of this length, because the parts of two versions may begin
at different places. Up to so many pieces may be missing: a replaced word affects at most two."""

OWN_RECORD = frozenset({"edits", "files", "dates"})
"""Terms of a match that was found by its own edits, file or date."""

_WORD = lazy(r"\w+")
_ASCII_WORDS = bytes(
    ord(chr(n).lower()) if n < 128 and (chr(n).isalnum() or n == ord("_")) else 32 for n in range(256)
)


@dataclass(frozen=True, slots=True)
class DuplicateGroup:
    """The best match of a group of duplicates, and the others, best first."""

    match: Match
    duplicates: tuple[Match, ...] = ()

    @property
    def elsewhere(self) -> tuple[Memory, ...]:
        """The duplicates in other projects."""
        project = self.match.memory.scope.project
        return tuple(other.memory for other in self.duplicates if other.memory.scope.project != project)


class _MatchWords:
    """The words of a match, computed on demand, and what two duplicates have in common.

    `may_repeat`: it may be nearly the same as another match, of the same `standing`.
    """

    def __init__(self, match: Match) -> None:
        self.match = match
        project = match.memory.scope.project
        # Two memories without a known project may belong to two.
        self.may_repeat = project != UNASSIGNED and OWN_RECORD.isdisjoint(match.terms)
        self.standing = (project, match.superseded is None, match.outdated is None)
        self._words: frozenset[str] | None = None
        self._passage: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        """The distinct words of the whole text, in lower case."""
        if self._words is None:
            self._words = _words(self.match.memory.text)
        return self._words

    @property
    def passage(self) -> frozenset[str]:
        """The distinct words of the matching chunk."""
        if self._passage is None:
            self._passage = _words(self.match.chunk.text)
        return self._passage


def collapse(
    matches: Sequence[Match], *, shown: int | None = None, versions: bool = False
) -> list[DuplicateGroup]:
    """Return the matches in groups of duplicates, best first; every match is returned once.

    Of equal scores those that are perhaps outdated come last; then they are ordered by relevance, the
    engine's rank and the memory id.

    Duplicates have the same content hash, in any project, or are matches of one memory. Within a known
    project, two texts of about the same length are also duplicates if they differ in a few words only and
    each contains the matching chunk of the other; not if an edit or a date of one was found. A superseded or
    marked memory is never a duplicate of a current one, and none that counts is behind one that nobody has
    accepted. After the first `shown` groups only equal texts are grouped, because comparing words takes time.
    The same holds with `versions`, for a question of change: the few words that differ are its answer.
    """
    ordered = sorted(
        matches,
        key=lambda match: (
            -match.score,
            match.outdated is not None,
            -match.terms.get("relevance", 0.0),
            match.terms.get("engine_rank", 0.0),
            match.memory.id,
            match.chunk.id,
        ),
    )
    groups: list[tuple[_MatchWords, list[Match]]] = []
    # Equal ones are looked up: comparing each pair takes as long as all else here.
    places: dict[tuple[str, str, bool], list[int]] = {}
    sizes: list[int] = []
    for match in ordered:
        near = not versions and (shown is None or len(groups) < shown)
        known, memory, holds = _MatchWords(match), match.memory, match.superseded is None
        keys = ("id", memory.id, holds), ("hash", memory.content_hash, holds)
        equal = {*places.get(keys[0], ()), *places.get(keys[1], ())}
        alike = _of_about(len(memory.text), sizes) if near else ()
        for place in sorted(equal.union(alike)):
            best, behind = groups[place]
            if best.match.approval and not match.approval:
                continue
            if place in equal or _is_near_duplicate(best, known):
                behind.append(match)
                break
        else:
            sizes.append(len(memory.text))
            for key in keys:
                places.setdefault(key, []).append(len(groups))
            groups.append((known, []))
    return [DuplicateGroup(best.match, tuple(behind)) for best, behind in groups]


def _of_about(size: int, sizes: Sequence[int]) -> list[int]:
    """Return the places of the lengths that two duplicates may have; few texts are of about the same."""
    return [
        place
        for place, other in enumerate(sizes)
        if size >= DUPLICATE_LENGTH * other and other >= DUPLICATE_LENGTH * size
    ]


def _is_near_duplicate(best: _MatchWords, known: _MatchWords) -> bool:
    """Return whether two matches of a project and a length are nearly the same, in texts and chunks."""
    if not (best.may_repeat and known.may_repeat and best.standing == known.standing):
        return False
    one, other = best.match, known.match
    return (
        _alike(best.passage, known.passage) or (_contains_chunk(one, other) and _contains_chunk(other, one))
    ) and _alike(best.words, known.words)


def _contains_chunk(match: Match, other: Match) -> bool:
    """Return whether the other's text contains the matching chunk, except for a few words."""
    passage, text, changed = match.chunk.text.strip(), other.memory.text, 0
    for start in range(0, len(passage), PIECE_CHARS):
        if passage[start : start + PIECE_CHARS] not in text:
            changed += 1
            if changed > PIECES_CHANGED:
                return False
    return len(passage) > PIECE_CHARS * PIECES_CHANGED


def _words(text: str) -> frozenset[str]:
    """Return the set of words of a text, in lower case."""
    if text.isascii():
        # Most texts are, and this takes a fifth of the time.
        return frozenset(text.encode().translate(_ASCII_WORDS).decode().split())
    return frozenset(_WORD.findall(text.lower()))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two word sets differ in a few words only; empty sets are never alike."""
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
