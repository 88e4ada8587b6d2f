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
    """The numbers of decay.json; weights, half-lives and floor are the published ones.

    `bound` is the most of its score that an old match may lose to a new one. Of the recency, `fresh_share`
    halves every `fresh_days`, the rest by the kind's half-life: what was done yesterday is asked for far more
    often than what was done last week, and both more than last year's. docs/benchmarks.md ("decay") shows
    what the three gain and cost.

    Raises ValueError, naming the key, for a weight that is negative or not finite, weights that sum to zero,
    a half-life that is not positive, a kind without half-life, or a floor or share outside [0, 1].
    """

    semantic_weight: float = 0.7
    recency_weight: float = 0.3
    half_lives_days: Mapping[Kind, float] = field(default_factory=lambda: DEFAULT_HALF_LIVES)
    min_score: float = 0.1
    bound: float = 0.2
    fresh_share: float = 0.6
    fresh_days: float = 1.0

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
        if not (math.isfinite(self.fresh_days) and self.fresh_days > 0):
            raise ValueError(f"fresh_days must be a number above 0, not {self.fresh_days}")
        for key, share in (
            ("min_score_threshold", self.min_score),
            ("bound", self.bound),
            ("fresh_share", self.fresh_share),
        ):
            if not 0 <= share <= 1:
                raise ValueError(f"{key} must lie between 0 and 1, not {share}")

    def half_life(self, kind: Kind) -> float:
        """Return the half-life of a kind in days."""
        return self.half_lives_days[kind]


DEFAULT = DecayPolicy()


def age_days(event_time: datetime, now: datetime) -> float:
    """Return the days between an event and now; one that lies ahead is as far away as one that is past.

    A question asked as of an earlier moment is so not answered by what came long after. Both need a time
    zone.
    """
    return abs((now - event_time).total_seconds()) / SECONDS_PER_DAY


def recency(age_days: float, half_life_days: float, policy: DecayPolicy = DEFAULT) -> float:
    """Return how near an event is, 1 for now.

    (1 - fresh_share) * 2 ** -(age / half-life) + fresh_share * 2 ** -(age / fresh_days): forgetting follows a
    power law, which a sum of exponentials with different half-lives comes close to (Anderson and Schooler,
    "Reflections of the environment in memory", 1991).
    """
    slow = math.exp2(-age_days / half_life_days)
    fast = math.exp2(-age_days / policy.fresh_days)
    return (1 - policy.fresh_share) * slow + policy.fresh_share * fast


def published_recency(age_days: float, half_life_days: float) -> float:
    """Return exp(-ln 2 * age / half-life), as published: 1 for a new event, 0.5 at the half-life."""
    return math.exp2(-age_days / half_life_days)


def final_score(semantic: float, recency: float, policy: DecayPolicy = DEFAULT) -> float:
    """Return semantic_weight * semantic + recency_weight * recency, the published ranking formula."""
    return policy.semantic_weight * semantic + policy.recency_weight * recency


def bounded_score(relevance: float, recency: float, policy: DecayPolicy = DEFAULT) -> float:
    """Return relevance * (1 - bound * (1 - recency)).

    A match of any age keeps 1 - bound of its relevance, so an old one that is better by more than this stays
    ahead of a new one, and being new alone gains nothing (docs/adr/002-decay.md).
    """
    return relevance * (1 - policy.bound * (1 - recency))
