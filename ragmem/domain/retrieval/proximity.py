"""Proximity: how near to each other a text has the words of a question."""

import itertools
import math
from collections.abc import Mapping, Sequence

from ragmem.domain.text.words import stem

WINDOW = 120
"""Characters of a sentence, within which words belong together."""

GAP = 16
"""Maximum characters between two words that follow each other: an ending and a little word."""

MAX_WORDS = 24
"""Number of words that are compared; of a longer question the first ones."""

ENDING = "i"
"""What the stem of a word on -y ends with, while the word itself does not."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")


class Proximity:
    """The words of a question, to be compared with the texts of its candidates.

    `frequencies` is word -> the share of the searched chunks (0..1) that have it, in the order of the
    question. Each word weighs -log of its share; words that no chunk has are left out.
    """

    def __init__(self, frequencies: Mapping[str, float]) -> None:
        known = {stem(word): -math.log(share) for word, share in frequencies.items() if 0 < share < 1}
        self._weights = list(known.values())[:MAX_WORDS]
        self._total = sum(self._weights)
        self._pairs = sum(map(min, self._weights, self._weights[1:]))
        stems = [word.removesuffix(ENDING) if len(word) > len(ENDING) else word for word in known]
        self._stems = stems[:MAX_WORDS]

    def of(self, text: str) -> float:
        """Return the proximity of a text, 0..1.

        It is the mean of two shares of the weights: of the words in the best window, and of the pairs of
        neighbouring words of the question that follow each other in the text.
        """
        if not self._total:
            return 0.0
        places = self._occurrences(text.lower())
        window = self._best_window(places) / self._total
        return (window + self._following(places) / self._pairs) / 2 if self._pairs else window / 2

    def _occurrences(self, text: str) -> list[tuple[int, int]]:
        """Return where words begin, with their numbers; of words that overlap only the first one."""
        # A pattern of all words would be compiled for each question, which takes as long as these searches.
        found: list[tuple[int, int]] = []
        for word, said in enumerate(self._stems):
            at = text.find(said)
            while at >= 0:
                found.append((at, word))
                at = text.find(said, at + 1)
        places, end = [], 0
        for at, word in sorted(found):
            if at >= end:
                end = at + len(self._stems[word])
                # A word of another script has no boundary on its left.
                if not at or text[at - 1] not in _LETTERS:
                    places.append((at, word))
        return places

    def _best_window(self, places: Sequence[tuple[int, int]]) -> float:
        best = weight = 0.0
        first = 0
        often = [0] * len(self._weights)
        for at, word in places:
            often[word] += 1
            if often[word] == 1:
                weight += self._weights[word]
            while at - places[first][0] > WINDOW:
                gone = places[first][1]
                often[gone] -= 1
                if not often[gone]:
                    weight -= self._weights[gone]
                first += 1
            best = max(best, weight)
        return best

    def _following(self, places: Sequence[tuple[int, int]]) -> float:
        met = {
            word
            for (at, word), (then, other) in itertools.pairwise(places)
            if other == word + 1 and then - at <= len(self._stems[word]) + GAP
        }
        return sum(min(self._weights[word], self._weights[word + 1]) for word in met)
