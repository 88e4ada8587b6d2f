"""What decides how much two memories have to do with each other: weights of words, and some numbers."""

import math
from collections import Counter
from collections.abc import Iterable

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


def weights(found: Iterable[tuple[str, Iterable[int]]]) -> dict[str, dict[int, float]]:
    """Return project -> word -> what it weighs, from the project and the distinct words of each memory.

    A word weighs 1 that no other memory has, and hardly anything that all have.
    """
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
