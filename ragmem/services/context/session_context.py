"""The context for a task: knowledge for it, rules, problems, patterns, and last sessions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

from ragmem.domain.lifecycle.connections import CONNECTED
from ragmem.domain.model import EPISODES, UNASSIGNED, USER, Category, Kind, Match, Memory, State
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.records.record_types import RecordType
from ragmem.domain.records.records import type_of
from ragmem.domain.secrets.redaction import Redactor
from ragmem.domain.text.excerpts import estimate_tokens
from ragmem.services.connections.connection_list import connected_memories
from ragmem.services.context.context import (
    Context,
    Selection,
    SizeLimit,
    build_within,
    fill_in_turns,
    footer,
    frame,
    header,
    last_line,
)
from ragmem.services.context.excerpt import MAX_TITLE, Excerpt
from ragmem.services.retrieval.query import Answer, Question
from ragmem.storage.home.catalog import Catalog
from ragmem.storage.lifecycle.recent import MemoryFilter, latest
from ragmem.storage.memories.record_queries import list_records

CANDIDATES = 40
"""Number of answers to the task, before they are sorted into sections."""

NEAR = 0.12
"""Distance below the answer floor that is still good enough for a task, which is no precise question."""

AMONG_NEAR = 0.6
"""Minimum share of the best score for other memories if none answers, and for records to come first."""

CARD = 0.08
"""Maximum share of the room for a topic card."""

CLUSTER = 3
"""Minimum memories of a topic, as for the cards of `inspect lifecycle` by default."""

MOST_LINES = 5
"""Maximum memories on a topic card."""

LEAD_TOKENS = 60
"""Maximum tokens of each memory in the first round: several are shown before one is shown whole."""

BEST, BEST_SHARE = 3, 0.5
"""The best answers show all that matched, as long as they take at most this share of the room."""

_ERRORS = (Category.ERROR_SOLUTION, Category.GOTCHA)
_PATTERNS = (Category.PATTERN, Category.BEST_PRACTICE)
_TELLING = (RecordType.SESSION_INSIGHT, RecordType.EPISODE)


def _is_episode(memory: Memory) -> bool:
    """Return whether a memory describes a session: by its source, or as an insight or an episode."""
    return memory.source in EPISODES or type_of(memory.source, memory.tags) in _TELLING


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the context: its title, its share of the space, and its maximum of memories."""

    title: str
    share: float
    most: int
    belongs: Callable[[Memory], bool]


# The mix follows Graphiti-style project memories, with five facts, three patterns, three gotchas
# and three past sessions; rules and decisions are added, because they hold for any task.
RULES = Section("Decisions and preferences", 0.20, 5, lambda memory: memory.kind is Kind.PREFERENCE)
FACTS = Section("Known about this task", 0.35, 5, lambda memory: not _is_episode(memory))
PROBLEMS = Section(
    "Known problems", 0.20, 3, lambda memory: memory.kind is Kind.ERROR or memory.category in _ERRORS
)
PATTERNS = Section("Patterns that work here", 0.10, 3, lambda memory: memory.category in _PATTERNS)
SESSIONS = Section("Sessions: the most relevant, then the latest", 0.15, 3, _is_episode)
WITH_TASK = (FACTS, RULES, PROBLEMS, PATTERNS, SESSIONS)
"""The sections for a task; the one with the best answer comes first, those without an answer last."""

RECORDS_OF: tuple[tuple[Section, tuple[RecordType, ...], tuple[Category, ...]], ...] = (
    (PROBLEMS, (RecordType.GOTCHA, RecordType.ROOT_CAUSE, RecordType.KNOWLEDGE), _ERRORS),
    (RULES, (RecordType.USER_CORRECTION,), ()),
    (PATTERNS, (RecordType.PATTERN, RecordType.KNOWLEDGE), _PATTERNS),
    (SESSIONS, _TELLING, ()),
)
"""Types and categories of each section: such records come first in it if they answer the task about as well
as the best memory."""


def session_context(
    catalog: Catalog,
    ask: Callable[[Question], Answer],
    task: str,
    *,
    projects: Sequence[str] | None,
    tokens: int | None = None,
    max_chars: int | None = None,
    home: str = "",
) -> Context:
    """Return the block for a task, within `tokens` (estimated) and `max_chars`.

    It has answers to the task, standing decisions and preferences, problems with their fixes, patterns, and
    the last sessions of these projects. Each section has its share of the space, and the others get unused
    space in their order. If there is room, a topic card lists what is connected with the best answer. The
    same memory and task give the same block; it is empty without any memory.
    """
    room = SizeLimit.of(tokens, max_chars)
    chosen, ranked = _for_task(
        catalog, ask, _ShownMemories(task.strip(), home, catalog.redactor, room.size), projects
    )
    parts = [(part, excerpts[: part.most]) for part, excerpts in chosen if excerpts]
    found = sum(len(excerpts) for _, excerpts in parts)
    if not found:
        return Context()
    topic = _topic(catalog, parts[0][1][0].memory)
    return build_within(room, lambda limits: _context(parts, ranked[:BEST], topic, found, limits))


def _context(
    parts: Sequence[tuple[Section, list[Excerpt]]],
    best: Sequence[str],
    topic: Mapping[str, str],
    found: int,
    limits: SizeLimit,
) -> Context:
    room = limits.less(header()).less(footer(last_line(found, found)))
    for part, _ in parts:
        room = room.less(_heading(part))
    centre = parts[0][1][0].memory
    card = _topic_card(centre, topic.values(), room.share(CARD))
    filled = _share_out(parts, best, room.less(card))
    body, memories, sizes = [], [], []
    for (part, _), shown in zip(parts, filled, strict=True):
        if shown.parts:
            body.append(_heading(part))
            body += [shown.text(identifier) for identifier in shown.parts]
            memories += [excerpt.memory for excerpt in shown.excerpts.values()]
            sizes += [shown.size(identifier) for identifier in shown.excerpts]
    told = {memory.id for memory in memories}
    if centre.id in told:
        lines = (line for key, line in topic.items() if key not in told)
        body.append(_topic_card(centre, lines, SizeLimit(estimate_tokens(card), len(card))))
    left = found - len(memories)
    text = frame(body, last_line(left, found)) if memories else ""
    return Context(text, tuple(memories), left, tuple(sizes))


def _topic(catalog: Catalog, centre: Memory) -> dict[str, str]:
    """Return id -> a line of each memory that is connected with a memory, strongest first.

    A topic has at least CLUSTER memories.

    Pages of one document are always connected; superseded and withheld memories are not listed.
    """
    found = {
        one.memory.id: one.memory
        for one in connected_memories(catalog, centre.id)
        if one.connection.strength >= CONNECTED
        and one.memory.state is State.INDEXED
        and not is_of_document(one.memory.metadata)
    }
    untrue = {*catalog.supersessions.in_force(found), *catalog.approvals.withheld_ids()}
    return {
        key: f"- [{one.short_id}] {one.event_time:%Y-%m-%d} "
        f"{' '.join(catalog.redactor.redact(one.title or one.uri)[0].split())[:MAX_TITLE]}\n"
        for key, one in found.items()
        if key not in untrue and len(found) >= CLUSTER - 1
    }


def _topic_card(centre: Memory, lines: Iterable[str], limits: SizeLimit) -> str:
    """Return the card of what is connected with a memory, as many lines as have room; "" for none."""
    card, count = f"\n## Connected with {centre.short_id}\n\n", 0
    for line in islice(lines, MOST_LINES):
        if limits.holds(estimate_tokens(card + line), len(card + line)):
            card, count = card + line, count + 1
    return card if count else ""


def _for_task(
    catalog: Catalog,
    ask: Callable[[Question], Answer],
    taken: "_ShownMemories",
    projects: Sequence[str] | None,
) -> tuple[list[tuple[Section, list[Excerpt]]], list[str]]:
    """Return the sections with their memories, each in one section only, and the ids of the answers."""
    task, wanted = taken.task, None if projects is None else tuple(projects)
    matches = _relevant(ask, Question(task, projects=wanted, limit=CANDIDATES, discarded="never"))
    known = {match.memory.id for match in matches}
    # A section with few of the best answers gets a query of its own.
    for part, kinds in ((PROBLEMS, (Kind.ERROR,)), (RULES, (Kind.PREFERENCE,))):
        if sum(part.belongs(match.memory) for match in matches) < part.most:
            more = ask(
                Question(task, projects=wanted, kinds=kinds, limit=part.most, discarded="never")
            ).matches
            matches += [match for match in more if match.memory.id not in known]
            known |= {match.memory.id for match in more}
    typed = _records_first(catalog, ask, task, wanted, best=matches[0].score if matches else 0.0)
    more_typed = [match for found in typed.values() for match in found if match.memory.id not in known]
    matches += sorted(more_typed, key=lambda match: -match.score)
    lessons = [match for match in matches if not _is_episode(match.memory)]
    chosen = {
        part.title: taken.take(
            chain(typed.get(part.title, ()), (match for match in lessons if part.belongs(match.memory))),
            part.most,
        )
        for part in (PROBLEMS, RULES, PATTERNS, FACTS)
    }
    told = (match for match in matches if SESSIONS.belongs(match.memory))
    chosen[SESSIONS.title] = taken.take(chain(typed.get(SESSIONS.title, ()), told), 2)
    standing = _nearest(catalog, _RULES, wanted)
    chosen[RULES.title] += taken.take(standing, RULES.most - len(chosen[RULES.title]))
    last = _nearest(catalog, _EPISODES, wanted)
    chosen[SESSIONS.title] += taken.take(last, SESSIONS.most - len(chosen[SESSIONS.title]))
    ranks = {match.memory.id: rank for rank, match in enumerate(matches)}

    def best(part: Section) -> int:
        return min((ranks.get(item.memory.id, len(ranks)) for item in chosen[part.title]), default=len(ranks))

    return [(part, chosen[part.title]) for part in sorted(WITH_TASK, key=best)], list(ranks)


def _records_first(
    catalog: Catalog,
    ask: Callable[[Question], Answer],
    task: str,
    projects: tuple[str, ...] | None,
    *,
    best: float,
) -> dict[str, list[Match]]:
    """Return section title -> the records that answer the task about as well as the best memory."""
    found: dict[str, list[Match]] = {}
    for part, types, categories in RECORDS_OF:
        # Most homes have no records, and a query costs more than this check.
        if list_records(catalog.database, types, projects=projects, categories=categories, limit=1):
            wanted = Question(task, projects=projects, types=types, categories=categories, limit=part.most)
            answer = ask(wanted)
            found[part.title] = [match for match in answer.matches if match.score >= AMONG_NEAR * best]
    return found


def _relevant(ask: Callable[[Question], Answer], question: Question) -> list[Match]:
    """Return the answers to a task; without any, the memories that are near enough."""
    if found := ask(question).matches:
        return list(found)
    nearest = ask(replace(question, nearest=True))
    if not nearest.matches or nearest.evidence.get("margin", 0.0) < -NEAR:
        return []
    least = AMONG_NEAR * nearest.matches[0].score
    return [match for match in nearest.matches if match.score >= least]


def _nearest(catalog: Catalog, sort: MemoryFilter, projects: Sequence[str] | None) -> list[Memory]:
    """Return the latest memories of a section that are not superseded, this project's before the user's.

    Preferences come before decisions.
    """
    found = latest(catalog.database, sort, projects=projects, limit=CANDIDATES)
    if sort is _EPISODES:
        insights = (RecordType.SESSION_INSIGHT,)
        ids = list_records(catalog.database, insights, projects=projects, limit=CANDIDATES)
        told = catalog.memories.get(ids).values()
        found += [one for one in told if projects is not None or one.scope.project != UNASSIGNED]
        found.sort(key=lambda memory: (memory.event_time, memory.id), reverse=True)
    untrue = {
        *catalog.supersessions.in_force(memory.id for memory in found),
        *catalog.approvals.withheld_ids(),
    }
    return sorted(
        (memory for memory in found if memory.id not in untrue),
        key=lambda memory: (
            projects is not None and memory.scope.project == USER,
            sort is _RULES and memory.kind is not Kind.PREFERENCE,
        ),
    )


_SESSION_SOURCES = tuple(sorted(EPISODES))
# Procedures are invoked by name; their warnings are not open problems, and their rules are local.
_NOT_STANDING = (*_SESSION_SOURCES, "skills", "commands", "paidocs")
_RULES = MemoryFilter(kinds=(Kind.PREFERENCE,), protected=True, other_than=_NOT_STANDING)
_EPISODES = MemoryFilter(sources=_SESSION_SOURCES)


class _ShownMemories:
    """Tracks the shown memories, so that no section repeats another."""

    def __init__(self, task: str, home: str, redactor: Redactor, room: float) -> None:
        self.task = task
        self._home = home
        self._room = room
        self._redactor = redactor
        self._excerpts: list[Excerpt] = []

    def take(self, items: Iterable[Match | Memory], most: int) -> list[Excerpt]:
        """Return the first `most` excerpts with new content."""
        found: list[Excerpt] = []
        for item in items:
            if len(found) >= most:
                break
            memory = item.memory if isinstance(item, Match) else item
            chunks = (item.chunk, *item.also) if isinstance(item, Match) else ()
            excerpt = Excerpt(
                memory,
                chunks,
                question=self.task,
                home=self._home,
                redactor=self._redactor,
                room=self._room,
            )
            if excerpt.has_content and not any(
                other.memory.id == excerpt.memory.id or excerpt.repeats(other) for other in self._excerpts
            ):
                found.append(excerpt)
                self._excerpts.append(excerpt)
        return found


def _heading(part: Section) -> str:
    return f"\n## {part.title}\n"


def _share_out(
    parts: Sequence[tuple[Section, list[Excerpt]]], best: Sequence[str], room: SizeLimit
) -> list[Selection]:
    """Return each section with the excerpts that fit: first within its share, then in unused space.

    The shares are of what the best answers leave.
    """
    sizes = _sizes_of_best([excerpt for _, excerpts in parts for excerpt in excerpts], best, room)
    left = room.without(*map(sum, zip(*sizes.values(), strict=True))) if sizes else room
    total = sum(part.share for part, _ in parts)
    filled = []
    for part, excerpts in parts:
        own = [sizes[one.memory.id] for one in excerpts if one.memory.id in sizes]
        share = left.share(part.share / total)
        share = SizeLimit(share.tokens + sum(one for one, _ in own), share.chars + sum(one for _, one in own))
        filled.append(fill_in_turns(excerpts, share, lead=LEAD_TOKENS, whole=sizes))
    for number, (_, excerpts) in enumerate(parts):
        others = [shown for other, shown in enumerate(filled) if other != number]
        rest = room.without(sum(shown.tokens for shown in others), sum(shown.chars for shown in others))
        filled[number] = fill_in_turns(excerpts, rest, lead=LEAD_TOKENS, whole=sizes)
    return filled


def _sizes_of_best(
    excerpts: Sequence[Excerpt], best: Sequence[str], room: SizeLimit
) -> dict[str, tuple[int, int]]:
    """Return id -> tokens and characters of all that matched, of the best answers that have room so."""
    limit = room.share(BEST_SHARE)
    known = {excerpt.memory.id: excerpt for excerpt in excerpts}
    sizes: dict[str, tuple[int, int]] = {}
    for identifier in (one for one in best if one in known):
        tokens, chars = known[identifier].cost(frozenset(known[identifier].core))
        if limit.holds(tokens, chars):
            sizes[identifier], limit = (tokens, chars), limit.without(tokens, chars)
    return sizes
