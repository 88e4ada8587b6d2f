"""A question with its filters, and its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ragmem.domain.model import Category, Kind, Match
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
