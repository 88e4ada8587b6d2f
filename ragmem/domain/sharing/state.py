"""The state that a set of shared records means: what is visible, withdrawn, superseded and in conflict.

It is a pure function of a set: no order, repetition or grouping of fetches changes it, and no clock. The set
only grows (Shapiro et al., "Conflict-free Replicated Data Types", 2011).
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum

from ragmem.domain.sharing.record import Record, SharedMemory, Supersession, Withdrawal
from ragmem.frozen import dataclass

CONTESTED_TYPES = frozenset({"decision", "thought", "pattern"})
CONTESTED_CATEGORIES = frozenset({"pattern", "best_practice"})
CONTESTED_KINDS = frozenset({"preference"})
"""Of a decision or convention a team has one; notes of two members may well have the same title."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_]+")
_MIN_TITLE_WORDS = 2
"""A title of one word, such as "Decisions", says too little to mean the same thing."""


class Verdict(StrEnum):
    """What the signatures say of a record, from the best to the worst."""

    VERIFIED = "verified"
    """Signed by a key of the member in whose history it is."""
    UNSIGNED = "unsigned"
    UNKNOWN = "unknown"
    """Signed by a key that is not known as one of this member's."""
    FORGED = "forged"
    """It names another author than the member in whose history it is, or its signature is wrong."""


class ConflictReason(StrEnum):
    """Why memories are in conflict."""

    SAME_OLDER = "they supersede the same memory"
    SAME_TITLE = "they have the same title"
    CIRCLE = "they supersede each other"


@dataclass(frozen=True, slots=True)
class Statement:
    """A received record: its id, the member in whose history it is, and its verdict."""

    id: str
    record: Record
    member: str
    verdict: Verdict = Verdict.UNSIGNED


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two or more visible memories of different authors of which one should supersede the others."""

    reason: ConflictReason
    memories: tuple[str, ...]
    authors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """The state of a set of records.

    `visible`: the memories that nobody has withdrawn, by id. `withdrawn`: the ids of the withdrawals, by the
    record that they withdraw. `superseded`: the ids of the visible memories that replace a record, by its id.
    `pending`: records that would withdraw or replace more if the person accepted them. `verdicts` has one for
    each record that is not forged.
    """

    visible: Mapping[str, SharedMemory]
    withdrawn: Mapping[str, tuple[str, ...]]
    superseded: Mapping[str, tuple[str, ...]]
    conflicts: tuple[Conflict, ...]
    pending: tuple[str, ...]
    verdicts: Mapping[str, Verdict]


_ORDER = {verdict: order for order, verdict in enumerate(Verdict)}


def fold(statements: Iterable[Statement], *, accepted: Collection[str] = frozenset()) -> State:
    """Return the state of these statements, in any order and any number of repetitions.

    `accepted` holds the ids of records that the person trusts whatever their signature is.
    """
    records, verdicts = _genuine(statements)
    trusted = {key for key, verdict in verdicts.items() if verdict is Verdict.VERIFIED}
    allowed = trusted.union(accepted)
    withdrawn, waiting = _withdrawn(records, trusted, allowed)
    live = {key: record for key, record in records.items() if key not in withdrawn}
    visible = {key: record for key, record in live.items() if isinstance(record, SharedMemory)}
    authors = {key: record.author for key, record in records.items() if isinstance(record, SharedMemory)}
    edges, doubtful = _supersessions(live, authors, trusted, allowed)
    circles = _circular(edges)
    edges -= circles
    superseded: dict[str, list[str]] = defaultdict(list)
    for older, newer in sorted(edges):
        superseded[older].append(newer)
    return State(
        visible,
        withdrawn,
        {older: tuple(newer) for older, newer in superseded.items()},
        tuple(_conflicts(visible, edges, circles)),
        tuple(sorted(waiting | doubtful)),
        verdicts,
    )


def title_key(title: str) -> str:
    """Return a title for comparing: its words in lower case; "" if it has too few of them."""
    words = _WORD.findall(unicodedata.normalize("NFKC", title).casefold())
    return " ".join(words) if len(words) >= _MIN_TITLE_WORDS else ""


def _genuine(statements: Iterable[Statement]) -> tuple[dict[str, Record], dict[str, Verdict]]:
    """Return the records that are not forged with their best verdicts, in the order of their ids."""
    found: dict[str, tuple[Record, Verdict]] = {}
    for item in statements:
        if item.verdict is Verdict.FORGED or item.record.author != item.member:
            continue
        former = found.get(item.id)
        if former is None or _ORDER[item.verdict] < _ORDER[former[1]]:
            found[item.id] = (item.record, item.verdict)
    ordered = sorted(found.items())
    return {key: record for key, (record, _) in ordered}, {key: verdict for key, (_, verdict) in ordered}


def _withdrawn(
    records: Mapping[str, Record], signed: Collection[str], allowed: Collection[str]
) -> tuple[dict[str, tuple[str, ...]], set[str]]:
    """Return the withdrawals by what they withdraw, and those that wait to be accepted.

    Only the author withdraws. Whoever may push can write an unsigned record into anybody's history, so that
    it does not withdraw a signed one by itself.
    """
    found: dict[str, list[str]] = defaultdict(list)
    waiting = set()
    for key, record in records.items():
        target = records.get(record.record) if isinstance(record, Withdrawal) else None
        if target is None or target.author != record.author or isinstance(target, Withdrawal):
            continue
        assert isinstance(record, Withdrawal)
        if record.record in signed and key not in allowed:
            waiting.add(key)
        else:
            found[record.record].append(key)
    return {key: tuple(found[key]) for key in sorted(found)}, waiting


def _supersessions(
    records: Mapping[str, Record],
    authors: Mapping[str, str],
    signed: Collection[str],
    allowed: Collection[str],
) -> tuple[set[tuple[str, str]], set[str]]:
    """Return pairs of an older id and a visible newer one, and the records that would add pairs if accepted.

    `records` are those that nobody has withdrawn, `authors` those of all memories. Only a signed or accepted
    record replaces what another wrote, or what is signed itself.
    """
    edges: set[tuple[str, str]] = set()
    doubtful: set[str] = set()
    for key, record in records.items():
        if isinstance(record, SharedMemory):
            pairs = [(older, key) for older in record.supersedes]
        elif isinstance(record, Supersession):
            pairs = [(record.older, record.newer)]
        else:
            continue
        for older, newer in pairs:
            if older not in authors or newer not in authors or newer not in records:
                continue
            own = authors[older] == record.author and older not in signed
            if own or key in allowed:
                edges.add((older, newer))
            else:
                doubtful.add(key)
    return edges, doubtful


def _circular(edges: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the edges in circles or between circles: nothing there is the newest, so they do not count."""
    remaining = set(edges)
    for start in (0, 1):
        # Peel off what nothing points to, then the same from the other side.
        targets: dict[str, int] = defaultdict(int)
        leaving: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for edge in remaining:
            targets[edge[1 - start]] += 1
            leaving[edge[start]].append(edge)
        free = [node for node in leaving if node not in targets]
        while free:
            for edge in leaving.pop(free.pop(), ()):
                remaining.discard(edge)
                targets[edge[1 - start]] -= 1
                if not targets[edge[1 - start]]:
                    free.append(edge[1 - start])
    return remaining


def _conflicts(
    visible: Mapping[str, SharedMemory],
    edges: Collection[tuple[str, str]],
    circles: Collection[tuple[str, str]],
) -> Iterable[Conflict]:
    """Yield the conflicts in a fixed order, each group of memories once."""
    older = {edge[0] for edge in edges}
    titles: dict[str, list[str]] = defaultdict(list)
    for key, memory in visible.items():
        if key not in older and _is_contested(memory) and (title := title_key(memory.title)):
            titles[title].append(key)
    groups = [
        *(
            (ConflictReason.SAME_OLDER, [key for key in group if key not in older])
            for group in _joined(edges)
        ),
        *((ConflictReason.CIRCLE, group) for group in _joined(circles)),
        *((ConflictReason.SAME_TITLE, group) for group in titles.values()),
    ]
    seen: set[str] = set()
    for reason, keys in sorted((reason, sorted(keys)) for reason, keys in groups):
        found = [key for key in keys if key in visible]
        authors = {visible[key].author for key in found}
        texts = {" ".join(visible[key].text.split()) for key in found}
        if len(authors) > 1 and len(texts) > 1 and not seen.issuperset(found):
            seen.update(found)
            yield Conflict(reason, tuple(found), tuple(sorted(authors)))


def _is_contested(memory: SharedMemory) -> bool:
    return (
        memory.record_type in CONTESTED_TYPES
        or memory.category in CONTESTED_CATEGORIES
        or memory.kind in CONTESTED_KINDS
    )


def _joined(edges: Collection[tuple[str, str]]) -> list[list[str]]:
    """Return the groups of ids that edges join, by way of others too."""
    leader: dict[str, str] = {}

    def lead(key: str) -> str:
        while (above := leader.setdefault(key, key)) != key:
            leader[key] = key = leader[above]
        return key

    for one, other in edges:
        leader[lead(one)] = lead(other)
    groups: dict[str, list[str]] = defaultdict(list)
    for key in list(leader):
        groups[lead(key)].append(key)
    return list(groups.values())
