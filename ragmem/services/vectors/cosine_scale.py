"""Bring the cosines of another embedding model to the scale of the bundled one.

Weights and thresholds were fitted to the bundled model, whose unrelated texts have a cosine near 0.1. Those
of other models lie elsewhere, those of E5 near 0.75, and closer together. Two landmarks that a store measures
tell where: the nearest chunk to a question about something else, and a memory to its own title. A straight
line through them gives a cosine that means the same as one of the bundled model.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ragmem.domain.model import Hit
from ragmem.frozen import dataclass

if TYPE_CHECKING:
    from ragmem.ports import Store

ELSEWHERE, OWN = 0.2, 0.7
"""The landmarks of the bundled model: the mean of the nearest, and the median of memories with their titles.
In a store of 383 chunks of developers' notes they were 0.23 and 0.70, in smaller ones 0.06 to 0.17 for the
first (see DEFAULT in services/retrieval/calibration.py)."""

LEAST_DISTANCE = 0.05
"""Landmarks that are nearer to each other tell nothing: the model does not know these texts apart."""

LEAST_DEVIATIONS = 2.0
"""The same in deviations of the nearest: a line through chance would make a mountain of it."""


@dataclass(frozen=True, slots=True)
class CosineScale:
    """The line from a model's cosines to those of the bundled one."""

    slope: float
    offset: float

    def __call__(self, cosine: float) -> float:
        """Return the cosine on the scale of the bundled model, in -1..1."""
        return max(-1.0, min(1.0, self.slope * cosine + self.offset))


def scale_between(elsewhere: float, own: float, *, deviation: float) -> CosineScale | None:
    """Return the scale for the landmarks of a model, None where they are too near to each other.

    `deviation` is that of the cosines whose mean `elsewhere` is.
    """
    distance = own - elsewhere
    if distance < max(LEAST_DISTANCE, LEAST_DEVIATIONS * deviation):
        return None
    slope = (OWN - ELSEWHERE) / distance
    return CosineScale(slope, ELSEWHERE - slope * elsewhere)


class ScaledStore:
    """A store whose answers to questions have scaled cosines; all else is the store's own."""

    def __init__(self, store: "Store", scale: CosineScale) -> None:
        self._store = store
        self._scale = scale

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def search(self, query: str, *, limit: int, projects: Sequence[str] | None = None) -> list[Hit]:
        """Return the nearest chunks as the store does."""
        found = self._store.search(query, limit=limit, projects=projects)
        return [hit._replace(score=self._scale(hit.score)) for hit in found]

    def similarities(self, *arguments: Any, **options: Any) -> Mapping[str, float]:
        """Return the cosines of chunks as the store does."""
        found = self._store.similarities(*arguments, **options)
        return {key: self._scale(cosine) for key, cosine in found.items()}


def scaled_store(store: "Store", scale: CosineScale) -> "Store":
    """Return a store whose answers to questions have scaled cosines."""
    return cast("Store", ScaledStore(store, scale))
