"""The weights of words and other constants of the similarity of two memories."""

import math
from collections import Counter
from collections.abc import Iterable

ENOUGH = 2.0
"""Number of a project's rarest words whose overlap means mostly the same subject: 1 - 1/e of it."""

MOST_WORDS = 48
"""Number of distinctive words of a memory; of a longer text those that it repeats and others lack."""

USUAL_WORDS = 24
"""Number of words of a short memory; two longer ones share some by chance, which count less."""

NEAREST = 1.35
"""Normalized cosine of maximum similarity: the nearest third of pairs of one topic."""

BY_WORDS = 0.6
"""Share of the words in the strength of a connection; the vectors have the rest."""


def weights(found: Iterable[tuple[str, Iterable[int]]]) -> dict[str, dict[int, float]]:
    """Return project -> word -> weight, given the project and the distinct words of each memory.

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
