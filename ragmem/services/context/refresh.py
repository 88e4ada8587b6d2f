"""Choose what a memory file tells: the promoted memories of a project, a sentence each, by groups."""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragmem.domain.classification.one_line import line_of
from ragmem.domain.classification.protection import protecting
from ragmem.domain.classification.substance import says
from ragmem.domain.lifecycle.changes import changes
from ragmem.domain.model import EPISODES, USER, Category, Kind
from ragmem.domain.model.lifecycle import Entry, EntryType, Life, LifecyclePolicy, declared_type
from ragmem.domain.records.records import RECORDS
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.blocks import units
from ragmem.domain.text.words import words_of
from ragmem.services.context.recent_work import PROCEDURES
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.promoted import promoted

ALREADY = 0.75
"""From this share of its words on, a line is said by another one."""

SHARED_WORDS = 4
"""A line with fewer words is compared with nothing."""

MONTH = 30.0
"""Days in which what counts for being new falls to a third."""

PLANS = frozenset({"prds"})
"""Curated sources that tell what was to be done, which is no fact once it is."""

READ = 3
"""Memories that are read for each line that there is room for: many say nothing in one line."""


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
    """One line of the index: the memory that it is of, when that happened, and what it says."""

    id: str
    at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class Index:
    """The groups that have lines, in order; how many memories were considered."""

    groups: tuple[tuple[Group, tuple[Line, ...]], ...] = ()
    considered: int = 0

    @property
    def lines(self) -> int:
        """How many memories it tells of."""
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
    """Return what a memory file of a project tells in at most `room` lines of memories.

    Of the project, and of the user's own preferences. What `said` (the rest of the file) says already is left
    out, and so are memories read from the files `without`, procedures, and what was rated bad. The same
    memory gives the same index: nothing depends on the time of day.
    """
    projects = (project,) if project == USER else (project, USER)
    kept = (policy.curated | {RECORDS}).difference(PROCEDURES, PLANS)
    ids = promoted(catalog.database, projects=projects, sources=kept, sessions=policy.promote_sessions)
    found = [
        entry
        for entry in catalog.lives.some(ids, policy=policy).values()
        if _is_promoted(entry, kept, policy) and _belongs(entry, project)
    ]
    # What a newer one made untrue is left out, also where gc has not run since.
    untrue = {one.older for one in changes(found, redactor=catalog.redactor)}
    entries = [one for one in found if one.id not in untrue and not _is_read_from(one, without)]
    newest = max((entry.memory.event_time for entry in entries), default=None)
    degrees = catalog.connections.degree([entry.id for entry in entries])
    if newest is None:
        return Index(considered=0)
    ranked = sorted(entries, key=lambda entry: (-_rank(entry, degrees.get(entry.id, 0), newest), entry.id))
    heard = _Heard(said)
    chosen = _chosen(ranked, room, heard, redactor=catalog.redactor)
    groups = [
        (group, tuple(sorted(lines, key=lambda line: (-line.at.timestamp(), line.id))))
        for group, lines in chosen.items()
    ]
    return Index(tuple((group, lines) for group, lines in groups if lines), len(entries))


class _Heard:
    """What is said already, by the rest of the file and by lines that were chosen."""

    def __init__(self, said: str) -> None:
        self._said = [
            words
            for _, start, end in units(said)
            if len(words := frozenset(words_of(said[start:end]))) >= SHARED_WORDS
        ]

    def takes(self, line: str) -> bool:
        """Tell whether a line says something new; it is known from then on."""
        words = frozenset(words_of(line))
        if len(words) >= SHARED_WORDS:
            if any(len(words & other) >= ALREADY * min(len(words), len(other)) for other in self._said):
                return False
            self._said.append(words)
        return True


def _is_promoted(entry: Entry, kept: Collection[str], policy: LifecyclePolicy) -> bool:
    """Tell whether a person or three sessions vouch for a memory; what gc made of it does not count."""
    memory = entry.memory
    recorded = memory.source not in EPISODES and declared_type(memory) is EntryType.DECISION
    vouched = entry.pinned or entry.feedback > 0 or memory.source in kept
    return vouched or recorded or entry.sessions >= policy.promote_sessions


def _belongs(entry: Entry, project: str) -> bool:
    """Tell whether an entry is one that a project's file may tell of."""
    memory = entry.memory
    if memory.source in PROCEDURES or entry.feedback < 0 or entry.superseded_by:
        return False
    return memory.scope.project == project or memory.kind is Kind.PREFERENCE


def _is_read_from(entry: Entry, paths: Collection[str]) -> bool:
    """Tell whether a memory was read from one of these files, or a part of one."""
    uri = entry.memory.uri
    # A path may hold a "#" of its own; what names a part of a file never does.
    return uri in paths or uri.rpartition("#")[0] in paths


def _rank(entry: Entry, connections: int, newest: datetime) -> float:
    """Return how well a memory is proven, and how new it is beside the newest one."""
    days = (newest - entry.memory.event_time).total_seconds() / 86_400
    lived = {Life.PERMANENT: 1.5, Life.PROVEN: 1.0 if entry.curated else 1.5, Life.BUFFER: 0.0}
    return (
        3.0 * entry.pinned
        + lived[entry.life]
        + 1.0 * entry.protected
        + math.log2(1 + entry.sessions)
        + 0.4 * math.log2(1 + connections)
        + 0.5 * min(3, entry.feedback)
        + math.exp(-days / MONTH)
    )


def _group(entry: Entry, line: str) -> Group:
    """Return the group of a line; what a long text is about is told by the line as well."""
    memory = entry.memory
    told = declared_type(memory) is not None or memory.source == RECORDS
    evidence = says(line)
    rules = bool(protecting(line))
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


def _lasts(entry: Entry, line: str) -> bool:
    """Tell whether a line of no group is worth its place: it was of use, was written for it, or says why."""
    used = entry.pinned or entry.sessions > 0 or entry.feedback > 0
    return used or "description" in entry.memory.metadata or not says(line).isdisjoint(_REASONS)


def _chosen(ranked: Sequence[Entry], room: int, heard: _Heard, redactor: Redactor) -> dict[Group, list[Line]]:
    """Return the best lines of each group: first within its share, then with the room that others left."""
    lines: dict[Group, list[tuple[float, Line]]] = {group: [] for group in GROUPS}
    for place, entry in enumerate(ranked[: READ * room]):
        text, worth = line_of(entry.memory, redactor=redactor)
        if not text:
            continue
        memory, group = entry.memory, _group(entry, text)
        if (group is not BACKGROUND or _lasts(entry, text)) and heard.takes(text):
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


def rendered(found: Index) -> list[str]:
    """Return the lines between the marks; none where there is nothing to tell."""
    if not found.groups:
        return []
    lines = ["# What memory holds", "", "One in full: `ragmem inspect memory ID`.", ""]
    for group, told in found.groups:
        lines += [f"## {group.title}", "", *map(_rendered, told), ""]
    return lines[:-1]


def size_of_frame(groups: Iterable[Group] = GROUPS) -> int:
    """Return how many lines stand around those of the memories: marks, head, and each group's heading."""
    return 2 + 4 + 3 * len(list(groups))


def _rendered(line: Line) -> str:
    return f"- {line.at:%Y-%m-%d} {line.text} `{line.id[:12]}`"
