"""How age weighs in ranking: half-lives per kind, recency and the final score."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType

from ragmem.domain.model import Kind

SECONDS_PER_DAY = 86400.0

DEFAULT_HALF_LIVES: Mapping[Kind, float] = MappingProxyType(
    {
        Kind.PREFERENCE: 180.0,
        Kind.ARCHITECTURE: 90.0,
        Kind.ERROR: 60.0,
        Kind.RESEARCH: 30.0,
        Kind.GENERAL: 60.0,
    }
)
"""Days after which the recency of each kind is one half, as published in decay.json."""


@dataclass(frozen=True, slots=True)
class DecayPolicy:
    """The numbers of decay.json; the defaults are the published ones.

    Raises ValueError, naming the key, for a weight that is negative or not finite, weights that sum to zero,
    a half-life that is not positive, a kind without half-life, or a floor outside [0, 1].
    """

    semantic_weight: float = 0.7
    recency_weight: float = 0.3
    half_lives_days: Mapping[Kind, float] = field(default_factory=lambda: DEFAULT_HALF_LIVES)
    min_score: float = 0.1

    def __post_init__(self) -> None:
        for key, weight in (("semantic", self.semantic_weight), ("recency", self.recency_weight)):
            if not (math.isfinite(weight) and weight >= 0):
                raise ValueError(f"weights.{key} must be a number of at least 0, not {weight}")
        if self.semantic_weight + self.recency_weight <= 0:
            raise ValueError("weights.semantic and weights.recency must not both be 0")
        for kind in Kind:
            if kind not in self.half_lives_days:
                raise ValueError(f"half_lives_days.{kind} is missing")
            days = self.half_lives_days[kind]
            if not (math.isfinite(days) and days > 0):
                raise ValueError(f"half_lives_days.{kind} must be a number above 0, not {days}")
        if not 0 <= self.min_score <= 1:
            raise ValueError(f"min_score_threshold must lie between 0 and 1, not {self.min_score}")

    def half_life(self, kind: Kind) -> float:
        """Return the half-life of a kind in days."""
        return self.half_lives_days[kind]


DEFAULT = DecayPolicy()


def age_days(event_time: datetime, now: datetime) -> float:
    """Return the days from the event to now; an event in the future has age 0. Both need a time zone."""
    return max(0.0, (now - event_time).total_seconds() / SECONDS_PER_DAY)


def recency(age_days: float, half_life_days: float) -> float:
    """Return exp(-ln 2 * age / half-life): 1 for a new or future event, 0.5 at the half-life."""
    return math.exp(-math.log(2) * max(0.0, age_days) / half_life_days)


def final_score(semantic: float, recency: float, policy: DecayPolicy = DEFAULT) -> float:
    """Return semantic_weight * semantic + recency_weight * recency, the published ranking formula."""
    return policy.semantic_weight * semantic + policy.recency_weight * recency


def earned_score(semantic: float, recency: float, policy: DecayPolicy = DEFAULT) -> float:
    """Return the final score where being new counts only as far as a match is relevant.

    It is `final_score` with recency times semantic in the place of recency: a fresh memory of no relevance
    gains nothing, and a perfect match of any age keeps the whole semantic weight (docs/adr/002-decay.md).
    """
    return final_score(semantic, semantic * recency, policy)
