"""What is asked of which memories, how answers are found and ranked, and an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ragmem.domain.model import Category, Kind, Match
from ragmem.domain.model.decay import DecayPolicy
from ragmem.domain.records.record_types import RecordType
from ragmem.ports import Mode


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, of which memories. Empty filters let everything through; projects None means all."""

    text: str
    projects: tuple[str, ...] | None = None
    kinds: tuple[Kind, ...] = ()
    sources: tuple[str, ...] = ()
    spec: str = ""
    tags: tuple[str, ...] = ()
    types: tuple[RecordType, ...] = ()
    """Only records of these types, which are all compared with the question."""
    categories: tuple[Category, ...] = ()
    since: datetime | None = None
    until: datetime | None = None
    """Only what happened before."""
    limit: int = 8
    mode: Mode | None = None
    keywords: tuple[str, ...] = ()
    """What a mode looks up among entities; empty: found in the text by rule."""
    themes: tuple[str, ...] = ()
    """What a mode looks up among relations; empty: found in the text by rule."""
    expand: bool = False
    """Ask with other words as well, which a language model gives."""
    nearest: bool = False
    """Show what is nearest, also where nothing answers."""
    history: bool = False
    """Show what is superseded as well, and by what."""

    @property
    def filtered(self) -> bool:
        """Tell whether some memories of these projects are left out."""
        return bool(
            self.kinds
            or self.sources
            or self.spec
            or self.tags
            or self.types
            or self.categories
            or self.since
            or self.until
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """How candidates are found and ranked; the defaults are those of config.toml."""

    decay: DecayPolicy
    candidates: int = 60
    lexical_weight: float = 0.7
    vector_weight: float = 1.0
    min_similarity: float = 0.2
    min_coverage: float = 0.25
    earned_recency: bool = True
    graph_weight: float = 0.3
    time_weight: float = 0.15
    expansion_weight: float = 0.3
    abstain: bool = True


@dataclass(frozen=True, slots=True)
class Answer:
    """The matches, best first; `rung` tells how they were found; `notes` what a person should know.

    `evidence` are the terms by which it was decided whether anything answers; see
    `services.retrieval.calibration`.
    """

    question: Question
    matches: tuple[Match, ...]
    rung: str
    notes: tuple[str, ...] = ()
    graph: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that is so now; `attention` where somebody should do something about it."""

    name: str
    value: str
    attention: bool = False
