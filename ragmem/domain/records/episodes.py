"""Apply the importance of an episode: to its protection, and slightly to its ranking."""

from collections.abc import Mapping

from ragmem.domain.records.record_types import EventType

IMPORTANCE = "importance"
DEFAULT_IMPORTANCE = 0.5
PROTECTED_FROM, PASSING_BELOW = 0.8, 0.3
"""An episode that matters so much never ages away, nor does a decision unless it matters less than most; one
that matters less than this is not protected, whatever its words say."""

WEIGHT = 0.1
"""What the greatest importance adds to an episode's relevance, and the least one takes from it, is half of
this: it decides between answers that are about as good, and moves none that is better by more."""


def episode_metadata(fields: Mapping[str, object]) -> dict[str, str]:
    """Return the metadata of an episode for ranking and the lifecycle."""
    told = {name: str(fields[name]) for name in ("session", "agent", IMPORTANCE) if name in fields}
    weight = importance(told)
    if weight >= PROTECTED_FROM or (
        fields["event_type"] == EventType.DECISION and weight >= DEFAULT_IMPORTANCE
    ):
        told["protected"] = "true"
    elif weight < PASSING_BELOW:
        told["protected"] = "false"
    return told


def importance(metadata: Mapping[str, str]) -> float:
    """Return the importance of a memory from 0 to 1, by its metadata; the middle if there is none."""
    try:
        told = float(metadata.get(IMPORTANCE, DEFAULT_IMPORTANCE))
    except ValueError:
        return DEFAULT_IMPORTANCE
    return told if 0 <= told <= 1 else DEFAULT_IMPORTANCE


def by_importance(metadata: Mapping[str, str]) -> float:
    """Return the bonus on a memory's relevance for its importance; 0 if it has none."""
    return WEIGHT * (importance(metadata) - DEFAULT_IMPORTANCE)
