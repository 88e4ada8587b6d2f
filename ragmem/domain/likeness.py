"""How alike two memories are, next to how alike those of their project are anyhow: which belong together.

A connection (domain/relatedness.py) says that a memory is not alone, on one scale for the whole store. What
is about one thing stands out from its own project: under the bundled model two memories of one that have
nothing to do with each other have a cosine of 0.25 in one project, and of 0.1 in the next.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragmem.domain.connections import Scale

FARTHEST = 5.0
"""Spreads above the middle of a project's cosines from which two texts are as near as it matters."""

SAME_WORDS = 0.2
"""Cosine of the weighted words at which they say 1 - 1/e of all that they can."""

BY_WORDS = 0.6
"""What the words say; the rest is the vectors'."""

LEAST = 0.15
"""Two that are less alike count as not alike at all, so that much of nothing does not add up."""

SCALE_COUNTS = 10
"""Memories that the store's scale weighs as much as: the cosines of a few tell little of what is usual."""

SCALE_SPREADS = 2.5
"""Spreads between what the scale calls unrelated and what it calls related."""

_QUARTILES = 1.349
"""Standard deviations between the quartiles of a normal distribution."""


@dataclass(frozen=True, slots=True)
class Usual:
    """What the cosines of a project are: their middle, and how far about two thirds lie from it at most."""

    middle: float
    spread: float

    def standing_out(self, cosine: float) -> float:
        """Return by how much a cosine stands out: 0 what is usual, 1 from FARTHEST spreads above."""
        return min(max((cosine - self.middle) / self.spread / FARTHEST, 0.0), 1.0)


def usual_of(cosines: Sequence[float], scale: Scale, *, memories: int) -> Usual:
    """Return what is usual among so many memories: `cosines` are those of their pairs, or of some.

    The store's scale counts as SCALE_COUNTS memories, and is all there is to go by where there are no pairs.
    """
    middle, spread = scale.unrelated, (scale.related - scale.unrelated) / SCALE_SPREADS
    if cosines:
        ordered = sorted(cosines)
        low, half, high = (ordered[round(share * (len(ordered) - 1))] for share in (0.25, 0.5, 0.75))
        own = memories / (memories + SCALE_COUNTS)
        middle = own * half + (1 - own) * middle
        spread = own * (high - low) / _QUARTILES + (1 - own) * spread
    return Usual(middle, spread)


def word_weights(having: Iterable[Iterable[int]]) -> dict[int, float]:
    """Return what each word weighs, from the words of each memory: the less, the more have it."""
    among = 0
    often: Counter[int] = Counter()
    for words in having:
        among += 1
        often.update(words)
    return {word: 1.0 - math.log(count) / math.log(among + 1) for word, count in often.items()}


def by_words(cosine: float) -> float:
    """Return what shared words say (0 to 1), from the cosine of the weighted words of two memories."""
    return 1.0 - math.exp(-max(cosine, 0.0) / SAME_WORDS)


def likeness(standing_out: float, words: float) -> float:
    """Return how alike two memories are (0 to 1), by their vectors and what their words say."""
    return BY_WORDS * words + (1.0 - BY_WORDS) * standing_out
