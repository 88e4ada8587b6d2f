"""The decay formula: how age lowers the score of a memory. All ageing in the ranking uses this module."""

import math
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType

from ragmem.domain.model import Kind
from ragmem.frozen import dataclass

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
class Decay:
    """The decay formula with the numbers of decay.json; weights, half-lives and floor are the published ones.

    `bound` is the maximum share of its score that an old match loses at the default weights; see `score` for
    others. Of the recency, `fresh_share` halves every `fresh_days`, the rest by the kind's half-life:
    yesterday's work is asked for far more often than last week's, and both more than last year's.
    docs/benchmarks.md ("decay") shows the gains and costs of the three.

    Raises ValueError, naming the key, for a weight that is negative or not finite, weights that sum to zero,
    a half-life that is not positive, a kind without half-life, a floor or share outside [0, 1], or a
    zero bound with a zero semantic weight.
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
        self._check_ages()
        for key, share in (
            ("min_score_threshold", self.min_score),
            ("bound", self.bound),
            ("fresh_share", self.fresh_share),
        ):
            if not 0 <= share <= 1:
                raise ValueError(f"{key} must lie between 0 and 1, not {share}")
        if not self.semantic_weight and not self.bound:
            raise ValueError("bound must be above 0 if weights.semantic is 0")

    def _check_ages(self) -> None:
        for kind in Kind:
            if kind not in self.half_lives_days:
                raise ValueError(f"half_lives_days.{kind} is missing")
            days = self.half_lives_days[kind]
            if not (math.isfinite(days) and days > 0):
                raise ValueError(f"half_lives_days.{kind} must be a number above 0, not {days}")
        if not (math.isfinite(self.fresh_days) and self.fresh_days > 0):
            raise ValueError(f"fresh_days must be a number above 0, not {self.fresh_days}")

    def half_life(self, kind: Kind) -> float:
        """Return the half-life of a kind in days."""
        return self.half_lives_days[kind]

    @property
    def exponents(self) -> tuple[float, float]:
        """The exponents of relevance and of age in the score; with the shipped weights both are 1.

        Their ratio is that of the weights relative to the shipped ones, and the larger one is 1. So a score
        stays on its scale: without a weight for recency it is the relevance.
        """
        return _exponents(self.semantic_weight, self.recency_weight)

    @property
    def max_loss(self) -> float:
        """The maximum share of its score that a match loses to age."""
        return 1 - self.age_factor(0.0)

    def recency(self, age_days: float, half_life_days: float) -> float:
        """Return the recency of an event, 1 for now.

        (1 - fresh_share) * 2 ** -(age / half-life) + fresh_share * 2 ** -(age / fresh_days): forgetting
        follows a power law, which a sum of exponentials with different half-lives approximates (Anderson and
        Schooler, "Reflections of the environment in memory", 1991).
        """
        slow = exponential_recency(age_days, half_life_days)
        fast = exponential_recency(age_days, self.fresh_days)
        return (1 - self.fresh_share) * slow + self.fresh_share * fast

    def published_score(self, relevance: float, recency: float) -> float:
        """Return semantic_weight * relevance + recency_weight * recency, the published ranking formula."""
        return self.semantic_weight * relevance + self.recency_weight * recency

    def score(self, relevance: float, recency: float) -> float:
        """Return relevance ** s * (1 - bound * (1 - recency)) ** r, s and r being the exponents.

        This is a weighted geometric mean. With the shipped weights both exponents are 1: a match of any age
        keeps 1 - bound of its relevance. So an old match that is better by more than this stays ahead of a
        new one, and age alone never raises a score (docs/adr/002-decay.md).
        """
        return math.pow(max(0.0, relevance), self.exponents[0]) * self.age_factor(recency)

    def age_factor(self, recency: float) -> float:
        """Return the factor by which age lowers a score: 1 for a new memory, less for an older one."""
        return math.pow(1 - self.bound * (1 - recency), self.exponents[1])

    def relevance_floor(self, best: float) -> float:
        """Return the minimum relevance of an answer, however new; `best` is the highest relevance.

        It is 0 with the shipped weights and with less weight for recency. It grows to half of the best
        relevance if only recency counts.
        """
        return (1 - self.exponents[0]) * MIN_RELEVANCE_SHARE * best


SHIPPED_WEIGHTS = (0.7, 0.3)
"""Semantic and recency as published. `bound` was measured with them (docs/benchmarks.md, "decay")."""

MIN_RELEVANCE_SHARE = 0.5
"""Minimum share of the best relevance if relevance has no weight."""

DEFAULT = Decay()


@lru_cache(maxsize=16)
def _exponents(semantic_weight: float, recency_weight: float) -> tuple[float, float]:
    semantic, recent = semantic_weight / SHIPPED_WEIGHTS[0], recency_weight / SHIPPED_WEIGHTS[1]
    largest = max(semantic, recent)
    return semantic / largest, recent / largest


def age_days(event_time: datetime, now: datetime) -> float:
    """Return the absolute days between an event and now.

    So events long after the moment of an `as of` question do not answer it. Both times need a time zone.
    """
    return abs((now - event_time).total_seconds()) / SECONDS_PER_DAY


def exponential_recency(age_days: float, half_life_days: float) -> float:
    """Return exp(-ln 2 * age / half-life), as published: 1 for a new event, 0.5 at the half-life."""
    return math.exp2(-age_days / half_life_days)
