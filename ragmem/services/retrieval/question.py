"""A question with its filters, and its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Any, Literal

from ragmem.domain.model import Category, Kind, Match
from ragmem.domain.records.record_types import RecordType
from ragmem.frozen import dataclass
from ragmem.ports import Mode

DiscardedUse = Literal["never", "last", "always"]
"""When a question searches the texts of the tier discard: `last` if nothing else answers."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with filters. Empty filters let everything through; projects None means all."""

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
    """Only events before this moment."""
    limit: int = 8
    mode: Mode | None = None
    keywords: tuple[str, ...] = ()
    """The words that a mode looks up among entities; empty: extracted from the text by rule."""
    themes: tuple[str, ...] = ()
    """The words that a mode looks up among relations; empty: extracted from the text by rule."""
    expand: bool = False
    """Search for paraphrases by a language model as well."""
    nearest: bool = False
    """Return the nearest memories even if nothing answers."""
    history: bool = False
    """Return superseded memories as well, with their successors."""
    discarded: DiscardedUse = "last"
    folder: str = ""
    """The working folder where it is asked: what was made on branches that are not merged there is marked,
    and stands behind the rest. Empty: all branches count alike."""


_ABOUT = "this about "


@dataclass(frozen=True, slots=True)
class Answer:
    """The matches, best first; `rung` is the search method, and `notes` are messages for people.

    `evidence` has the terms that decided whether anything answers; see `services.retrieval.calibration`.
    `missing` are the details of the question that no match tells, so that these are only the nearest.
    """

    question: Question
    matches: tuple[Match, ...]
    rung: str
    notes: tuple[str, ...] = ()
    graph: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, float] = field(default_factory=dict)
    missing: tuple[str, ...] = ()


def this_about(speaker: str) -> str:
    """Return the missing detail if the text is about another speaker than the question."""
    return f"{_ABOUT}{speaker}"


def missing_line(missing: Sequence[str]) -> str:
    """Return the line that keeps a reader from taking the nearest memories for the answer; "" for nothing."""
    details = " and ".join(detail if detail.startswith(_ABOUT) else f'"{detail}"' for detail in missing)
    return f"no memory mentions {details}; these are the nearest" if missing else ""


@dataclass(frozen=True, slots=True)
class Fact:
    """A current fact; `attention` means that somebody should act on it."""

    name: str
    value: str
    attention: bool = False
