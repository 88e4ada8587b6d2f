"""Choose the lines of a memory file: the promoted memories of a project, one sentence each, in groups."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragmem.domain.classification.one_line import line_of
from ragmem.domain.classification.protection import protection_reasons
from ragmem.domain.classification.substance import evidence_types
from ragmem.domain.lifecycle.changes import changes
from ragmem.domain.model import EPISODES, USER, Category, Kind
from ragmem.domain.model.decay import age_days
from ragmem.domain.model.lifecycle import Entry, EntryType, LifecyclePolicy, LifecycleState, explicit_type
from ragmem.domain.records.records import RECORDS
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import units
from ragmem.domain.text.words import words_of
from ragmem.services.context.recent_work import PROCEDURES
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.promotions import promoted_ids

ALREADY = 0.75
"""Minimum share of common words from which a line is a duplicate."""

SHARED_WORDS = 4
"""A line with fewer words is compared with nothing."""

MONTH = 30.0
"""Days in which the weight of recency falls to a third."""

PLANS = frozenset({"prds"})
"""Curated sources of tasks, which are no facts once they are done."""

READ = 3
"""Memories that are read for each available line: many have no usable line."""


@dataclass(frozen=True, slots=True)
class Group:
    """One group of the index, and its share of the room."""

    title: str
    share: float


PREFERENCES = Group("Preferences and rules", 0.25)
DECISIONS = Group("Decisions", 0.30)
PROBLEMS = Group("Problems and what solves them", 0.20)
PATTERNS = Group("Patterns", 0.10)
BACKGROUND = Group("Worth knowing", 0.15)
GROUPS = (PREFERENCES, DECISIONS, PROBLEMS, PATTERNS, BACKGROUND)

_REASONS = ("cause", "consequence", "rule")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the index: the memory, its date, and its text."""

    id: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Index:
    """The groups with lines, in order, and the number of memories considered."""

    groups: tuple[tuple[Group, tuple[Line, ...]], ...] = ()
    considered: int = 0

    @property
    def lines(self) -> int:
        """The number of memories with a line."""
        return sum(len(lines) for _, lines in self.groups)


def index(
    catalog: Catalog,
    *,
    project: str,
    policy: LifecyclePolicy,
    room: int,
    said: str = "",
    without: Collection[str] = (),
) -> Index:
    """Return the index of a project for its memory file, with at most `room` lines.

    It has memories of the project and preferences of the user, without statements of `said` (the rest of the
    file), memories from the files `without`, procedures, and memories rated bad. The same memory gives the
    same index: nothing depends on the time of day.
    """
    projects = (project,) if project == USER else (project, USER)
    kept = (policy.curated | {RECORDS}).difference(PROCEDURES, PLANS)
    ids = promoted_ids(catalog.database, projects=projects, sources=kept, sessions=policy.promote_sessions)
    found = [
        entry
        for entry in catalog.lives.find_entries(ids, policy=policy).values()
        if _is_promoted(entry, kept, policy) and _belongs(entry, project)
    ]
    # Superseded and perhaps outdated memories are omitted, even if gc has not run since.
    untrue = {one.older for one in changes(found, redactor=catalog.redactor)}
    entries = [one for one in found if one.id not in untrue and not _is_read_from(one, without)]
    newest = max((entry.memory.event_time for entry in entries), default=None)
    degrees = catalog.connections.degree([entry.id for entry in entries])
    if newest is None:
        return Index(considered=0)
    ranked = sorted(entries, key=lambda entry: (-_rank(entry, degrees.get(entry.id, 0), newest), entry.id))
    heard = _KnownStatements(said)
    chosen = _choose(ranked, room, heard, redactor=catalog.redactor)
    groups = [
        (group, tuple(sorted(lines, key=lambda line: (-line.at.timestamp(), line.id))))
        for group, lines in chosen.items()
    ]
    return Index(tuple((group, lines) for group, lines in groups if lines), len(entries))


class _KnownStatements:
    """The statements of the rest of the file and of the chosen lines."""

    def __init__(self, said: str) -> None:
        self._said = [
            words
            for _, start, end in units(said)
            if len(words := frozenset(words_of(said[start:end]))) >= SHARED_WORDS
        ]

    def takes(self, line: str) -> bool:
        """Tell whether a line is new; it is known from then on."""
        words = frozenset(words_of(line))
        if len(words) >= SHARED_WORDS:
            if any(len(words & other) >= ALREADY * min(len(words), len(other)) for other in self._said):
                return False
            self._said.append(words)
        return True


def _is_promoted(entry: Entry, kept: Collection[str], policy: LifecyclePolicy) -> bool:
    """Tell whether a user or three sessions confirm a memory; a state set by gc does not count."""
    memory = entry.memory
    recorded = memory.source not in EPISODES and explicit_type(memory) is EntryType.DECISION
    vouched = entry.pinned or entry.feedback > 0 or memory.source in kept
    return vouched or recorded or entry.sessions >= policy.promote_sessions


def _belongs(entry: Entry, project: str) -> bool:
    """Tell whether an entry may appear in a project's file."""
    memory = entry.memory
    if memory.source in PROCEDURES or entry.feedback < 0 or entry.superseded_by:
        return False
    return memory.scope.project == project or memory.kind is Kind.PREFERENCE


def _is_read_from(entry: Entry, paths: Collection[str]) -> bool:
    """Tell whether a memory was read from one of these files, or a part of one."""
    uri = entry.memory.uri
    # A path may contain a "#"; the locator of a part never does.
    return uri in paths or uri.rpartition("#")[0] in paths


def _rank(entry: Entry, connections: int, newest: datetime) -> float:
    """Return the rank of a memory: its confirmation, then its age relative to the newest one."""
    lived = {
        LifecycleState.PERMANENT: 1.5,
        LifecycleState.PROVEN: 1.0 if entry.curated else 1.5,
        LifecycleState.BUFFER: 0.0,
    }
    return (
        3.0 * entry.pinned
        + lived[entry.life]
        + 1.0 * entry.is_protected
        + math.log2(1 + entry.sessions)
        + 0.4 * math.log2(1 + connections)
        + 0.5 * min(3, entry.feedback)
        + math.exp(-age_days(entry.memory.event_time, newest) / MONTH)
    )


def _group(entry: Entry, line: str) -> Group:
    """Return the group of a line; the line counts as well as the subject of a long text."""
    memory = entry.memory
    told = explicit_type(memory) is not None or memory.source == RECORDS
    evidence = evidence_types(line)
    rules = bool(protection_reasons(line))
    if (memory.kind is Kind.PREFERENCE or entry.type is EntryType.THOUGHT) and (told or rules):
        return PREFERENCES
    if entry.type is EntryType.ERROR and (told or evidence & {"cause", "consequence"}):
        return PROBLEMS
    if memory.category in {Category.PATTERN, Category.BEST_PRACTICE} and (told or "rule" in evidence):
        return PATTERNS
    lasting = entry.type is EntryType.DECISION or memory.kind is Kind.ARCHITECTURE
    if lasting and (told or rules or evidence & {"cause", "rule"}):
        return DECISIONS
    return BACKGROUND


def _is_durable(entry: Entry, line: str) -> bool:
    """Tell whether a line of no group is durable: it was useful, was written for this, or has a reason."""
    used = entry.pinned or entry.sessions > 0 or entry.feedback > 0
    return used or "description" in entry.memory.metadata or not evidence_types(line).isdisjoint(_REASONS)


def _choose(
    ranked: Sequence[Entry], room: int, heard: _KnownStatements, redactor: Redactor
) -> dict[Group, list[Line]]:
    """Return the best lines of each group: first within its share, then in the remaining space."""
    lines: dict[Group, list[tuple[float, Line]]] = {group: [] for group in GROUPS}
    for place, entry in enumerate(ranked[: READ * room]):
        text, worth = line_of(entry.memory, redactor=redactor)
        if not text:
            continue
        memory, group = entry.memory, _group(entry, text)
        if (group is not BACKGROUND or _is_durable(entry, text)) and heard.takes(text):
            lines[group].append((place - READ * worth, Line(memory.id, memory.event_time, text)))
    for found in lines.values():
        found.sort(key=lambda item: (item[0], item[1].id))
    taken = {group: min(len(lines[group]), int(group.share * room)) for group in GROUPS}
    spare = sorted(
        ((item[0], item[1].id, group) for group in GROUPS for item in lines[group][taken[group] :]),
        key=lambda item: item[:2],
    )
    for _, _, group in spare[: max(0, room - sum(taken.values()))]:
        taken[group] += 1
    return {group: [line for _, line in lines[group][: taken[group]]] for group in GROUPS}


def render(found: Index) -> list[str]:
    """Return the lines between the marks; none if the index is empty."""
    if not found.groups:
        return []
    lines = ["# What memory holds", "", "One in full: `ragmem inspect memory ID`.", ""]
    for group, told in found.groups:
        lines += [f"## {group.title}", "", *map(_render_line, told), ""]
    return lines[:-1]


def size_of_frame(groups: Iterable[Group] = GROUPS) -> int:
    """Return the number of other lines: marks, head, and the heading of each group."""
    return 2 + 4 + 3 * len(list(groups))


def _render_line(line: Line) -> str:
    return f"- {line.at:%Y-%m-%d} {line.text} `{line.id[:12]}`"
