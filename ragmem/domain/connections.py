"""How near two memories must be to be connected: a scale of cosines, taken from the store's own distribution.

What a cosine is worth differs from model to model, and from one store to the next. Two numbers say it: what
two memories of a project have that were taken at random (`unrelated`), and what a memory has with the nearest
of some hundred others (`related`). The latter alone would call the nearest of strangers related, and that of
a template's copies not: so it is held between so many spreads of the former.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONNECTED = 0.5
"""Strength from which two memories are about one thing, and connected."""

FEWEST = 30
"""Memories that a scale is taken from at least, where the model's own values are not known."""

KNOWN_COUNTS = 100
"""Memories that the known values of a model weigh as much as: a small store says little of its own."""

GROWTH = 1.5
"""A store that has grown, or shrunk, by this factor is measured anew."""

NEAREST_SPREADS, FARTHEST_SPREADS = 2.0, 3.0
"""By how many spreads of random pairs `related` lies above `unrelated`: of normal ones, 2.3 % and 0.1 % do.

The related pairs that people named lie 2.0 to 2.7 spreads above under the bundled model."""

HIGHEST = 0.9
"""The highest `unrelated`, so that copies of one text are near each other in a store of nothing else."""

NARROWEST = 0.05
"""The least distance of the two: below, a step of an int8 vector would decide."""

_QUARTILES = 1.349
"""Standard deviations between the quartiles of a normal distribution; its tails are the related pairs."""

_BUNDLED = "all-MiniLM-L6-v2"
"""Beginning of the ids of the bundled model, whatever its weights' form."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What cosines of one model are worth in one store, and of how many memories and pairs that was taken.

    `unrelated` is less than `related`. `memories` is the size of the store then.
    """

    unrelated: float
    related: float
    memories: int = 0
    pairs: int = 0

    def scaled(self, cosine: float) -> float:
        """Return 0 for what unrelated memories have, 1 for what related ones have, and between by line."""
        return min(1.0, max(0.0, (cosine - self.unrelated) / (self.related - self.unrelated)))

    def cosine(self, scaled: float) -> float:
        """Return the cosine that has this place on the scale."""
        return self.unrelated + scaled * (self.related - self.unrelated)

    def differs(self, other: "Scale") -> bool:
        """Tell whether the two would judge pairs differently by more than a hair."""
        return max(abs(self.unrelated - other.unrelated), abs(self.related - other.related)) > _HAIR

    def explanation(self) -> str:
        """Return one line for people."""
        bar = self.cosine(CONNECTED)
        origin = (
            f"from {self.pairs:,} pairs when the store had {self.memories:,} memories"
            if self.pairs
            else "as usual for this model, until there are more memories"
        )
        return (
            f"unrelated memories have a cosine of {self.unrelated:.2f}, related ones {self.related:.2f}"
            f" ({origin}); {bar:.2f} connects by itself"
        )


_HAIR = 0.02
"""Change of a scale below which what was judged by the former one stays."""


def known_scale(model: str) -> Scale | None:
    """Return what is usual for a model: known for the bundled one, None for all others."""
    return Scale(unrelated=0.2, related=0.54) if model.startswith(_BUNDLED) else None


def scale_from(
    random: Sequence[float], nearest: Sequence[float], *, memories: int, known: Scale | None = None
) -> Scale | None:
    """Return the scale of a store: `random` are cosines of random pairs, `nearest` those of nearest ones.

    What is known of the model weighs as much as KNOWN_COUNTS memories. None where nothing is known and there
    are fewer than FEWEST memories, or no pairs.
    """
    enough = len(random) > 0 and len(nearest) > 0 and (known is not None or memories >= FEWEST)
    if not enough:
        return known
    ordered = sorted(random)
    spread = max(0.0, (_quantile(ordered, 0.75) - _quantile(ordered, 0.25)) / _QUARTILES)
    unrelated = _quantile(ordered, 0.5)
    typical = _quantile(sorted(nearest), 0.5)
    related = min(max(typical, unrelated + NEAREST_SPREADS * spread), unrelated + FARTHEST_SPREADS * spread)
    if known is not None:
        own = memories / (memories + KNOWN_COUNTS)
        unrelated = own * unrelated + (1 - own) * known.unrelated
        related = own * related + (1 - own) * known.related
    unrelated = min(max(unrelated, -1.0), HIGHEST)
    related = min(max(related, unrelated + NARROWEST), 1.0)
    return Scale(unrelated, related, memories, len(random))


def is_due(scale: Scale | None, memories: int) -> bool:
    """Tell whether a store of so many memories is to be measured, for the first time or anew."""
    return scale is None or not scale.memories / GROWTH < memories < scale.memories * GROWTH


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the value below which this share of the sorted values lies."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
