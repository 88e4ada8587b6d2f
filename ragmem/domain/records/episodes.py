"""Apply the importance of an episode: to its protection, and slightly to its ranking."""

from collections.abc import Mapping

from ragmem.domain.records.record_types import EpisodeType

IMPORTANCE = "importance"
DEFAULT_IMPORTANCE = 0.5
PROTECTED_FROM, PASSING_BELOW = 0.8, 0.3
"""From the first importance on an episode is protected, as is a decision from the default one on; below the
second it is not protected, whatever its text says."""

WEIGHT = 0.1
"""Half of this is the maximum that importance adds to an episode's relevance, or subtracts from it: enough to
order answers of about the same relevance."""


def episode_metadata(fields: Mapping[str, object]) -> dict[str, str]:
    """Return the metadata of an episode for ranking and the lifecycle."""
    metadata = {name: str(fields[name]) for name in ("session", "agent", IMPORTANCE) if name in fields}
    weight = importance(metadata)
    if weight >= PROTECTED_FROM or (
        fields["event_type"] == EpisodeType.DECISION and weight >= DEFAULT_IMPORTANCE
    ):
        metadata["protected"] = "true"
    elif weight < PASSING_BELOW:
        metadata["protected"] = "false"
    return metadata


def importance(metadata: Mapping[str, str]) -> float:
    """Return the importance of a memory from 0 to 1, by its metadata; 0.5 if there is none."""
    try:
        value = float(metadata.get(IMPORTANCE, DEFAULT_IMPORTANCE))
    except ValueError:
        return DEFAULT_IMPORTANCE
    return value if 0 <= value <= 1 else DEFAULT_IMPORTANCE


def by_importance(metadata: Mapping[str, str]) -> float:
    """Return the bonus on a memory's relevance for its importance; 0 if it has none."""
    return WEIGHT * (importance(metadata) - DEFAULT_IMPORTANCE)
