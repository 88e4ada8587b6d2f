"""How much two memories have to do with each other: by the rare words they share, and their vectors."""

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ragmem.domain.lifecycle import Entry
from ragmem.domain.word_numbers import SAYS_NOTHING, WordNumbers

ENOUGH = 2.0
"""Words of a project's rarest that two memories must share to be mostly about one thing: 1 - 1/e of it."""

MOST_WORDS = 48
"""Words that tell what a memory is about; of a longer text those that it repeats and others have not."""

USUAL_WORDS = 24
"""Words of a memory of a few sentences; two longer ones share some by chance, which count for less."""

NEAREST = 1.35
"""Scaled cosine from which two texts are as near as it matters: the nearest third of those of one topic."""

BY_WORDS = 0.6
"""What the words say of a connection; the rest is the vectors'."""

_NO_NAMES: Mapping[str, frozenset[str]] = {}

_Counted = tuple["array[int]", "array[int]"]


class Relatedness:
    """Compares memories by the words that are rare among those of their project.

    A word weighs 1 that no other memory has, and hardly anything that all have. To compare a few; what
    services/shared_words.py says of many is the same.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        *,
        names: Mapping[str, frozenset[str]] = _NO_NAMES,
        usual: Iterable[Entry] | None = None,
    ) -> None:
        """Read the entries, one after the other; `names` are, by id, what their texts name.

        `usual` are those that say how rare a word is; None: the entries themselves.
        """
        self._numbers = WordNumbers()
        self._project: dict[str, str] = {}
        counted: dict[str, _Counted] = {}
        for entry in entries:
            self._project[entry.id] = entry.scope.project
            counted[entry.id] = self._count(entry, names.get(entry.id, frozenset()))
        if usual is None:
            self._weights = weights((self._project[key], words) for key, (words, _) in counted.items())
        else:
            self._weights = weights(
                (entry.scope.project, self._count(entry, names.get(entry.id, frozenset()))[0])
                for entry in usual
            )
        self._words = {key: self._telling(self._project[key], *found) for key, found in counted.items()}

    def shared(self, first: str, second: str) -> float:
        """Return how much two memories of one project share, by their ids: 0 nothing, 1 a lot.

        0 for memories of different projects, and for an id that was not among the entries.
        """
        return self.shared_with(first, [second])[0]

    def shared_with(self, first: str, others: Sequence[str]) -> list[float]:
        """Return what `shared` does for a memory with each of some others."""
        project = self._project.get(first, "")
        if not project:
            return [0.0] * len(others)
        known = self._weights.get(project, {})
        own = {word: known.get(word, 1.0) for word in self._words[first]}
        found = []
        for other in others:
            words = self._words[other] if self._project.get(other) == project else ()
            # The exact sum, so that two memories share as much whichever is named first.
            both = math.fsum([own[word] for word in words if word in own])
            usual = max(1.0, math.sqrt(len(own) * len(words)) / USUAL_WORDS)
            found.append(1.0 - math.exp(-both / usual / ENOUGH))
        return found

    def _count(self, entry: Entry, names: frozenset[str]) -> "_Counted":
        """Return the numbers of the words of an entry, and how often it has each."""
        memory = entry.memory
        found = Counter(self._numbers.of(memory.title, memory.text, memory.summary, names))
        found.pop(SAYS_NOTHING, None)
        return array("I", found), array("I", found.values())

    def _telling(self, project: str, words: "array[int]", often: "array[int]") -> "array[int]":
        """Return the words that tell most of what a memory is about."""
        if len(words) <= MOST_WORDS:
            return words
        known = self._weights.get(project, {})
        worth = {
            word: known.get(word, 1.0) * math.log1p(count) for word, count in zip(words, often, strict=True)
        }
        return array("I", sorted(words, key=lambda word: (-worth[word], word))[:MOST_WORDS])


def strength(cosine: float, shared: float) -> float:
    """Return how strongly two memories are connected (0 to 1): from 0.5 they are about one thing.

    `cosine` is scaled: 0 as any two texts, 1 as two of one topic, more for nearer ones. Neither is enough
    alone: vectors of a small model are near where the jargon is the same, and words are shared by chance.
    """
    near = min(max(cosine, 0.0) / NEAREST, 1.0)
    return BY_WORDS * min(max(shared, 0.0), 1.0) + (1.0 - BY_WORDS) * near


def weights(found: Iterable[tuple[str, Iterable[int]]]) -> dict[str, dict[int, float]]:
    """Return project -> word -> what it weighs, from the project and the distinct words of each memory."""
    among: Counter[str] = Counter()
    having: dict[str, Counter[int]] = {}
    for project, words in found:
        among[project] += 1
        having.setdefault(project, Counter()).update(words)
    return {
        project: {
            word: 1.0 - math.log(often) / math.log(among[project] + 1) for word, often in counts.items()
        }
        for project, counts in having.items()
    }
