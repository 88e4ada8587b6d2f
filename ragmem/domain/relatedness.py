"""How much two memories have to do with each other: by the rare words they share, and their vectors."""

import math
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence

from ragmem.domain.keywords import means_nothing
from ragmem.domain.lifecycle import Entry
from ragmem.domain.words import folded, pairs, stem

ENOUGH = 2.0
"""Words of a project's rarest that two memories must share to be mostly about one thing: 1 - 1/e of it."""

MOST_WORDS = 48
"""Words that tell what a memory is about; of a longer text those that it repeats and others have not."""

USUAL_WORDS = 24
"""Words of a memory of a few sentences; two longer ones share some by chance, which count for less."""

SHORTEST = 2
LONGEST = 64
"""Letters; a longer word is data."""

_NO_NAMES: Mapping[str, frozenset[str]] = {}


class Relatedness:
    """Compares memories by the words that are rare among those of their project.

    Words are folded and without their endings; a path, a flag or a dotted name counts as its words, and so
    does a name of several words, besides as one. A word weighs 1 that no other memory has, and hardly
    anything that all have.
    """

    def __init__(self, entries: Sequence[Entry], *, names: Mapping[str, frozenset[str]] = _NO_NAMES) -> None:
        """Read the entries; `names` are, by id, what their texts name."""
        self._numbers: dict[str, int] = {}
        counted = [self._count(entry, names.get(entry.id, frozenset())) for entry in entries]
        among = Counter(entry.scope.project for entry in entries)
        having: dict[str, Counter[int]] = {project: Counter() for project in among}
        for entry, (words, _) in zip(entries, counted, strict=True):
            having[entry.scope.project].update(words)
        self._weights = {
            project: {
                word: 1.0 - math.log(often) / math.log(among[project] + 1) for word, often in found.items()
            }
            for project, found in having.items()
        }
        self._project = {entry.id: entry.scope.project for entry in entries}
        self._words = {
            entry.id: self._telling(entry.scope.project, *found)
            for entry, found in zip(entries, counted, strict=True)
        }

    def shared(self, first: str, second: str) -> float:
        """Return how much two memories of one project share, by their ids: 0 nothing, 1 a lot.

        0 for memories of different projects, and for an id that was not among the entries.
        """
        project = self._project.get(first, "")
        if not project or self._project.get(second) != project:
            return 0.0
        one, other = self._words[first], self._words[second]
        weights = self._weights[project]
        both = sum(weights[word] for word in sorted(set(one).intersection(other)))
        usual = max(1.0, math.sqrt(len(one) * len(other)) / USUAL_WORDS)
        return 1.0 - math.exp(-both / usual / ENOUGH)

    def _count(self, entry: Entry, names: frozenset[str]) -> tuple["array[int]", "array[int]"]:
        """Return the numbers of the words of an entry, and how often it has each."""
        text = f"{entry.memory.title}\n{entry.memory.indexed_text}"
        found = Counter(stem(word) for word in folded(text) if _tells(word))
        found.update(pairs(text))
        for name in names:
            words = folded(name)
            found.update({" ".join(words): 1} if len(words) > 1 else ())
        numbers = array("I", (self._numbers.setdefault(word, len(self._numbers)) for word in found))
        return numbers, array("I", found.values())

    def _telling(self, project: str, words: "array[int]", often: "array[int]") -> "array[int]":
        """Return the words that tell most of what a memory is about."""
        if len(words) <= MOST_WORDS:
            return words
        weights = self._weights[project]
        worth = {word: weights[word] * math.log1p(count) for word, count in zip(words, often, strict=True)}
        return array("I", sorted(words, key=lambda word: (-worth[word], word))[:MOST_WORDS])


def strength(cosine: float, shared: float) -> float:
    """Return how strongly two memories are connected (0 to 1): from 0.5 they are about one thing.

    `cosine` is scaled: 0 as any two texts, 1 as two of one topic. Neither tells enough alone: vectors of a
    small model are near where the jargon is the same, and words are shared by chance.
    """
    return (min(max(cosine, 0.0), 1.0) + min(max(shared, 0.0), 1.0)) / 2


def _tells(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and not word.isdecimal() and not means_nothing(word)
