"""Query the pair model again only for memories that are new, or whose candidates may have changed.

A verdict follows from two texts. The candidates of a statement follow from its connected memories and from
how often its words are in others, which a new memory changes for few statements.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from hashlib import blake2b
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ragmem.domain.lifecycle.changes import (
    RARE,
    Links,
    Proposal,
    RareWords,
    Reading,
    ReadMemory,
    Statements,
    may_be_replaced,
    propose,
    statements,
)
from ragmem.domain.model.lifecycle import Entry
from ragmem.services.lifecycle.text_cache import Arrays

Numbers = NDArray[np.integer]
Flags = NDArray[np.bool_]
Hashes = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of memories by number, in sequence: of the whole if a memory is short, then other ones."""

    words: Numbers
    wholes: Numbers
    """The number of words of each whole."""
    others: Numbers
    older: Flags
    """Whether a memory may be superseded."""

    def __len__(self) -> int:
        """Return the number of memories."""
        return len(self.wholes)

    def take(self, rows: NDArray[np.intp]) -> "Words":
        """Return the words of these memories."""
        lengths = self.wholes + self.others
        places = _spread((np.cumsum(lengths) - lengths)[rows], lengths[rows])
        return Words(self.words[places], self.wholes[rows], self.others[rows], self.older[rows])

    def join(self, more: "Words") -> "Words":
        """Return the words of both."""
        return Words(*(np.concatenate([getattr(self, x.name), getattr(more, x.name)]) for x in fields(Words)))

    @property
    def owners(self) -> NDArray[np.intp]:
        """The memory of each word."""
        return np.repeat(np.arange(len(self)), self.wholes + self.others)

    @property
    def counted(self) -> Flags:
        """Return for each word whether it is a word of a memory that may be superseded as a whole."""
        lengths = self.wholes + self.others
        owners = self.owners
        within = np.arange(len(self.words)) - (np.cumsum(lengths) - lengths)[owners]
        return np.asarray((within < self.wholes[owners]) & self.older[owners])


@dataclass(frozen=True, slots=True)
class KnownChanges:
    """What is known of the memories of a project; `memories` are hashes of all that the rules read of them.

    `links` are hashes of the connections of each. Its candidates were looked for among `sizes` memories, and
    `room` is how many may come or go. `pairs` are the places of an older and a newer memory.
    """

    memories: Hashes
    links: Hashes
    sizes: Numbers
    room: NDArray[np.float64]
    words: Numbers
    wholes: Numbers
    others: Numbers
    older: Flags
    vocabulary: Hashes
    pairs: Numbers
    supersedes: NDArray[np.float64]
    hides: Flags
    statements: Numbers

    @classmethod
    def of(cls, arrays: Arrays) -> Self | None:
        """Return what was stored with `vars`; None where a part is missing."""
        names = [field.name for field in fields(cls)]
        return cls(*(arrays[name] for name in names)) if arrays.keys() >= set(names) else None  # type: ignore[arg-type]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


class _Vocabulary:
    """Numbers of words; a word is kept as a hash."""

    def __init__(self, known: Hashes) -> None:
        self._numbers = {key: number for number, key in enumerate(known.tolist())}
        self._read: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def hashes(self) -> Hashes:
        return np.fromiter(self._numbers, np.uint64, len(self._numbers))

    def number(self, word: str) -> int | None:
        return self._numbers.get(self._hash(word))

    def add(self, words: Iterable[str]) -> list[int]:
        return [self._numbers.setdefault(self._hash(word), len(self._numbers)) for word in words]

    def _hash(self, word: str) -> int:
        known = self._read.get(word)
        if known is None:
            known = self._read[word] = short_hash(word)
        return known


class _Project:
    """The memories of a project, of which some are read."""

    def __init__(
        self, group: Sequence[Entry], linked: Links, said: dict[int, Statements], words: Words
    ) -> None:
        self.group = group
        self.said = said
        # In the order of ids, by which equally telling candidates are chosen.
        self.older = sorted(np.flatnonzero(words.older).tolist(), key=lambda place: group[place].id)
        self._places = {group[place].id: number for number, place in enumerate(self.older)}
        self._linked = linked
        self._known: dict[int, ReadMemory] = {}

    def read(self, place: int) -> ReadMemory:
        known = self._known.get(place)
        if known is None:
            entry = self.group[place]
            said = self.said.get(place) or statements(entry.text)
            known = self._known[place] = ReadMemory.of(entry, said)
        return known

    def propose(self, place: int, rare: RareWords) -> tuple[list[Proposal], float]:
        linked = self._linked.get(self.group[place].id, ())
        fixed = [self._places[other] for other in linked if other in self._places]
        return propose(self.read(place), fixed, rare, lambda older: self.read(self.older[older]))


def find_proposals(
    group: Sequence[Entry], linked: Links, reading: Reading, hashes: Sequence[int], known: KnownChanges | None
) -> tuple[list[Proposal], KnownChanges]:
    """Return the proposals of `changes` for one project, and what is to be known the next time.

    `hashes` are of all that the rules read of each memory. Texts are read with `reading`.
    """
    former = _nothing() if known is None else known
    rows_by_hash = {key: row for row, key in enumerate(former.memories.tolist())}
    rows = np.array([rows_by_hash.get(key, -1) for key in hashes], np.intp)
    new = rows < 0
    fresh = np.flatnonzero(new).tolist()
    said = dict(zip(fresh, reading(statements, [group[place].text for place in fresh]), strict=True))
    vocabulary = _Vocabulary(former.vocabulary)
    before = Words(former.words, former.wholes, former.others, former.older)
    rows[new] = len(before) + np.arange(len(fresh))
    words = before.join(_number([group[place] for place in fresh], said.values(), vocabulary)).take(rows)
    often = _often(words, len(vocabulary))

    gone = np.ones(len(before), np.bool_)
    gone[rows[~new]] = False
    changed = np.zeros(len(vocabulary), np.bool_)
    changed[before.words[before.counted & gone[before.owners]]] = True
    changed[words.words[words.counted & new[words.owners]]] = True
    changed &= np.minimum(often, _often(before, len(vocabulary))) <= RARE

    places = {entry.id: place for place, entry in enumerate(group)}
    links = np.fromiter(
        (short_hash("\n".join(one for one in linked.get(key, ()) if one in places)) for key in places),
        np.uint64,
        len(places),
    )
    asked = new.copy()
    asked[words.owners[changed[words.words]]] = True
    asked[[places[one] for at in fresh for one in linked.get(group[at].id, ()) if one in places]] = True
    sizes, room = np.full(len(group), len(group)), np.full(len(group), np.inf)
    sizes[~new], room[~new] = former.sizes[rows[~new]], former.room[rows[~new]]
    asked[~new] |= links[~new] != former.links[rows[~new]]
    asked |= np.abs(sizes - len(group)) >= room

    more = np.flatnonzero(asked & ~new).tolist()
    said |= zip(more, reading(statements, [group[place].text for place in more]), strict=True)
    project = _Project(group, linked, said, words)
    rare = RareWords(len(group), _holding(words.take(np.array(project.older, np.intp)), often, vocabulary))
    found = _still_valid(group, former, rows, asked)
    for place in np.flatnonzero(asked).tolist():
        proposals, left = project.propose(place, rare)
        found += proposals
        sizes[place], room[place] = len(group), left
    used, numbers = np.unique(words.words, return_inverse=True)
    return found, KnownChanges(
        np.array(hashes, np.uint64),
        links,
        sizes,
        room,
        numbers.astype(np.int32),
        words.wholes,
        words.others,
        words.older,
        vocabulary.hashes()[used],
        np.array([(places[one.older], places[one.newer]) for one in found], np.int32).reshape(-1, 2),
        np.array([one.supersedes for one in found], np.float64),
        np.array([one.hides for one in found], np.bool_),
        np.array([one.statement for one in found], np.int32),
    )


def short_hash(text: str) -> int:
    """Return 64 bits of a hash of a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def _nothing() -> KnownChanges:
    none = np.empty(0)
    whole, flags, hashes = none.astype(np.int32), none.astype(np.bool_), none.astype(np.uint64)
    return KnownChanges(
        hashes,
        hashes,
        whole,
        none,
        whole,
        whole,
        whole,
        flags,
        hashes,
        whole.reshape(-1, 2),
        none,
        flags,
        whole,
    )


def _number(entries: Iterable[Entry], said: Iterable[Statements], vocabulary: _Vocabulary) -> Words:
    found: list[int] = []
    wholes, others, older = [], [], []
    for entry, one in zip(entries, said, strict=True):
        whole = one.whole.words if one.whole else frozenset()
        rest = frozenset[str]().union(*(part.words for part in one.each)) - whole
        found += vocabulary.add(whole)
        found += vocabulary.add(rest)
        wholes.append(len(whole))
        others.append(len(rest))
        older.append(one.whole is not None and may_be_replaced(entry))
    return Words(
        np.array(found, np.int32),
        np.array(wholes, np.int32),
        np.array(others, np.int32),
        np.array(older, np.bool_),
    )


def _often(words: Words, size: int) -> Numbers:
    """Return for each word in how many memories it is that may be superseded."""
    return np.bincount(words.words[words.counted], minlength=size)


def _holding(older: Words, often: Numbers, vocabulary: _Vocabulary) -> Callable[[str], Sequence[int]]:
    """Return `RareWords.holding`, for the memories that may be superseded."""
    chosen = older.counted & (often[older.words] <= RARE)
    words, owners = older.words[chosen], older.owners[chosen]
    holders = owners[np.argsort(words, kind="stable")]
    counts = np.bincount(words, minlength=len(often))
    ends = np.cumsum(counts).tolist()
    starts = [0, *ends]

    @cache
    def holding(word: str) -> Sequence[int]:
        number = vocabulary.number(word)
        if number is None:
            return ()
        places: list[int] = holders[starts[number] : ends[number]].tolist()
        return places

    return holding


def _still_valid(
    group: Sequence[Entry], former: KnownChanges, rows: NDArray[np.intp], asked: Flags
) -> list[Proposal]:
    """Return the proposals of earlier times of which nothing has changed, in their order."""
    places = {row: place for place, row in enumerate(rows.tolist())}
    columns = (former.pairs, former.supersedes, former.hides, former.statements)
    return [
        Proposal(group[places[older]].id, group[places[newer]].id, supersedes, hides, statement)
        for (older, newer), supersedes, hides, statement in zip(
            *(column.tolist() for column in columns), strict=True
        )
        if newer in places and not asked[places[newer]]
    ]


def _spread(starts: Numbers, lengths: Numbers) -> Numbers:
    """Return start, start + 1, ... of each part in sequence."""
    ends = np.cumsum(lengths)
    every = np.arange(ends[-1] if len(ends) else 0)
    return np.asarray(every + np.repeat(starts - (ends - lengths), lengths))
