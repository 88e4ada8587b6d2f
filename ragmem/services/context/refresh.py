"""Choose the lines of a memory file: the promoted memories of a project, one sentence each, in groups."""

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from ragmem.domain.classification.decision_record import amended_ids, is_record
from ragmem.domain.classification.one_line import line_of
from ragmem.domain.classification.protection import is_decision, protection_reasons
from ragmem.domain.classification.substance import evidence_types
from ragmem.domain.lifecycle.changes import changes
from ragmem.domain.model import EPISODES, USER, Category, Kind, Memory, possible_files
from ragmem.domain.model.decay import age_days
from ragmem.domain.model.lifecycle import Entry, EntryType, LifecyclePolicy, LifecycleState, explicit_type
from ragmem.domain.records.records import RECORDS
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.outline import outline_of
from ragmem.domain.text.blocks import units
from ragmem.domain.text.words import words_of
from ragmem.services.context.recent_work import PLANS, PROCEDURES
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.lifecycle_state import promoted_ids

ALREADY = 0.75
"""Minimum share of common words from which a line is a duplicate."""

SHARED_WORDS = 4
"""A line with fewer words is compared with nothing."""

MONTH = 30.0
"""Days in which the weight of recency falls to a third."""

_PLAN = re.compile(
    r"\b(?:tasks?|to-?dos?|plans?|requirements?|roadmap|backlog|progress|milestones?|sprint|checklist|hand-?off"
    r"|session|(?:product|active) context|brainstorm(?:ing)?"
    r"|implementation|design|spec(?:ification)?|proposal|rfc|prd|feature|aufgaben?|umsetzung|entwurf)"
    r"(?:[-_ ]?\d+)?\b",
    re.IGNORECASE,
)
"""A title of a document of what is to be, or of the state of one day."""

READ = 3
"""Memories that are read for each available line: many have no usable line."""


@dataclass(frozen=True, slots=True)
class Group:
    """One group of the index, and its share of the room."""

    title: str
    share: float


PREFERENCES = Group("Preferences and rules", 0.25)
DECISIONS = Group("Decisions", 0.30)
PROBLEMS = Group("Problems and fixes", 0.20)
PATTERNS = Group("Patterns", 0.10)
BACKGROUND = Group("Worth knowing", 0.15)
GROUPS = (PREFERENCES, DECISIONS, PROBLEMS, PATTERNS, BACKGROUND)

_FILE = re.compile(r"(?<![\w./~:@-])(?:[\w.-]+/)*[\w-][\w.-]*\.[a-zA-Z]{1,5}(?![\w/-])")
_QUOTED = re.compile(r"`([A-Za-z_][\w./-]{2,80})(?:\([^`]{0,80})?`")
_SYMBOL = re.compile(r"(?=.*[_A-Z])[A-Za-z_]\w{3,}")
_VERSION = re.compile(r"(?<![\w.])v?(\d+(?:\.\d+){2,3})(?![\w.])")
_CONTACT = re.compile(r"[\w.+-]+@[\w-]+\.[a-z]{2,}|\+?\d{2,4}[-. ]\d{3}[-. ]\d{4}\b", re.IGNORECASE)
"""An address or a telephone number, which do not belong into a file that is shared."""

_IMAGINED = re.compile(
    r"\b(?:if|when|whether|unless|in case|suppose|would|could|might|users?|they|someone"
    r"|wenn|falls|w\u00fcrde|k\u00f6nnte|si|cuando)\b",
    re.IGNORECASE,
)
"""Words of conditions, of what could be, and of other people than those who talk."""

_REASONS = ("cause", "rule")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the index: the memory, its date, its text and its source."""

    id: str
    at: datetime
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Index:
    """The groups with lines, in order, and the number of memories considered."""

    groups: tuple[tuple[Group, tuple[Line, ...]], ...] = ()
    considered: int = 0
    gone: tuple[tuple[Line, str], ...] = ()
    """Lines that are left out, with the file or symbol in them that no longer exists."""

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
    gone: Callable[[Collection[str]], Collection[str]] | None = None,
) -> Index:
    """Return the index of a project for its memory file, with at most `room` lines.

    It has memories of the project and preferences of the user, without statements of `said` (the rest of the
    file), memories from the files `without`, procedures, and memories rated bad. `gone` returns which of some
    names of files and symbols no longer exist; lines with one are left out. The same memory gives the same
    index: nothing depends on the time of day.
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
    untrue = {one.older for one in changes(found)} | amended_ids(entry.memory for entry in found)
    entries = [one for one in found if one.id not in untrue and not _is_read_from(one, without)]
    newest = max((entry.memory.event_time for entry in entries), default=None)
    degrees = catalog.connections.degree([entry.id for entry in entries])
    if newest is None:
        return Index(considered=0)
    ranked = sorted(entries, key=lambda entry: (-_rank(entry, degrees.get(entry.id, 0), newest), entry.id))
    heard = _KnownStatements(said)
    lines = []
    for entry in ranked[: READ * room]:
        decided = _is_only_decided(entry, policy)
        text, worth = _line(entry, catalog.redactor, decided=decided)
        if text and (
            (group := _group(entry, text, decided=decided)) is not BACKGROUND or _is_durable(entry, text)
        ):
            lines.append((group, worth, Line(entry.id, entry.memory.event_time, text, entry.memory.source)))
    chosen, left_out = _choose(lines, room, heard, gone)
    groups = [
        (group, tuple(sorted(lines, key=lambda line: (-line.at.timestamp(), line.id))))
        for group, lines in chosen.items()
    ]
    return Index(tuple((group, lines) for group, lines in groups if lines), len(entries), left_out)


class _KnownStatements:
    """The statements of the rest of the file and of the chosen lines."""

    def __init__(self, said: str) -> None:
        self._said = [
            words
            for _, start, end in units(said)
            if len(words := frozenset(words_of(said[start:end]))) >= SHARED_WORDS
        ]

    def takes(self, line: str) -> bool:
        """Return whether a line is new; it is known from then on."""
        words = frozenset(words_of(line))
        if len(words) >= SHARED_WORDS:
            if any(len(words & other) >= ALREADY * min(len(words), len(other)) for other in self._said):
                return False
            self._said.append(words)
        return True


def _is_promoted(entry: Entry, kept: Collection[str], policy: LifecyclePolicy) -> bool:
    """Return whether a user or three sessions confirm a memory, or it is a decision; gc does not count."""
    memory = entry.memory
    vouched = entry.pinned or entry.feedback > 0 or memory.source in kept
    return vouched or memory.protected or entry.sessions >= policy.promote_sessions


def _belongs(entry: Entry, project: str) -> bool:
    """Return whether an entry may appear in a project's file."""
    memory = entry.memory
    if memory.source in PROCEDURES or entry.feedback < 0 or entry.superseded_by:
        return False
    if not {"interrupted", "compaction"}.isdisjoint(memory.metadata):
        return False
    return memory.scope.project == project or memory.kind is Kind.PREFERENCE


def _is_read_from(entry: Entry, paths: Collection[str]) -> bool:
    """Return whether a memory was read from one of these files, or a part of one."""
    return any(path in paths for path in possible_files(entry.memory.uri))


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


def _group(entry: Entry, line: str, *, decided: bool) -> Group:
    """Return the group of a line; the line counts as well as the subject of a long text."""
    memory = entry.memory
    told = explicit_type(memory) is not None or memory.source == RECORDS
    evidence = evidence_types(line)
    rules = bool(protection_reasons(line))
    if (memory.kind is Kind.PREFERENCE or entry.type is EntryType.THOUGHT) and (told or rules):
        return PREFERENCES
    if decided or is_record(memory):
        return DECISIONS
    if entry.type is EntryType.ERROR and "cause" in evidence:
        return PROBLEMS
    if memory.category in {Category.PATTERN, Category.BEST_PRACTICE} and (told or "rule" in evidence):
        return PATTERNS
    lasting = entry.type is EntryType.DECISION or memory.kind is Kind.ARCHITECTURE
    if lasting and (told or rules or evidence & {"cause", "rule"}):
        return DECISIONS
    return BACKGROUND


def _is_durable(entry: Entry, line: str) -> bool:
    """Return whether a line of no group lasts: it was useful, was written by a person, or has a reason."""
    used = entry.pinned or entry.sessions > 0 or entry.feedback > 0
    metadata = entry.memory.metadata
    written = "description" in metadata and (
        _is_of_person(entry.memory) or metadata.get("type", "").lower() == "reference"
    )
    return used or written or not evidence_types(line).isdisjoint(_REASONS)


def _choose(
    ranked: Sequence[tuple[Group, float, Line]],
    room: int,
    heard: _KnownStatements,
    gone: Callable[[Collection[str]], Collection[str]] | None,
) -> tuple[dict[Group, list[Line]], tuple[tuple[Line, str], ...]]:
    """Return the best lines of each group, first within its share, then in the remaining space.

    The second value holds the lines that name something that is gone.
    """
    lines: dict[Group, list[tuple[float, Line]]] = {group: [] for group in GROUPS}
    for place, (group, worth, line) in enumerate(ranked):
        if heard.takes(line.text):
            lines[group].append((place - READ * worth, line))
    names = {line.id: _names_of(line.text) for found in lines.values() for _, line in found}
    missing = frozenset(gone({name for found in names.values() for name in found}) if gone else ())
    left_out = []
    for group, found in lines.items():
        kept = [item for item in found if missing.isdisjoint(names[item[1].id])]
        left_out += [
            (line, next(name for name in names[line.id] if name in missing))
            for _, line in found
            if not missing.isdisjoint(names[line.id])
        ]
        lines[group] = sorted(kept, key=lambda item: (item[0], item[1].id))
    taken = {group: min(len(lines[group]), int(group.share * room)) for group in GROUPS}
    spare = sorted(
        ((item[0], item[1].id, group) for group in GROUPS for item in lines[group][taken[group] :]),
        key=lambda item: item[:2],
    )
    for _, _, group in spare[: max(0, room - sum(taken.values()))]:
        taken[group] += 1
    best = {group: [line for _, line in lines[group][: taken[group]]] for group in GROUPS}
    return best, tuple(left_out)


def _names_of(line: str) -> list[str]:
    """Return the names of files, the symbols and the versions in a line; relative paths and inline code only.

    Of a call such as `Reader.read(file)` the symbol is its class.
    """
    paths = [found[0] for found in _FILE.finditer(line)]
    quoted = [found[1].partition(".")[0] if "(" in found[0] else found[1] for found in _QUOTED.finditer(line)]
    return [*paths, *_VERSION.findall(line), *(name for name in quoted if _SYMBOL.fullmatch(name))]


def _line(entry: Entry, redactor: Redactor, *, decided: bool) -> tuple[str, float]:
    """Return the line of an entry and its worth; of an exchange nothing from the midst of the work counts."""
    memory = entry.memory
    within = None
    if memory.source in EPISODES:
        outline = outline_of(memory.text)
        spans = (
            (*outline.decisions, *outline.result)
            if outline
            else ((start, end) for _, start, end in units(memory.text))
        )
        within = {start for start, end in spans if not decided or _is_settled(memory.text[start:end])}
    text, worth = line_of(memory, redactor, within=within, decided=decided)
    return ("", 0.0) if _CONTACT.search(text) else (text, worth)


def _is_settled(sentence: str) -> bool:
    """Return whether a sentence of an exchange states a decision of its own, not a hypothetical one."""
    return is_decision(sentence) and not _IMAGINED.search(sentence)


def _is_only_decided(entry: Entry, policy: LifecyclePolicy) -> bool:
    """Return whether only decisions of a memory last: it is about a task or session and was not confirmed."""
    memory = entry.memory
    if (
        entry.pinned
        or entry.feedback > 0
        or entry.sessions >= policy.promote_sessions
        or _is_of_person(memory)
    ):
        return False
    return memory.source in PLANS | EPISODES or _PLAN.search(memory.title) is not None


def _is_of_person(memory: Memory) -> bool:
    """Return whether a memory says that it is about the person or from what they told the assistant."""
    return memory.metadata.get("type", "").lower() in {"feedback", "user", "preference"}


def render(found: Index) -> list[str]:
    """Return the lines between the marks; none if the index is empty."""
    if not found.groups:
        return []
    lines = ["# Memories", "", "Full text: `ragmem inspect memory ID`.", ""]
    for group, told in found.groups:
        lines += [f"## {group.title}", "", *map(_render_line, told), ""]
    return lines[:-1]


FRAME_LINES = 2 + 4 + 3 * len(GROUPS)
"""The number of other lines: marks, head, and the heading of each group."""


def _render_line(line: Line) -> str:
    return f"- {line.at:%Y-%m-%d} {line.text} ({line.source} `{line.id[:12]}`)"
