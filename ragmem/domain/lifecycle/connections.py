"""Decide which memories are connected: a scale of cosines that fits the store's distribution.

What a cosine is worth differs from model to model, and from one store to the next. Two numbers say it: what
two memories of a project have that were taken at random (`unrelated`), and what a memory has with the nearest
of some hundred others that is no copy of it (`related`). The latter alone would call the nearest of strangers
related, and in a store of close versions nothing else: so it lies within some spreads of the former.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from ragmem.domain.model.lifecycle import Connection
from ragmem.frozen import dataclass

CONNECTED = 0.5
"""Strength from which two memories share a topic and are connected."""

MOST = 12
"""Connections that a memory keeps of its own; it may have more that are among the strongest of others."""

RARE = 6
"""A name in more memories of a project does not make them candidates."""

FEWEST = 30
"""Minimum memories for a measured scale, if the model has no known scale."""

KNOWN_COUNTS = 100
"""Weight, in memories, of a model's known scale: a small store has little evidence of its own."""

GROWTH = 1.5
"""A store that has grown or shrunk by this factor is measured again."""

NEAREST_SPREADS, FARTHEST_SPREADS = 2.0, 5.0
"""Between so many spreads of random pairs `related` lies above `unrelated`: 2 in 100 lie beyond 2 by chance,
none beyond 5. Under the bundled model pairs of one topic lie 2 to 2.7 above in projects of one subject, and
4 to 5 in a store of all sorts."""

COPY = 0.95
"""Cosine from which a text is a copy of another and does not count as related."""

HIGHEST = 0.9
"""The highest `unrelated`, for stores that hold little but copies of one text."""

NARROWEST = 0.05
"""The least difference of the two; below it the rounding of an int8 vector would decide."""

_QUARTILES = 1.349
"""Quartile distance of a normal distribution in standard deviations; the tails are related pairs."""

_BUNDLED = "all-MiniLM-L6-v2"
"""Beginning of the ids of the bundled model in all weight formats."""

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


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of cosines of one model in one store, with the sizes of its sample.

    `unrelated` is less than `related`. `memories` is the size of the store then.
    """

    unrelated: float
    related: float
    memories: int = 0
    pairs: int = 0

    def normalize(self, cosine: float) -> float:
        """Map a cosine to the scale: 0 for unrelated memories, 1 for related ones; more is possible."""
        return max(0.0, (cosine - self.unrelated) / (self.related - self.unrelated))

    def cosine(self, scaled: float) -> float:
        """Return the cosine for a value of the scale."""
        return self.unrelated + scaled * (self.related - self.unrelated)

    def differs(self, other: "Scale") -> bool:
        """Return whether two scales would classify pairs noticeably differently."""
        return max(abs(self.unrelated - other.unrelated), abs(self.related - other.related)) > _HAIR

    def explanation(self) -> str:
        """Return a one-line explanation."""
        origin = (
            f"from {self.pairs:,} pairs when the store had {self.memories:,} memories"
            if self.pairs
            else "as usual for this model, until there are more memories"
        )
        return (
            f"unrelated memories have a cosine of {self.unrelated:.2f}, related ones {self.related:.2f}"
            f" ({origin}); the rare words that two share say with it whether they are connected"
        )


_HAIR = 0.02
"""Smallest change of a scale that makes a new comparison worthwhile."""


def known_scale(model: str) -> Scale | None:
    """Return the known scale of the bundled model; None for all others."""
    return Scale(unrelated=0.2, related=0.54) if model.startswith(_BUNDLED) else None


def scale_from(
    random: Sequence[float], nearest: Sequence[float], *, memories: int, known: Scale | None = None
) -> Scale | None:
    """Return the scale of a store from cosines of random pairs and of nearest neighbours.

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
    """Return whether a store of this size must be measured, for the first time or again."""
    return scale is None or not scale.memories / GROWTH < memories < scale.memories * GROWTH


class Link(Protocol):
    """A connection by the numbers of its two memories."""

    @property
    def low(self) -> int:
        """The lower number."""

    @property
    def high(self) -> int:
        """The higher number."""

    @property
    def cosine(self) -> float:
        """The cosine of the two vectors."""

    @property
    def strength(self) -> float:
        """The strength of the connection, from the cosine and the shared words."""


def rank(link: Link) -> tuple[float, float, int, int]:
    """Return a sort key: strongest first, then the nearest vectors."""
    return (-link.strength, -link.cosine, link.low, link.high)


def strongest(
    links: Mapping[tuple[int, int], Link], *, of: Collection[int]
) -> dict[int, set[tuple[int, int]]]:
    """Return the MOST strongest links of some memories."""
    found: dict[int, list[Link]] = {}
    for pair, link in links.items():
        for end in pair:
            if end in of:
                found.setdefault(end, []).append(link)
    return {
        end: {(one.low, one.high) for one in sorted(every, key=rank)[:MOST]} for end, every in found.items()
    }


def memories_sharing_names(named: Iterable[tuple[int, Iterable[str]]]) -> dict[int, set[int]]:
    """Return for each memory the ones that share a rare name with it."""
    naming: dict[str, list[int]] = {}
    for memory, names in named:
        for name in names:
            naming.setdefault(name, []).append(memory)
    found: dict[int, set[int]] = {}
    for every in naming.values():
        if len(every) <= RARE:
            for one, other in itertools.permutations(every, 2):
                found.setdefault(one, set()).add(other)
    return found


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return the quantile of the sorted values."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def star_clusters(
    connections: Iterable[Connection], among: Collection[str], *, minimum: int
) -> list[tuple[str, ...]]:
    """Return clusters of at least `minimum` of the ids in `among`, the largest first.

    Each begins with its centre, followed by the ids that are directly connected with that, strongest first.
    The id with the greatest sum of strengths is a centre and takes all of its neighbours; of those left the
    next one is, and so on. No id is in two clusters. The order of the connections does not matter.
    """
    near: dict[str, dict[str, float]] = defaultdict(dict)
    for one in connections:
        if one.strength >= CONNECTED and one.first in among and one.second in among:
            near[one.first][one.second] = near[one.second][one.first] = one.strength
    taken: set[str] = set()
    found = []
    for centre in sorted(near, key=lambda key: (-sum(near[key].values()), key)):
        if centre in taken:
            continue
        around = sorted(near[centre].keys() - taken, key=lambda key: (-near[centre][key], key))
        if 1 + len(around) >= minimum:
            taken.update((centre, *around))
            found.append((centre, *around))
    return sorted(found, key=lambda cluster: (-len(cluster), cluster[0]))
