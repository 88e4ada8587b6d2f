"""Which memories have lived long enough to be asked whether they matter, and what becomes of them.

Age counts the newer memories of the same project, not days, and all exchanges of a session as one.
Isolation, not age, ends a life: a connected memory stays however old it is. An isolated one stays for a while
where it has substance, and for good where it still has it after its last reprieve.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from ragmem.domain.classification.substance import Substance, recorded, substance, substance_of
from ragmem.domain.model.document_place import is_of_document
from ragmem.domain.model.lifecycle import Decision, Entry, Life, LifecyclePolicy
from ragmem.domain.sessions.transcript import counted_as

MOST_REASONS = 3
"""Pieces of evidence that a reason names."""

Reading = Callable[[Callable[[str], Substance], Sequence[str]], Iterable[Substance]]


def _one_by_one(read: Callable[[str], Substance], texts: Sequence[str]) -> Iterable[Substance]:
    return map(read, texts)


def age(
    entries: Iterable[Entry],
    degree: Mapping[str, int],
    policy: LifecyclePolicy,
    *,
    last_copies: Collection[str] = (),
    reading: Reading = _one_by_one,
) -> list[Decision]:
    """Return one decision for each entry, in their order; nothing is changed.

    `entries` are all memories of their projects, `degree` counts the connections by id (none: isolated), and
    `last_copies` are the ids of the newest of a template, which stay. What is decided is one of: keep,
    promote (recalled often enough, or a diamond), reprieve, archive. `reading` applies `substance_of` to many
    texts, in order.
    """
    given = list(entries)
    ages = ages_of(given)
    first = [
        _standing(entry, ages[entry.id], degree.get(entry.id, 0), policy, last=entry.id in last_copies)
        for entry in given
    ]
    due = [entry for entry, decision in zip(given, first, strict=True) if decision is None]
    told = iter(reading(substance_of, [entry.text for entry in due]))
    return [
        decision or _checked(entry, ages[entry.id], policy, recorded(entry, next(told)))
        for entry, decision in zip(given, first, strict=True)
    ]


def ages_of(entries: Iterable[Entry]) -> dict[str, int]:
    """Return by id how many newer memories of its project there are, by event time, ties by entry.

    The exchanges of a session count as one, and for each other as none: a gigabyte of transcripts that is
    read at once does not make everything else old.
    """
    projects: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        projects[entry.scope.project].append(entry)
    ages: dict[str, int] = {}
    for members in projects.values():
        members.sort(key=lambda entry: (entry.memory.event_time, entry.number), reverse=True)
        newer: set[str] = set()
        for entry in members:
            own = counted_as(entry.memory)
            ages[entry.id] = len(newer) - (own in newer)
            newer.add(own)
    return ages


def standing(entry: Entry, policy: LifecyclePolicy) -> tuple[str, str]:
    """Return the rule that keeps a memory whatever its age and connections, and why; both empty for none."""
    recalled = 0 < entry.sessions < policy.promote_sessions
    rules = (
        (entry.pinned, "pinned", "pinned: it never expires"),
        (
            entry.life is Life.PERMANENT,
            "permanent",
            "substantial after its last reprieve: it no longer ages",
        ),
        (entry.curated, "curated", f'the source "{entry.memory.source}" is kept by hand'),
        (
            entry.life is Life.PROVEN,
            "proven",
            "recalled in several sessions, or restored by hand: it no longer ages",
        ),
        (
            is_of_document(entry.memory.metadata),
            "document",
            "a part of a document: it stays as long as the others do",
        ),
        (entry.protected, "protected", f"protected: a {entry.type} never expires by itself"),
        (
            recalled and entry.feedback >= 0,
            "recalled",
            f"recalled in {_counted(entry.sessions, 'session')}",
        ),
        (
            entry.feedback > 0 and not entry.sessions,
            "rated",
            f"rated good {_counted(entry.feedback, 'time')} more than bad",
        ),
    )
    return next(((rule, reason) for holds, rule, reason in rules if holds), ("", ""))


def decided(
    entry: Entry, newer: int, connections: int, policy: LifecyclePolicy, *, last: bool = False
) -> Decision:
    """Return what becomes of one memory with so many newer ones and connections; see `age`."""
    standing_so = _standing(entry, newer, connections, policy, last=last)
    return standing_so or _checked(entry, newer, policy, substance(entry))


def _standing(
    entry: Entry, newer: int, connections: int, policy: LifecyclePolicy, *, last: bool
) -> Decision | None:
    """Return what becomes of a memory whatever it says, None for one that is isolated and due."""
    rule, reason = standing(entry, policy)
    if rule:
        return Decision(entry.id, "keep", rule, reason, age=newer)
    if entry.sessions >= policy.promote_sessions and entry.feedback >= 0:
        reason = f"recalled in {entry.sessions} sessions, {policy.promote_sessions} are enough"
        return Decision(entry.id, "promote", "recalled", reason, life=Life.PROVEN, age=newer)
    due = entry.checked_age + policy.age_after
    waits = (
        (last, "last copy", "the newest of a template, whose others are in the archive"),
        (newer < policy.age_after, "young", f"{_newer(newer)}, looked at from {policy.age_after}"),
        (connections > 0, "connected", f"connected with {_counted(connections, 'memory', 'memories')}"),
        (bool(entry.superseded_by), "superseded", f"the history of {entry.superseded_by[:12]}"),
        (
            bool(entry.reprieves) and newer < due,
            "reprieved",
            f"reprieve {entry.reprieves} of {policy.reprieves}: {_newer(newer)}, looked at again from {due}",
        ),
    )
    for holds, rule, reason in waits:
        if holds:
            return Decision(entry.id, "keep", rule, reason, age=newer)
    return None


def _checked(entry: Entry, newer: int, policy: LifecyclePolicy, found: Substance) -> Decision:
    """Return what becomes of an isolated memory that is due; bad feedback takes reprieves away."""
    isolated = f"isolated, {_newer(newer)}, {_told(found)}"
    if not found.passes:
        return Decision(entry.id, "archive", "no-substance", isolated, age=newer)
    bad = max(0, -entry.feedback)
    if entry.reprieves + bad < policy.reprieves:
        reason = f"{isolated}: reprieve {entry.reprieves + 1} of {policy.reprieves - bad}"
        return Decision(entry.id, "reprieve", "substance", reason, age=newer)
    if bad:
        reason = f"{isolated}, but rated bad {_counted(bad, 'time')} more than good"
        return Decision(entry.id, "archive", "bad-feedback", reason, age=newer)
    reason = f"{isolated}, after {_counted(entry.reprieves, 'reprieve')}: a diamond, kept for good"
    return Decision(entry.id, "promote", "diamond", reason, life=Life.PERMANENT, age=newer)


def _newer(count: int) -> str:
    return f"{count} newer in its project"


def _told(found: Substance) -> str:
    named = ", ".join(found.reasons[:MOST_REASONS])
    return f"{'substance' if found.passes else 'no substance'} {found.score:.1f} ({named})"


def _counted(count: int, noun: str, nouns: str = "") -> str:
    return f"{count} {noun if count == 1 else nouns or noun + 's'}"
