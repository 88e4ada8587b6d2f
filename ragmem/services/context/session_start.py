"""The block for the start of a session: ongoing work, its open points, and the project's rules."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from ragmem.domain.classification.decision_record import amended_ids
from ragmem.domain.classification.filler import SentencePurpose, classify_purpose
from ragmem.domain.classification.one_line import line_of
from ragmem.domain.classification.standalone import plain
from ragmem.domain.lifecycle.changes import changes
from ragmem.domain.model import EPISODES, SHARED, USER, Category, Kind, Memory
from ragmem.domain.model.lifecycle import Entry, EntryType, LifecyclePolicy, explicit_type
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import RECORDS
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.sessions.outline import Outline, Span, headline, outline_of, prose_of
from ragmem.domain.sessions.workstreams import (
    TRUNKS,
    SessionWork,
    Workstream,
    activity,
    touch_probabilities,
    workstreams,
)
from ragmem.domain.text.blocks import BlockType, units
from ragmem.domain.text.excerpts import estimate_tokens
from ragmem.domain.text.identifiers import identifiers
from ragmem.domain.text.keywords import is_stop_word
from ragmem.domain.text.words import count_words, fold_words, stem
from ragmem.readers.git_head import Head, default_branch, outside, uncommitted
from ragmem.services.context.context import MORE, Context, SizeLimit, frame
from ragmem.services.context.recent_work import PROCEDURES
from ragmem.services.retrieval.branches import WITHIN_S, unmerged_branch, unmerged_line
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.lifecycle_state import promoted_ids
from ragmem.storage.lifecycle.recent import MemoryFilter, latest_metadata
from ragmem.storage.memories.record_queries import list_records

LATEST = 400
"""Number of latest memories of sessions whose metadata is read."""

RECENT = 60
"""Number of latest sessions whose workstreams are told."""

READ_SESSIONS, READ, READ_LATER = 20, 8, 40
"""Sessions of a workstream and memories of each that are read, and later ones that may have closed points."""

LEAST, ACTIVE = 0.4, 0.5
"""Minimum probability that a session touches a file of the best workstream, and one that the next adds."""

GOES_ON = 0.9
"""The probability that a session touches a file with uncommitted changes."""

FEW = 2
"""Up to so many sessions say nothing about what goes on; the best one is told in any case."""

MOST_STREAMS = 2
MOST_RULES = 6
MOST_POINTS = 2
MOST_COMMITS = 2
MOST_FILES = 16
"""Maximum workstreams, rules, and open points, earlier commits and files of one workstream."""

MOST_INSIGHTS = 4
"""Maximum records about sessions that are read."""

MOST_SHARED = 200
"""Shared memories, the last to come in first, among which rules are looked for."""

MOST_SENTENCES = 40
"""Sentences of a result among which one is chosen that explains it."""

RESULT_CHARS = 240
POINT_CHARS = 160
"""Maximum characters of a result and of an open point; sentences are whole."""

SPOKEN_OF = 0.5
"""Share of the words of an open point that a later exchange has where it is about the same."""

_FULL_STOPS = (".", "!", "?", "…", "\u3002", "\uff01", "\uff1f")

LEAST_WORDS = 3
"""An open point with fewer words of its own cannot be compared with later work."""

RESULTS = "Last results"
RULES = "Rules and pitfalls here"
LAST_LINE = f"({MORE})"

_NO_RESULT = ("interrupted", "agent", "compaction")
"""Marks of what has no result of its own: broken off, of a subagent, a summary of what is told elsewhere."""

_OF_SESSIONS = MemoryFilter(sources=tuple(sorted(EPISODES)))
_PLANS = frozenset({"prds"})
_OF_PERSON = re.compile(r"(?:~|/root|/(?:home|Users)/[^/]+)/\.")
"""The path of a file among a person's settings, such as a plan that the assistant keeps there."""

_MERGE = re.compile(r"Merge (?:branch|commit|pull request|remote-tracking|tag)\b")
_TORN = re.compile(r"\*\*| \| |__")
_TRAPS = frozenset({Category.GOTCHA, Category.ERROR_SOLUTION})
HANDED_IN = "ingest"
"""The source of what was handed in; its decisions and rules count as confirmed."""

_LASTING = frozenset({EntryType.THOUGHT, EntryType.DECISION, EntryType.ERROR})


@dataclass(frozen=True, slots=True)
class StartLine:
    """One line of the block: a memory, sentences of it, and whether it has open points."""

    memory: Memory
    text: str
    is_open: bool = False

    def __str__(self) -> str:
        """Return the line with the memory's id and day."""
        said = f"from {self.memory.origin}: {self.text}" if self.memory.origin else self.text
        return f"- [{self.memory.short_id}] {self.memory.event_time:%Y-%m-%d} {said}\n"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a session begins: its projects (None: all), its own id, and what is checked out, if known."""

    projects: Sequence[str] | None
    session: str = ""
    head: Head | None = None

    @property
    def own(self) -> Sequence[str] | None:
        """The projects without the user's, if there are others."""
        if self.projects is None:
            return None
        return [one for one in self.projects if one != USER] or self.projects


def session_start(
    catalog: Catalog,
    place: Place,
    *,
    policy: LifecyclePolicy,
    limit: SizeLimit,
    without: Collection[str] = (),
    near: Callable[[], Mapping[str, float]] = dict,
) -> Context:
    """Return the block for the start of a session, empty where the project has neither results nor rules.

    It has the last result of ongoing work with its open points, and the rules and pitfalls that people or
    several sessions confirmed. Those of `near` (id -> nearness to the last work) come first; it is called
    only if there are more rules than room. Nothing that was superseded, may be outdated, or was interrupted
    is told, and nothing of `without`.
    """
    found: list[tuple[str, list[StartLine]]] = [
        (RESULTS, _last_results(catalog, place, without)),
        (RULES, _rules(catalog, place, policy, without, near)),
    ]
    return _fill(found, limit)


def _fill(found: Sequence[tuple[str, list[StartLine]]], limit: SizeLimit) -> Context:
    """Return the lines that fit: the sections take turns, each from its first line."""
    chosen: dict[str, list[StartLine]] = {title: [] for title, _ in found}

    def text() -> str:
        body = [
            part for title, lines in chosen.items() if lines for part in (f"\n## {title}\n", *map(str, lines))
        ]
        return frame(body, LAST_LINE) if body else ""

    turns = chain.from_iterable(
        ((title, lines[turn]) for title, lines in found if turn < len(lines))
        for turn in range(max((len(lines) for _, lines in found), default=0))
    )
    left = 0
    for title, line in turns:
        chosen[title].append(line)
        if not limit.holds(estimate_tokens(whole := text()), len(whole)):
            chosen[title].pop()
            left += 1
    told = [line for lines in chosen.values() for line in lines]
    sizes = tuple(estimate_tokens(str(line)) for line in told)
    return Context(text(), tuple(line.memory for line in told), left, sizes)


def _last_results(catalog: Catalog, place: Place, without: Collection[str]) -> list[StartLine]:
    """Return the last word of the workstreams with which the session probably goes on."""
    told = latest_metadata(catalog.database, _OF_SESSIONS, projects=place.own, limit=LATEST)
    insights = list_records(
        catalog.database, (RecordType.SESSION_INSIGHT,), projects=place.own, limit=MOST_INSIGHTS
    )
    told |= {identifier: {} for identifier in insights if identifier not in told}
    untrue = catalog.supersessions.in_force(told).keys() | catalog.supersessions.perhaps_outdated(told).keys()
    untrue |= {*catalog.approvals.withheld_ids(), *without}
    sessions: dict[str, SessionWork] = {}
    folders: dict[str, str] = {}
    for identifier, metadata in told.items():
        name = metadata.get("session") or identifier
        if name == place.session:
            continue
        session = sessions.setdefault(name, SessionWork())
        session.branch = session.branch or metadata.get("branch", "")
        for file in metadata.get("files", "").splitlines():
            if file and not _OF_PERSON.match(file):
                session.files[file] += 1
                folders.setdefault(file, metadata.get("cwd", ""))
        if identifier not in untrue and not any(metadata.get(mark) for mark in _NO_RESULT):
            session.memories.append(identifier)
    recent = list(islice(sessions.values(), RECENT))
    probable = touch_probabilities(recent)
    unfinished = uncommitted(place.head, folders) if place.head else frozenset[str]()
    probable |= dict.fromkeys(unfinished, GOES_ON)
    streams = _streams(recent, place.head)
    streams.sort(
        key=lambda item: (
            item[0],
            not unfinished.isdisjoint(item[1].files),
            activity(item[1].files, probable),
        ),
        reverse=True,
    )
    least = LEAST if probable and len(recent) > FEW else 0.0
    lines: list[StartLine] = []
    named: set[str] = set()
    for rank, stream in streams:
        # What one line names, the next does not name again.
        files = sorted(stream.files - named, key=lambda file: (-probable[file], file))
        goes_on = rank > 0 or activity(files, probable) >= (ACTIVE if lines else least)
        if not goes_on and stream.sessions[0] is not recent[0]:
            continue
        line = _stream_line(catalog, stream, files, list(told), place)
        if line and (goes_on or line.is_open):
            lines.append(line)
            named |= stream.files
        if len(lines) == MOST_STREAMS:
            break
    return sorted(lines, key=lambda line: unmerged_branch(line.memory, place.head) != "")


def _streams(sessions: Sequence[SessionWork], head: Head | None) -> list[tuple[int, Workstream]]:
    """Return the workstreams of sessions with their rank.

    It is 1 for the branch that is checked out, -1 for one that is not merged into it, and 0 for any other.
    """
    if head is None:
        return [(0, stream) for stream in workstreams(sessions)]
    known = outside(head, within_s=WITHIN_S)
    apart = known.branches - {head.branch} if known else frozenset[str]()
    found = workstreams(sessions, trunks=TRUNKS | {default_branch(head)}, apart=apart)
    return [
        ((stream.branch != "" and stream.branch == head.branch) - (stream.branch in apart), stream)
        for stream in found
    ]


def _stream_line(
    catalog: Catalog, stream: Workstream, files: Sequence[str], told: Sequence[str], place: Place
) -> StartLine | None:
    """Return the last word of a workstream, its commits before, files and open points; None without one."""
    redactor = catalog.redactor
    memories = _read(catalog, stream)
    outlines = ((memory, outline_of(memory.text)) for memory in memories)
    results = (
        (memory, outline, _result(memory, outline, redactor) if outline else _line(memory, redactor))
        for memory, outline in outlines
    )
    memory, outline, said = next((one for one in results if one[2]), (None, None, ""))
    if memory is None:
        return None
    if branch := unmerged_branch(memory, place.head):
        said = f"({unmerged_line(branch)}) {said}"
    before: list[str] = []
    for one in memories:
        subject = plain(_subject(one), redactor=redactor).rstrip(".")
        is_new = subject not in (*before, "") and subject not in said and not _MERGE.match(subject)
        if is_new and len(subject) <= POINT_CHARS and unmerged_branch(one, place.head) == branch:
            before.append(subject)
        if len(before) == MOST_COMMITS:
            break
    if before:
        said = _and_then(said, f"Before: {'; '.join(before)}.")
    names = dict.fromkeys(file.rpartition("/")[2] for file in files)
    if new := [name for name in names if name not in said][:MOST_FILES]:
        said = _and_then(said, f"In {plain(', '.join(new), redactor=redactor)}.")
    points: list[str] = []
    if outline and outline.open_points:
        later = told[: told.index(memory.id)]
        after = catalog.memories.get(later[-READ_LATER:]).values()
        if points := _open_points(memory, outline.open_points, after, redactor):
            said = _and_then(said, f"Open: {' '.join(points)}")
    return StartLine(memory, said, bool(points))


def _read(catalog: Catalog, stream: Workstream) -> Iterator[Memory]:
    """Yield the memories of a workstream, latest first, reading a session only when it is asked for."""
    for session in stream.sessions[:READ_SESSIONS]:
        found = catalog.memories.get(session.memories[:READ])
        yield from (found[identifier] for identifier in session.memories[:READ])


def _subject(memory: Memory) -> str:
    """Return the subject of an exchange's last commit, or the title of its pull request; "" without one."""
    told = memory.metadata
    title = memory.title.removesuffix(f" (part {told.get('part')})")
    is_question = told.get("asked", "").startswith(title.rstrip("…"))
    return "" if is_question or not (told.get("commits") or told.get("pull_requests")) else title


def _line(memory: Memory, redactor: Redactor) -> str:
    """Return a short text without headings verbatim, of any other the line that summarizes it, or ""."""
    text = plain(memory.text, redactor=redactor)
    parts = [(start, end) for block, start, end in units(memory.text) if block.form is not BlockType.HEADING]
    is_short = len(text) <= POINT_CHARS
    if is_short and "#" not in memory.text:
        return text
    if line := line_of(memory, redactor=redactor)[0]:
        return line
    if is_short:
        said = " ".join(plain(memory.text[start:end], redactor=redactor) for start, end in parts)
        if not said:
            return text
        title = plain(memory.title, redactor=redactor)
        return said if said.startswith(title.rstrip("\u2026")) else f"{title}: {said}"
    return "" if memory.source not in EPISODES else plain(headline(memory.text, parts), redactor=redactor)


def _statement(memory: Memory, line: str, redactor: Redactor) -> str:
    """Return what a line says without the title of its memory before it."""
    return line.removeprefix(f"{plain(memory.title, redactor=redactor)}: ")


def _result(memory: Memory, outline: Outline, redactor: Redactor) -> str:
    """Return the subject of the last commit, a decision, or the first sentence, and one that explains it.

    A talk that changed and decided nothing has no result.
    """
    text, named = memory.text, _subject(memory)
    if not (named or memory.metadata.get("files") or outline.decisions):
        return ""
    decided = [text[slice(*span)] for span in outline.decisions if span in outline.result]
    first = named or next(iter(decided), "") or headline(text, outline.result)
    if not (subject := plain(first, redactor=redactor)):
        return ""
    if len(subject) > RESULT_CHARS:
        subject = plain(memory.title, redactor=redactor)
    best, most = "", 0
    known = set(_words(subject))
    for start, end in prose_of(text, outline.result[:MOST_SENTENCES]):
        sentence = plain(text[start:end], redactor=redactor)
        if len(subject) + len(sentence) > RESULT_CHARS or not _is_statement(sentence):
            continue
        new = [name for name in identifiers(sentence) if name.casefold() not in subject.casefold()]
        if len(new) > most and not set(_words(sentence)) <= known:
            best, most = sentence, len(new)
    return _and_then(subject, best) if best else subject


def _and_then(said: str, more: str) -> str:
    """Return a sentence and what follows it; only a sentence without a mark at its end gets a full stop."""
    return f"{said} {more}" if said.endswith(_FULL_STOPS) else f"{said}. {more}"


def _is_statement(sentence: str) -> bool:
    """Return whether a sentence is self-contained: no announcement, no row of a table, no torn emphasis."""
    if count_words(sentence) <= LEAST_WORDS or sentence.endswith((":", "\uff1a")) or _TORN.search(sentence):
        return False
    return classify_purpose(sentence, listed=True) is SentencePurpose.STATES


def _open_points(
    memory: Memory, spans: Iterable[Span], later: Iterable[Memory], redactor: Redactor
) -> list[str]:
    """Return the open points that no later exchange mentions; none without words to compare."""
    spoken = [frozenset(_words(f"{one.title}\n{one.text}")) for one in later]
    found: list[str] = []
    for start, end in spans:
        point = plain(memory.text[start:end], redactor=redactor)
        words = frozenset(_words(point))
        names = [frozenset(_words(name)) for name in identifiers(point)]
        if len(point) > POINT_CHARS or len(words) < LEAST_WORDS:
            continue
        closed = any(
            len(words & said) >= SPOKEN_OF * len(words) or any(name <= said for name in names if name)
            for said in spoken
        )
        if not closed:
            found.append(point if point.endswith((".", "!")) else f"{point}.")
    return found[:MOST_POINTS]


def _words(text: str) -> list[str]:
    return [stem(word) for word in fold_words(text) if len(word) > 1 and not is_stop_word(word)]


def _rules(
    catalog: Catalog,
    place: Place,
    policy: LifecyclePolicy,
    without: Collection[str],
    near: Callable[[], Mapping[str, float]],
) -> list[StartLine]:
    """Return the confirmed rules and traps of the project, and the confirmed preferences of the user."""
    kept = (policy.curated | {RECORDS}).difference(PROCEDURES, _PLANS)
    ids = promoted_ids(
        catalog.database, projects=place.projects, sources=kept, sessions=policy.promote_sessions
    )
    ids = list(dict.fromkeys([*ids, *catalog.shared.latest_memories(place.projects, limit=MOST_SHARED)]))
    found = [
        entry
        for entry in catalog.lives.find_entries(ids, policy=policy).values()
        if entry.id not in without and _is_rule(entry, policy)
    ]
    if not found:
        return []
    # What others have shared makes nothing untrue by itself.
    untrue = {one.older for one in changes([one for one in found if one.memory.source != SHARED])}
    untrue |= amended_ids(entry.memory for entry in found if entry.memory.source != SHARED)
    rules = [entry for entry in found if entry.id not in untrue]
    nearness = near() if len(rules) > MOST_RULES else {}
    rules.sort(
        key=lambda entry: (
            entry.memory.scope.project == USER,
            not entry.pinned,
            entry.memory.source == SHARED,
            -nearness.get(entry.id, 0.0),
            -entry.sessions,
            -entry.memory.event_time.timestamp(),
            entry.id,
        )
    )
    lines: dict[str, StartLine] = {}
    for entry in rules:
        if text := _line(entry.memory, catalog.redactor):
            # Two documents of one decision differ in their titles.
            said = _statement(entry.memory, text, catalog.redactor)
            lines.setdefault(said, StartLine(entry.memory, text))
        if len(lines) == MOST_RULES:
            break
    return list(lines.values())


def _is_rule(entry: Entry, policy: LifecyclePolicy) -> bool:
    """Return whether people or several sessions confirmed a memory: a rule, a decision or a pitfall."""
    memory = entry.memory
    if memory.source in PROCEDURES or entry.superseded_by or entry.perhaps_outdated:
        return False
    recorded = memory.source not in EPISODES and explicit_type(memory) is EntryType.DECISION
    recorded |= memory.source == HANDED_IN and memory.protected
    # A person has let it in.
    recorded |= memory.source == SHARED
    if not (recorded or entry.is_promoted(policy)):
        return False
    if memory.scope.project == USER:
        return memory.kind is Kind.PREFERENCE or entry.type is EntryType.THOUGHT
    return memory.kind is Kind.PREFERENCE or entry.type in _LASTING or memory.category in _TRAPS
